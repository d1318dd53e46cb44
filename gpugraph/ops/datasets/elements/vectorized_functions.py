"""Vectorized functions, which are copies of functions that compute many stacked elements in one
call.

A function can be vectorized if each of its ops can be vectorized, for stacked elements
(`row_forms`) or for vectors whose lengths differ (`ragged_forms`). The results have the same bits
as the results of a separate call for each element. An op whose inputs are all constant runs once
for all elements. It must therefore not draw random numbers or read variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import HANDLES, int32, int64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.ops.datasets.elements.ragged_forms import RAGGED_FORMS, RAGGED_SOURCES, Ragged
from gpugraph.ops.datasets.elements.row_forms import ROW_FORMS, NoRowForm, rank_of, require
from gpugraph.ops.framework.op_declaration import raw_ops

_SCOPE = "stacked_elements"
"""The name scope of ops that the function itself does not have."""


class RowsCopy:
    """A copy of a function's graph whose arguments are stacked elements.

    A ragged argument is a vector whose length differs from element to element. It has three inputs:
    values, rows and columns. If any argument is ragged, the last input is the number of elements.

    Args:
      are_ragged: for each argument, whether it is ragged.
    """

    def __init__(self, graph: FuncGraph, are_ragged: Sequence[bool]) -> None:
        self.graph = FuncGraph(f"{graph.name}_rows", graph.outer_graph)
        self._copies: dict[Tensor, Tensor] = {}
        self._stacked: set[Tensor] = set()
        self._ragged: dict[Tensor, Ragged] = {}
        self._count: Tensor | None = None
        self.is_ragged: list[bool] = []  # for each output of the function
        with self.graph.as_default():
            self._add_inputs(graph, are_ragged)
            self._copy(graph)

    def _add_inputs(self, graph: FuncGraph, are_ragged: Sequence[bool]) -> None:
        add = self.graph.add_input
        for tensor, is_ragged in zip(graph.inputs, are_ragged, strict=True):
            name = tensor.op.name
            require(tensor.dtype.base_dtype not in HANDLES)
            if is_ragged:
                require(rank_of(tensor) == 1)
                vector = TensorShape([None])
                values = add(tensor.dtype, vector, name)
                rows, columns = (
                    add(int64, vector, f"{name}_{part}") for part in ("rows", "columns")
                )
                self._ragged[tensor] = Ragged(values, rows, columns)
                continue
            shape = TensorShape([None]).concatenate(tensor.shape)
            self._copies[tensor] = add(tensor.dtype, shape, name)
            self._stacked.add(tensor)
        if any(are_ragged):
            self._count = add(int32, TensorShape([]), "count")

    def _copy(self, graph: FuncGraph) -> None:
        for outer, inner in graph.captures.items():
            if inner.op.type == "Placeholder":
                copy = self.graph._placeholder(inner.dtype, inner.shape, inner.op.name)
                self._copies[inner] = self.graph.captures[outer] = copy
        arguments = {*self._copies, *self._ragged}
        for op in graph._ops:
            if not op._outputs or op._outputs[0] not in arguments:
                self._add(op)
        with self.graph.name_scope(_SCOPE):
            for tensor in graph.outputs:
                vector = self.ragged(tensor)
                self.is_ragged.append(vector is not None)
                parts = [self.stacked(tensor)] if vector is None else vector[:2]
                self.graph.outputs += parts

    def _add(self, op: Operation) -> None:
        require(op._control_flow_context is None)
        is_ragged = any(tensor in self._ragged for tensor in op._inputs)
        if not is_ragged and not any(map(self.is_stacked, op._inputs)):
            require(op.type in _SHARED_TABLES or _only_reads(op) or not _differs_by_call(op))
            copies = self.again(op, [self._copies[tensor] for tensor in op._inputs])
            self._copies.update(zip(op._outputs, copies))
            return
        with self.graph.name_scope(_SCOPE):
            outputs = self._lifted(op, is_ragged)
        is_common = op.type in ("Shape", "Size", "Rank") and not is_ragged
        for tensor, output in zip(op._outputs, outputs, strict=True):
            if isinstance(output, Ragged):
                self._ragged[tensor] = output
                continue
            self._copies[tensor] = output
            if not is_common:
                self._stacked.add(tensor)

    def _lifted(self, op: Operation, is_ragged: bool) -> Sequence[Tensor | Ragged]:
        if is_ragged:
            require(op.type in RAGGED_FORMS)
            return RAGGED_FORMS[op.type](self, op)
        if op.type in ROW_FORMS:
            try:
                return ROW_FORMS[op.type](self, op)
            except NoRowForm:
                require(op.type in RAGGED_SOURCES)
        require(op.type in RAGGED_SOURCES)
        return RAGGED_SOURCES[op.type](self, op)

    def ragged(self, tensor: Tensor) -> Ragged | None:
        """Return the vectors for `tensor`, or None if it is not ragged."""
        return self._ragged.get(tensor)

    def count(self) -> Tensor:
        """Return the number of elements."""
        if self._count is None:
            first = raw_ops.Slice(raw_ops.Shape(self.graph.inputs[0]), [0], [1])
            self._count = raw_ops.Squeeze(first, squeeze_dims=[0])
        return self._count

    def is_stacked(self, tensor: Tensor) -> bool:
        """Return whether a tensor of the function has a separate value for each element."""
        return tensor in self._stacked

    def copied(self, tensor: Tensor) -> Tensor:
        """Return the copy's tensor that corresponds to `tensor`."""
        require(tensor not in self._ragged)
        return self._copies[tensor]

    def stacked(self, tensor: Tensor) -> Tensor:
        """Return the stacked elements for `tensor`. A value common to all elements is repeated."""
        copy = self.copied(tensor)
        if self.is_stacked(tensor):
            return copy
        ones = np.ones(rank_of(tensor), np.int32)
        count = raw_ops.ExpandDims(self.count(), np.int32(0))
        times = raw_ops.ConcatV2([count, ones], np.int32(0))
        repeated: Tensor = raw_ops.Tile(raw_ops.ExpandDims(copy, np.int32(0)), times)
        return repeated

    def again(self, op: Operation, inputs: Sequence[Tensor], **attrs: Any) -> list[Tensor]:
        """Copy `op` with these inputs and attrs, and return the outputs of the copy."""
        types = [tensor._dtype for tensor in op._outputs]
        changed = {**op._attrs, **attrs}
        copy = self.graph._make(op._op_def, list(inputs), types, changed, f"{op.name}/")
        return list(copy._outputs)


