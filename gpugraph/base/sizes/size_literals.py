"""A setting of each thread: whether a Size may be used as an int."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class OpenSizeError(NotImplementedError):
    """The error that `literals_refused` raises if a Size is used as an int."""


class _Literals(threading.local):
    are_refused = False


LITERALS = _Literals()


@contextmanager
def literals_refused() -> Iterator[None]:
    """Raise OpenSizeError if this thread uses a Size as an int inside the block.

    Outside of the block, a Size records a condition and returns its value. Inside the block, that
    value would become part of generated code, which would then be valid for a single value of the
    size.
    """
    before, LITERALS.are_refused = LITERALS.are_refused, True
    try:
        yield
    finally:
        LITERALS.are_refused = before
