"""Handles: tensors of dtype resource that stand for a resource variable, and what they stand for.

A handle moves through branches and loops by Switch, Enter and the like, as other tensors do. What
it stands for is found by going back to the VarHandleOp that made it.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, resource
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor

HANDLE_MOVES = frozenset(("Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration"))
"""Op types that give a handle on."""


def handle_maker(tensor: Tensor) -> Operation | None:
    """The VarHandleOp behind a tensor; None where there is none: it is no variable's handle."""
    if tensor._dtype is not resource:
        return None
    while tensor.op.type != "VarHandleOp":
        if tensor.op.type == "IdentityN":
            tensor = returned_handle(tensor)
        elif tensor.op.type not in HANDLE_MOVES:
            return None
        else:
            tensor = tensor.op._inputs[0]  # of a loop's Merge, what enters
    return tensor.op


def returned_handle(tensor: Tensor) -> Tensor:
    """The handle that an inlined function returns as `tensor`; other tensors as they are."""
    while tensor._dtype is resource and tensor.op.type == "IdentityN":
        tensor = tensor.op._inputs[tensor.value_index]
    return tensor


def value_dtype(tensor: Tensor) -> DType:
    """The tensor's dtype; of a variable's handle, the variable's."""
    maker = handle_maker(tensor)
    dtype: Any = tensor._dtype if maker is None else maker._attrs["dtype"]
    return dtype.base_dtype


def value_static_shape(tensor: Tensor) -> TensorShape:
    """What is known of the tensor's shape; of a variable's handle, of the variable's."""
    maker = handle_maker(tensor)
    return tensor._shape if maker is None else maker._attrs["shape"]
