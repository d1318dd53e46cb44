"""Datasets of rows with typed columns: CSV files, and queries of SQLite databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

import numpy as np

from gpugraph.base.dtypes import DType, bool as bool_type, string
from gpugraph.base.errors import (
    AbortedError,
    CancelledError,
    DataLossError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
    invalid_argument,
)
from gpugraph.ops.datasets.elements.dataset_declaration import Row, dataset_op
from gpugraph.ops.datasets.elements.row_blocks import MappedBlocks
from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline, Stage, variant_of
from gpugraph.ops.datasets.file_stages import Files, Records, text_lines
from gpugraph.ops.files.decode_csv import csv_fields, csv_values, plain_columns
from gpugraph.ops.parsing.parsed_features import strings


class CsvRows(Files):
    """A dataset of the rows of CSV files. Each selected column is a scalar component of the
    elements.

    `defaults` has an array for each column. The array contains the default value, or is empty if
    the column must have a value.
    """

    def __init__(self, row: Row, compression: str) -> None:
        self.delimiter = row.text("field_delim").encode()
        if len(self.delimiter) != 1:
            raise invalid_argument("field_delim should be only 1 char")
        self.has_quotes = bool(row.number("use_quote_delim"))
        header = bool(row.number("header"))
        super().__init__("CSV", row["filenames"], partial(self._open, header, compression))
        self.missing = row.text("na_value").encode()
        self.chosen = [int(number) for number in row["select_cols"]]
        self.defaults: Sequence[Any] = row["record_defaults"]

    def _open(self, header: bool, compression: str, name: bytes) -> Iterator[bytes]:
        records = self._records(text_lines(compression, name))
        if header:
            next(records, None)
        return records

    def _records(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the records in `lines`. A record has several lines if a quoted field contains line
        ends.
        """
        for line in lines:
            record = line
            while self.has_quotes and record.count(b'"') % 2:
                following = next(lines, None)
                if following is None:
                    break
                record += b"\n" + following
            yield record

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the rows."""
        return MappedBlocks(Records(self), self._columns, self._row)

    def _columns(self, records: Element) -> Element:
        """Return a block with the values of `records`: an array for each column."""
        lines = records[0].tolist()
        columns = plain_columns(
            lines, self.delimiter, self.has_quotes, self.chosen, self.defaults, self.missing
        )
        if columns is not None:
            return tuple(columns)
        rows = [self._values(line) for line in lines]
        return tuple(
            [
                strings(values) if default.dtype.hasobject else np.array(values, default.dtype)
                for values, default in zip(zip(*rows), self.defaults)
            ]
        )

    def _row(self, record: Element) -> Element:
        values = self._values(record[0].item())
        return tuple([_scalar(value, d.dtype) for value, d in zip(values, self.defaults)])

    def _values(self, record: bytes) -> list[Any]:
        """Return the values of one record."""
        fields = csv_fields(record, self.delimiter, self.has_quotes)
        try:
            return list(csv_values(fields, 0, self.chosen, self.defaults, self.missing))
        except InvalidArgumentError as error:
            text = error.message.replace(" in record 0", " in record")
            raise invalid_argument(text) from error


def _scalar(value: Any, dtype: Any) -> Any:
    return variant_of(value) if dtype.hasobject else np.array(value, dtype)


class SqlRows(Stage):
    """A dataset of the rows that a query of a SQLite database returns."""

    kind = "Sql"

    def __init__(self, driver: str, source: str, query: str) -> None:
        if driver != "sqlite":
            raise invalid_argument(
                f"tensorflow/core/kernels/data/sql: The set of supported databases is: "
                f"{{'sqlite'}}, not '{driver}'."
            )
        self.source, self.query = source, query

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the rows."""
        return SqlElements(self)


_CLASSES: dict[type[OpError], tuple[int, ...]] = {
    AbortedError: (4,),
    CancelledError: (9,),
    DataLossError: (11,),
    FailedPreconditionError: (8, 20),
    InternalError: (2, 21),
    InvalidArgumentError: (12, 14, 19, 26),
    OutOfRangeError: (25,),
    PermissionDeniedError: (3, 23),
    ResourceExhaustedError: (13, 18, 22),
    UnavailableError: (5, 6, 7, 15),
}
"""By class, the primary result codes of SQLite (https://sqlite.org/rescode.html)."""


def _class_of(number: int) -> Any:
    """Return the error class for a result code of SQLite."""
    kinds = (kind for kind, codes in _CLASSES.items() if number & 0xFF in codes)
    return next(kinds, UnknownError)


class SqlElements(Elements):
    """An iteration over the rows of a query."""

    kept = ("index",)

    def __init__(self, stage: SqlRows) -> None:
        self.stage, self.index = stage, 0
        self.connection: Any = None
        self.cursor: Any = None

    def next(self) -> Element | None:
        """Return the next row."""
        try:
            if self.cursor is None:
                self._open()
            values = self.cursor.fetchone()
        except sqlite3.Error as error:
            number = getattr(error, "sqlite_errorcode", 1)
            raise _class_of(number).of_no_node(f"{error}: {self.stage.query}") from error
        if values is None:
            return None
        self.index += 1
        if len(values) != len(self.stage.types):
            raise invalid_argument(
                f"The number of columns in query ({len(values)}) must match the number of elements "
                f"in output_types ({len(self.stage.types)})."
            )
        return tuple([_column(v, dtype) for v, dtype in zip(values, self.stage.types)])

    def _open(self) -> None:
        try:
            self.connection = sqlite3.connect(
                f"file:{quote(self.stage.source)}?mode=ro", uri=True, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise invalid_argument(f"Failed to connect to database: {error}") from error
        try:
            # SQLite reads the file only when a query needs it.
            self.connection.execute("SELECT count(*) FROM sqlite_master").close()
            self.cursor = self.connection.execute(self.stage.query)
        except sqlite3.Error as error:
            number = getattr(error, "sqlite_errorcode", 1)
            message = f"Prepare() failed: [{number}] {error}: {self.stage.query}"
            raise _class_of(number).of_no_node(message) from error

    def close(self) -> None:
        """Close the database."""
        if self.connection is not None:
            self.connection.close()
            self.connection = self.cursor = None

    def restore(self, state: Any) -> None:
        """Skip the rows that were read before the position was saved."""
        for _ in range(state[0]):
            self.next()


def _column(value: Any, dtype: DType) -> Any:
    if dtype == string:
        text = b"" if value is None else value if isinstance(value, bytes) else str(value).encode()
        return variant_of(text)
    if dtype == bool_type:
        return np.array(bool(value))
    if not (dtype.is_integer or dtype.is_floating):
        raise UnimplementedError.of_no_node(f"Use of unsupported TensorFlow data type {dtype.name}")
    return np.array(0 if value is None else value, dtype.as_numpy_dtype)


def _csv(row: Row) -> Stage:
    compression = row.text("compression_type")
    if compression not in ("", "ZLIB", "GZIP"):
        raise invalid_argument(f"Unsupported compression_type: {compression}.")
    return CsvRows(row, compression)


dataset_op(
    "CSVDataset ExperimentalCSVDataset",
    "filenames: string, compression_type: string, buffer_size: int64, header: bool, "
    "field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, "
    "record_defaults: output_types",
    _csv, "The rows of CSV files.",
)  # fmt: skip
dataset_op(
    "SqlDataset ExperimentalSqlDataset",
    "driver_name: string, data_source_name: string, query: string",
    lambda row: SqlRows(row.text("driver_name"), row.text("data_source_name"), row.text("query")),
    "The rows of a query.",
)  # fmt: skip
