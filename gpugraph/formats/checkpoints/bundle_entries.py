"""The contents of a checkpoint's index: a header and, for each tensor, the location of its
bytes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field as dataclass_field
from math import prod

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.formats.checkpoints.slices import Slice, read_slice_message, slice_message
from gpugraph.formats.checkpoints.wire import (
    MalformedError,
    as_bytes,
    as_number,
    field,
    fields,
    fixed32,
)

HEADER_KEY = b""
_LARGEST = (1 << 63) - 1
_PRODUCER = 1
_USUAL = 100
"""The maximum length in bytes of a shape's message whose result is cached."""
STORED = frozenset(
    {
        *(dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
        *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
        *(dtypes.qint8, dtypes.qint16, dtypes.qint32, dtypes.quint8, dtypes.quint16),
        *(dtypes.complex64, dtypes.complex128, dtypes.bool, dtypes.string),
    }
)
"""The dtypes that a checkpoint can hold."""


@dataclass
class BundleEntry:
    """A tensor: its dtype and shape, the location of its bytes, and their masked checksum.

    Args:
      slices: the parts of the tensor, if it is stored in parts. Each part has a separate entry with
        the location of its bytes.
    """

    dtype: DType
    shape: tuple[int, ...]
    shard: int = 0
    offset: int = 0
    size: int = 0
    crc: int = 0
    slices: list[Slice] = dataclass_field(default_factory=list)

    def message(self) -> bytes:
        """Return the entry as the bytes of a BundleEntryProto."""
        message = _kind_message(self.dtype.as_datatype_enum, self.shape)
        message += field(3, self.shard) + field(4, self.offset) + field(5, self.size)
        message += fixed32(6, self.crc)
        return message + b"".join(field(7, slice_message(part)) for part in self.slices)

    @property
    def elements(self) -> int:
        """The number of elements of the tensor."""
        return prod(self.shape)


@functools.lru_cache(256)
def _kind_message(type_number: int, shape: tuple[int, ...]) -> bytes:
    """Return the serialized fields of a dtype and a shape. The result is cached, because many
    variables have the same dtype and shape.
    """
    return field(1, type_number) + field(2, shape_message(shape))


def shape_message(shape: tuple[int, ...]) -> bytes:
    """Return a shape as the bytes of a TensorShapeProto."""
    return b"".join(field(2, field(1, size)) for size in shape)


def header_message(num_shards: int) -> bytes:
    """Return the header as the bytes of a BundleHeaderProto."""
    return field(1, num_shards) + field(3, field(1, _PRODUCER))


def read_header(message: bytes) -> tuple[int, int]:
    """Return the number of shards and the byte order (0 little, 1 big) in a header.

    Raises MalformedError if the bytes are not a header, or if the checkpoint requires a later
    version of the reader.
    """
    num_shards = endianness = 0
    for number, value in fields(message):
        if number == 1:
            num_shards = as_number(value)
        elif number == 2:
            endianness = as_number(value)
        elif number == 3:
            for inner, item in fields(as_bytes(value)):
                consumer = as_number(item) if inner == 2 else 0
                if consumer > _PRODUCER:
                    raise MalformedError(
                        f"it needs a reader of version {consumer}, this one has {_PRODUCER}"
                    )
    if not 0 < num_shards <= 99999:
        raise MalformedError(f"its number of shards is {num_shards}")
    return num_shards, endianness


def read_entry(message: bytes) -> BundleEntry:
    """Return the entry of a tensor.

    Raises MalformedError if the message is malformed or a size is out of range.
    """
    dtype: DType | None = None
    entry = BundleEntry(dtypes.float32, ())
    for number, value in fields(message):
        if number == 5:
            entry.size = as_number(value)
        elif number == 4:
            entry.offset = as_number(value)
        elif number == 6:
            entry.crc = as_number(value) & 0xFFFFFFFF
        elif number == 1:
            dtype = read_dtype(as_number(value))
        elif number == 2:
            entry.shape = read_shape(as_bytes(value))
        elif number == 3:
            entry.shard = as_number(value)
        elif number == 7:
            entry.slices.append(read_slice_message(as_bytes(value)))
    if dtype is None:
        raise MalformedError("an entry has no dtype")
    entry.dtype = dtype
    if min(entry.shard, entry.offset, entry.size) < 0:
        raise MalformedError("an entry has a negative offset, size or shard")
    return entry


def read_dtype(number: int) -> DType:
    """Return the dtype with this number. Raises MalformedError if the number is unknown."""
    try:
        return DType(number)
    except TypeError as error:
        raise MalformedError(str(error)) from None


def read_shape(message: bytes) -> tuple[int, ...]:
    """Return the sizes in a TensorShapeProto.

    Raises MalformedError if the rank is unknown or a size is out of range.
    """
    return _usual_shape(message) if len(message) <= _USUAL else _any_shape(message)


@functools.lru_cache(256)
def _usual_shape(message: bytes) -> tuple[int, ...]:
    """Return the sizes of a shape with few dimensions. The result is cached, because many variables
    have the same shape.
    """
    return _any_shape(message)


def _any_shape(message: bytes) -> tuple[int, ...]:
    sizes = []
    for number, value in fields(message):
        if number == 3 and as_number(value):
            raise MalformedError("a shape has no known rank")
        if number == 2:
            size = 0
            for inner, item in fields(as_bytes(value)):
                if inner == 1:
                    size = as_number(item)
            if size < 0:
                raise MalformedError(f"a shape has the dimension {size}")
            sizes.append(size)
    if len(sizes) > 254:
        raise MalformedError(f"a shape has {len(sizes)} dimensions")
    elements = 1
    for size in sizes:
        elements *= max(size, 1)
        if elements > _LARGEST:
            raise MalformedError("the dimensions of a shape multiply to more than 2**63")
    return tuple(sizes)
