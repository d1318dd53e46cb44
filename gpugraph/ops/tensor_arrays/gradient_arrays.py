"""Gradients of reads and writes: an array of gradients beside each array, one per backward pass.

A read's gradient is written to the gradient array, a write's is read from it, after all reads'
gradients: the gradient of a flow is the flow of the backward pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops


class GradientHandle(NamedTuple):
    """A gradient array in the graph: its handle, and the flow after which it exists."""

    handle: Tensor
    flow: Tensor


def gradient_handle(
    handle: Tensor, flow: Tensor, source: str, name: str | None = None
) -> GradientHandle:
    """The gradient array of `handle` for the pass `source`, after `flow`."""
    graph = handle.graph
    with graph.name_scope(name or "TensorArrayGrad"):
        with graph.colocate_with(handle.op):
            gradient, _ = raw_ops.TensorArrayGradV3(handle, flow, source=source, name=name)
        with graph.control_dependencies([gradient]):
            return GradientHandle(gradient, raw_ops.Identity(flow, name="gradient_flow"))


def _source(op: Operation) -> str:
    """The backward pass that creates the gradient of `op`, by the name of its scope."""
    scope = f"/{op.graph.get_name_scope()}"
    end = scope.rfind(f"/{op.name}_grad")
    if end < 0:
        raise ValueError(
            f"The gradient of '{op.name}' belongs to a call of tf.gradients, but it is created in "
            f"the name scope '{scope[1:]}', which is none of such a call"
        )
    return scope[1:end]


def _write(op: Operation, op_type: str, *values: Any) -> Tensor:
    """The flow after `values` are written to the gradient array of what `op` reads."""
    array = gradient_handle(op.inputs[0], op.inputs[-1], _source(op))
    with op.graph.name_scope(op_type):
        return getattr(raw_ops, f"{op_type}V3")(array.handle, *values, array.flow)


def _of_write(op: Operation, flow: Tensor) -> tuple[GradientHandle, Tensor]:
    """The gradient array, which waits for the write, and the flow for other ops."""
    written = raw_ops.Identity(op.outputs[0], name="flow_out")
    with op.graph.control_dependencies([written]):
        barrier = raw_ops.Identity(flow, name="write_barrier")
    return gradient_handle(op.inputs[0], barrier, _source(op)), barrier


def read_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Writes the gradient of what was read."""
    return [None, None, _write(op, "TensorArrayWrite", op.inputs[1], grad)]


def write_gradient(op: Operation, flow: Tensor) -> list[Any]:
    """Reads the gradient of what was written."""
    array, barrier = _of_write(op, flow)
    grad = raw_ops.TensorArrayReadV3(array.handle, op.inputs[1], array.flow, dtype=op.attrs["T"])
    return [None, None, grad, barrier]


def gather_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Scatters the gradient of what was gathered."""
    return [None, None, _write(op, "TensorArrayScatter", op.inputs[1], grad)]


def scatter_gradient(op: Operation, flow: Tensor) -> list[Any]:
    """Gathers the gradient of what was scattered."""
    array, barrier = _of_write(op, flow)
    grad = raw_ops.TensorArrayGatherV3(array.handle, op.inputs[1], array.flow, dtype=op.attrs["T"])
    return [None, None, grad, barrier]


def concat_gradient(op: Operation, grad: Tensor, _: Any) -> list[Any]:
    """Splits the gradient of what was joined."""
    return [None, _write(op, "TensorArraySplit", grad, op.outputs[1])]


def split_gradient(op: Operation, flow: Tensor) -> list[Any]:
    """Joins the gradient of what was split."""
    array, barrier = _of_write(op, flow)
    grad, _ = raw_ops.TensorArrayConcatV3(array.handle, array.flow, dtype=op.attrs["T"])
    return [None, grad, None, barrier]
