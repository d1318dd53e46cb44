"""Arrays in files of named arrays: their names, dtypes, shapes and locations, which are checked."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.base.errors import DataLossError, InvalidArgumentError
from gpugraph.base.lfs_pointers import pointer_text_of_file
from gpugraph.base.whole_files import open_to_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Opened = TypeVar("_Opened", bound="ArrayFile")
_MAX_DIMENSIONS = 32
_PIECE = 16 << 20


class ArchivedArray(NamedTuple):
    """The description of an array in a file. `offset` is the position of its first byte."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    offset: int = 0

    @property
    def has_fixed_size(self) -> bool:
        """Whether the array's elements have a fixed size, which is true unless they are strings."""
        return self.dtype is not dtypes.string

    @property
    def num_bytes(self) -> int:
        """The size of the array in memory, in bytes. For strings, the result is the size of the
        references to them.
        """
        return prod(self.shape) * np.dtype(self.dtype.as_numpy_dtype).itemsize


class ArrayFile(abc.ABC):
    """An open file of arrays. The object is a context manager.

    `arrays` contains the descriptions by name, and `read` returns one array.

    Raises OSError if the file can't be opened. If the file violates the format, raises
    DataLossError with the path and the byte offset, and reads no array.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = open_to_read(path)
        try:
            self.arrays = {array.name: array for array in self._read_headers()}
        except BaseException:
            self._file.close()
            raise

    @abc.abstractmethod
    def _read_headers(self) -> list[ArchivedArray]:
        """Return the descriptions of the file's arrays."""

    @abc.abstractmethod
    def read(self, name: str) -> NDArray[Any]:
        """Return the array of this name as a new array. Raises KeyError if the file has no such
        array.
        """

    def __enter__(self: _Opened) -> _Opened:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()


def checked_shape(sizes: Any, path: str, offset: int, name: str) -> tuple[int, ...]:
    """Return a shape from a file as a tuple.

    Raises DataLossError if the shape is malformed, has more than 32 dimensions, or is too large.
    """
    if not isinstance(sizes, (list, tuple)):
        raise damaged(path, offset, f"the shape of {name!r:.100} is not a list, but {sizes!r:.100}")
    if len(sizes) > _MAX_DIMENSIONS:
        raise damaged(path, offset, f"{name!r:.100} has {len(sizes)} dimensions")
    if not all(type(size) is int and 0 <= size < 1 << 63 for size in sizes):
        raise damaged(path, offset, f"the shape of {name!r:.100} is {sizes!r:.100}")
    if prod(size or 1 for size in sizes) >= 1 << 62:
        raise damaged(path, offset, f"the shape of {name!r:.100} is too large: {sizes!r:.100}")
    return tuple(sizes)


def damaged(path: str, offset: int, problem: str) -> DataLossError:
    """Return the error for a damaged file, with the offset of the damage."""
    problem += pointer_text_of_file(path)
    return DataLossError(None, None, f"Unable to read file {path} at byte {offset}: {problem}")


def not_stored(name: str, dtype: DType, file_format: str) -> InvalidArgumentError:
    """Return the error for an array whose dtype a file format does not support."""
    message = f"{file_format} files have no {dtype.name}, which is the dtype of '{name}'"
    return InvalidArgumentError(None, None, message)


def array_of_bytes(content: bytes | bytearray, dtype: DType, shape: Sequence[int]) -> NDArray[Any]:
    """Return little-endian bytes as a new array. `content` must have exactly the size of the
    array.
    """
    numpy_dtype = np.dtype(dtype.as_numpy_dtype)
    if numpy_dtype.kind == "b":
        return (np.frombuffer(content, np.uint8) != 0).reshape(tuple(shape))
    if numpy_dtype.kind == "V":  # bfloat16, which NumPy treats as a custom type
        values = np.frombuffer(content, "<u2").astype(np.uint16)
        return values.view(numpy_dtype).reshape(tuple(shape))
    values = np.frombuffer(content, numpy_dtype.newbyteorder("<")).astype(numpy_dtype)
    return values.reshape(tuple(shape))


def write_array(file: BinaryIO, array: NDArray[Any]) -> None:
    """Write the little-endian bytes of an array, 16 MiB at a time."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind != "V":
        flat = flat.astype(flat.dtype.newbyteorder("<"), copy=False)
    octets = flat.view(np.uint8) if flat.size else np.empty(0, np.uint8)
    for start in range(0, octets.size, _PIECE):
        file.write(octets[start : start + _PIECE].tobytes())


def checked_arrays(
    arrays: Iterator[tuple[str, NDArray[Any]]], expected: Sequence[ArchivedArray]
) -> Iterator[tuple[ArchivedArray, NDArray[Any]]]:
    """Yield each array with its expected description.

    Raises InvalidArgumentError if the name, the shape or the size in bytes of an array differs from
    the description.
    """
    for wanted, (name, array) in zip(expected, arrays, strict=True):
        if name != wanted.name or array.shape != wanted.shape or array.nbytes != wanted.num_bytes:
            message = f"'{wanted.name}' is {wanted.shape}, but '{name}' with {array.shape} came"
            raise InvalidArgumentError(None, None, message)
        yield wanted, array
