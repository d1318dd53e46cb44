"""The status of a compiler, as a record."""

from __future__ import annotations

from typing import NamedTuple


class CompilerStatus(NamedTuple):
    """The status of the compiler.

    reason: why nothing is compiled; empty if there was no problem so far.
    version: the compiler's `__VERSION__`; empty while it was not needed.
    folder: the folder of objects. cache_reason: why they are not kept there.
    compiled, loaded, failed: the numbers of sources that were compiled, cached, refused.
    failures: messages of the last ones. unfinished: the number that are compiled now, or will be.
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
