"""DecodeCSV, which splits records of delimited fields into columns. Fields are quoted as in RFC
4180.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise, repeat
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.strings.string_ops import host_op
from gpugraph.ops.strings.string_to_number import plain_numbers, read_number

_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)
_CALLED = {dtypes.float32: "float", dtypes.float64: "double"}


_SPECIAL = re.compile(rb'["\r\n]')
"""Matches a quote or a line end. A record that contains one cannot be split at delimiters alone."""

# -- fields


def csv_fields(record: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """Return the fields of one record, without their quotes. An empty record has no fields.

    Raises InvalidArgumentError if a quote or a line end is misplaced.

    Args:
      quotes: whether fields may be in double quotes.
    """
    fields: list[bytes] = []
    position = 0 if record else len(record) + 1
    while position <= len(record):
        if quotes and record.startswith(b'"', position):
            field, position = _quoted(record, position + 1, delimiter)
        else:
            end = record.find(delimiter, position)
            end = len(record) if end < 0 else end
            field, position = record[position:end], end
            if b"\n" in field or b"\r" in field or (quotes and b'"' in field):
                raise invalid_argument("Unquoted fields cannot have quotes/CRLFs inside")
        fields.append(field)
        position += 1  # skips the delimiter, or moves past the end
    return fields


def _quoted(record: bytes, start: int, delimiter: bytes) -> tuple[bytes, int]:
    """Return the content of the quoted field that begins at `start`, and the position after its
    end.
    """
    position = start
    while (end := record.find(b'"', position)) >= 0:
        after = record[end + 1 : end + 2]
        if after in (b"", delimiter):
            return record[start:end].replace(b'""', b'"'), end + 1
        if after != b'"':
            raise invalid_argument("Quote inside a string has to be escaped by another quote")
        position = end + 2
    raise invalid_argument("Quoted field has to end with quote followed by delim or end")


# -- the op


def _bind(context: KernelContext, records: Any, *defaults: Any) -> Callable[[], Any]:
    attrs = context.attrs
    delimiter = attrs["field_delim"].encode()
    missing, chosen = attrs["na_value"].encode(), set(attrs["select_cols"])
    if len(delimiter) != 1:
        raise invalid_argument("field_delim should be only 1 char")

    def run() -> list[Any]:
        for number, default in enumerate(defaults):
            if default.size > 1:
                raise invalid_argument(
                    f"There should only be 1 default per field but field {number} has "
                    f"{default.size}"
                )
        lines = records.reshape(-1).tolist()
        columns = plain_columns(
            lines, delimiter, attrs["use_quote_delim"], chosen, defaults, missing
        )
        if columns is None:
            columns = [np.empty(len(lines), default.dtype) for default in defaults]
            for row, record in enumerate(lines):
                fields = csv_fields(record, delimiter, attrs["use_quote_delim"])
                for column, value in zip(
                    columns, csv_values(fields, row, chosen, defaults, missing)
                ):
                    column[row] = value
        return [column.reshape(records.shape) for column in columns]

    return run


def plain_columns(
    lines: list[bytes],
    delimiter: bytes,
    quotes: bool,
    chosen: Collection[int],
    defaults: Sequence[Any],
    missing: bytes,
) -> list[Any] | None:
    """Parse all records at once, and return the columns. If a record or field requires the slower
    function `csv_values`, return None.

    Args:
      lines: the records.
      chosen: the indices of the columns to return. If it is empty, all columns are returned.
      missing: a text that is treated as an empty field.
    """
    whole = delimiter.join(lines)
    is_special = any(byte in whole for byte in (b'"', b"\r", b"\n"))
    special = [row for row, line in enumerate(lines) if is_special and _SPECIAL.search(line)]
    try:
        patches = [csv_fields(lines[row], delimiter, quotes) for row in special]
    except InvalidArgumentError:
        return None
    kept = lines.copy() if special else lines
    for row, fields in zip(special, patches):
        kept[row] = delimiter * (len(fields) - 1)
    counts = set(map(bytes.count, kept, repeat(delimiter)))
    if len(counts) != 1 or not all(lines):
        return None
    count = counts.pop() + 1
    texts = (delimiter.join(kept) if special else whole).split(delimiter)
    indices = sorted(chosen) or range(count)
    if len(indices) != len(defaults) or indices[-1] >= count:
        return None
    columns = []
    for index, default in zip(indices, defaults):
        column = texts[index::count]
        for row, fields in zip(special, patches):
            column[row] = fields[index]
        columns.append(_plain_column(column, default, missing))
        if columns[-1] is None:
            return None
    return columns


def _plain_column(texts: list[bytes], default: Any, missing: bytes) -> Any:
    """Return the values of a column as an array, or None if a field requires the slower function
    `csv_values`.

    The default replaces empty fields. The result is None if a field is empty and has no default, or
    is not a plain number.

    Args:
      texts: the fields of the column.
    """
    dtype = as_dtype(default.dtype)
    blank = []
    if b"" in texts or missing in texts:
        blank = [row for row, text in enumerate(texts) if text in (b"", missing)]
        if not default.size:
            return None
        for row in blank:
            texts[row] = b"0"
    values = np.array(texts, object) if dtype is dtypes.string else plain_numbers(texts, dtype)
    if blank and values is not None:
        values[blank] = default.reshape(())[()]
    return values


def csv_values(
    fields: Sequence[bytes],
    row: int,
    chosen: Collection[int],
    defaults: Sequence[Any],
    missing: bytes,
) -> Iterator[Any]:
    """Yield the values of one record. The default replaces an empty field. Raises
    InvalidArgumentError if a field is invalid or missing.

    Args:
      row: the number of the record, for the messages.
      missing: a text that is treated as an empty field.
    """
    if chosen:
        fields = [field for column, field in enumerate(fields) if column in chosen]
    if len(fields) != len(defaults):
        raise invalid_argument(
            f"Expect {len(defaults)} fields but have {len(fields)} in record {row}"
        )
    for number, (field, default) in enumerate(zip(fields, defaults)):
        if field in (b"", missing):
            yield _default(default, number, row)
        else:
            yield _value(field, default.dtype, number, row)


def _default(default: Any, number: int, row: int) -> Any:
    if not default.size:
        raise invalid_argument(f"Field {number} is required but missing in record {row}!")
    return default.reshape(())[()]


def _value(field: bytes, dtype: Any, number: int, row: int) -> Any:
    wanted = as_dtype(dtype)
    if wanted is dtypes.string:
        return field
    parsed = read_number(field, wanted)
    if parsed is None:
        called, shown = _CALLED.get(wanted, wanted.name), field.decode("utf-8", "backslashreplace")
        raise invalid_argument(f"Field {number} in record {row} is not a valid {called}: {shown}")
    return parsed


def _infer(context: InferContext) -> Sequence[TensorShape]:
    records, *defaults = context.shapes
    for dtype in map(as_dtype, context.attrs["OUT_TYPE"]):
        if dtype not in _TYPES:
            names = ", ".join(allowed.name for allowed in _TYPES)
            raise TypeError(
                f"Value passed to parameter 'record_defaults' has DataType {dtype.name} not in "
                f"list of allowed values: {names}"
            )
    for default in defaults:
        if default.with_rank_at_most(1).num_elements() not in (None, 0, 1):
            raise ValueError(
                "Shape of a default must be a length-0 or length-1 vector, or a scalar: "
                f"{shape_text(default)}"
            )
    return [records] * len(defaults)


_decode_csv = host_op(
    "DecodeCSV",
    Call(make=_bind, dynamic=True, direct=True),
    "The fields of records, each column a tensor of its default's dtype.",
    inputs=("records: string", "record_defaults: OUT_TYPE"),
    outputs="output: OUT_TYPE",
    infer=_infer,
    OUT_TYPE=Attr(
        "list(type)",
        required=True,
        minimum=1,
        allowed=(dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string),
    ),
    field_delim=Attr("string", ","),
    use_quote_delim=Attr("bool", True),
    na_value=Attr("string", ""),
    select_cols=Attr("list(int)", []),
)


def _check_columns(columns: Sequence[int], count: int) -> None:
    if any(left >= right for left, right in pairwise(columns)):
        raise ValueError("select_cols is not strictly increasing.")
    if columns and columns[0] < 0:
        raise ValueError("select_cols contains negative values.")
    if len(columns) != count:
        raise ValueError("Length of select_cols and record_defaults do not match.")


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """Split records into fields. Return a list with one tensor for each column, which has the shape
    of `records`.

    A run raises InvalidArgumentError if a record does not have one field for each column, if a
    field is not a number of its column's dtype, if a quote is not closed, or if a required field is
    empty.

    Args:
      records: strings, one record each, without a line end.
      record_defaults: a list with one entry for each column. The entry is the value of an empty
        field, as a scalar or a vector of one element, or an empty vector if the field is required.
        The dtype of the entry is the dtype of the column: float32, float64, int32, int64 or string.
        For any other dtype, raise TypeError.
      field_delim: the delimiter between fields, one character.
      use_quote_delim: whether fields may be in double quotes. A quoted field may contain any
        characters. A quote in it must be doubled.
      na_value: a text that is treated as an empty field.
      select_cols: the indices of the columns to return, by default all columns. Raises ValueError
        unless they are strictly increasing and there is one for each default.
    """
    chosen = [] if select_cols is None else list(select_cols)
    if select_cols is not None:
        _check_columns(chosen, len(record_defaults))
    if not len(record_defaults):
        raise ValueError("decode_csv needs the default of one column at least in record_defaults")
    columns = _decode_csv(
        records,
        list(record_defaults),
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=chosen,
        name=name,
    )
    return list(columns) if isinstance(columns, (list, tuple)) else [columns]
