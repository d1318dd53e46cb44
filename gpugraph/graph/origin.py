"""Where the user made an operation: the lines outside this package that called it.

Every error that names a node also names these lines, so they are taken at every op. Taking them
must be cheap (about a microsecond): frames are kept as (code, line number) pairs, and turned
into text when somebody reads them.
"""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType

__all__ = ["Origin", "here"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEPTH = 3


class Origin:
    """Up to three frames of user code, innermost first. `str()` gives `file.py:12 (in train)`."""

    __slots__ = ("_frames",)

    def __init__(self, frames: tuple[tuple[CodeType, int], ...]) -> None:
        self._frames = frames

    def __str__(self) -> str:
        if not self._frames:
            return "<unknown>"
        code, line = self._frames[0]
        return f"{code.co_filename}:{line} (in {code.co_name})"

    def __repr__(self) -> str:
        return f"Origin({self})"

    @property
    def source(self) -> str:
        """The text of the innermost user line, stripped, or the empty string."""
        if not self._frames:
            return ""
        code, line = self._frames[0]
        return linecache.getline(code.co_filename, line).strip()

    @property
    def frames(self) -> list[tuple[str, int, str, str]]:
        """(file, line, function, source text) of each kept frame, innermost first."""
        return [
            (code.co_filename, line, code.co_name, linecache.getline(code.co_filename, line).strip())
            for code, line in self._frames
        ]


def here() -> Origin:
    """The user's lines that called into this package just now."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE):
        outer = frame.f_back
        if outer is None:
            return Origin(())
        frame = outer
    frames = [(frame.f_code, frame.f_lineno)]
    for _ in range(_DEPTH - 1):
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
        frames.append((frame.f_code, frame.f_lineno))
    return Origin(tuple(frames))
