"""While a strategy updates all copies of a variable: the replica whose copy is being updated."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Update(threading.local):
    def __init__(self) -> None:
        self.replica: int | None = None


_UPDATE = _Update()


def update_replica() -> int | None:
    """Return the number of the replica whose copy is being updated in this thread, or None."""
    return _UPDATE.replica


@contextmanager
def updating(replica: int | None) -> Iterator[None]:
    """Mark the block as an update of one replica's copy."""
    old, _UPDATE.replica = _UPDATE.replica, replica
    try:
        yield
    finally:
        _UPDATE.replica = old
