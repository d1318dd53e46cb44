"""A handle of CUDA's that goes with the last reference to it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable

__all__ = ["Owned"]


class Owned:
    """An event, a graph: `destroy` is called with the handle, once.

    What it raises is dropped: a finalizer has nobody to tell, and a lost GPU has destroyed all.
    """

    __slots__ = ("_destroy", "handle")

    def __init__(self, handle: int, destroy: Callable[[int], object]) -> None:
        self.handle = handle
        self._destroy = destroy

    def __del__(self) -> None:
        if not sys.is_finalizing():
            with contextlib.suppress(RuntimeError):
                self._destroy(self.handle)
