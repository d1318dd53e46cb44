"""The ops that move tensors into, through and out of branches and loops.

References to variables pass through separate ops (RefSwitch, RefEnter, ...), so that an assignment
inside changes the variable.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.base.dtypes import variant
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops


def _is_ref(tensor: Tensor) -> bool:
    return tensor.dtype.is_ref_dtype


def switch(data: Tensor, pred: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return both outputs of a Switch. Each is `data`: the first is alive if `pred` is false, the
    second if it is true.
    """
    make = raw_ops.RefSwitch if _is_ref(data) else raw_ops.Switch
    with data.graph.colocate_with(data.op, ignore_existing=True):
        outputs = make(data, pred, name=name or "Switch")
    return outputs.output_false, outputs.output_true


def merge(inputs: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Return the output of a Merge, which is the value of the one input that is alive."""
    make = raw_ops.RefMerge if all(map(_is_ref, inputs)) else raw_ops.Merge
    return make(list(inputs), name=name or "Merge").output


def enter(
    data: Tensor,
    frame: str,
    parallel_iterations: int,
    is_constant: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return `data` as a tensor inside the loop `frame`. It is available in all iterations if
    `is_constant`, else only in the first.
    """
    make = raw_ops.RefEnter if _is_ref(data) else raw_ops.Enter
    inside: Tensor = make(
        data,
        frame_name=frame,
        is_constant=is_constant,
        parallel_iterations=parallel_iterations,
        name=name,
    )
    inside.set_shape(data.shape)
    return inside


def exit_loop(data: Tensor, name: str | None = None) -> Tensor:
    """Return `data` as a tensor outside of its loop."""
    return (raw_ops.RefExit if _is_ref(data) else raw_ops.Exit)(data, name=name)


def next_iteration(data: Tensor, name: str | None = None) -> Tensor:
    """Return `data` as a tensor in the next iteration of its loop."""
    make = raw_ops.RefNextIteration if _is_ref(data) else raw_ops.NextIteration
    return make(data, name=name)


def same(data: Tensor, name: str | None = None) -> Tensor:
    """Return an Identity of `data`."""
    return (raw_ops.RefIdentity if _is_ref(data) else raw_ops.Identity)(data, name=name)


def is_list(tensor: Tensor) -> bool:
    """Return whether the tensor is a tensor list, a variant. `ZerosLike` creates the zeros of such
    a tensor.
    """
    return tensor.dtype.base_dtype is variant


def is_constant_enter(tensor: Tensor) -> bool:
    """Return whether the tensor is a loop invariant, the output of a constant Enter."""
    op = tensor.op
    return op.type in ("Enter", "RefEnter") and bool(op._attrs["is_constant"])


def constant_enter(tensor: Tensor) -> Operation | None:
    """Return the constant Enter through which a loop invariant enters its loop. Return None if the
    tensor is not a loop invariant.

    The tensor may be separated from the Enter by Identities and by Switches of branches.
    """
    while tensor.op.type in ("Identity", "RefIdentity", "Switch", "RefSwitch"):
        tensor = tensor.op._inputs[0]
    return tensor.op if is_constant_enter(tensor) else None
