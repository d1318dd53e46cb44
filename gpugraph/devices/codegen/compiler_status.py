"""The status of a C compiler, for reports."""

from __future__ import annotations

from typing import NamedTuple


class CompilerStatus(NamedTuple):
    """The status of a C compiler.

    Args:
      path: the compiler's file, or "" if it was not found.
      version: the compiler's `__VERSION__`, or "" before the compiler has compiled something.
      reason: the reason why nothing can be compiled, or "" if compilation is possible.
      folder: the folder of compiled objects.
      cache_reason: the reason why no objects are stored in the folder, or "".
      compiled, loaded, failed: the numbers of sources that were compiled, were found in the cache,
        or could not be compiled because of an error.
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
