"""Threads for kernels, one for each core. Idle threads block instead of spinning."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.config.environment import thread_count

Work = Callable[[], Any]


class _Pool:
    """Daemon threads that take callables from one queue, call them, and report the end of each call
    to the caller's queue.
    """

    def __init__(self, size: int) -> None:
        self._works: SimpleQueue[tuple[Work, SimpleQueue[BaseException | None]]] = SimpleQueue()
        for number in range(size):
            name = f"gpugraph-kernels-{number}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()

    def start(self, work: Work, ended: SimpleQueue[BaseException | None]) -> None:
        self._works.put((work, ended))

    def _serve(self) -> None:
        np.seterr(all="ignore")  # as in runs; NumPy's error settings are per thread
        while True:
            work, ended = self._works.get()
            try:
                work()
            except BaseException as error:
                ended.put(error)
            else:
                ended.put(None)
            del work, ended


_POOLS: dict[int, _Pool] = {}
"""By process id, the pool of threads: a forked child has no threads, and creates a new pool."""
_MAKING = new_lock()


def run_in_threads(works: Sequence[Work]) -> None:
    """Call all of `works` in parallel, the first of them in this thread, and wait until all have
    returned.

    If `works[0]` raises an error, raise it. Otherwise, if another call raises an error, raise the
    earliest error.
    """
    pool = _POOLS.get(os.getpid())
    if pool is None:
        with _MAKING:
            pool = _POOLS.get(os.getpid()) or _Pool(max(thread_count() - 1, 1))
            _POOLS[os.getpid()] = pool
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    for work in works[1:]:
        pool.start(work, ended)
    try:
        works[0]()
    finally:
        errors = [ended.get() for _ in works[1:]]
    for error in errors:
        if error is not None:
            raise error
