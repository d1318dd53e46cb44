"""Inference of exact shapes in a graph with loops, stacks and TensorArrays.

The Merge of a loop variable starts with the shape of the value from the Enter. If the value from
the NextIteration has another shape, the Merge gets the common shape of both values, with unknown
sizes where the two shapes differ. The traversal of the graph is repeated until no shape changes.
Likewise, the elements of a stack or a TensorArray have the common shape of all values written to
it, and reads return this shape. If all pushes to a stack push the same constant (in a gradient, a
shape), its pops return this constant.

If the shape function of an op rejects its inputs and the op runs in every run, the compilation
fails. If the op is in a branch or a loop, the error is raised when the op runs. The ops that depend
on the failing op never have a value. A Merge that reads such an op has the common shape of its
other inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import Size, has_open_sizes, size_array, varies
from gpugraph.compile.analysis.counted_rows import counted_rows, counting_node
from gpugraph.compile.analysis.flow_analysis import flow_of, has_control_flow
from gpugraph.compile.analysis.growing_variables import (
    GrowingVariables,
    are_same_sizes,
    without_loop_sizes,
)
from gpugraph.compile.unit.compile_unit import TensorId, Unit
from gpugraph.compile.unit.guards import Flow
from gpugraph.compile.unit.inference_errors import inference_error
from gpugraph.graph.inference_context import InferContext, ShapeRule
from gpugraph.graph.nodes.loop_frames import is_loop_merge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS

_UNKNOWN = TensorShape.of(None)
_SCALAR = TensorShape.of(())
_PASSING = {NodeClass.ENTER, NodeClass.IDENTITY, NodeClass.SWITCH, NodeClass.EXIT}
_ROOTS = {"StackV2", "TensorArrayV3"}
_PUTS = {
    "StackPushV2": 1,
    "TensorArrayWriteV3": 2,
    "TensorArrayScatterV3": 2,
    "TensorArraySplitV3": 1,
}
"""By op type: the index of the input that the op writes to a stack or TensorArray. Scatter writes
each row of the input as an element; Split writes each part of the input.
"""
_TAKES = {"StackPopV2", "TensorArrayReadV3", "TensorArrayGatherV3"}


class Inference:
    """Shape inference that traverses the graph repeatedly, until the shapes of loop variables,
    stacks and TensorArrays no longer change.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.has_converged = False
        self.flow: Flow | None = None
        self.merges: dict[int, TensorShape] = {}
        self.elements: dict[int, TensorShape] = {}
        self.pushed: dict[int, Any] = {}  # by stack: the value of all pushes, or None
        self.reporters: dict[str, Node] = {}  # by name, the nodes that report sizes
        self.growing = GrowingVariables(unit)
        self.failing: set[int] = set()  # nodes that refuse their inputs, and their dependents

    def converge(self, order: Sequence[Node], visit: Callable[[Node], Any]) -> None:
        """Traverse `order` repeatedly until the shapes of loop variables and elements no longer
        change.

        `visit` records the shapes and values of a node. At the end, these records are cleared. The
        caller must then visit the nodes one more time, with the final shapes.
        """
        if not any(is_loop_merge(node) or node.type in _PUTS for node in order):
            self.has_converged = True
            return
        while True:
            before = dict(self.elements), dict(self.pushed)
            self.unit.values.clear()
            self.failing.clear()
            for node in order:
                visit(node)
            if before == (self.elements, self.pushed) and not self._widen(order):
                break
        self.has_converged = True
        self.unit.shapes.clear()
        self.unit.values.clear()
        self.failing.clear()

    def _widen(self, order: Sequence[Node]) -> bool:
        """Set the shape of each loop variable to the common shape of its current value and its next
        value. Return whether a shape has changed.
        """
        changed = False
        for node in order:
            if not is_loop_merge(node):
                continue
            shape = self.merges[node.id]
            for edge in node._in:
                if edge.is_back_edge and edge.src.id not in self.failing:
                    after = self.unit.shapes[edge.src.id][edge.src_output]
                    shape = self.growing.joined(node, shape, after)
            if not are_same_sizes(shape.sizes, self.merges[node.id].sizes):
                self.merges[node.id] = shape
                changed = True
        return changed

    def infer(self, node: Node, sources: list[TensorId]) -> Sequence[TensorShape]:
        """Return the shapes of a node's outputs, inferred from the inputs `sources`.

        Raises InvalidArgumentError if the input shapes are invalid and the op runs in every run.
        """
        op_def = node.op_def
        if node.type == "VariableV2":
            return [_UNKNOWN if node.attrs.get("_resizable") else node.attrs["shape"]]
        if op_def.infer is None:
            return [_UNKNOWN] * len(node.output_types)
        if node.node_class is NodeClass.MERGE and is_loop_merge(node):
            return self._of_loop(node)
        if node.node_class is NodeClass.MERGE:
            sources = [source for source in sources if source[0] not in self.failing] or sources
        if self.failing and any(source in self.failing for source, _ in sources):
            return self._never(node)
        known, values = self.unit.shapes, self.unit.values
        if node.node_class is NodeClass.ENTER:  # an Enter's shape is open in the client's graph
            return [known[source][slot] for source, slot in sources]
        infer = op_def.infer
        if type(infer) is ShapeRule and node.type not in _PUTS and node.type not in _TAKES:
            shape = _by_rule(infer, [known[source][slot] for source, slot in sources])
            if shape is not None:
                return (shape,) * len(node.output_types)
        context = InferContext(
            [known[source][slot] for source, slot in sources],
            node.attrs,
            node.input_types,
            len(node.output_types),
            lambda index: values.get(sources[index]),
            maker=lambda index: _maker_of_handle(node, index),
        )
        try:
            shapes: Sequence[TensorShape] = op_def.infer(context)
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            refusal = inference_error(node, context, error)
            if self.has_converged:  # else a loop variable's shape may still change
                if not (_waits(node) or self.is_conditional(node)):
                    raise refusal from error
                self.unit.failures[node.id] = refusal
            return self._never(node)
        if self.unit.report_of is not None:
            shapes = self._with_reports(node, shapes, self.unit.report_of)
        if node.type in _PUTS:
            self._put(node, context.shapes[_PUTS[node.type]])
        elif node.type in _TAKES:
            return [self._taken(node, shapes[0]), *shapes[1:]]
        return shapes

    def _with_reports(
        self, node: Node, shapes: Sequence[TensorShape], report_of: Callable[..., Any]
    ) -> Sequence[TensorShape]:
        """Return the shapes, with unknown sizes replaced by the sizes that the node's kernel will
        report.
        """
        counted = counted_rows(node)
        if not counted or not self.may_report(node):
            return shapes
        firsts = [(shapes[slot].sizes or (0,))[0] for rows in counted for slot in rows.slots]
        if any(first is not None for first in firsts):
            return shapes
        least = 0 if self.is_in_loop(node) else None
        sizes = [report_of(node.name + rows.suffix, None, least) for rows in counted]
        if None in sizes:
            return shapes
        if node.id not in self.unit.reported:
            self.unit.reported[node.id] = sizes
            self.unit.roots.append(node)  # its size may be all that is used
            self.reporters[node.name] = node
        found = list(shapes)
        for rows, size in zip(counted, sizes):
            for slot in rows.slots:
                found[slot] = TensorShape.of((size, *(shapes[slot].sizes or ())[1:]))
        return found

    def reporters_of(self, value: Any) -> list[Node]:
        """Return the nodes that report the sizes in a constant value."""
        sizes = value.flat if isinstance(value, np.ndarray) and value.dtype == object else ()
        names = {name for size in sizes if type(size) is Size for name in size.reports()}
        makers = [
            self.reporters.get(name) or self.growing.exits.get(name)
            for name in sorted(set(map(counting_node, names)))
        ]
        return [node for node in makers if node is not None]

    def _never(self, node: Node) -> Sequence[TensorShape]:
        """Record that the node never has a value. Return an unknown shape for each output that is a
        value, and the shape of the variable for each output that is a reference.
        """
        self.failing.add(node.id)
        decl = DECLARATIONS.get(node.type)
        if decl is None or not decl.memory.writes:
            return [_UNKNOWN] * len(node.output_types)
        edge = node.input_edge(min(decl.memory.writes))
        variable = self.unit.shapes[edge.src.id][edge.src_output]
        return [variable if dtype.is_ref_dtype else _UNKNOWN for dtype in node.output_types]

    def is_conditional(self, node: Node) -> bool:
        """Return whether some runs may skip the node because it is in a branch or a loop."""
        return self.is_in_loop(node) or (self.flow is not None and bool(self.flow.guards[node.id]))

    def may_report(self, node: Node) -> bool:
        """Return whether the node runs in each run, or in each iteration of a loop, so that sizes
        that its kernel reports are known afterwards.
        """
        return not self.is_conditional(node) or self.growing.runs_in_each_iteration(node)

    def is_in_loop(self, node: Node) -> bool:
        """Return whether the node is in a loop."""
        if not has_control_flow(self.unit):
            return False
        if self.flow is None:
            self.flow = flow_of(self.unit)
        return self.flow.frames.at(node) is not self.flow.frames.root

    def _of_loop(self, node: Node) -> Sequence[TensorShape]:
        shape = self.merges.get(node.id)
        for edge in node._in:
            if not edge.is_control and not edge.is_back_edge:
                entering = self.unit.shapes[edge.src.id][edge.src_output]
                shape = entering if shape is None else self.growing.joined(node, shape, entering)
        self.merges[node.id] = _UNKNOWN if shape is None else shape
        return [self.merges[node.id], _SCALAR]

    # -- containers

    def _put(self, node: Node, shape: TensorShape) -> None:
        root = container_of(node)
        if root is None:
            return
        if node.type == "TensorArrayScatterV3" and shape.sizes is not None:
            shape = TensorShape.of(shape.sizes[1:])
        elif node.type == "TensorArraySplitV3" and shape.sizes is not None:
            shape = TensorShape.of((None, *shape.sizes[1:]))
        shape = without_loop_sizes(shape)
        known = self.elements.get(root.id)
        self.elements[root.id] = shape if known is None else common_shape(known, shape)

    def _taken(self, node: Node, inferred: TensorShape) -> TensorShape:
        root = container_of(node)
        known = self.elements.get(root.id) if root is not None else None
        if known is None or known.sizes is None:
            return inferred
        if node.type == "TensorArrayGatherV3":
            edge = node.input_edge(1)
            count = self.unit.shapes[edge.src.id][edge.src_output].num_elements()
            known = TensorShape.of((count, *known.sizes))
        return inferred.merge_with(known) if inferred.is_compatible_with(known) else inferred

    def note_push(self, node: Node, value: Any) -> None:
        """Record the value that a StackPushV2 pushes. None means that the value isn't constant."""
        root = container_of(node)
        if value is not None and has_open_sizes(value) and any(map(varies, value.flat)):
            value = None  # it differs between iterations
        if root is not None:
            known = self.pushed.setdefault(root.id, value)
            if known is not value and not _equal(known, value):
                self.pushed[root.id] = None

    def popped(self, node: Node) -> Any:
        """Return the constant that a StackPopV2 returns, if all pushes to its stack push the same
        constant. Otherwise return None.
        """
        root = container_of(node)
        return None if root is None else self.pushed.get(root.id)

    def array_size(self, node: Node) -> Any:
        """Return the size of the TensorArray that a TensorArraySizeV3 reads, or None if it isn't
        constant.
        """
        root = container_of(node)
        if root is None or root.type != "TensorArrayV3" or root.attrs.get("dynamic_size"):
            return None
        edge = root.input_edge(0)
        size = self.unit.values.get((edge.src.id, edge.src_output))
        return None if size is None else size_array(size[()], np.int32)


