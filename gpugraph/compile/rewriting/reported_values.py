"""Integers that a run computes and that determine sizes of later tensors: a fed batch size, the
largest of several lengths, a size computed in floating point.

    exact plan   n = Max(lengths)   _Lengths(n)            Range(0, n): allocated in the run
    open unit    n = Max(lengths)   _Lengths(n) reports q  Range(0, q): of the size q

The compilation for exact shapes adds a `_Lengths` node for each such tensor. In a run, the node
records the integers. The next compilation has a `Size` for each of them, and another for each
number of rows that a kernel counts. If an op reads the tensor as a size, it gets a constant of
these Sizes instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import AlreadyExistsError
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import has_open_sizes, hint, is_open, size_array
from gpugraph.compile.analysis.counted_rows import counted_rows
from gpugraph.compile.analysis.purity import is_pure
from gpugraph.compile.analysis.shape_inference import Inference
from gpugraph.compile.unit.compile_unit import TensorId, Unit
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.graph.op_def import host_slots
from gpugraph.ops.framework.op_evaluation import evaluate

MAX_ELEMENTS = 8
"""The maximum number of elements of a tensor whose elements are reported."""

_TYPES = (dtypes.int32, dtypes.int64)

_ARITHMETIC = {
    *("Pack", "ConcatV2", "AddV2", "Add", "Sub", "Mul", "FloorDiv", "Cast", "StridedSlice"),
    *("ExpandDims", "Reshape", "Squeeze", "GatherV2", "Identity", "Prod", "Sum", "Unpack"),
}
"""The op types whose outputs follow from their inputs without a condition on the inputs."""

_SIZES = {
    *("shape", "size", "dims", "multiples", "start", "limit", "begin", "end", "paddings", "depth"),
    *("num_segments", "num_samples", "k", "num", "num_rows", "num_cols", "a_shape", "output_shape"),
    *("output_dim0", "input_sizes", "filter_sizes", "crop_size", "image_size", "size_splits"),
    *("orig_input_shape", "fft_length", "dense_shape", "leading_dims", "crops", "sp_shape"),
}
"""The names of inputs that are sizes or places."""

_COMPARING = {"Maximum", "Minimum", "FloorMod", "Neg", "Max", "Min", "Select"}

_MOST_EDGES = 32

_OF_SHAPE = {"Shape", "ShapeN", "Size", "Rank"}


class ReportedValues:
    """The integers of one unit that are reported."""

    def __init__(self, unit: Unit, inference: Inference) -> None:
        self.unit, self.inference = unit, inference
        self._length_nodes: dict[TensorId, Node] = {}  # by reported tensor, its `_Lengths`
        self._hints: dict[TensorId, Any] = {}  # values that follow from the first sizes

    # -- with open sizes

    def values(
        self, node: Node, sources: Sequence[TensorId], shapes: Sequence[TensorShape]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the index of each output of a node that a run reports, and the output's value as
        open sizes. The output was reported by an earlier run, or its value for the first sizes
        follows from these sizes.
        """
        report_of = self.unit.report_of
        if report_of is None:
            return
        hints = self._hints_of(node, sources, shapes)
        for slot, shape in enumerate(shapes):
            if _is_reportable(node, slot, shape):
                name = f"{node.name}/{_suffix(slot)}"
                count: Any = shape.num_elements()
                known: list[Any] = [None] * count
                if hints is not None and _leads_to_size(node, slot) and np.all(hints[slot] >= 0):
                    known = hints[slot].reshape(-1).tolist()
                least = 0 if self.inference.is_in_loop(node) else None
                sizes = [
                    report_of(f"{name}:{number}", known[number], least) for number in range(count)
                ]
                if None not in sizes:
                    array = size_array(
                        tuple(sizes), node.output_types[slot].base_dtype.as_numpy_dtype
                    )
                    array = array.reshape(shape.sizes)
                    if self.inference.has_converged:
                        self._report(node, slot, array, sizes)
                    yield slot, array

    def _hints_of(
        self, node: Node, sources: Sequence[TensorId], shapes: Sequence[TensorShape]
    ) -> list[Any] | None:
        """Return the values that a node's outputs have for the first sizes, or None if they do not
        follow from these sizes.
        """
        values, hints, inputs = self.unit.values, self._hints, []
        if not sources or not is_pure(node) or node.node_class is not NodeClass.OTHER:
            return None
        for source, dtype in zip(sources, node.input_types):
            value = hints.get(source, values.get(source))
            if value is None:
                return None
            if has_open_sizes(value):
                items = [hint(item) for item in value.flat]
                value = np.array(items, dtype.as_numpy_dtype).reshape(value.shape)
            inputs.append(value)
        if not all(shape.is_fully_defined() and _is_small(shape) for shape in shapes):
            return None
        outputs = evaluate(node.op_def, node.attrs, inputs)
        for slot, output in enumerate(outputs or ()):
            hints[node.id, slot] = output
        return outputs

    def _report(self, node: Node, slot: int, array: Any, sizes: Sequence[Any]) -> None:
        """Add the node that reports an output. Ops that read the output as a size get a constant of
        Sizes instead.
        """
        unit = self.unit
        takers = [edge for edge in node._out if edge.src_output == slot and _is_size(edge)]
        lengths = self._length_nodes[node.id, slot] = _with_lengths(unit, node, slot, sizes)
        unit.reported[lengths.id] = sizes
        self.inference.reporters[lengths.name] = lengths
        if takers:
            dtype = node.output_types[slot].base_dtype
            constant = unit.add_constant(node, "sizes", array.copy(), dtype)
            for edge in takers:
                unit.graph.update_edge(constant, 0, edge.dst, edge.dst_input)
            unit.add_control_inputs(constant, [lengths])

    # -- for exact shapes

    def add(self, order: Sequence[Node], may_report: Callable[[Node], bool]) -> None:
        """Forget the values of outputs that are reported, since ops read the outputs themselves.
        In a compilation for exact shapes, add a node that reports each integer on which the shape
        of a tensor depends.
        """
        for key in self._length_nodes:
            self.unit.values.pop(key, None)
        if self.unit.report_of is not None or not self._is_on_cpu():
            return
        for node in [node for node in order if node.op_def.host_inputs]:
            for edge in _open_sizes(self.unit, node):
                for source, slot in self._origins(edge.src, edge.src_output):
                    if (source.id, slot) not in self._length_nodes and may_report(source):
                        lengths = _with_lengths(self.unit, source, slot, None)
                        self._length_nodes[source.id, slot] = lengths

    def _is_on_cpu(self) -> bool:
        return set(self.unit.device_types.values()) == {"CPU"}

    def _origins(self, node: Node, slot: int) -> Iterator[tuple[Node, int]]:
        """Yield the tensors from which an integer is computed by arithmetic on sizes, if all of
        them can be reported. Otherwise yield the integer itself, if it can be reported.
        """
        if not self._is_computed(node, slot):
            return
        if node.type in _ARITHMETIC or self._is_bound_by_zero(node):
            keys = [(edge.src, edge.src_output) for edge in node._in if edge.dst_input >= 0]
            unknown = [key for key in keys if (key[0].id, key[1]) not in self.unit.values]
            origins = [list(self._origins(*key)) for key in unknown]
            if all(origins):
                yield from [key for keys in origins for key in keys]
                return
        if node.type not in _OF_SHAPE:
            yield node, slot

    def _is_bound_by_zero(self, node: Node) -> bool:
        """Return whether a node computes the maximum of a tensor and a constant that is at most
        0.
        """
        if node.type != "Maximum":
            return False
        values = [self.unit.values.get((edge.src.id, edge.src_output)) for edge in node._in]
        return any(value is not None and np.all(value <= 0) for value in values)

    def _is_computed(self, node: Node, slot: int) -> bool:
        shapes = self.unit.shapes.get(node.id)
        return shapes is not None and _is_reportable(node, slot, shapes[slot])


