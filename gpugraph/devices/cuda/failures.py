"""What kernels refuse: a word of pinned memory for each that may, which it sets when it does.

A GPU can't raise. Kernels of texts that may fail (an index out of range, an integer divided by
zero) write 1 to their word, and whoever has waited for the GPU looks at the words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.errors import InvalidArgumentError, ResourceExhaustedError
from gpugraph.kernel import note_op
from gpugraph.memory import Allocator

__all__ = ["Failures"]

MOST = 4096
"""Kernels that may fail, of one GPU in one session."""


class Failures:
    """The words of one GPU."""

    def __init__(self, pinned: Allocator) -> None:
        self._pinned = pinned
        self._address: int | None = None
        self._words: Any = None
        self._said: list[tuple[str, str, Any]] = []
        self._slots: dict[tuple[str, str], int] = {}

    def slot(self, said: str, name: str, origin: Any) -> int:
        """The address of the word of an op, which fails by what `said` says."""
        if self._address is None:
            self._take()
        assert self._address is not None
        key = said, name
        if key not in self._slots:
            if len(self._said) == MOST:
                raise ResourceExhaustedError(
                    None, None, f"More than {MOST} kernels of a session that may fail"
                )
            self._slots[key] = len(self._said)
            self._said.append((said, name, origin))
        return self._address + 4 * self._slots[key]

    def _take(self) -> None:
        address = self._pinned.allocate_raw(4 * MOST)
        if address is None:
            raise ResourceExhaustedError(None, None, "No pinned memory for what kernels refuse")
        region = self._pinned.host_region(address)
        self._words = np.ndarray(MOST, np.int32, region.buffer, address - region.base)
        self._words[:] = 0
        self._address = address

    def check(self) -> None:
        """InvalidArgumentError, which names the op, if a kernel that is done has failed."""
        count = len(self._said)
        if not count or not self._words[:count].any():
            return
        [at, *_] = np.flatnonzero(self._words[:count])
        self._words[:count] = 0
        said, name, origin = self._said[at]
        error = InvalidArgumentError(None, None, said)
        note_op(error, name, origin)
        raise error

    def close(self) -> None:
        """Gives the words back."""
        if self._address is not None:
            self._words = None
            self._pinned.deallocate_raw(self._address)
            self._address = None
