"""Whether a Size may be used as an int in this thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class OpenSizeError(NotImplementedError):
    """A Size was used as an int inside `literals_refused`."""


class _Literals(threading.local):
    are_refused = False


LITERALS = _Literals()


@contextmanager
def literals_refused() -> Iterator[None]:
    """Raise OpenSizeError in this thread where a Size is used as an int, instead of recording a
    condition: generated code would contain the number, and hold for one value of the size alone.
    """
    before, LITERALS.are_refused = LITERALS.are_refused, True
    try:
        yield
    finally:
        LITERALS.are_refused = before