class RowsFunction(NamedTuple):
    """A function for stacked elements. A ragged output has two tensors: values, and their rows."""

    function: GraphFunction
    is_ragged: tuple[bool, ...]


def vectorized(function: GraphFunction, are_ragged: Sequence[bool]) -> RowsFunction | None:
    """Return the copy of `function` for stacked elements, or None if one of its ops can't be
    vectorized.

    Args:
      are_ragged: for each argument, whether it is ragged.
    """
    graph = function.graph
    if not all(map(_only_reads, graph.controls)) or not graph.outputs or not graph.inputs:
        return None
    try:
        copy = RowsCopy(graph, are_ragged)
    except (NoRowForm, ValueError, TypeError):
        return None
    rows = GraphFunction(f"{function.name}_rows", copy.graph)
    return RowsFunction(rows, tuple(copy.is_ragged))


_SHARED_TABLES = ("HashTable", "HashTableV2")
"""The op types of handles of tables whose values do not change."""


_READS_OF_TABLES = (
    *("LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2"),
)


def _only_reads(op: Operation) -> bool:
    """Return whether an op's only effect is to read a table that never changes."""
    return op.type in _READS_OF_TABLES and op._inputs[0].op.type in _SHARED_TABLES


def _differs_by_call(op: Operation) -> bool:
    """Return whether two calls of an op may return different values, as random ops and reads of
    variables do.
    """
    if op.type == "Placeholder":
        return False
    tensors = *op._inputs, *op._outputs
    return op._op_def.is_stateful or any(tensor.dtype.base_dtype in HANDLES for tensor in tensors)


def rows_of(
    function: GraphFunction, are_ragged: Sequence[bool] | None = None
) -> RowsFunction | None:
    """Return `vectorized(function, are_ragged)`. The result is computed once and then kept. By
    default no argument is ragged.
    """
    graph = function.graph
    key = tuple(are_ragged or [False] * len(graph.inputs))
    if key not in graph.rows_functions:
        graph.rows_functions[key] = vectorized(function, key)
    rows: RowsFunction | None = graph.rows_functions[key]
    return rows
