"""Stages that read files: lines of text, TFRecords, records of fixed length, and caches in
files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from gpugraph.base.dtypes import string
from gpugraph.base.errors import AlreadyExistsError, invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.base.whole_files import open_to_read, system_errors
from gpugraph.formats.record_files import InflatedFile
from gpugraph.formats.tf_record import read_record, read_record_lists, write_record
from gpugraph.ops.datasets.cache_stages import Cached
from gpugraph.ops.datasets.elements.dataset_declaration import Row, dataset_op
from gpugraph.ops.datasets.elements.positions import packed, unpacked
from gpugraph.ops.datasets.elements.row_blocks import MAX_AHEAD
from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline, Stage
from gpugraph.ops.datasets.passed_stages import Passed
from gpugraph.ops.parsing.parsed_features import strings
from gpugraph.ops.readers.record_sources import FixedLengths

OpenFile = Callable[[bytes], Iterator[bytes]]


class Files(Stage):
    """A dataset of the records of several files, one file after the other."""

    def __init__(self, kind: str, names: Any, open_file: OpenFile) -> None:
        self.kind = kind  # type: ignore[misc]
        self.names = [bytes(name) for name in names.reshape(-1).tolist()]
        self.open_file = open_file

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the records."""
        return Records(self)


class Records(Elements):
    """An iteration over the records of files. `number` counts the records that were read from the
    current file.
    """

    kept = ("file", "number")
    has_rows = True
    ahead = MAX_AHEAD

    def __init__(self, stage: Files) -> None:
        self.stage = stage
        self.file = self.number = 0
        self.reader: Any = None
        self.failure: BaseException | None = None

    def next(self) -> Element | None:
        """Return the next record as a scalar string."""
        records = self.next_records(1)
        if not records:
            return None
        array = np.empty((), object)
        array[()] = records[0]
        return (array,)

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next records, stacked."""
        records = self.next_records(count)
        return (strings(records),) if records else None

    def next_records(self, count: int) -> list[bytes]:
        """Return up to `count` of the next records. The list is empty only at the end."""
        records: list[bytes] = []
        if self.failure is not None:
            self._raise()
        while len(records) < count and self.file < len(self.stage.names):
            before = len(records)
            try:
                if self.reader is None:
                    self.reader = self.stage.open_file(self.stage.names[self.file])
                if isinstance(self.reader, RecordLists):
                    while part := self.reader.several(count - len(records)):
                        records += part
                else:
                    records.extend(islice(self.reader, count - before))
            except BaseException as error:
                self.number += len(records) - before
                self.failure = error
                if not records:
                    self._raise()
                return records
            self.number += len(records) - before
            if len(records) < count:
                self._leave()
        return records

    def _raise(self) -> NoReturn:
        """Open the next file, and raise the error that ended the current file."""
        failure, self.failure = self.failure, None
        assert failure is not None
        self._leave()
        raise failure

    def _leave(self) -> None:
        """Close the current file and continue with the next file."""
        self._close_reader()
        self.file, self.number = self.file + 1, 0

    def _close_reader(self) -> None:
        reader, self.reader = self.reader, None
        if reader is not None and hasattr(reader, "close"):
            reader.close()

    def close(self) -> None:
        """Close the file."""
        self._close_reader()

    def restore(self, state: Any) -> None:
        """Open the saved file again, and skip the records that were read before."""
        self._close_reader()
        self.failure = None
        self.file, self.number = state
        if self.number and self.file < len(self.stage.names):
            self.reader = self.stage.open_file(self.stage.names[self.file])
            for _ in range(self.number):
                next(self.reader, None)


class RecordLists(Iterator[bytes]):
    """An iterator over the records of a file. It reads several records at a time, as a list."""

    def __init__(self, lists: Generator[list[bytes], None, None]) -> None:
        self._lists = lists
        self._list: list[bytes] = []
        self._place = 0

    def __next__(self) -> bytes:
        """Return the next record."""
        for record in self.several(1):
            return record
        raise StopIteration

    def several(self, count: int) -> list[bytes]:
        """Return up to `count` of the next records. The list is empty at the end, or if `count` is
        0.
        """
        while self._place == len(self._list):
            self._list, self._place = next(self._lists, _NO_RECORDS), 0
            if self._list is _NO_RECORDS:
                return []
        part = self._list[self._place : self._place + count]
        self._place += len(part)
        return part

    def close(self) -> None:
        """Close the file."""
        self._lists.close()


_NO_RECORDS: list[bytes] = []


def text_lines(compression: str, name: bytes) -> RecordLists:
    """Return an iterator over the lines of a file, without line ends."""
    return RecordLists(_line_lists(compression, name))


def _line_lists(compression: str, name: bytes) -> Generator[list[bytes], None, None]:
    path = os.fsdecode(name)
    with system_errors(name):
        source: Any = open_to_read(path)
    with closing(source), system_errors(name):
        read = InflatedFile(source, compression, path).read if compression else source.read1
        yield from _lines_of_parts(iter(partial(read, _PART_BYTES), b""))


_PART_BYTES = 1 << 18


def _lines_of_parts(parts: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of the lines of a text that is passed in parts. The lines have no line ends."""
    begun: list[bytes] = []  # the parts of the last line
    has_returns = False
    for part in parts:
        has_returns = has_returns or b"\r" in part
        *lines, rest = part.split(b"\n")
        if lines:
            lines[0] = b"".join([*begun, lines[0]])
            begun = []
            yield [line.removesuffix(b"\r") for line in lines] if has_returns else lines
        begun.append(rest)
    last = b"".join(begun)
    if last:
        yield [last.removesuffix(b"\r")]


