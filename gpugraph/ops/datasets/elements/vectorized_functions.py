"""Vectorized functions, which are copies of functions that compute many stacked elements in one
call.

A function qualifies if each of its ops can be vectorized (`row_forms`). The results have the same
bits as the results of single calls. An op that does not depend on the elements runs once for all
elements, so it must not draw random numbers or read variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import HANDLES
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.ops.datasets.elements.row_forms import ROW_FORMS, NoRowForm, rank_of, require
from gpugraph.ops.framework.op_declaration import raw_ops

_SCOPE = "stacked_elements"
"""The name scope of ops that the function itself does not have."""


class RowsCopy:
    """A copy of a function's graph whose inputs are stacked elements."""

    def __init__(self, graph: FuncGraph) -> None:
        self.graph = FuncGraph(f"{graph.name}_rows", graph.outer_graph)
        self._copies: dict[Tensor, Tensor] = {}
        self._stacked: set[Tensor] = set()
        with self.graph.as_default():
            self._copy(graph)

    def _copy(self, graph: FuncGraph) -> None:
        for tensor in graph.inputs:
            require(tensor.dtype.base_dtype not in HANDLES)
            shape = TensorShape([None]).concatenate(tensor.shape)
            self._copies[tensor] = self.graph.add_input(tensor.dtype, shape, tensor.op.name)
            self._stacked.add(tensor)
        for outer, inner in graph.captures.items():
            if inner.op.type == "Placeholder":
                copy = self.graph._placeholder(inner.dtype, inner.shape, inner.op.name)
                self._copies[inner] = self.graph.captures[outer] = copy
        for op in graph._ops:
            if not op._outputs or op._outputs[0] not in self._copies:
                self._add(op)
        with self.graph.name_scope(_SCOPE):
            self.graph.outputs = [self.stacked(tensor) for tensor in graph.outputs]

    def _add(self, op: Operation) -> None:
        require(op._control_flow_context is None)
        if not any(map(self.is_stacked, op._inputs)):
            require(not _differs_by_call(op))
            copies = self.again(op, [self._copies[tensor] for tensor in op._inputs])
            self._copies.update(zip(op._outputs, copies))
            return
        require(op.type in ROW_FORMS)
        with self.graph.name_scope(_SCOPE):
            outputs = ROW_FORMS[op.type](self, op)
        for tensor, output in zip(op._outputs, outputs, strict=True):
            self._copies[tensor] = output
            if op.type not in ("Shape", "Size", "Rank"):
                self._stacked.add(tensor)

    def is_stacked(self, tensor: Tensor) -> bool:
        """Return whether a tensor of the function has a separate value for each element."""
        return tensor in self._stacked

    def copied(self, tensor: Tensor) -> Tensor:
        """Return the copy's tensor for `tensor`."""
        return self._copies[tensor]

    def stacked(self, tensor: Tensor) -> Tensor:
        """Return the stacked values of `tensor`. A value that all elements share is repeated."""
        copy = self._copies[tensor]
        if self.is_stacked(tensor):
            return copy
        ones = np.ones(rank_of(tensor), np.int32)
        count = raw_ops.Slice(raw_ops.Shape(self.graph.inputs[0]), [0], [1])
        times = raw_ops.ConcatV2([count, ones], np.int32(0))
        repeated: Tensor = raw_ops.Tile(raw_ops.ExpandDims(copy, np.int32(0)), times)
        return repeated

    def again(self, op: Operation, inputs: Sequence[Tensor], **attrs: Any) -> list[Tensor]:
        """Copy `op` with other inputs and attrs, and return the outputs of the copy."""
        types = [tensor._dtype for tensor in op._outputs]
        changed = {**op._attrs, **attrs}
        copy = self.graph._make(op._op_def, list(inputs), types, changed, f"{op.name}/")
        return list(copy._outputs)


def vectorized(function: GraphFunction) -> GraphFunction | None:
    """Return the copy of a function for stacked elements. If the function does not qualify, return
    None.
    """
    graph = function.graph
    if graph.controls or not graph.outputs or not graph.inputs:
        return None
    try:
        copy = RowsCopy(graph)
    except (NoRowForm, ValueError, TypeError):
        return None
    return GraphFunction(f"{function.name}_rows", copy.graph)


def _differs_by_call(op: Operation) -> bool:
    """Return whether two calls of an op may return different values, as random ops and reads of
    variables do.
    """
    if op.type == "Placeholder":
        return False
    tensors = *op._inputs, *op._outputs
    return op._op_def.is_stateful or any(tensor.dtype.base_dtype in HANDLES for tensor in tensors)


def rows_of(function: GraphFunction) -> Any:
    """Return `vectorized(function)`, which only the first call computes."""
    graph = function.graph
    if graph.rows_function is None:
        graph.rows_function = vectorized(function) or False
    return graph.rows_function or None
