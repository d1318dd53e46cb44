"""Checks of dtypes and of Python types. All of them run at graph construction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import NUMERIC, DType, as_dtype, float32
from gpugraph.base.value_text import shown
from gpugraph.building.checks.build_time_values import prefix
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """Return an operation that does nothing. Raises TypeError unless `x` has an integer dtype."""
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.base_dtype.is_integer:
            raise TypeError(
                f'{prefix(message)}Expected "x" to be integer type.  Found: {x.name} of dtype '
                f"{x.dtype}"
            )
        return no_op("statically_determined_was_integer")


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Operation:
    """Return an operation that does nothing. Raises TypeError unless `tensor` has the dtype
    `tf_type`.
    """
    wanted = as_dtype(tf_type)
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype is not wanted:
            raise TypeError(
                f"{prefix(message)}{tensor.name} must be of type {wanted}; got {tensor.dtype!r}"
            )
        return no_op("statically_determined_correct_type")


def assert_proper_iterable(values: Any) -> None:
    """Raise TypeError unless `values` is an iterable other than a string, a tensor or an array."""
    if isinstance(values, (Tensor, np.ndarray, bytes, str)):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def is_numeric_tensor(tensor: Any) -> bool:
    """Return whether `tensor` is a tensor of a numeric dtype."""
    return isinstance(tensor, Tensor) and tensor.dtype.base_dtype in NUMERIC


def _label(tensor: Any) -> str:
    """Return the name of a tensor. Return any other value as text."""
    return str(getattr(tensor, "name", tensor))


def assert_same_float_dtype(tensors: Iterable[Any] | None = None, dtype: Any = None) -> Any:
    """Return the float dtype that all `tensors` and `dtype` share. If there are neither tensors nor
    `dtype`, return float32.

    Raises ValueError if the dtypes differ or are not float dtypes. Raises TypeError if an element
    of `tensors` has no dtype.
    """
    common = None if dtype is None else as_dtype(dtype).base_dtype
    first = None
    for tensor in tensors or ():
        if tensor is None:
            continue
        if not isinstance(getattr(tensor, "dtype", None), DType):
            raise TypeError(f"Expected a tensor, not {shown(tensor)}")
        kind = tensor.dtype.base_dtype
        if common is None:
            common, first = kind, tensor
        elif kind is not common:
            of = f" as {_label(first)}" if first is not None else ""
            raise ValueError(
                f"{_label(tensor)}, type={kind}, must be of the same type ({common}){of}."
            )
    common = float32 if common is None else common
    if not common.is_floating:
        raise ValueError(f"Expected floating point type, got {common}.")
    return common
