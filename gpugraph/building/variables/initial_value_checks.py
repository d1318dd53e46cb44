"""Checks of initial values: their shapes, and whether they are created outside of loops and
branches.
"""

from __future__ import annotations

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor


def check_outside(value: Tensor, name: str) -> None:
    """Raise ValueError if the initial value was created in a branch or a loop, because the branch
    or loop may never run.
    """
    if value.op._control_flow_context is not None:
        raise ValueError(
            f"Initializer for variable {name} is from inside a control-flow construct, such as a "
            f"loop or conditional: '{value.op.name}', made at {value.op.origin}. When creating a "
            "variable inside a loop or conditional, use a lambda as the initializer."
        )


def check_shape(value: Tensor, shape: TensorShape, may_be_open: bool, name: str) -> None:
    """Raise ValueError if `value` doesn't have `shape`, or if `shape` is not fully defined.

    Args:
      may_be_open: whether sizes of `shape` may be unknown.
      name: the variable's name, for the error.
    """
    if not shape.is_compatible_with(value.shape):
        raise ValueError(
            f"The initial value's shape ({value.shape}) is not compatible with the explicitly "
            f"supplied `shape` argument ({shape})."
        )
    if not may_be_open and not shape.is_fully_defined():
        raise ValueError(
            f"initial_value must have a shape specified: {value} (of the variable '{name}'); give "
            "validate_shape=False to leave it open"
        )