def _records(compression: str, name: bytes) -> RecordLists:
    return RecordLists(_record_lists(compression, name))


def _record_lists(compression: str, name: bytes) -> Generator[list[bytes], None, None]:
    path = os.fsdecode(name)
    with system_errors(name):
        source = open_to_read(path)
    with closing(source), system_errors(name):
        yield from read_record_lists(InflatedFile(source, compression, path), path)


def _checked(row: Row) -> str:
    compression = row.text("compression_type") if "compression_type" in row.names else ""
    if compression not in ("", "ZLIB", "GZIP"):
        raise invalid_argument("Unsupported compression_type.")
    return compression


def _fixed(row: Row) -> Stage:
    compression = _checked(row)
    header, record, footer = (row.number(f"{n}_bytes") for n in ("header", "record", "footer"))
    if header < 0:
        raise invalid_argument("header_bytes must be >= 0")
    if record <= 0:
        raise invalid_argument("record_bytes must be > 0")
    if footer < 0:
        raise invalid_argument("footer_bytes must be >= 0")
    read = FixedLengths(header, record, footer, 0, compression)
    names = row["filenames"]
    return Files("FixedLengthRecord", names, partial(_fixed_records, read, header, record, footer))


def _fixed_records(
    read: FixedLengths, header: int, record: int, footer: int, name: bytes
) -> Iterator[bytes]:
    compression = read._encoding
    if not compression:
        with system_errors(name):
            size = os.stat(os.fsdecode(name)).st_size
        body = size - header - footer
        if body % record:
            raise invalid_argument(
                f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
                f'"{os.fsdecode(name)}" has body length {body} bytes, which is not an exact '
                f"multiple of the record length ({record} bytes)."
            )
    return (content for _, content in read(name))


