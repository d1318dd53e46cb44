"""Slots, which are variables that an optimizer creates for each variable that it trains.

A slot's name starts with the name of the trained variable. By default a slot has the trained
variable's shape. Programs import these functions from `tensorflow.python.training.slot_creator`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from gpugraph.building.replication import colocated
from gpugraph.building.variable_scope import get_variable_scope
from gpugraph.building.variables import ResourceVariable, Variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def name_in_variable_scope(name: str) -> str:
    """Return `<current variable scope>/<name>`, or the name itself outside of all variable
    scopes.
    """
    scope = get_variable_scope().name
    return f"{scope}/{name}" if scope else name


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Variable:
    """Create a variable with the name `<name of primary>/<name>` and the initial value `val`. The
    variable is not trainable.

    The name is prefixed with the current variable scope, even if `primary` was created in the same
    scope.

    Args:
      val: a tensor, or a function that returns one.
      colocate_with_primary: whether to place the slot on the device of `primary`, which is a
        variable or a tensor.
    """
    prefix = name_in_variable_scope(primary.op.name)
    with primary.graph.name_scope(None):
        slot = create_named_slot(primary, val, f"{prefix}/{name}", colocate_with_primary)
    info = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if info is not None:
        suffix = slot.op.name[len(prefix) + 1 :]
        slot._set_save_slice_info(replace(info, full_name=f"{info.full_name}/{suffix}"))
    return slot


def create_named_slot(
    primary: Any, val: Any, name: str, colocate_with_primary: bool = True
) -> Variable:
    """Create a variable with the name `name`, in the current name scope, for a slot of `primary`.

    Args:
      val, colocate_with_primary: as for `create_slot`.
    """
    with colocated(primary) if colocate_with_primary else nullcontext():
        return Variable(
            val,
            trainable=False,
            validate_shape=primary.shape.is_fully_defined(),
            name=name,
            use_resource=isinstance(primary, ResourceVariable),
        )


def create_slot_with_initializer(
    primary: Any,
    initializer: Callable[..., Any],
    shape: Any,
    dtype: Any,
    name: str,
    colocate_with_primary: bool = True,
) -> Variable:
    """Create a slot with `create_slot`, whose initial value is `initializer(shape, dtype=dtype)`.

    If `shape` is not fully defined, the slot has the shape that the value of `primary` has at run
    time.
    """
    initial = initial_of_shape(primary, initializer, shape, dtype)
    return create_slot(primary, initial, name, colocate_with_primary)


def create_zeros_slot(
    primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True
) -> Variable:
    """Create a slot with `create_slot` that is filled with zeros and has the shape of `primary`.

    Args:
      dtype: the slot's dtype, by default the dtype of `primary`.
    """
    dtype = primary.dtype.base_dtype if dtype is None else dtype
    return create_slot(primary, zeros_of(primary, dtype), name, colocate_with_primary)


def zeros_of(primary: Any, dtype: Any) -> Callable[[], Tensor]:
    """Return a function that creates zeros of the shape of `primary`."""
    return initial_of_shape(primary, lambda shape, dtype: zeros(shape, dtype), primary.shape, dtype)


def initial_of_shape(
    primary: Any, initializer: Callable[..., Any], shape: Any, dtype: Any
) -> Callable[[], Tensor]:
    """Return a function that creates the initializer's value.

    The value has the shape `shape`. If `shape` is not fully defined, it has the shape that the
    value of `primary` has at run time.
    """

    def initial() -> Tensor:
        if shape.is_fully_defined():
            return convert_to_tensor(initializer(shape, dtype=dtype))
        first = primary.initialized_value() if isinstance(primary, Variable) else primary
        filled: Tensor = raw_ops.Fill(raw_ops.Shape(first), initializer([], dtype=dtype))
        return filled

    return initial
