"""Files that behave as in Python 2, where text and bytes are not distinguished.

`open_file` is `open` in translated programs. Both kinds of its files write text and bytes. Line
ends are not converted, and bytes that are not UTF-8 are written as they were read. `pickle` reads
files of text too, and decodes the strings of Python 2. `csv` reads files of bytes.
"""

from __future__ import annotations

import csv
import io
import pickle
from contextlib import suppress
from typing import IO, Any

_ERRORS = "surrogateescape"


class _TextFile(io.TextIOWrapper):
    """A file of text that also writes bytes."""

    mode: str
    is_unbuffered = False

    def write(self, text: Any) -> int:
        """Write text, or the bytes of any object that has a buffer."""
        if isinstance(text, str):
            count: Any = super().write(text)
        else:
            self.flush()
            count = self.buffer.write(text)
        if self.is_unbuffered:
            self.flush()
        return int(count)


def _encoded(data: Any) -> Any:
    return data.encode("utf-8", _ERRORS) if isinstance(data, str) else data


class _BinaryWriter(io.BufferedWriter):
    """A file of bytes, opened to write, that also writes text."""

    def write(self, data: Any) -> int:
        """Write bytes, or text as UTF-8."""
        return super().write(_encoded(data))


class _BinaryRandom(io.BufferedRandom):
    """A file of bytes, opened to read and write, that also writes text."""

    def write(self, data: Any) -> int:
        """Write bytes, or text as UTF-8."""
        return super().write(_encoded(data))


def open_file(
    file: Any, mode: str = "r", buffering: int = -1, *arguments: Any, **options: Any
) -> IO[Any]:
    """Open a file as `open` of Python 2 does.

    If the call has further arguments, such as `encoding`, the call is passed to `io.open`.
    """
    if arguments or options or not set(mode) <= set("rwabtU+"):
        return open(file, mode.replace("U", ""), buffering, *arguments, **options)
    kind = "".join(letter for letter in mode if letter in "rwa+")
    raw = io.FileIO(file, f"r{kind}" if kind in ("", "+") else kind)
    stream = _stream(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
    if "b" in mode:
        return stream
    newline = None if "U" in mode else "\n"
    text = _TextFile(stream, "utf-8", _ERRORS, newline, line_buffering=buffering == 1)
    text.mode, text.is_unbuffered = mode, buffering == 0
    return text


def _stream(raw: io.FileIO, size: int) -> Any:
    """Return a file of bytes with a buffer of `size` bytes."""
    if raw.readable() and raw.writable():
        return _BinaryRandom(raw, size)
    return io.BufferedReader(raw, size) if raw.readable() else _BinaryWriter(raw, size)


def _bytes_of(file: Any) -> Any:
    """Return the file of bytes below a file of text, at the same position."""
    if not isinstance(file, io.TextIOWrapper):
        return file
    with suppress(OSError):  # a pipe has no position
        file.seek(file.tell())
    if file.writable():
        file.flush()
    return file.buffer


class _Pickler(pickle.Pickler):
    """A pickler that also writes to files of text."""

    def __init__(self, file: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(_bytes_of(file), *arguments, **options)


class _Unpickler(pickle.Unpickler):
    """An unpickler that also reads files of text, and strings of Python 2 that are not ASCII."""

    def __init__(self, file: Any, **options: Any) -> None:
        super().__init__(_bytes_of(file), **{"encoding": "latin1", **options})


_loads = pickle.loads


def _dump(obj: Any, file: Any, *arguments: Any, **options: Any) -> None:
    _Pickler(file, *arguments, **options).dump(obj)


def _load(file: Any, **options: Any) -> Any:
    return _Unpickler(file, **options).load()


def _loads_of_any(data: Any, **options: Any) -> Any:
    return _loads(_encoded(data), **{"encoding": "latin1", **options})


_reader = csv.reader


def _csv_reader(lines: Any, *arguments: Any, **options: Any) -> Any:
    if isinstance(lines, io.BufferedIOBase):
        lines = (line.decode("utf-8", _ERRORS) for line in lines)
    return _reader(lines, *arguments, **options)


def install() -> None:
    """Make `pickle` read and write files of text, and `csv` read files of bytes, in this
    process.
    """
    csv.reader = _csv_reader
    changed: dict[str, Any] = {
        "dump": _dump,
        "load": _load,
        "loads": _loads_of_any,
        "Pickler": _Pickler,
        "Unpickler": _Unpickler,
    }
    for name, value in changed.items():
        value.__name__ = value.__qualname__ = name
        value.__module__ = "pickle"
        setattr(pickle, name, value)
