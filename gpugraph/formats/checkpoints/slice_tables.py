"""V1 checkpoints, from before TensorFlow 0.12. Each file is one sorted table with all its tensors.

    key                       value
    ""                        SavedTensorSlices.meta: name, shape, dtype and slices of each tensor
    slice_key(name, slice)    SavedTensorSlices.data: name, slice, TensorProto of the values

If there are several files (shards), the checkpoint's path is a pattern that matches their names.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype, runtime_name
from gpugraph.base.errors import DataLossError, UnimplementedError, invalid_argument
from gpugraph.base.whole_files import local_path, open_to_read, system_errors, write_whole
from gpugraph.formats import messages_pb2
from gpugraph.formats.checkpoints.bundle_entries import (
    BundleEntry,
    read_dtype,
    read_shape,
    shape_message,
)
from gpugraph.formats.checkpoints.bundle_reader import BundleReader, index_name
from gpugraph.formats.checkpoints.slices import (
    Slice,
    check_slice,
    read_slice_message,
    shape_of_slice,
    slice_key,
    slice_message,
)
from gpugraph.formats.checkpoints.sorted_table import read_table, table_bytes
from gpugraph.formats.checkpoints.tensor_reader import TensorReader, no_checkpoint
from gpugraph.formats.checkpoints.wire import MalformedError, as_bytes, as_number, field, fields
from gpugraph.formats.tensor_proto import make_ndarray, proto_value_count, write_tensor

_META_KEY = b""
_VERSION = field(2, field(1, 1))
_STORED = frozenset(
    {
        *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16),
        *(dtypes.qint8, dtypes.qint32, dtypes.quint8, dtypes.bool, dtypes.string),
    }
)


def open_checkpoint(prefix: str) -> TensorReader:
    """Open the V2 checkpoint with this prefix or, if there is no such V2 checkpoint, the V1
    checkpoint.

    Raises NotFoundError if neither checkpoint exists.
    """
    prefix = local_path(prefix)
    if not os.path.exists(index_name(prefix)):
        paths = [path for path in sorted(glob.glob(prefix)) if os.path.isfile(path)]
        if os.path.isfile(prefix):
            paths = [prefix]
        if not paths:
            raise no_checkpoint(prefix)
        return SliceTableReader(prefix, paths)
    return BundleReader(prefix)


class SliceTableReader(TensorReader):
    """A V1 checkpoint. The constructor reads all its bytes, and raises DataLossError if a file is
    damaged.
    """

    def __init__(self, prefix: str, paths: Sequence[str]) -> None:
        self.prefix = prefix
        self.entries: dict[str, BundleEntry] = {}
        self._messages: dict[bytes, tuple[bytes, str]] = {}
        for path in paths:
            with system_errors(path), open_to_read(path) as file:
                items = read_table(file.read(), path)
            self._read_meta(items.pop(_META_KEY, None), path)
            for key, message in items.items():
                self._messages.setdefault(key, (message, path))

    def _read_meta(self, message: bytes | None, path: str) -> None:
        if message is None:
            raise DataLossError(None, None, f"{path}: the table has no entry of its tensors")
        try:
            for number, meta in fields(_only(message, 1)):
                if number == 1:
                    self._add(*_read_meta_of_tensor(as_bytes(meta)), path)
        except MalformedError as error:
            raise DataLossError(None, None, f"{path}: bad entry of tensors: {error}") from None

    def _add(self, name: str, entry: BundleEntry, path: str) -> None:
        known = self.entries.setdefault(name, entry)
        if known is entry:
            return
        if known.dtype != entry.dtype or known.shape != entry.shape:
            raise DataLossError(
                None, None, f"{path}: {name} has another shape or dtype than in another shard"
            )
        known.slices += entry.slices

    def close(self) -> None:
        """Do nothing, because the constructor has read and closed the files."""

    def _value(self, entry: BundleEntry, name: str) -> Any:
        raise self._loss(name, self.prefix, "it has no values")

    def _check_part(self, name: str, entry: BundleEntry, part: Slice) -> None:
        self._tensor(name, entry, part)

    def _part(self, name: str, entry: BundleEntry, part: Slice) -> Any:
        return make_ndarray(self._tensor(name, entry, part))

    def _tensor(self, name: str, entry: BundleEntry, part: Slice) -> Any:
        """Return the TensorProto with the values of a part.

        Files omit the TensorProto's dtype and shape, so this method sets them. Raises DataLossError
        if the part is missing or has the wrong number of values.
        """
        key = slice_key(name.encode("utf-8", "surrogateescape"), part)
        message, path = self._messages.get(key, (None, self.prefix))
        if message is None:
            raise self._loss(name, path, f"the slice {part} is missing")
        try:
            content = _only(_only(message, 2), 3)
            tensor = messages_pb2.TensorProto.FromString(content)
        except (MalformedError, messages_pb2.DecodeError) as error:
            raise self._loss(name, path, str(error)) from None
        shape = shape_of_slice(entry.shape, part)
        tensor.ClearField("tensor_shape")
        tensor.tensor_shape.SetInParent()
        for size in shape:
            tensor.tensor_shape.dim.add(size=size)
        tensor.dtype = entry.dtype.as_datatype_enum
        elements = BundleEntry(entry.dtype, shape).elements
        if entry.dtype not in _STORED or proto_value_count(tensor) != elements:
            raise self._loss(name, path, f"the slice {part} does not have {elements} values")
        return tensor

    def _loss(self, name: str, path: str, what: str) -> DataLossError:
        return DataLossError(None, None, f"{path}: {name}: {what}")


def _only(message: bytes, wanted: int) -> bytes:
    """Return the content of a message's field. If the field occurs several times, return the last
    content. Raises MalformedError if the field is missing.

    Args:
      wanted: the number of the field.
    """
    content: bytes | None = None
    for number, value in fields(message):
        if number == wanted:
            content = as_bytes(value)
    if content is None:
        raise MalformedError(f"the field {wanted} is missing")
    return content


def _read_meta_of_tensor(message: bytes) -> tuple[str, BundleEntry]:
    """Return the name and the entry of the tensor that a SavedSliceMeta describes."""
    name, entry = "", BundleEntry(dtypes.float32, ())
    for number, value in fields(message):
        if number == 1:
            name = os.fsdecode(as_bytes(value))
        elif number == 2:
            entry.shape = read_shape(as_bytes(value))
        elif number == 3:
            entry.dtype = read_dtype(as_number(value))
        elif number == 4:
            entry.slices.append(read_slice_message(as_bytes(value)))
    return name, entry


def write_slice_table(
    path: str, items: Sequence[tuple[bytes, tuple[Sequence[int], Slice] | None, Any, DType]]
) -> None:
    """Write a V1 checkpoint that consists of one file.

    Raises InvalidArgumentError if a part is outside of the full shape, is present twice, has
    another shape than its values, or has another dtype or full shape than other parts of the
    tensor. Raises UnimplementedError if V1 checkpoints can't hold a dtype.

    Args:
      items: for each tensor or part: its name, the full shape, the part (None for a whole tensor),
        the values, and the dtype.
    """
    entries: dict[bytes, BundleEntry] = {}
    table: dict[bytes, bytes] = {}
    for name, spec, array, dtype in items:
        shape, part = spec or (array.shape, ((0, -1),) * array.ndim)
        check_slice(shape, part, os.fsdecode(name))
        if array.shape != shape_of_slice(shape, part):
            raise invalid_argument(
                f"The slice {part} of {os.fsdecode(name)} has the shape "
                f"{list(shape_of_slice(shape, part))}, but the value has {list(array.shape)}"
            )
        if dtype not in _STORED:
            raise UnimplementedError.of_no_node(
                f"Saving data type {runtime_name(dtype)} not yet support: V1 checkpoints have no "
                f"field for '{os.fsdecode(name)}', V2 have"
            )
        entry = entries.setdefault(name, BundleEntry(dtype, tuple(shape)))
        if entry.dtype != dtype or entry.shape != tuple(shape):
            raise invalid_argument(f"Mismatching shapes or dtypes of {os.fsdecode(name)}")
        key = slice_key(name, part)
        if key in table:
            raise invalid_argument(f"Adding duplicate key: {os.fsdecode(name)} to {path}")
        entry.slices.append(part)
        table[key] = _slice_data(name, part, array, dtype)
    metas = [_meta_of_tensor(name, entry) for name, entry in entries.items()]
    table[_META_KEY] = field(1, b"".join(field(1, meta) for meta in metas) + _VERSION)
    write_whole(path, b"".join(table_bytes(sorted(table.items()))))


def _meta_of_tensor(name: bytes, entry: BundleEntry) -> bytes:
    kind = field(2, shape_message(entry.shape)) + field(3, entry.dtype.as_datatype_enum)
    return field(1, name) + kind + b"".join(field(4, slice_message(part)) for part in entry.slices)


def _slice_data(name: bytes, part: Slice, array: Any, dtype: DType) -> bytes:
    tensor = messages_pb2.TensorProto()
    write_tensor(tensor, array, as_dtype(dtype), array.shape, as_values=True)
    tensor.ClearField("dtype")
    tensor.ClearField("tensor_shape")
    content = field(3, tensor.SerializeToString(), always=True)
    return field(2, field(1, name) + field(2, slice_message(part)) + content)
