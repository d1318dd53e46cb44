"""Functions on many elements at once: elementwise functions, on stacked elements.

A function qualifies if all its ops compute each number from those at the same place by exact
arithmetic, so that a stack of elements gives the same bits as one element after the other. Ops on
constants alone run once for the stack, so they may neither draw random numbers nor read variables.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import OBJECTS
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction

_EXACT_OPS = """
    Abs Add AddV2 BitwiseAnd BitwiseOr BitwiseXor Cast Equal Greater GreaterEqual Identity Less
    LessEqual LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul Neg NotEqual RealDiv Square Sub
"""
_EXACT = frozenset(_EXACT_OPS.split())


def vectorized(function: GraphFunction) -> GraphFunction | None:
    """Return the function for stacked elements; None if it does not qualify."""
    graph = function.graph
    rank = _common_rank(graph)
    if rank is None or graph.controls or not graph.outputs:
        return None
    depends = set(graph.inputs)
    for op in graph._ops:
        inputs = [tensor for tensor in op._inputs if tensor in depends]
        if not inputs:
            if _differs_by_call(op):
                return None
            continue
        if op.type not in _EXACT or op._control_flow_context is not None:
            return None
        if any(tensor.shape.rank is None or tensor.shape.rank > rank for tensor in op._inputs):
            return None
        if any(tensor.shape.rank != rank for tensor in (*inputs, *op._outputs)):
            return None
        depends.update(op._outputs)
    if not all(tensor in depends for tensor in graph.outputs):
        return None
    return _copy(function)


def _differs_by_call(op: Operation) -> bool:
    """Return whether an op may give each element another value: random ops, reads of variables."""
    if op.type == "Placeholder":
        return False
    tensors = *op._inputs, *op._outputs
    return op._op_def.is_stateful or any(tensor.dtype.base_dtype in OBJECTS for tensor in tensors)


def _common_rank(graph: FuncGraph) -> int | None:
    """Return the rank of all arguments; None if they differ, or hold objects."""
    ranks = {tensor.shape.rank for tensor in graph.inputs}
    if len(ranks) != 1 or any(tensor.dtype.base_dtype in OBJECTS for tensor in graph.inputs):
        return None
    return ranks.pop()


def _copy(function: GraphFunction) -> GraphFunction:
    """Return a function with the same ops whose arguments have an axis more."""
    graph = function.graph
    copy = FuncGraph(f"{graph.name}_rows", graph.outer_graph)
    tensors: dict[Tensor, Tensor] = {}
    for tensor in graph.inputs:
        shape = TensorShape([None]).concatenate(tensor.shape)
        tensors[tensor] = copy.add_input(tensor.dtype, shape, tensor.op.name)
    for outer, inner in graph.captures.items():
        if inner.op.type == "Placeholder":
            tensors[inner] = copy._placeholder(inner.dtype, inner.shape, inner.op.name)
            copy.captures[outer] = tensors[inner]
    for op in graph._ops:
        if op._outputs and op._outputs[0] not in tensors:
            _add(copy, op, tensors)
    copy.outputs = [tensors[tensor] for tensor in graph.outputs]
    return GraphFunction(f"{function.name}_rows", copy)


def _add(graph: FuncGraph, op: Operation, tensors: dict[Tensor, Tensor]) -> None:
    inputs = [tensors[tensor] for tensor in op._inputs]
    types = [tensor._dtype for tensor in op._outputs]
    copy = graph._make(op._op_def, inputs, types, op._attrs, f"{op.name}/")
    tensors.update(zip(op._outputs, copy._outputs))


def rows_of(function: GraphFunction) -> Any:
    """Return `vectorized(function)`, which is computed once."""
    graph = function.graph
    if graph.rows_function is None:
        graph.rows_function = vectorized(function) or False
    return graph.rows_function or None
