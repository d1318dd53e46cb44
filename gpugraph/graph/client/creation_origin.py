"""The origin of an operation: the user's lines, outside of this package, that created it.

Every error that names a node also names these lines, so they are recorded for every op. Recording
must be cheap (about a microsecond): a frame is stored as its code object and the offset of its
current instruction, and is converted to a line of text only on access. Operations created by the
same lines share one `Origin`, which the graph keeps.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import CodeType, FrameType

_PACKAGE = str(Path(__file__).resolve().parents[2]) + os.sep
_MAX_FILES = 4096


class _FilesOfPackage(dict[str, bool]):
    """A cache: for each file name, whether the file belongs to this package."""

    def __missing__(self, file: str) -> bool:
        if len(self) >= _MAX_FILES:  # code of notebooks and strings keeps introducing new names
            self.clear()
        is_ours = self[file] = file.startswith(_PACKAGE)
        return is_ours


_IS_OURS = _FilesOfPackage()


GeneratedLines = Mapping[int, tuple[str, int, str]]
"""By line of a generated file: the file, the line and the function that it was generated from."""

_GENERATED: dict[str, GeneratedLines] = {}


def add_generated_code(file: str, lines: GeneratedLines) -> None:
    """Make origins name the user's lines from which the code of `file` was generated."""
    _GENERATED[file] = lines


def original_line(file: str, line: int) -> tuple[str, int, str] | None:
    """Return the user's file, line and function for a line of generated code. If the line was not
    generated, return None.
    """
    lines = _GENERATED.get(file)
    return None if lines is None else lines.get(line)


class Origin:
    """The user's code that created an operation: up to three stack frames, innermost first.

    `str()` returns text such as `file.py:12 (in train)`.
    """

    __slots__ = ("_frames",)

    def __init__(self, frames: tuple[tuple[CodeType, int], ...]) -> None:
        self._frames = frames

    def __str__(self) -> str:
        if not self._frames:
            return "<unknown>"
        code, offset = self._frames[0]
        file, line, function = _place(code, _line(code, offset))
        return f"{file}:{line} (in {function})"

    def __repr__(self) -> str:
        return f"Origin({self})"

    @property
    def source(self) -> str:
        """The text of the innermost user line, stripped, or the empty string."""
        return self.frames[0][3] if self._frames else ""

    @property
    def frames(self) -> list[tuple[str, int, str, str]]:
        """(file, line, function, source text) of each recorded frame, innermost first."""
        return [_readable(code, _line(code, offset)) for code, offset in self._frames]

    @property
    def frames_with_start_lines(self) -> list[tuple[str, int, str, str, int]]:
        """The tuples of `frames`, with the first line of the function appended to each tuple."""
        starts = [code.co_firstlineno for code, _ in self._frames]
        return [(*frame, start) for frame, start in zip(self.frames, starts)]


def _readable(code: CodeType, line: int) -> tuple[str, int, str, str]:
    file, line, function = _place(code, line)
    return file, line, function, linecache.getline(file, line).strip()


def _place(code: CodeType, line: int) -> tuple[str, int, str]:
    """Return the file, line and function that the user wrote for a line of `code`."""
    return original_line(code.co_filename, line) or (code.co_filename, line, code.co_name)


def _line(code: CodeType, offset: int) -> int:
    """Return the line of the instruction at `offset`."""
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def here(known: dict[tuple[int, ...], Origin]) -> Origin:
    """Return the origin of an operation that is being created: the user's lines on the stack.

    Calls from the same lines return the same Origin.

    Args:
      known: the origins of the graph so far. The keys contain ids of code objects. An Origin keeps
        its code objects alive, so that these ids are not reused.
    """
    is_ours = _IS_OURS
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_ours[frame.f_code.co_filename]:
        frame = frame.f_back
    if frame is None:
        return _NOWHERE
    place: tuple[int, ...] = (id(frame.f_code), frame.f_lasti)
    second, third = frame.f_back, None
    while second is not None and is_ours[second.f_code.co_filename]:
        second = second.f_back
    if second is not None:
        third = second.f_back
        while third is not None and is_ours[third.f_code.co_filename]:
            third = third.f_back
        place += (id(second.f_code), second.f_lasti)
        if third is not None:
            place += (id(third.f_code), third.f_lasti)
    return known.get(place) or known.setdefault(place, _origin(frame, second, third))


def _origin(*frames: FrameType | None) -> Origin:
    return Origin(tuple([(frame.f_code, frame.f_lasti) for frame in frames if frame is not None]))


def _outside(frame: FrameType | None) -> FrameType | None:
    """Return this frame, or the next outer frame whose code is not in this package."""
    while frame is not None and _IS_OURS[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


class TraceableObject:
    """The line of a program at which a scope was entered.

    Args:
      obj: the device as a string if the object describes a device scope, otherwise None.
      filename, lineno: the file and the line.
    """

    __slots__ = ("filename", "lineno", "obj")

    def __init__(self, obj: str | None, filename: str | None, lineno: int | None) -> None:
        self.obj, self.filename, self.lineno = obj, filename, lineno


def scope_place(obj: str | None) -> TraceableObject:
    """Return the user's line that enters a scope. The scope's context manager calls this function.

    Args:
      obj: the device if the scope is a device scope, otherwise None.
    """
    frame = _outside(sys._getframe(1))
    while frame is not None and frame.f_code.co_filename == contextlib.__file__:
        frame = _outside(frame.f_back)
    if frame is None:
        return TraceableObject(obj, None, None)
    return TraceableObject(obj, frame.f_code.co_filename, frame.f_lineno)


def stack_level() -> int:
    """Return the `stacklevel` for `warnings.warn`. A warning of the caller then shows the user's
    line.
    """
    level, frame = 1, sys._getframe(1)
    outside = _outside(frame)
    while outside is not None and frame is not outside and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    return level


_NOWHERE = Origin(())
