"""Handles: tensors of dtype resource that represent a resource variable, and their variables.

A handle moves through branches and loops by Switch, Enter and the like, as other tensors do. Its
variable is found by going back to the VarHandleOp that created it.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, resource
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor

HANDLE_MOVES = frozenset(("Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration"))
"""Op types that pass a handle on."""


def handle_maker(tensor: Tensor) -> Operation | None:
    """Return the VarHandleOp behind a tensor; None if it is not a variable's handle."""
    if tensor._dtype is not resource:
        return None
    while tensor.op.type != "VarHandleOp":
        if tensor.op.type == "IdentityN":
            tensor = returned_handle(tensor)
        elif tensor.op.type not in HANDLE_MOVES:
            return None
        else:
            tensor = tensor.op._inputs[0]  # for a loop's Merge: the Enter
    return tensor.op


def returned_handle(tensor: Tensor) -> Tensor:
    """Return the handle that an inlined function returns as `tensor`; other tensors as they are."""
    while tensor._dtype is resource and tensor.op.type == "IdentityN":
        tensor = tensor.op._inputs[tensor.value_index]
    return tensor


def value_dtype(tensor: Tensor) -> DType:
    """Return the tensor's dtype; for a variable's handle, the variable's."""
    maker = handle_maker(tensor)
    dtype: Any = tensor._dtype if maker is None else maker._attrs["dtype"]
    return dtype.base_dtype


def value_static_shape(tensor: Tensor) -> TensorShape:
    """Return the tensor's static shape; for a variable's handle, the variable's."""
    maker = handle_maker(tensor)
    return tensor._shape if maker is None else maker._attrs["shape"]