def _open_sizes(unit: Unit, node: Node) -> Iterator[Any]:
    """Yield the input edges of a node with host inputs that carry the sizes of its outputs, if
    neither these sizes nor the outputs' shapes are known.
    """
    shapes = unit.shapes.get(node.id)
    if shapes is None or counted_rows(node):
        return
    if all(shape.is_fully_defined() for shape in shapes):
        return
    for edge in node._in:
        if _is_size(edge) and (edge.src.id, edge.src_output) not in unit.values:
            yield edge


def _is_reportable(node: Node, slot: int, shape: TensorShape) -> bool:
    """Return whether an output is a small integer tensor that has a known shape and is not
    constant.
    """
    if node.node_class not in (NodeClass.OTHER, NodeClass.ARG, NodeClass.IDENTITY):
        return False
    if node.output_types[slot] not in _TYPES or not shape.is_fully_defined():
        return False
    return _is_small(shape)


def _is_small(shape: TensorShape) -> bool:
    count = shape.num_elements()
    return count is not None and not is_open([count]) and 0 < count <= MAX_ELEMENTS


def _leads_to_size(node: Node, slot: int) -> bool:
    """Return whether sizes are computed from an output by a few ops."""
    edges = [edge for edge in node._out if edge.src_output == slot]
    for _ in range(_MOST_EDGES):
        if not edges:
            return False
        edge = edges.pop()
        if _is_size(edge):
            return True
        if edge.dst.type in _ARITHMETIC or edge.dst.type in _COMPARING:
            edges += edge.dst._out
    return False


def _is_size(edge: Any) -> bool:
    """Return whether an edge leads to an input that is a size or an index, not an axis."""
    op_def = edge.dst.op_def
    if edge.is_control or not op_def.host_inputs:
        return False
    sizes = frozenset(index for index in op_def.host_inputs if op_def.inputs[index].name in _SIZES)
    return edge.dst_input in host_slots(op_def.inputs, sizes, edge.dst.attrs)


def _suffix(slot: int) -> str:
    return f"_lengths_{slot}" if slot else "_lengths"


def _with_lengths(unit: Unit, node: Node, slot: int, sizes: Sequence[Any] | None) -> Node:
    """Add a node that reports an output, and return it.

    Args:
      sizes: the Sizes of the elements, or None if they are not known.
    """
    count: Any = unit.shapes[node.id][slot].num_elements()
    lengths = unit.add_op(
        "_Lengths",
        node,
        [(node, slot)],
        attrs={"N": count, "T": node.output_types[slot].base_dtype},
        output_types=[dtypes.uint8] * count,
        suffix=_suffix(slot),
        shapes=[TensorShape.of((size, 0)) for size in sizes or [None] * count],
    )
    with suppress(AlreadyExistsError):  # the same name in each compilation
        unit.graph.rename_node(lengths, f"{node.name}/{_suffix(slot)}")
    unit.roots.append(lengths)
    return lengths
