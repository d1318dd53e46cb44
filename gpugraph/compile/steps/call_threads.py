"""Calls of the user's functions in threads of their own, which a run may leave behind."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

_SLICE_S = 0.05  # after which the run looks whether it was cancelled


class CallThread(threading.Thread):
    """Keeps what a call returns. A run that ends early leaves it behind, with its result."""

    def __init__(self, name: str, call: Callable[[], Any]) -> None:
        super().__init__(name=name, daemon=True)
        self._context = contextvars.copy_context()
        self._call = call
        self._returned: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Makes the call."""
        try:
            self._returned = self._context.run(self._call)
        except BaseException as error:
            self._error = error

    def wait(self, check: Callable[[str], None]) -> None:
        """Returns when the call has; `check` raises to end the waiting."""
        while self.is_alive():
            self.join(_SLICE_S)
            check(f"in the Python function of '{self.name}'")

    def result(self) -> Any:
        """What the call returned; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._returned
