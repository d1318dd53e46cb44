"""The file formats of readers, as functions that open a file and return an iterator over its
records (key, value).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, BinaryIO

from gpugraph.base.errors import OutOfRangeError, invalid_argument
from gpugraph.base.whole_files import open_to_read, system_errors
from gpugraph.formats.record_files import InflatedFile
from gpugraph.formats.tf_record import read_record

Records = Iterator[tuple[bytes, bytes]]
OpenWork = Callable[[bytes], Records]
"""A function that opens the file with this name and returns its records. It raises the errors of
opening.
"""

_AT_ONCE = 1 << 20
_FRAME = 16  # the number of bytes of a TFRecord in addition to its data


def _open(name: bytes) -> BinaryIO:
    with system_errors(name):
        return open_to_read(os.fsdecode(name))


def names(name: bytes) -> Records:
    """Return `name` as the key and the value of the only record, without opening a file."""
    return iter([(name, name)])


def whole_files(name: bytes) -> Records:
    """Return the whole file as the only record, with its name as the key."""
    with _open(name) as source, system_errors(name):
        return iter([(name, source.read())])


def text_lines(skipped: int, name: bytes) -> Records:
    """Return the lines of a file, without line ends. The first `skipped` lines are omitted.

    Keys are "file:line", where lines are counted from 1.
    """
    source = _open(name)

    def read() -> Records:
        with closing(source), system_errors(name):
            for number, line in enumerate(source, 1):
                if number > skipped:
                    yield b"%b:%d" % (name, number), _without_end(line)

    return read()


def _without_end(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def tf_records(compression: str, name: bytes) -> Records:
    """Return the records of a TFRecord file. A key is "file:offset". The offset is the position of
    the record in the uncompressed file.
    """
    if compression not in ("", "ZLIB", "GZIP"):
        raise invalid_argument(f"Unsupported compression_type:{compression}")
    source = _open(name)
    path = os.fsdecode(name)

    def read() -> Records:
        offset = 0
        with closing(source), system_errors(name):
            inflated = InflatedFile(source, compression, path)
            while (record := read_record(inflated, path, offset)) is not None:
                yield b"%b:%d" % (name, offset), record
                offset += len(record) + _FRAME

    return read()


class FixedLengths:
    """A callable that returns the records of fixed length between the header and the footer of a
    file.

    Keys are "file:number", where records are counted from 0.

    Args:
      header, record, footer: the sizes of the header, a record and the footer in bytes.
      hop: the distance from the start of one record to the start of the next. 0 means the record's
        length.
      encoding: "ZLIB", "GZIP" or "" for a file that is not compressed.
    """

    def __init__(self, header: int, record: int, footer: int, hop: int, encoding: str) -> None:
        for what, size in (("header", header), ("footer", footer), ("hop", hop)):
            if size < 0:
                raise invalid_argument(f"{what}_bytes must be >= 0 not {size}")
        if record <= 0:
            raise invalid_argument(f"record_bytes must be > 0 not {record}")
        if encoding not in ("", "ZLIB", "GZIP"):
            raise invalid_argument(f"encoding must be ZLIB, GZIP or empty, not '{encoding}'")
        self._header, self._record, self._footer = header, record, footer
        self._hop, self._encoding = hop or record, encoding

    def __call__(self, name: bytes) -> Records:
        """Return the records of the file. Raises OutOfRangeError if the file ends within its
        header.
        """
        source = _open(name)
        inflated = InflatedFile(source, self._encoding, os.fsdecode(name))
        try:
            with system_errors(name):
                if len(_take(inflated, self._header)) < self._header:
                    raise OutOfRangeError.of_no_node(f"reached end of file: {os.fsdecode(name)}")
        except BaseException:
            source.close()
            raise
        return self._read(source, inflated, name)

    def _read(self, source: BinaryIO, inflated: InflatedFile, name: bytes) -> Records:
        """Yield the records. A record is yielded only after the bytes that follow it have been
        read, as many as the footer has.

        So the footer is recognized even in a compressed file, whose size is unknown.
        """
        window, number = b"", 0
        needed = self._record + self._footer
        with closing(source), system_errors(name):
            while True:
                window += _take(inflated, needed - len(window))
                if len(window) < needed:
                    return
                yield b"%b:%d" % (name, number), window[: self._record]
                number += 1
                if self._hop > len(window):
                    skipped = self._hop - len(window)
                    if len(_take(inflated, skipped, keep=False)) < skipped:
                        return
                window = window[self._hop :]


def _take(source: Any, size: int, keep: bool = True) -> Any:
    """Read `size` bytes, or fewer at the end of the file.

    Args:
      keep: whether to return the bytes. Otherwise they are discarded, and a range of the same
        length is returned.
    """
    parts, missing = [], size
    while missing > 0 and (part := source.read(min(missing, _AT_ONCE))):
        missing -= len(part)
        if keep:
            parts.append(part)
    return b"".join(parts) if keep else range(size - missing)