def container_of(node: Node) -> Node | None:
    """Return the node that creates the stack or TensorArray in the first input of a node, or None
    if this node is not found.
    """
    source = node.input_edge(0).src
    while source.node_class in _PASSING or source.type == "TensorArrayGradV3":
        source = source.input_edge(0).src
    return source if source.type in _ROOTS else None


def _by_rule(infer: ShapeRule, shapes: Sequence[TensorShape]) -> TensorShape | None:
    """Return the shape of all outputs, computed by `infer`, a simple rule. Return None if the rule
    raises an error. The caller then gets the full error from the op's shape function.
    """
    try:
        return infer.rule(shapes)
    except (ValueError, TypeError, LookupError):
        return None


def _waits(node: Node) -> bool:
    """Return whether the node or an ancestor has a control input. This input may be an assertion
    about shapes, which fails before the node runs, with a better error message.
    """
    seen, stack = {node}, [node]
    while stack:
        for edge in stack.pop()._in:
            if edge.is_control and not edge.src.is_source:
                return True
            if edge.src not in seen:
                seen.add(edge.src)
                stack.append(edge.src)
    return False


def _maker_of_handle(node: Node, index: int) -> tuple[str, Mapping[str, Any]]:
    """Return the op type and attrs of the node that creates the resource handle in input
    `index`.
    """
    source = node.input_edge(index).src
    while source.node_class in _PASSING:
        source = source.input_edge(0).src
    return source.type, source.attrs


def _equal(one: Any, other: Any) -> bool:
    return one is not None and other is not None and np.array_equal(one, other)


def common_shape(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return the most specific shape that is compatible with both shapes. Sizes that differ become
    unknown. If the ranks differ, the rank is unknown.
    """
    if one.sizes is None or other.sizes is None or len(one.sizes) != len(other.sizes):
        return _UNKNOWN
    sizes = zip(one.sizes, other.sizes)
    return TensorShape.of(tuple(a if a == b else None for a, b in sizes))
