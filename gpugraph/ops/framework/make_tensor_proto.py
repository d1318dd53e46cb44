"""`tf.make_tensor_proto`, which converts Python values and arrays to TensorProtos by the rules of
`tf.constant`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.formats import messages_pb2
from gpugraph.formats.tensor_proto import tensor_proto_of
from gpugraph.ops.framework.numpy_conversion import constant_array


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Convert a Python value or an array to a TensorProto. Return a TensorProto unchanged.

    Args:
      values: a scalar, nested lists or an array, of any dtype that a constant can have.
      dtype: the dtype, by default the dtype that `tf.constant` would choose.
      shape: the shape, by default the shape of the values. If there are too few values, the last
        value fills the rest of the shape.
      verify_shape: whether to raise an error unless the values have exactly the shape `shape`.
      allow_broadcast: whether a single value may fill `shape`. If it is True, there must be either
        one value, or as many values as the shape has elements.

    Raises:
      TypeError: a value does not have the dtype, or `verify_shape` is true and the values do not
        have the shape.
      ValueError: `values` is None, has more values than the shape, or exceeds 2 GiB.
    """
    if type(values).__name__ == "TensorProto" and isinstance(values, messages_pb2.TensorProto):
        return values
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if wanted is not None and wanted.is_quantized:
        if not isinstance(values, (np.ndarray, np.generic)):
            _check_quantized(values, wanted)
        array = np.array(values, wanted.as_numpy_dtype)
    else:
        array = constant_array(values, wanted)
    result_dtype = wanted or (dtypes.string if array.dtype.kind == "O" else as_dtype(array.dtype))
    sizes = list(array.shape) if shape is None else [int(size) for size in shape]
    if shape is not None:
        _check_size(array, sizes, verify_shape, allow_broadcast)
    return tensor_proto_of(array, result_dtype, sizes)


def _check_quantized(value: Any, wanted: DType) -> None:
    """Raise TypeError unless nested lists contain only tuples of one int, as the values of
    quantized dtypes are written.
    """
    if isinstance(value, list):
        for item in value:
            _check_quantized(item, wanted)
    elif not (isinstance(value, tuple) and all(type(item) is int for item in value)):
        item = value[0] if isinstance(value, tuple) and value else value
        raise TypeError(
            f"Expected {wanted.name}, got {item!r} of type '{type(item).__name__}' instead."
        )


def _check_size(array: Any, sizes: list[int], verify_shape: bool, allow_broadcast: bool) -> None:
    count = prod(sizes)
    one_for_all = allow_broadcast and array.shape in ((), (1,))
    if allow_broadcast and not one_for_all and array.size != count:
        raise _misfit(sizes, array)
    if not allow_broadcast and verify_shape and array.shape != tuple(sizes):
        raise _misfit(sizes, array)
    if not allow_broadcast and array.size > count:
        raise ValueError(
            f"Too many elements provided. Needed at most {count}, but received {array.size}"
        )


def _misfit(sizes: list[int], array: Any) -> TypeError:
    return TypeError(f"Expected Tensor's shape: {tuple(sizes)}, got {array.shape}.")
