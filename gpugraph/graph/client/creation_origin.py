"""Where the user made an operation: the lines outside this package that called it.

Every error that names a node also names these lines, so they are taken at every op. Taking them
must be cheap (about a microsecond): a frame is kept as its code and the offset of the instruction
it was at, and turned into a line of text when somebody reads it. Operations made at the same
place share one `Origin`, which their graph keeps.
"""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import Path
from types import CodeType, FrameType

_PACKAGE = str(Path(__file__).resolve().parents[2]) + os.sep


class Origin:
    """Up to three frames of user code, innermost first. `str()` gives `file.py:12 (in train)`."""

    __slots__ = ("_frames",)

    def __init__(self, frames: tuple[tuple[CodeType, int], ...]) -> None:
        self._frames = frames

    def __str__(self) -> str:
        if not self._frames:
            return "<unknown>"
        code, offset = self._frames[0]
        return f"{code.co_filename}:{_line(code, offset)} (in {code.co_name})"

    def __repr__(self) -> str:
        return f"Origin({self})"

    @property
    def source(self) -> str:
        """The text of the innermost user line, stripped, or the empty string."""
        return self.frames[0][3] if self._frames else ""

    @property
    def frames(self) -> list[tuple[str, int, str, str]]:
        """(file, line, function, source text) of each kept frame, innermost first."""
        return [_readable(code, _line(code, offset)) for code, offset in self._frames]

    @property
    def frames_with_start_lines(self) -> list[tuple[str, int, str, str, int]]:
        """The same, and the line where the function begins."""
        starts = [code.co_firstlineno for code, _ in self._frames]
        return [(*frame, start) for frame, start in zip(self.frames, starts)]


def _readable(code: CodeType, line: int) -> tuple[str, int, str, str]:
    file = code.co_filename
    return file, line, code.co_name, linecache.getline(file, line).strip()


def _line(code: CodeType, offset: int) -> int:
    """The line of the instruction at `offset`."""
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def here(known: dict[tuple[int, ...], Origin]) -> Origin:
    """The user's lines that called into this package just now.

    `known` holds what was returned before: the same lines give the same Origin. That keeps the
    code objects alive, so that their ids, by which it is keyed, stay theirs.
    """
    first = _outside(sys._getframe(2))
    if first is None:
        return _NOWHERE
    place: tuple[int, ...] = (id(first.f_code), first.f_lasti)
    third = None
    second = _outside(first.f_back)
    if second is not None:
        place += (id(second.f_code), second.f_lasti)
        third = _outside(second.f_back)
    if third is not None:
        place += (id(third.f_code), third.f_lasti)
    return known.get(place) or known.setdefault(place, _origin(first, second, third))


def _origin(*frames: FrameType | None) -> Origin:
    return Origin(tuple([(frame.f_code, frame.f_lasti) for frame in frames if frame is not None]))


def _outside(frame: FrameType | None) -> FrameType | None:
    """This frame, or the next one outwards that is not of this package."""
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def stack_level() -> int:
    """The `stacklevel` of `warnings.warn` by which the caller's warning names the user's line."""
    level, frame = 1, sys._getframe(1)
    outside = _outside(frame)
    while outside is not None and frame is not outside and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    return level


_NOWHERE = Origin(())
