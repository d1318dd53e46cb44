"""Handles of resource variables: tensors of dtype resource that refer to a variable.

Switch, Enter and similar ops forward a handle into branches and loops, as they forward other
tensors. To find the variable of a handle, these functions follow such ops back to the VarHandleOp
that created the handle.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, resource
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor

HANDLE_MOVES = frozenset(("Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration"))
"""Op types that forward a handle from their first input."""


def handle_maker(tensor: Tensor) -> Operation | None:
    """Return the VarHandleOp that created a handle. If the tensor is not a variable's handle,
    return None.
    """
    if tensor._dtype is not resource:
        return None
    while tensor.op.type != "VarHandleOp":
        if tensor.op.type == "IdentityN":
            tensor = returned_handle(tensor)
        elif tensor.op.type not in HANDLE_MOVES:
            return None
        else:
            tensor = tensor.op._inputs[0]  # the first input of a loop's Merge is its Enter
    return tensor.op


def returned_handle(tensor: Tensor) -> Tensor:
    """Return the original handle if an inlined function returned `tensor` through IdentityN ops.

    Any other tensor is returned unchanged.
    """
    while tensor._dtype is resource and tensor.op.type == "IdentityN":
        tensor = tensor.op._inputs[tensor.value_index]
    return tensor


def value_dtype(tensor: Tensor) -> DType:
    """Return the dtype of a tensor's values. If the tensor is a handle, return the dtype of its
    variable.
    """
    maker = handle_maker(tensor)
    dtype: Any = tensor._dtype if maker is None else maker._attrs["dtype"]
    return dtype.base_dtype


def value_static_shape(tensor: Tensor) -> TensorShape:
    """Return a tensor's static shape. If the tensor is a handle, return the static shape of its
    variable.
    """
    maker = handle_maker(tensor)
    return tensor._shape if maker is None else maker._attrs["shape"]
