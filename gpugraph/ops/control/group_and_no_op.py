"""Ops that compute nothing: NoOp, and the five that the compile passes put into a plan's graph.

`_Arg` stands for a fed tensor, `_Retval` for a fetched one, `_Send` and `_Recv` for the two ends
of a tensor's way from one device to another, `_LoopEnd` for the end of a loop's iteration. The
bind pass knows them; they have no kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_stacks import graph_stack
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import from_attr, no_outputs
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def _nothing() -> None:
    """Runs nothing."""


op(
    "NoOp",
    infer=no_outputs,
    cpu=Call(_nothing),
    gpu=Call(_nothing),
    grad=NO_GRADIENT,
    doc="Does nothing; something to hang control dependencies on.",
)

_MOVED = Call(_nothing)

op(
    "_Arg",
    outputs="output: T",
    attrs={"T": ALL, "index": Attr("int"), "shape": Attr("shape"), "tensor": Attr("string")},
    infer=from_attr("shape"),
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    stateful=True,
    doc="A fed tensor.",
)
op(
    "_Retval",
    inputs="input: T",
    attrs={"T": ALL, "index": Attr("int")},
    infer=no_outputs,
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    stateful=True,
    doc="A fetched tensor.",
)
_WAY = {
    "T": ALL,
    "tensor_name": Attr("string"),
    "send_device": Attr("string"),
    "recv_device": Attr("string"),
}
op(
    "_Send",
    inputs="tensor: T",
    attrs=_WAY,
    infer=no_outputs,
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    stateful=True,
    doc="The end of a tensor's way on the device that made it.",
)
op(
    "_Recv",
    outputs="tensor: T",
    attrs={**_WAY, "shape": Attr("shape")},
    infer=from_attr("shape"),
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    stateful=True,
    doc="The end of a tensor's way on the device that takes it.",
)
op(
    "_LoopEnd",
    attrs={"frame_name": Attr("string")},
    infer=no_outputs,
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    stateful=True,
    doc="The end of a loop's iteration, in the order of a plan's ops.",
)


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; something to hang control dependencies on."""
    return raw_ops.NoOp(name=name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that has run when all of `inputs` (operations, tensors, lists) have.

    Inputs on several devices are waited for on each of them first. TypeError for what is no part
    of a graph.
    """
    graph: Graph = graph_stack.top()
    ops = graph._ops_of(list(_flat(inputs))) if inputs else []
    by_device: dict[str, list[Operation]] = {}
    for each in ops:
        by_device.setdefault(each.device, []).append(each)
    if len(by_device) <= 1:
        return _after(graph, ops, next(iter(by_device), None), name or "group_deps")
    with graph.name_scope(name or "group_deps") as scope:
        parts = [_after(graph, by_device[device], device, None) for device in sorted(by_device)]
        return _after(graph, parts, None, scope)


def _after(graph: Graph, ops: list[Operation], device: str | None, name: str | None) -> Operation:
    with graph.device(device or None), graph.control_dependencies(ops):
        made: Operation = no_op(name=name)
    return made


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The same tensors, each there only once all of them and `control_inputs` are.

    None stays None, IndexedSlices stay such. ValueError without any tensor.
    """
    given = [
        each if each is None or isinstance(each, IndexedSlices) else convert_to_tensor(each)
        for each in tensors
    ]
    waited = [each.op for each in given if each is not None]
    if not waited:
        raise ValueError(f"Must have at least one Tensor: {tensors}")
    graph: Graph = waited[0].graph
    with graph.name_scope(name or "tuple"):
        gate = group(*waited, *(control_inputs or ()))
        return [None if each is None else _gated(graph, gate, each) for each in given]


def _gated(graph: Graph, gate: Operation, tensor: Any) -> Any:
    if isinstance(tensor, IndexedSlices):
        values = _gated(graph, gate, tensor.values)
        return IndexedSlices(values, tensor.indices, tensor.dense_shape)
    with graph.control_dependencies([gate]), graph.colocate_with(tensor.op):
        made: Tensor = raw_ops.Identity(tensor, name="control_dependency")
    return made


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Tensor:
    """`output_tensor`, there only once all of `dependencies` (operations, tensors) have run."""
    tensor = convert_to_tensor(output_tensor)
    graph = tensor.graph
    with graph.name_scope(name or "control_dependency") as scope:
        with graph.colocate_with(tensor.op), graph.control_dependencies(dependencies):
            made: Tensor = raw_ops.Identity(tensor, name=scope)
    return made


def _flat(items: Sequence[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, Sequence) and not isinstance(item, str):
            yield from _flat(item)
        else:
            yield item
