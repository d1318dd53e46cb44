"""Threads for kernels: as many as there are cores, waiting, not spinning, between two uses."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

__all__ = ["run_all", "thread_count"]

_POOLS: dict[int, ThreadPoolExecutor] = {}
"""The pool of this process; a forked child makes its own."""


def thread_count() -> int:
    """How many threads a kernel uses: the cores this process may run on, or GPUGRAPH_THREADS."""
    asked = os.environ.get("GPUGRAPH_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(works: Sequence[Callable[[], Any]]) -> None:
    """Runs the works at once, the first in this thread; raises the first error when all ended."""
    pool = _POOLS.get(os.getpid())
    if pool is None:
        pool = _POOLS[os.getpid()] = ThreadPoolExecutor(max(thread_count() - 1, 1), "gpugraph")
    others = [pool.submit(_quietly, work) for work in works[1:]]
    try:
        works[0]()
    finally:
        errors = [error for error in (other.exception() for other in others) if error is not None]
    if errors:
        raise errors[0]


def _quietly(work: Callable[[], Any]) -> None:
    """NumPy's floating point warnings are off in runs; other threads have settings of their own."""
    with np.errstate(all="ignore"):
        work()
