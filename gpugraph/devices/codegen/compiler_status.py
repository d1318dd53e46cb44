"""What is known of a compiler, as a record."""

from __future__ import annotations

from typing import NamedTuple


class CompilerStatus(NamedTuple):
    """What is known of the compiler.

    reason: why nothing is compiled; empty where all is well so far.
    version: as the compiler knows it (`__VERSION__`); empty while it was not needed.
    folder: where objects are kept. cache_reason: why they are not kept there.
    compiled, loaded, failed: how many sources were compiled, found in the cache, refused.
    failures: messages of the last ones. unfinished: how many are compiled now, or will be.
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
