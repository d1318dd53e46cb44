"""Constant folding: exact shapes are inferred from the fed shapes, and ops with constant results
become constants.

One traversal in topological order infers every shape. A stateless op is folded if all its inputs
are constant and its outputs are small. The op's CPU kernel computes the constants, so a run's
results do not change. Shape, Size and Rank of a tensor are folded if the tensor's shape is known,
even if its value is not. If folding is disabled, constant values are only used to infer shapes, and
no op is replaced. A node is dropped if only folded ops read it. However, a node with a side effect
(an assignment, a draw of random numbers) is kept, and becomes a control input of the constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from gpugraph.base.dtypes import HANDLES
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import has_open_sizes, hint, size_array, varies
from gpugraph.compile.analysis.purity import is_pure
from gpugraph.compile.analysis.shape_inference import Inference
from gpugraph.compile.rewriting.dead_node_elimination import drop_unneeded
from gpugraph.compile.rewriting.reported_values import ReportedValues
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.loop_levels import loops_whole
from gpugraph.compile.unit.rewrite_switches import why_off
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.node_and_edge import FORWARDING
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass, RuntimeGraph
from gpugraph.ops.framework.op_evaluation import evaluate

LARGEST_FOLDED = 65536
"""The maximum size in bytes of a folded output. It is cheaper to compute larger values than to keep
them. `OptimizerOptions.max_folded_constant_in_bytes` overrides it.
"""

_OF_SHAPE = {"Shape", "Size", "Rank", "ShapeN"}
_FLOW = {NodeClass.MERGE, NodeClass.LOOP_COND, *FORWARDING}
_HARMLESS = {NodeClass.VARIABLE, NodeClass.ARG, NodeClass.RETVAL}


@compile_pass()
def fold(unit: Unit) -> Outcome:
    """Set `unit.shapes`, `unit.values` (the values of constant tensors) and `unit.folded`, and
    replace the folded ops.
    """
    off = why_off(unit, "constant_folding")
    folding = _Folding(unit)
    order = _inputs_first(unit.graph)
    folding.inference.converge(order, folding.look)
    for node in order:
        values = folding.look(node)
        if values is not None and not off:
            folding.replace(node, values)
    if off:
        return off, ()
    folding.reported.add(order, folding.inference.may_report)
    dropped = drop_unneeded(unit)
    lines = [f"{unit.graph.find_id(key).name}: {why}" for key, why in unit.folded.items()]  # type: ignore[union-attr]
    return f"{len(unit.folded)} tensors became constants, {dropped} ops were dropped", lines


def _inputs_first(graph: RuntimeGraph) -> list[Node]:
    """Return the nodes in the order of the traversal, each after its inputs. A loop that pushes
    onto a stack comes before the loop that pops from it to compute gradients.
    """
    if any(node.node_class is NodeClass.ENTER for node in graph.op_nodes()):
        return loops_whole(graph)
    return topological_order(graph)


class _Folding:
    """A traversal of the graph that infers shapes and finds constants.

    Control flow is treated as a side effect, because the inputs of a control flow node determine
    whether the node is alive, and to which loop it belongs.

    Attributes:
      acting: the ids of the nodes with side effects, and of all nodes that depend on them.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.inference = Inference(unit)
        self.reported = ReportedValues(unit, self.inference)
        self.acting: set[int] = set()
        self.sides: dict[tuple[int, int], Node] = {}
        options = unit.target.config.graph_options.optimizer_options
        self.largest = options.max_folded_constant_in_bytes or LARGEST_FOLDED

    def look(self, node: Node) -> list[Any] | None:
        """Infer the shapes of the node's outputs. Return the values of the outputs if they can be
        folded, or else None.
        """
        unit = self.unit
        sources: list[tuple[int, int]] = [(0, 0)] * len(node.input_types)
        acts = (node.op_def.is_stateful and node.node_class not in _HARMLESS) or (
            node.node_class in _FLOW
        )
        for edge in node._in:
            if edge.dst_input >= 0:
                sources[edge.dst_input] = (edge.src.id, edge.src_output)
            if edge.src.id in self.acting:
                acts = True
        if acts:
            self.acting.add(node.id)
        shapes = unit.shapes[node.id] = self.inference.infer(node, sources)
        if node.node_class is NodeClass.CONSTANT:
            unit.values[node.id, 0] = node.attrs["value"]
            return None
        if node.node_class in _FLOW:
            self._pass(node, sources)
            return None
        if node.type == "TensorArraySizeV3":
            size = self.inference.array_size(node)
            values = None if size is None else [size]
        elif node.type == "StackPopV2":
            value = self.inference.popped(node)
            values = None if value is None else [value]
        else:
            values = self._constants(node, sources, shapes)
        for slot, value in enumerate(values or ()):
            unit.values[node.id, slot] = value
        if node.type == "StackPushV2":
            self.inference.note_push(node, unit.values.get(sources[1]))
        if values is None and unit.report_of is not None:
            for slot, value in self.reported.values(node, sources, shapes):
                unit.values[node.id, slot] = value
        return values

    def _pass(self, node: Node, sources: list[tuple[int, int]]) -> None:
        """Record that the outputs of a Switch or a loop-invariant Enter have the value of its
        constant input.
        """
        if node.node_class is NodeClass.SWITCH or node.attrs.get("is_constant"):
            value = self.unit.values.get(sources[0])
            if value is not None:
                for slot in range(len(node.output_types)):
                    self.unit.values[node.id, slot] = value

    @uninterrupted
    def _constants(
        self, node: Node, sources: list[tuple[int, int]], shapes: Sequence[TensorShape]
    ) -> list[Any] | None:
        """Return the values of the node's outputs if they can be folded, or else None."""
        unit, values = self.unit, self.unit.values
        if node.type in _OF_SHAPE:
            return _from_shapes(node, [unit.shapes[source][slot] for source, slot in sources])
        if not sources or sources[0] not in values or not shapes or not is_pure(node):
            return None
        inputs = []
        for source in sources:
            value = values.get(source)
            if value is None:
                return None
            inputs.append(value)
        for shape, dtype in zip(shapes, node.output_types):
            if dtype.base_dtype in HANDLES:
                return None
            count = shape.num_elements()
            if count is not None and hint(count) * dtype.size > self.largest:
                return None
        try:
            with _undecided(inputs):
                outputs = evaluate(node.op_def, node.attrs, inputs, node.input_types)
        except Exception:  # the run raises the same error, and names the node
            return None
        if outputs is None or any(value.nbytes > self.largest for value in outputs):
            return None
        return outputs

    def replace(self, node: Node, values: list[Any]) -> None:
        """Replace each output that any node reads by a constant. If the node has a single output,
        remove the node and give the constant its name.
        """
        unit, graph = self.unit, self.unit.graph
        waits = self._waits(node)
        why = f"{node.type} of constants or known shapes"
        constant: Node | None = None
        for slot, value in enumerate(values):
            edges = [edge for edge in node._out if edge.src_output == slot]
            if not edges:
                continue
            dtype = node.output_types[slot].base_dtype
            constant = unit.add_constant(node, "folded", value, dtype, why)
            for edge in edges:
                graph.update_edge(constant, 0, edge.dst, edge.dst_input)
            reporting = self.inference.reporters_of(value)
            if reporting and not self.inference.is_in_loop(node):  # loops follow all reports
                waits = waits | dict.fromkeys(reporting)
            unit.add_control_inputs(constant, waits)
            if node.id in self.acting:
                self.acting.add(constant.id)
        if constant is None:
            return
        if len(values) == 1 and not node._out and node not in unit.roots:
            unit.remove(node)
            graph.rename_node(constant, node.name)

    def _waits(self, node: Node) -> dict[Node, None]:
        """Return the control inputs of a constant that replaces the node. They keep the constant in
        the node's branch and loop, and let it run after the same side effects.
        """
        waits: dict[Node, None] = {}
        for edge in list(node._in):
            source = edge.src
            if source.node_class is NodeClass.SWITCH and not edge.is_control:
                waits[self._side(source, edge.src_output)] = None
            elif edge.is_control or (source.id in self.acting and not source.is_constant):
                waits[source] = None
            elif source.is_constant:
                waits.update(dict.fromkeys(source.control_inputs))
        return waits

    def _side(self, switch: Node, slot: int) -> Node:
        """Return a node that is alive if and only if this output of a Switch is alive, for use as a
        control input. The node is an Identity of the output.
        """
        key = (switch.id, slot)
        if key not in self.sides:
            side = self.sides[key] = self.unit.add_identity(switch, slot, "side")
            self.acting.add(side.id)
        return self.sides[key]


def _undecided(inputs: Sequence[Any]) -> AbstractContextManager[None]:
    """Return a context in which no comparison of a loop's size is decided."""
    for value in inputs:
        for size in value.flat if has_open_sizes(value) else ():
            if varies(size):
                undecided: AbstractContextManager[None] = size.trace.loops_undecided()
                return undecided
    return nullcontext()


def _from_shapes(node: Node, shapes: Sequence[TensorShape]) -> list[Any] | None:
    numpy_type = node.output_types[0].as_numpy_dtype
    if node.type == "Rank":
        sizes = shapes[0].sizes
        return None if sizes is None else [np.array(len(sizes), numpy_type)]
    if not all(shape.is_fully_defined() for shape in shapes):
        return None
    if node.type == "Size":
        return [size_array(shapes[0].num_elements(), numpy_type)]
    return [size_array(shape.sizes, numpy_type) for shape in shapes]
