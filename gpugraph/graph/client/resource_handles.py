"""Handles, which are the tensors of dtype resource that refer to resource variables, and their
variables.

Switch, Enter and similar ops forward a handle into branches and loops, as they forward other
tensors. The variable of a handle is found by following these ops back to the VarHandleOp that
created it.
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
    """Return the handle that `tensor` forwards, if an inlined function returns it through IdentityN
    ops.

    A tensor that is not such a handle is returned unchanged.
    """
    while tensor._dtype is resource and tensor.op.type == "IdentityN":
        tensor = tensor.op._inputs[tensor.value_index]
    return tensor


def value_dtype(tensor: Tensor) -> DType:
    """Return the dtype of a tensor's values; for a variable's handle, the dtype of the variable."""
    maker = handle_maker(tensor)
    dtype: Any = tensor._dtype if maker is None else maker._attrs["dtype"]
    return dtype.base_dtype


def value_static_shape(tensor: Tensor) -> TensorShape:
    """Return a tensor's static shape; for a variable's handle, the static shape of the variable."""
    maker = handle_maker(tensor)
    return tensor._shape if maker is None else maker._attrs["shape"]
