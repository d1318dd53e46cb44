"""Conversion of values to tensors: `convert_to_tensor`, its registry, and the Const op.

All other ops are declared in a higher layer, because their functions convert arguments to tensors,
for which they need Const.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import Dimension, TensorShape
from gpugraph.formats.tensor_proto import is_tensor_proto, proto_value_count, tensor_array
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_def import ArgDef, AttrDef, OpDef
from gpugraph.graph.op_library import OP_DEFS, register_conversion
from gpugraph.ops.framework.numpy_conversion import constant_array, filled_up, type_of_number

Conversion = Callable[..., Any]

_LARGEST_INT32 = np.iinfo(np.int32).max
_CONVERSIONS: list[tuple[int, type | tuple[type, ...], Conversion]] = []
_FOR_TYPE: dict[type, list[Conversion]] = {}
_USUAL = frozenset([int, float, bool, str, list, tuple, np.ndarray])
_SCALAR = TensorShape.of(())

NUMBERS = (int, float)
"""The types of Python numbers, the most common inputs of operations besides tensors."""


def infer_const(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape of the attr `value`."""
    return [TensorShape.of(context.attrs["value"].shape)]


CONST = OpDef(
    "Const",
    outputs=(ArgDef("output", type_attr="dtype"),),
    attrs={"value": AttrDef("value", "tensor"), "dtype": AttrDef("dtype", "type")},
    infer=infer_const,
    summary="A constant: the array of its attr `value`, the same at every run.",
)
OP_DEFS["Const"] = CONST


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Return a constant tensor.

    A TensorProto as the value keeps its dtype and shape. Raises TypeError if the value is
    incompatible with `dtype`, and ValueError if it does not fit `shape`.

    Args:
      value: a Python value or an array.
      dtype: the dtype. By default it follows from the value: float32 for floats, int32 for ints.
      shape: the shape, by default the shape of the value. A scalar value is repeated.
      verify_shape: whether the value must have exactly this shape.

    >>> session.run(tf.constant([[1, 2], [3, 4]]))
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if is_tensor_proto(value):
        dtype_of_proto = as_dtype(value.dtype).base_dtype
        return constant_of(tensor_array(value), name, proto_value_count(value), dtype_of_proto)
    array = constant_array(value, dtype)
    count = array.size
    if verify_shape and shape is not None and array.shape != tuple(shape):
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {array.shape}.")
    if shape is not None:
        array = filled_up(array, shape)
    return constant_of(array, name, None if array.size == count else count)


def constant_of(
    array: Any, name: str, count: int | None = None, dtype: DType | None = None
) -> Tensor:
    """Add a constant with this array to the default graph. The array becomes read-only.

    Args:
      count: the number of values in the constant's protobuf message, if it is smaller than the
        number of elements. The last value fills the remaining elements.
      dtype: the array's dtype. If it is None, it is determined from the array.
    """
    array.setflags(write=False)
    graph = get_default_graph()
    element = dtype or as_dtype(array.dtype)
    op = graph._make(CONST, (), (element,), {"value": array, "dtype": element}, name, False)
    [tensor] = op._outputs
    tensor._shape = TensorShape.of(array.shape) if array.ndim else _SCALAR
    if count is not None:
        graph._value_counts[op] = count
    return tensor


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Conversion, priority: int = 100
) -> None:
    """Register a function that converts values of `base_type` to tensors. Functions with a lower
    `priority` are called first.

    `conversion_func(value, dtype=None, name=None, as_ref=False)` returns a tensor. If it returns
    NotImplemented, the next function is called.
    """
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _CONVERSIONS.append((priority, base_type, conversion_func))
    _CONVERSIONS.sort(key=lambda entry: entry[0])
    _FOR_TYPE.clear()


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
    *,
    as_ref: bool = False,
) -> Tensor:
    """Convert a value to a tensor. The value may be a tensor, variable, array, number or nested
    list.

    Raises ValueError if a tensor does not have the dtype `dtype`, and TypeError if there is no
    conversion.

    Args:
      preferred_dtype, dtype_hint: the older and the newer name of the dtype that is tried first if
        `dtype` is None. It is ignored if the value does not fit.
      as_ref: whether to convert a variable to a reference.

    >>> tf.convert_to_tensor([1.0, 2.0]).shape
    TensorShape([Dimension(2)])
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        return _checked(value, wanted)
    for function in _conversions_of(value):
        tensor = function(value, dtype=wanted, name=name, as_ref=as_ref)
        if tensor is not NotImplemented:
            return _checked(tensor, wanted)
    hint = preferred_dtype or dtype_hint
    if wanted is None and hint is not None:
        try:
            return constant(value, hint, name=name or "Const")
        except (TypeError, ValueError):
            pass
    return constant(value, wanted, name=name or "Const")


def _conversions_of(value: Any) -> list[Conversion]:
    """Return the registered conversions for a value, in order of priority."""
    known = _FOR_TYPE.get(type(value))
    if known is None:
        known = [function for _, base, function in _CONVERSIONS if isinstance(value, base)]
        if type(value) in _USUAL:
            _FOR_TYPE[type(value)] = known
    return known


def number_array(value: Any, dtype: DType) -> Any:
    """Convert an int or a float to an array of `dtype`. Return None if the number may not fit.

    Also return None if a conversion function is registered for the number's type.
    """
    numpy_type = type_of_number(value, dtype)
    return None if numpy_type is None or _conversions_of(value) else np.array(value, numpy_type)


def _checked(tensor: Tensor, wanted: DType | None) -> Tensor:
    if wanted is not None and not wanted.base_dtype.is_compatible_with(tensor.dtype.base_dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype "
            f"{tensor.dtype.name}: '{tensor}'"
        )
    return tensor


def convert_n_to_tensor(
    values: Sequence[Any], dtype: Any = None, name: str | None = None
) -> list[Tensor]:
    """Convert each of `values` to a tensor. The tensors are named `name_0`, `name_1`, ..."""
    return [
        convert_to_tensor(value, dtype, None if name is None else f"{name}_{index}")
        for index, value in enumerate(values)
    ]


def _from_shape(
    value: TensorShape, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    del as_ref
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
    largest = max([size or 0 for size in value.as_list()], default=0)
    if dtype is dtypes.int32 and largest > _LARGEST_INT32:
        raise ValueError(
            f"Cannot convert TensorShape {value} to dtype int32; a dimension is too large "
            f"({largest}). Consider using tf.int64."
        )
    return _sizes("TensorShape", value.as_list() or np.zeros(0, np.int32), dtype, name)


def _from_dimension(
    value: Dimension, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    del as_ref
    if value.value is None:
        raise ValueError("Cannot convert an unknown Dimension to a Tensor")
    return _sizes("Dimension", value.value, dtype, name)


def _sizes(kind: str, value: Any, dtype: Any, name: str | None) -> Tensor:
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"A {kind} becomes a Tensor of int32 or int64, not {dtype.name}")
    return constant(value, dtype, name=name or "shape_as_tensor")


def _refuse_operation(
    value: Operation, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    raise TypeError(
        f"Can't convert Operation '{value.name}' to Tensor (target dtype={dtype!r}, name={name!r}, "
        f"as_ref={as_ref!r})"
    )


register_conversion(convert_to_tensor)
register_tensor_conversion_function(Operation, _refuse_operation)
register_tensor_conversion_function(TensorShape, _from_shape, 10)
register_tensor_conversion_function(Dimension, _from_dimension)
