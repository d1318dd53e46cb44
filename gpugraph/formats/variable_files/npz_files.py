"""NumPy's `.npz` files. Such a file is a zip file that contains a `.npy` file for each array.

Nothing is unpickled, because a pickle can execute code. Entries that decompress to far more bytes
than the file has are rejected.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.base.errors import invalid_argument
from gpugraph.formats.inflation import most_inflated
from gpugraph.formats.variable_files.archived_array import (
    ArchivedArray,
    ArrayFile,
    checked_arrays,
    checked_shape,
    damaged,
    not_stored,
    write_array,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SUFFIX = ".npy"

_STORED = (
    *(dtypes.bool, dtypes.float16, dtypes.float32, dtypes.float64),
    *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
    *(dtypes.complex64, dtypes.complex128),
)
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError),
    *(SyntaxError, tokenize.TokenError, OverflowError, OSError, TypeError, KeyError),
    *(MemoryError, RecursionError, AttributeError, IndexError),
)
"""The errors that zipfile and NumPy raise for malformed files."""


class NpzReader(ArrayFile):
    """An open `.npz` file."""

    def read(self, name: str) -> NDArray[Any]:
        """Return the array `name` as a new array. Raises KeyError if the file has no such array."""
        array = self.arrays[name]
        try:
            return self._read(array)
        except _BROKEN as error:
            place = self._entries[name].header_offset
            raise damaged(self._path, place, f"'{name:.100}': {error or type(error)}") from error

    def _read(self, array: ArchivedArray) -> NDArray[Any]:
        with self._zip.open(self._entries[array.name]) as entry:
            numpy_dtype, is_transposed = _header(entry)[1:]
            content = entry.read()
        values = np.frombuffer(content, numpy_dtype).astype(array.dtype.as_numpy_dtype)
        if is_transposed:
            return np.ascontiguousarray(values.reshape(array.shape[::-1]).T)
        return values.reshape(array.shape)

    def _read_headers(self) -> list[ArchivedArray]:
        try:
            self._zip = zipfile.ZipFile(self._file)
        except _BROKEN as error:
            raise damaged(self._path, 0, f"no zip file: {error or type(error)}") from error
        self._entries: dict[str, zipfile.ZipInfo] = {}
        arrays = []
        for info in self._zip.infolist():
            try:
                arrays.append(self._array(info))
            except _BROKEN as error:
                problem = f"'{info.filename:.100}': {error or type(error)}"
                raise damaged(self._path, info.header_offset, problem) from error
        if len({array.name for array in arrays}) < len(arrays):
            raise damaged(self._path, 0, "a name is there twice")
        return arrays

    def _array(self, info: zipfile.ZipInfo) -> ArchivedArray:
        name = info.filename.removesuffix(_SUFFIX)
        if info.file_size > most_inflated(info.compress_size):
            raise ValueError(f"{info.file_size} bytes out of {info.compress_size} are too many")
        with self._zip.open(info) as entry:
            sizes, numpy_dtype, _ = _header(entry)
            place = entry.tell()
        shape = checked_shape(sizes, self._path, info.header_offset, name)
        if numpy_dtype.kind == "O":
            raise ValueError("the array is of Python's objects, which are not read from files")
        array = ArchivedArray(name, _dtype(numpy_dtype), shape, info.header_offset)
        if place + array.num_bytes != info.file_size:
            raise ValueError(f"an array of {array.num_bytes} bytes has {info.file_size - place}")
        self._entries[name] = info
        return array


def _header(entry: Any) -> tuple[Any, np.dtype[Any], bool]:
    """Return the shape and the dtype of an array, and whether it is in Fortran order.

    Raises ValueError if the header is malformed.
    """
    version = np.lib.format.read_magic(entry)
    if version == (1, 0):
        shape, is_transposed, dtype = np.lib.format.read_array_header_1_0(entry)
    elif version == (2, 0):
        shape, is_transposed, dtype = np.lib.format.read_array_header_2_0(entry)
    else:
        raise ValueError(f"a .npy file of version {version}")
    return shape, dtype, is_transposed


def _dtype(numpy_dtype: np.dtype[Any]) -> DType:
    if numpy_dtype.kind not in "biufc":
        raise ValueError(f"the dtype is {numpy_dtype}, which is none of numbers")
    dtype = dtypes.as_dtype(numpy_dtype.newbyteorder("="))
    if dtype not in _STORED:
        raise ValueError(f"the dtype {numpy_dtype} is not one of TensorFlow")
    return dtype


def _leads_out(name: str) -> bool:
    """Return whether a file that is unpacked under this name would be outside of the target folder.

    Returns True for an absolute path (also in the syntax of Windows), for a path with "..", and for
    a name with a NUL.
    """
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or not parts[0] or parts[0][1:] == ":" or "\0" in name


def write_npz(
    file: BinaryIO, arrays: Sequence[ArchivedArray], values: Iterable[tuple[str, NDArray[Any]]]
) -> None:
    """Write arrays to a `.npz` file.

    Raises InvalidArgumentError if the format does not support a dtype, if values differ from their
    description, or if a name, as a path, is outside of the folder where the archive is unpacked.

    Args:
      arrays: the descriptions of the arrays.
      values: (name, array) pairs in the same order. Only one array at a time is in memory.
    """
    for array in arrays:
        if array.dtype not in _STORED:
            raise not_stored(array.name, array.dtype, ".npz")
        if _leads_out(array.name):
            raise invalid_argument(
                f"The name of an entry of a .npz file would lead out of its folder: {array.name!r}"
            )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for array, value in checked_arrays(iter(values), arrays):
            info = zipfile.ZipInfo(f"{array.name}{_SUFFIX}")
            with archive.open(info, "w", force_zip64=True) as entry:
                little = value.dtype.newbyteorder("<")
                header = {
                    "descr": np.lib.format.dtype_to_descr(little),
                    "fortran_order": False,
                    "shape": value.shape,
                }
                np.lib.format.write_array_header_1_0(entry, header)
                write_array(entry, value)  # type: ignore[arg-type]