class CachedInFile(Passed):
    """A dataset that computes its elements once and then keeps them in a file.

    During the first pass, a file with the suffix `.lockfile` exists.
    """

    kind = "FileCache"
    may_be_read_ahead = False  # its file shows how far the first pass is

    def __init__(self, source: Stage, path: str) -> None:
        super().__init__(source)
        self.path = path

    @property
    def file(self) -> str:
        """The path of the file with the elements."""
        return f"{self.path}.data"

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the file if it exists. Otherwise iterate over the source, and write its
        elements to the file.
        """
        if os.path.exists(self.file):
            return CacheReader(self)
        return CacheWriter(self, self.source.elements(pipeline))

    def cardinality(self) -> int:
        """Return the cardinality of the source."""
        return self.source.cardinality()


class CacheReader(Elements):
    """An iteration over the elements in a cache file."""

    kept = ("index",)

    def __init__(self, stage: CachedInFile) -> None:
        self.stage = stage
        self.index = self.offset = 0
        with system_errors(stage.file):
            self.source = open_to_read(stage.file)

    def next(self) -> Element | None:
        """Return the next element of the file."""
        if self.source.closed:
            return None
        with system_errors(self.stage.file):
            record = read_record(self.source, self.stage.file, self.offset)
        if record is None:
            self.close()
            return None
        self.index += 1
        self.offset += len(record) + 16
        return tuple(unpacked(record))

    def close(self) -> None:
        """Close the file."""
        self.source.close()

    def restore(self, state: Any) -> None:
        """Skip the elements that were read before the position was saved."""
        for _ in range(state[0]):
            self.next()


class CacheWriter(Elements):
    """An iteration over the source that writes its elements to a file."""

    kept = ("index", "source")

    def __init__(self, stage: CachedInFile, source: Elements) -> None:
        self.stage, self.source = stage, source
        self.index = 0
        self.target: Any = None
        self.is_over = False
        self.lock = f"{stage.path}.lockfile"

    def _open(self) -> None:
        with system_errors(self.lock):
            try:
                self.target = open(self.lock, "xb")  # noqa: SIM115 - until the end of the pass
            except FileExistsError:
                raise AlreadyExistsError.of_no_node(
                    "There appears to be a concurrent caching iterator running - cache lockfile "
                    f"already exists ('{self.lock}'). If you are sure no other running TF "
                    "computations are using this cache prefix, delete the lockfile and "
                    "re-initialize the iterator."
                ) from None

    def next(self) -> Element | None:
        """Write the next element of the source to the file, and return it."""
        if self.is_over:
            return None
        if self.target is None:
            self._open()
        element = self.source.next()
        if element is None:
            self.target.close()
            os.replace(self.lock, self.stage.file)
            self.is_over, self.target = True, None
            return None
        write_record(self.target, packed(list(element)))
        self.index += 1
        return element

    def close(self) -> None:
        """Close the file. If the pass is incomplete, remove the file."""
        if self.target is not None:
            self.target.close()
            self.target = None
            os.unlink(self.lock)
        self.source.close()

    def restore(self, state: Any) -> None:
        """Read the elements before the saved position again, and write them to the file again."""
        for _ in range(state[0]):
            self.next()


# -- op types


def _cache(row: Row) -> Stage:
    path = row.text("filename")
    return CachedInFile(row.source, path) if path else Cached(row.source)


dataset_op(
    "TextLineDataset", "filenames: string, compression_type: string, buffer_size: int64",
    lambda row: _file_stage("TextLine", row, text_lines), "The lines of files.", has_types=False,
)  # fmt: skip
dataset_op(
    "TFRecordDataset", "filenames: string, compression_type: string, buffer_size: int64",
    lambda row: _file_stage("TFRecord", row, _records), "The records of TFRecord files.",
    has_types=False,
)  # fmt: skip
_LENGTHS = "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64"
dataset_op(
    "FixedLengthRecordDataset", f"{_LENGTHS}, buffer_size: int64", lambda row: _string(_fixed(row)),
    "The records of files of records of one length.", has_types=False,
)  # fmt: skip
dataset_op(
    "FixedLengthRecordDatasetV2", f"{_LENGTHS}, buffer_size: int64, compression_type: string",
    lambda row: _string(_fixed(row)),
    "The records of files of records of one length.", has_types=False,
)  # fmt: skip
dataset_op(
    "CacheDataset", "input_dataset: variant, filename: string", _cache, "Kept elements.",
    harmless_without=1,
)  # fmt: skip
dataset_op(
    "CacheDatasetV2", "input_dataset: variant, filename: string, cache: resource", _cache,
    "Kept elements.", harmless_without=1,
)  # fmt: skip


def _string(stage: Stage) -> Stage:
    stage.types, stage.shapes = (string,), (TensorShape.of(()),)
    return stage


def _file_stage(kind: str, row: Row, read: Callable[[str, bytes], Iterator[bytes]]) -> Stage:
    return _string(Files(kind, row["filenames"], partial(read, _checked(row))))
