"""The status of a C compiler, for reports."""

from __future__ import annotations

from typing import NamedTuple


class CompilerStatus(NamedTuple):
    """The status of a C compiler.

    Args:
      path: its file; empty if it was not found.
      version: its `__VERSION__`; empty until it has compiled something.
      reason: why nothing can be compiled; empty if it can.
      folder: the folder of compiled objects.
      cache_reason: why no objects are stored there.
      compiled, loaded, failed: the numbers of sources that were compiled, found in the cache, or
        not compiled because of an error.
      failures: the messages of the last errors.
      unfinished: the number of compilations that have not ended.
    """

    path: str
    version: str
    reason: str
    folder: str
    cache_reason: str
    compiled: int
    loaded: int
    failed: int
    failures: tuple[str, ...]
    unfinished: int
