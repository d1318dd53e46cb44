"""The split of a function that draws random numbers into two functions: one for the costly ops that
need no random number, and one for all other ops.

Random numbers must be drawn in the order of the elements. Therefore only one thread may call the
function that draws them. Several threads may call the function with the costly ops, which for
example decodes, parses or multiplies, before the consumer requests the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction

_COSTLY = ("Decode", "Parse", "Resize", "Crop", "MatMul", "BatchMatMul", "Conv", "DepthwiseConv")
"""The first letters of op types that take longer than a thread."""


def parts_of(function: GraphFunction) -> tuple[GraphFunction, GraphFunction] | None:
    """Return two functions, or None if the function has no costly ops that need no random number.

    The first function has these costly ops, and threads may call it before its results are needed.
    Its results are the arguments of the second function. Both functions are built once and then
    kept.
    """
    graph = function.graph
    if graph.parts is None:
        graph.parts = _split(function) or False
    return graph.parts or None


def _split(function: GraphFunction) -> tuple[GraphFunction, GraphFunction] | None:
    graph = function.graph
    captured = list(graph.captures.values())
    is_plain = all(tensor.op.type == "Placeholder" for tensor in captured)
    if not is_plain or any(op._control_flow_context for op in graph._ops):
        return None
    arguments = {tensor.op for tensor in (*graph.inputs, *captured)}
    late = _late(graph, arguments)
    if not late.issuperset(graph.controls):
        return None
    by_element = _dependents(graph, {tensor.op for tensor in graph.inputs})
    costly = [op for op in graph._ops if op.type.startswith(_COSTLY) and op not in late]
    early = by_element & _ancestors(graph, set(costly))
    used = _ancestors(graph, {*late, *graph.controls, *(t.op for t in graph.outputs)})
    rest_ops = [op for op in graph._ops if op not in early and op in used]
    needed = [tensor for op in rest_ops for tensor in op._inputs]
    handed = list(dict.fromkeys(t for t in (*needed, *graph.outputs) if t.op in early))
    if not costly or not handed:
        return None
    omitted = (
        set(graph._ops) - early - {op for op in rest_ops if op not in by_element and op not in late}
    )
    first = part_of_graph(graph, "first", graph.inputs, omitted, handed)
    rest = part_of_graph(graph, "rest", handed, set(graph._ops) - set(rest_ops), graph.outputs)
    return GraphFunction(first.name, first), GraphFunction(rest.name, rest)


def _late(graph: FuncGraph, arguments: set[Operation]) -> set[Operation]:
    """Return the ops that have effects, the ops that have control inputs or are control inputs, and
    all ops that directly or indirectly use the results of these ops.
    """
    effects: set[Operation] = set()
    for op in graph._ops:
        if op.control_inputs:
            effects.update((op, *op.control_inputs))
        elif op._op_def.is_stateful and op not in arguments:
            effects.add(op)
    return _dependents(graph, effects)


def _ancestors(graph: FuncGraph, ops: set[Operation]) -> set[Operation]:
    """Return `ops` and all ops whose results they directly or indirectly use."""
    ancestors = set(ops)
    for op in reversed(graph._ops):
        if op in ancestors:
            ancestors.update(tensor.op for tensor in op._inputs)
    return ancestors


def _dependents(graph: FuncGraph, ops: set[Operation]) -> set[Operation]:
    """Return `ops` and all ops that directly or indirectly use their results."""
    dependents = set(ops)
    for op in graph._ops:
        if any(tensor.op in dependents for tensor in op._inputs):
            dependents.add(op)
    return dependents


def part_of_graph(
    graph: FuncGraph, part: str, inputs: Sequence[Tensor], omitted: set[Operation],
    outputs: Sequence[Tensor],
) -> FuncGraph:  # fmt: skip
    """Return a graph with copies of the ops that are not in `omitted`."""
    result = FuncGraph(f"{graph.name}_{part}", graph.outer_graph)
    copies: dict[Tensor, Tensor] = {}
    operations: dict[Operation, Operation] = {}
    with result.as_default():
        for tensor in inputs:
            copies[tensor] = result.add_input(tensor.dtype, tensor.shape, tensor.op.name)
        for outer, inner in graph.captures.items():
            copy = result._placeholder(inner.dtype, inner.shape, inner.op.name)
            copies[inner] = result.captures[outer] = copy
        for op in graph._ops:
            if op not in omitted and not any(tensor in copies for tensor in op._outputs):
                operations[op] = _again(result, op, copies, operations)
        result.outputs = [copies[tensor] for tensor in outputs]
        result.controls = [operations[op] for op in graph.controls if op in operations]
    return result


def _again(
    graph: FuncGraph, op: Operation, copies: dict[Tensor, Tensor],
    operations: dict[Operation, Operation],
) -> Operation:  # fmt: skip
    """Return a copy of an op with the same name and origin."""
    types: list[Any] = [tensor._dtype for tensor in op._outputs]
    inputs = [copies[tensor] for tensor in op._inputs]
    with graph.control_dependencies([operations[other] for other in op.control_inputs]):
        copy = graph._make(op._op_def, inputs, types, dict(op._attrs), f"{op.name}/")
    copy.origin = op.origin
    copies.update(zip(op._outputs, copy._outputs, strict=True))
    return copy
