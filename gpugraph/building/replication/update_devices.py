"""The replica whose copy of a variable is being updated. The replica is recorded while a strategy
updates all copies.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Update(threading.local):
    def __init__(self) -> None:
        self.replica: int | None = None


_UPDATE = _Update()


def update_replica() -> int | None:
    """Return the index of the replica whose copy this thread is updating, or None."""
    return _UPDATE.replica


@contextmanager
def updating(replica: int | None) -> Iterator[None]:
    """Inside a `with` block, record that the copy of `replica` is being updated."""
    old, _UPDATE.replica = _UPDATE.replica, replica
    try:
        yield
    finally:
        _UPDATE.replica = old
