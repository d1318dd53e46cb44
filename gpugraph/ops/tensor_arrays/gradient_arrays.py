"""The gradients of reads from and writes to TensorArrays. Each TensorArray has a gradient array for
each backward pass.

The gradient of a read is a write to the gradient array. The gradient of a write is a read from the
gradient array, which must come after the gradients of all reads. Flows ensure this order, because
the gradient of a flow is the flow of the backward pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops


class GradientHandle(NamedTuple):
    """A gradient array in the graph: its handle, and the flow that orders the ops on it."""

    handle: Tensor
    flow: Tensor


def gradient_handle(
    handle: Tensor, flow: Tensor, source: str, name: str | None = None
) -> GradientHandle:
    """Return the gradient array of the array `handle` for the backward pass `source`.

    The gradient array is created after `flow`.
    """
    graph = handle.graph
    with graph.name_scope(name or "TensorArrayGrad"):
        with graph.colocate_with(handle.op):
            gradient, _ = raw_ops.TensorArrayGradV3(handle, flow, source=source, name=name)
        with graph.control_dependencies([gradient]):
            return GradientHandle(gradient, raw_ops.Identity(flow, name="gradient_flow"))


def _source(op: Operation) -> str:
    """Return the name of the backward pass in which the gradient of `op` is created.

    This is the name scope above the gradient's own scope, which ends in "<op>_grad".
    """
    scope = f"/{op.graph.get_name_scope()}"
    end = scope.rfind(f"/{op.name}_grad")
    if end < 0:
        raise ValueError(
            f"The gradient of '{op.name}' belongs to a call of tf.gradients, but it is created in "
            f"the name scope '{scope[1:]}', which belongs to no such call"
        )
    return scope[1:end]


def _write(op: Operation, op_type: str, *values: Any) -> Tensor:
    """Write `values` to the gradient array of the array that `op` reads. Return the flow after the
    write.

    Args:
      op_type: the type of the writing op, without "V3".
    """
    array = gradient_handle(op.inputs[0], op.inputs[-1], _source(op))
    with op.graph.name_scope(op_type):
        return getattr(raw_ops, f"{op_type}V3")(array.handle, *values, array.flow)


def _of_write(op: Operation, flow: Tensor) -> tuple[GradientHandle, Tensor]:
    """Return the gradient array of the array that `op` writes, and the flow after which the
    gradients of the ops before `op` run.

    Both results depend on `op`, so that they are used only after it has run.
    """
    written = raw_ops.Identity(op.outputs[0], name="flow_out")
    with op.graph.control_dependencies([written]):
        barrier = raw_ops.Identity(flow, name="write_barrier")
    return gradient_handle(op.inputs[0], barrier, _source(op)), barrier


def read_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Return the gradients of a read. The gradient of the read value is written to the gradient
    array.
    """
    return [None, None, _write(op, "TensorArrayWrite", op.inputs[1], grad)]


def write_gradient(op: Operation, flow: Tensor) -> list[Any]:
    """Return the gradients of a write. The gradient of the written value is read from the gradient
    array.
    """
    array, barrier = _of_write(op, flow)
    grad = raw_ops.TensorArrayReadV3(array.handle, op.inputs[1], array.flow, dtype=op.attrs["T"])
    return [None, None, grad, barrier]


def gather_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Return the gradients of a gather. The gradients of the gathered values are scattered to the
    gradient array.
    """
    return [None, None, _write(op, "TensorArrayScatter", op.inputs[1], grad)]


def scatter_gradient(op: Operation, flow: Tensor) -> list[Any]:
    """Return the gradients of a scatter. The gradients of the scattered values are gathered from
    the gradient array.
    """
    array, barrier = _of_write(op, flow)
    grad = raw_ops.TensorArrayGatherV3(array.handle, op.inputs[1], array.flow, dtype=op.attrs["T"])
    return [None, None, grad, barrier]


def concat_gradient(op: Operation, grad: Tensor, _: Any) -> list[Any]:
    """Return the gradients of a concat. The gradient of its result is split into the elements of
    the gradient array.
    """
    return [None, _write(op, "TensorArraySplit", grad, op.outputs[1])]


def split_gradient(op: Operation, flow: Tensor) -> list[Any]:
    """Return the gradients of a split. The gradient of its value is the concatenation of the
    elements of the gradient array.
    """
    array, barrier = _of_write(op, flow)
    grad, _ = raw_ops.TensorArrayConcatV3(array.handle, array.flow, dtype=op.attrs["T"])
    return [None, grad, None, barrier]
