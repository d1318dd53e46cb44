"""Conversion between arrays and TensorProto messages, which hold the constants in files.

If an array has several numbers of a common dtype, the array is stored as raw bytes in
`tensor_content`. Any other array is stored in the field for its dtype. The last value of the field
is repeated for all remaining elements. float16 and bfloat16 are bit patterns in `half_val`, and a
complex number is a pair of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.variant import Variant
from gpugraph.formats import messages_pb2

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LARGEST = 2 << 30
_AS_INT = (
    *(dtypes.int32, dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.uint16),
    *(dtypes.qint8, dtypes.quint8, dtypes.qint16, dtypes.quint16, dtypes.qint32),
)
_MAX_FILLED = 1 << 24
"""The maximum size in bytes of an array that several values are extended to.

A larger array, of one repeated value, is a broadcast view.
"""

_FIELDS: dict[DType, str] = {
    dtypes.float16: "half_val",
    dtypes.bfloat16: "half_val",
    dtypes.float32: "float_val",
    dtypes.float64: "double_val",
    dtypes.string: "string_val",
    dtypes.complex64: "scomplex_val",
    dtypes.complex128: "dcomplex_val",
    dtypes.int64: "int64_val",
    dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val",
    dtypes.bool: "bool_val",
    dtypes.variant: "variant_val",
    **dict.fromkeys(_AS_INT, "int_val"),
}
"""By dtype: the field of a TensorProto that holds its values."""

_STORED_AS: dict[DType, Any] = {
    dtypes.float16: np.uint16,
    dtypes.bfloat16: np.uint16,
    dtypes.complex64: np.float32,
    dtypes.complex128: np.float64,
}
"""For dtypes whose bits the field stores as another type: the NumPy type of the view."""

_NEVER_AS_BYTES = frozenset(
    {
        *(dtypes.float16, dtypes.bfloat16, dtypes.string, dtypes.bool, dtypes.uint16),
        dtypes.variant,
        *(dtypes.complex64, dtypes.complex128),
    }
)


def tensor_proto_of(array: NDArray[Any], dtype: DType, shape: Sequence[int]) -> Any:
    """Return a TensorProto of `shape` with the array's values. Strings are passed as an array of
    bytes.

    If the array has fewer elements than `shape`, the array is extended by its last value.

    Raises:
      ValueError: the content is larger than 2 GiB, protobuf's limit.
      TypeError: a TensorProto can't hold this dtype.
    """
    proto = messages_pb2.TensorProto()
    write_tensor(proto, array, dtype, shape)
    return proto


def write_tensor(
    proto: Any, array: NDArray[Any], dtype: DType, shape: Sequence[int], as_values: bool = False
) -> None:
    """Fill an empty TensorProto. For the arguments that are not listed, and for the errors, see
    `tensor_proto_of`.

    Args:
      proto: the empty TensorProto.
      as_values: whether the values are never stored as raw bytes, regardless of their number.
    """
    proto.dtype = dtype.as_datatype_enum
    proto.tensor_shape.SetInParent()
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    if dtype not in _FIELDS:
        raise TypeError(f"Element type not supported in TensorProto: {dtype.name}")
    if array.nbytes >= _LARGEST and dtype is not dtypes.string:
        raise ValueError("Cannot create a tensor proto whose content is larger than 2GB.")
    if not as_values and dtype not in _NEVER_AS_BYTES and array.size == prod(shape) > 1:
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        proto.tensor_content = little.tobytes()
        return
    flat = np.ascontiguousarray(array).reshape(-1)
    stored = dtypes.stored(flat)
    if dtype in _STORED_AS:
        stored = stored.astype(dtype.as_numpy_dtype).view(_STORED_AS[dtype])
    if dtype is dtypes.variant:
        for element in flat:
            part = proto.variant_val.add(type_name=element.type_name, metadata=element.metadata)
            for content in element.tensors:
                part.tensors.add().MergeFromString(content)
        return
    getattr(proto, _FIELDS[dtype]).extend(stored.tolist())


def is_tensor_proto(value: Any) -> bool:
    """Return whether the value is a TensorProto of this package or of TensorFlow."""
    descriptor = getattr(type(value), "DESCRIPTOR", None)
    return getattr(descriptor, "full_name", "") == "tensorflow.TensorProto"


def proto_value_count(tensor: Any) -> int | None:
    """Return the number of values in the field for a TensorProto's dtype.

    Returns None if the TensorProto has raw bytes.
    """
    if tensor.tensor_content:
        return None
    dtype = as_dtype(tensor.dtype).base_dtype
    width = 2 if dtype.is_complex else 1
    return len(getattr(tensor, _FIELDS[dtype])) // width


def make_ndarray(tensor: Any) -> NDArray[Any]:
    """Return a new array with the dtype, shape and values of a TensorProto. Strings are returned as
    bytes.

    Raises:
      TypeError: `tensor` is not a TensorProto, or its dtype is a resource, a variant, or unknown.
      ValueError: the shape is not fully known, or does not match the values.
    """
    if not is_tensor_proto(tensor):
        raise TypeError(f"make_ndarray needs a TensorProto, but got {tensor!r:.200}")
    dtype = as_dtype(tensor.dtype).base_dtype
    if dtype is dtypes.variant:
        raise _unsupported(tensor, dtype)
    return tensor_array(tensor)


def _unsupported(tensor: Any, dtype: DType) -> TypeError:
    return TypeError(
        f"Unsupported tensor type: {tensor.dtype} ({dtype.name}: no array can hold its values)"
    )


def tensor_array(tensor: Any) -> NDArray[Any]:
    """Return an array as `make_ndarray` does, but also support the dtype variant, whose elements
    are `Variant` objects.
    """
    dtype = as_dtype(tensor.dtype).base_dtype
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or min(sizes, default=0) < 0:
        raise ValueError(f"A TensorProto needs a fully defined shape, but has {sizes}")
    if dtype not in _FIELDS:
        raise _unsupported(tensor, dtype)
    if tensor.tensor_content and dtype is not dtypes.string:
        little = np.dtype(dtype.as_numpy_dtype)
        content = np.frombuffer(tensor.tensor_content, little.newbyteorder("<"))
        return content.astype(little).reshape(sizes)
    return _filled(_typed_values(tensor, dtype), sizes)


def _typed_values(tensor: Any, dtype: DType) -> NDArray[Any]:
    values = getattr(tensor, _FIELDS[dtype])
    if dtype in dtypes.OBJECTS:
        elements = np.empty(len(values), object)
        elements[:] = list(values) if dtype is dtypes.string else list(map(_variant, values))
        return elements
    numpy_type = np.dtype(dtype.as_numpy_dtype)
    if dtype in _STORED_AS:
        return np.array(values, _STORED_AS[dtype]).view(numpy_type)
    if dtype.is_quantized:
        return np.array(values, numpy_type[0]).view(numpy_type)
    kind = np.int64 if dtype in _AS_INT else numpy_type
    return np.array(values, kind).astype(numpy_type)


def _variant(message: Any) -> Variant:
    tensors = tuple(part.SerializeToString(deterministic=True) for part in message.tensors)
    return Variant(message.type_name, message.metadata, tensors)


def _filled(values: NDArray[Any], sizes: list[int]) -> NDArray[Any]:
    """Return the values in the given shape, extended by the last value. If there are no values, use
    zeros.

    Raises ValueError if there are too many values, or if several values would expand to a large
    array.
    """
    count = prod(sizes)
    if values.size == count:
        return values.reshape(sizes)
    if values.size > count:
        raise ValueError(f"cannot reshape array of size {values.size} into shape {tuple(sizes)}")
    if values.size:
        last: Any = values[-1]
    else:
        last = b"" if values.dtype.kind == "O" else np.zeros((), values.dtype)[()]
    if count * values.itemsize > _MAX_FILLED:  # a small file must not allocate much memory
        if values.size > 1:
            raise ValueError(f"{values.size} values are too few for the shape {tuple(sizes)}")
        return np.broadcast_to(np.array(last, values.dtype), sizes)
    result = np.empty(count, values.dtype)
    result[: values.size] = values
    result[values.size :] = last
    return result.reshape(sizes)
