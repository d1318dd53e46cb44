"""safetensors files. A file consists of the header's length in eight bytes, a JSON header, and the
arrays.

The header contains the dtype, shape and offsets of each array.

The arrays are adjacent and fill the rest of the file. The header may have up to 100 MB, which is
also the limit of the format's reference library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.formats.variable_files.archived_array import (
    ArchivedArray,
    ArrayFile,
    array_of_bytes,
    checked_arrays,
    checked_shape,
    damaged,
    not_stored,
    write_array,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTH = 8
_LARGEST_HEADER = 100_000_000
_METADATA = "__metadata__"
_DTYPES: dict[str, DType] = {
    "BOOL": dtypes.bool,
    "U8": dtypes.uint8,
    "I8": dtypes.int8,
    "U16": dtypes.uint16,
    "I16": dtypes.int16,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "U32": dtypes.uint32,
    "I32": dtypes.int32,
    "F32": dtypes.float32,
    "U64": dtypes.uint64,
    "I64": dtypes.int64,
    "F64": dtypes.float64,
    "C64": dtypes.complex64,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class SafetensorsReader(ArrayFile):
    """An open safetensors file."""

    def read(self, name: str) -> NDArray[Any]:
        """Return the array `name` as a new array. Raises KeyError if the file has no such array."""
        array = self.arrays[name]
        self._file.seek(array.offset)
        content = self._file.read(array.num_bytes)
        if len(content) < array.num_bytes:
            raise damaged(self._path, array.offset + len(content), f"'{name}' ends too early")
        return array_of_bytes(content, array.dtype, array.shape)

    def _read_headers(self) -> list[ArchivedArray]:
        size = os.fstat(self._file.fileno()).st_size
        prefix = self._file.read(_LENGTH)
        if len(prefix) < _LENGTH:
            raise damaged(self._path, 0, f"a file of {size} bytes is too short for its header")
        length = int.from_bytes(prefix, "little")
        if length > min(size - _LENGTH, _LARGEST_HEADER):
            raise damaged(
                self._path, 0, f"the header has {length} bytes, and the file {size} in all"
            )
        entries = self._parsed(self._file.read(length))
        start = _LENGTH + length
        arrays = [self._array(name, entry, start) for name, entry in entries.items()]
        arrays.sort(key=lambda array: (array.offset, array.num_bytes))
        place = start
        for array in arrays:
            if array.offset != place:
                problem = f"'{array.name:.100}' begins at {array.offset}: a gap, or an overlap"
                raise damaged(self._path, place, problem)
            place += array.num_bytes
        if place != size:
            raise damaged(self._path, place, f"the arrays end here, and the file at {size}")
        return arrays

    def _parsed(self, text: bytes) -> Mapping[str, Any]:
        try:
            entries = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
        except (ValueError, RecursionError) as error:
            reason = str(error) or type(error).__name__
            raise damaged(self._path, _LENGTH, f"the header is no JSON: {reason:.200}") from error
        if not isinstance(entries, dict):
            raise damaged(self._path, _LENGTH, "the header is not a JSON object")
        metadata = entries.pop(_METADATA, {})
        if not isinstance(metadata, dict) or not all(
            isinstance(value, str) for value in metadata.values()
        ):
            raise damaged(self._path, _LENGTH, f"{_METADATA} is not an object of strings")
        return entries

    def _array(self, name: str, entry: Any, start: int) -> ArchivedArray:
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            problem = f"'{name:.100}' has no dtype, shape and data_offsets, but {entry!r:.100}"
            raise damaged(self._path, _LENGTH, problem)
        kind = entry["dtype"]
        dtype = _DTYPES.get(kind) if isinstance(kind, str) else None
        if dtype is None:
            problem = f"'{name:.100}' has the dtype {kind!r:.100}, which is not one of TensorFlow"
            raise damaged(self._path, _LENGTH, problem)
        shape = checked_shape(entry["shape"], self._path, _LENGTH, name)
        offsets = entry["data_offsets"]
        if not (
            isinstance(offsets, list)
            and len(offsets) == 2
            and all(type(offset) is int and 0 <= offset < 1 << 63 for offset in offsets)
        ):
            problem = f"'{name:.100}' has the data_offsets {offsets!r:.100}"
            raise damaged(self._path, _LENGTH, problem)
        array = ArchivedArray(name, dtype, shape, start + offsets[0])
        if offsets[1] - offsets[0] != array.num_bytes:
            problem = f"'{name:.100}' has {array.num_bytes} bytes, but data_offsets {offsets}"
            raise damaged(self._path, _LENGTH, problem)
        return array


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is there twice")
    return result


def write_safetensors(
    file: BinaryIO,
    arrays: Sequence[ArchivedArray],
    values: Iterable[tuple[str, NDArray[Any]]],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write arrays to a safetensors file.

    Raises InvalidArgumentError if the format does not support a dtype, or if values differ from
    their description.

    Args:
      arrays: the descriptions of the arrays.
      values: (name, array) pairs in the same order. Only one array at a time is in memory.
    """
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    place = 0
    for array in arrays:
        if array.dtype not in _NAMES or array.name == _METADATA:
            raise not_stored(array.name, array.dtype, "safetensors")
        offsets = [place, place + array.num_bytes]
        place = offsets[1]
        header[array.name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": offsets,
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % _LENGTH)
    file.write(len(text).to_bytes(_LENGTH, "little"))
    file.write(text)
    for _, value in checked_arrays(iter(values), arrays):
        write_array(file, value)
