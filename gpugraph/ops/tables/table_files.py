"""Text files from which tables are filled. Each line has a key and a value.

A file is read once, line by line. A line with too few columns, or with a malformed number, raises
an error with the number of the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.base.errors import invalid_argument
from gpugraph.base.lfs_pointers import BEGINNING, pointer_text_of_file
from gpugraph.base.whole_files import open_to_read, system_errors

WHOLE_LINE, LINE_NUMBER = -2, -1
"""Special column numbers: the whole line, and its line number (int64), counted from 0."""

_BITS = {dtypes.int32: 31, dtypes.int64: 63}


def read_columns(
    path: str, delimiter: bytes, vocab_size: int, columns: list[tuple[int, DType]]
) -> list[Any]:
    """Read columns of a text file, and return an array for each.

    Raises InvalidArgumentError if the delimiter is not one byte, if a line is empty, lacks a column
    or has a malformed number, or if there are fewer lines than `vocab_size`.

    Args:
      delimiter: the character between columns.
      vocab_size: the number of lines to read, or -1 for all lines.
      columns: for each column, its number, counted from 0, and its dtype. Special numbers mean the
        whole line or the line number.
    """
    if len(delimiter) != 1:
        raise invalid_argument("delimiter should be only 1 char")
    min_fields = max(column for column, _ in columns) + 1
    values: list[list[Any]] = [[] for _ in columns]
    for number, line in _lines(path, vocab_size):
        fields = line.split(delimiter) if min_fields > 0 else []
        if len(fields) < min_fields:
            raise invalid_argument(
                f"Invalid number of columns in {path} line {number} ({_shown(line)}) : expected at "
                f"least {min_fields} got {len(fields)}"
            )
        for (column, dtype), rows in zip(columns, values, strict=True):
            if column == LINE_NUMBER:
                rows.append(number)
                continue
            text = line if column == WHOLE_LINE else fields[column]
            value = text if dtype == dtypes.string else _number(text, dtype)
            if value is None:
                raise invalid_argument(
                    f"Field {_shown(text)} in line {number} is not a valid {_NAMES[dtype]}. The "
                    f"file is {path}"
                )
            rows.append(value)
    return [_array(rows, dtype) for rows, (_, dtype) in zip(values, columns, strict=True)]


def _lines(path: str, vocab_size: int) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the line, line without its line end) for the first `vocab_size` lines. -1
    means all lines.
    """
    count = offset = 0
    with system_errors(path), open_to_read(path) as file:
        for line in file:
            if count == vocab_size:
                return
            if not offset and line.startswith(BEGINNING):
                raise invalid_argument(f"Invalid content in {path}{pointer_text_of_file(path)}")
            offset += len(line)
            line = line.rstrip(b"\n").replace(b"\r", b"")
            if not line:
                raise invalid_argument(
                    f"Invalid content in {path}: empty line found at position {offset}. It is line "
                    f"{count}, counted from 0."
                )
            yield count, line
            count += 1
    if count < vocab_size:
        raise invalid_argument(
            f"Invalid vocab_size in {path}: expected {vocab_size} but got {count}"
        )


_NAMES = {
    dtypes.int32: "int32", dtypes.int64: "int64", dtypes.float32: "float", dtypes.float64: "double",
}  # fmt: skip


def _number(text: bytes, dtype: DType) -> Any:
    """Return the number in a text, or None if it is malformed or out of the dtype's range."""
    parse: Callable[[bytes], Any] = int if dtype in _BITS else float
    try:
        value = parse(text)
    except ValueError:
        return None
    if b"_" in text or (dtype in _BITS and not -(2 ** _BITS[dtype]) <= value < 2 ** _BITS[dtype]):
        return None
    return value


def _array(values: list[Any], dtype: DType) -> Any:
    array = np.empty(len(values), dtype.as_numpy_dtype)
    array[:] = values or array
    return array


def _shown(text: bytes) -> str:
    return text[:80].decode(errors="backslashreplace")


def columns_of(
    key_index: int, value_index: int, key_dtype: DType, value_dtype: DType
) -> list[tuple[int, DType]]:
    """Return the column numbers and dtypes of keys and values, for `read_columns`.

    Raises InvalidArgumentError if TensorFlow rejects the combination, such as a line number of
    dtype string.
    """
    columns = [("Key", "key", key_index, key_dtype), ("Value", "value", value_index, value_dtype)]
    for name, kind, index, dtype in columns:
        if index == LINE_NUMBER and dtype != dtypes.int64:
            raise invalid_argument(
                f"{name} index for line number requires table {kind} dtype of int64, got "
                f"{dtype.name}"
            )
        if index == WHOLE_LINE and dtype != dtypes.string and not dtype.is_integer:
            raise invalid_argument(
                f"{name} index for whole line requires table {kind} dtype of string or integer, "
                f"got {dtype.name}"
            )
        if dtype != dtypes.string and dtype not in _NAMES:
            raise invalid_argument(f"Data type {dtype.name} not supported.")
    return [(key_index, key_dtype), (value_index, value_dtype)]
