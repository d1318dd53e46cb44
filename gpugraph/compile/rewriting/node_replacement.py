"""Replacement of a node by another op under the same name.

The new op runs after the same nodes and is alive under the same condition as the old op. Therefore
it gets the control inputs of the old op, of constants that it no longer reads, and of bypassed
nodes. A dead output of a Switch makes its readers dead, so an input from a Switch that is no longer
read also becomes a control input.

         [before]                              [before]
             ^                                     |
    x --> inner --> outer        becomes     x --> outer       (inner is dropped if no op takes it)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import size_array
from gpugraph.compile.analysis.fusibility import SWAP_HINT
from gpugraph.compile.rewriting.dead_node_elimination import drop_unneeded
from gpugraph.compile.unit.compile_pass import Outcome
from gpugraph.compile.unit.compile_unit import Absorbed, Source, Unit
from gpugraph.graph.nodes.runtime_graph import Edge, Node, NodeClass
from gpugraph.ops.framework.kernel_registry import is_ours


class Replacing:
    """The replacements of one pass over the unit. `finish` must be called after the last
    replacement.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.lines: list[str] = []
        self._replaced: dict[Node, Node] = {}
        self._passed: dict[Node, str] = {}

    def visit(self, visits: Mapping[str, Callable[[Replacing, Node], None]], what: str) -> Outcome:
        """For each node whose type is a key of `visits`, call `visits[node.type]`. Then return the
        outcome of `finish`.
        """
        for node in self.unit.graph.op_nodes():
            if node.type in visits:
                visits[node.type](self, node)
        return self.finish(what)

    def put(
        self,
        node: Node,
        op_type: str,
        attrs: Mapping[str, Any],
        sources: Sequence[Source],
        passed: Sequence[Node] = (),
    ) -> Node:
        """Replace a node by an op with one output, and return the node of this op.

        Args:
          sources: the inputs of the new node.
          passed: the nodes between `sources` and `node`, which are bypassed.
        """
        control_inputs = dict.fromkeys(node.control_inputs)
        for left in (node, *passed):
            control_inputs.update(_waits(left, {source.id for source, _ in sources}, passed))
        self._passed.update(dict.fromkeys(passed, node.name))
        if op_type == node.type:
            self._rewire(node, attrs, sources, control_inputs)
            return node
        return self._exchange(node, op_type, attrs, sources, control_inputs)

    def _exchange(
        self,
        node: Node,
        op_type: str,
        attrs: Mapping[str, Any],
        sources: Sequence[Source],
        control_inputs: Iterable[Node],
    ) -> Node:
        """Replace a node by an op of another type with one output, and return the new node."""
        graph, unit = self.unit.graph, self.unit
        takers = list(node._out)
        shapes = unit.shapes[node.id][:1]
        unit.remove(node)
        private = {key: value for key, value in node.attrs.items() if key.startswith("_")}
        new = unit.add_op(
            op_type,
            node,
            sources,
            attrs={**attrs, **private},
            output_types=[node.output_types[0]],
            shapes=shapes,
        )
        unit.add_control_inputs(new, control_inputs)
        for edge in takers:
            if edge.is_control:
                graph.add_control_edge(new, edge.dst)
            else:
                graph.add_edge(new, 0, edge.dst, edge.dst_input)
        if node.id in unit.reasons:
            unit.reasons[new.id] = unit.reasons[node.id]
        self._replaced[node] = new
        return new

    def _rewire(
        self,
        node: Node,
        attrs: Mapping[str, Any],
        sources: Sequence[Source],
        control_inputs: Iterable[Node],
    ) -> None:
        """Set the attrs and inputs of a node that keeps its op type."""
        graph = self.unit.graph
        node.attrs = {**node.attrs, **attrs}
        node.input_types = tuple(source.output_types[slot].base_dtype for source, slot in sources)
        for edge, (source, slot) in zip(node.input_edges(), sources):
            if (edge.src, edge.src_output) != (source, slot):
                graph.update_edge(source, slot, node, edge.dst_input)
        self.unit.add_control_inputs(node, control_inputs)

    def put_fused(
        self,
        node: Node,
        op_type: str,
        attrs: Mapping[str, Any],
        edges: Iterable[Edge],
        passed: Sequence[Node],
        note: str,
    ) -> None:
        """Replace a node by an op that also computes the nodes `passed`.

        Args:
          note: the beginning of the report line.
        """
        names = ", ".join(member.name for member in (*passed, node))
        self.lines.append(f"{node.name}: {note}{names}")
        self.put(node, op_type, attrs, [(edge.src, edge.src_output) for edge in edges], passed)

    def put_outputs(
        self,
        nodes: Sequence[Node],
        op_type: str,
        attrs: Mapping[str, Any],
        sources: Sequence[Source],
        passed: Sequence[Node] = (),
        extra_outputs: Sequence[tuple[DType, TensorShape]] = (),
        gates: Collection[Node] = (),
    ) -> Node:
        """Replace nodes by the outputs of one op, and return the new node. Each node becomes an
        Identity of its output, which is a view and needs no step.

        The new node runs before the nodes that run after one of the bypassed nodes.

        Args:
          nodes: the nodes, which have one output each. No input of the new node may depend on them.
          sources: the inputs of the new node.
          passed: the nodes between `sources` and `nodes`, which are bypassed. Further nodes may
            still read them, if these nodes will be replaced too.
          extra_outputs: the dtypes and shapes of further outputs of the new node.
          gates: NoOps after some of the replaced or bypassed nodes and before others. The new node
            runs after their other inputs, and before them.
        """
        unit, first = self.unit, nodes[0]
        group = {*nodes, *passed, *gates}
        self._passed = {**dict.fromkeys(passed, first.name), **self._passed}
        control_inputs: dict[Node, None] = {}
        for node in (*nodes, *passed, *gates):
            control_inputs.update(_waits(node, {source.id for source, _ in sources}, group))
        private = {key: value for key, value in first.attrs.items() if key.startswith("_")}
        new = unit.add_op(
            *(op_type, first, sources),
            attrs={**attrs, **private},
            output_types=[node.output_types[0] for node in nodes]
            + [dtype for dtype, _ in extra_outputs],
            suffix="fused",
            shapes=[unit.shapes[node.id][0] for node in nodes]
            + [shape for _, shape in extra_outputs],
        )
        unit.add_control_inputs(new, (node for node in control_inputs if node not in group))
        for node in (*nodes, *passed):
            for edge in [edge for edge in node._out if edge.is_control]:
                unit.graph.remove_edge(edge)
                if edge.dst in gates or edge.dst not in group:
                    unit.graph.add_control_edge(new, edge.dst)
        if first.id in unit.reasons:
            unit.reasons[new.id] = unit.reasons[first.id]
        for slot, node in enumerate(nodes):
            self._exchange(node, "Identity", {"T": node.output_types[0]}, [(new, slot)], ())
        return new

    def put_identity(self, node: Node, source: Source, passed: Sequence[Node] = ()) -> Node:
        """Replace a node by an Identity, which is a view and needs no step."""
        return self.put(node, "Identity", {"T": node.output_types[0].base_dtype}, [source], passed)

    def put_reshape(self, node: Node, source: Source, passed: Sequence[Node] = ()) -> Node:
        """Replace a node by a Reshape of `source` to the node's shape. At most one size of this
        shape may be unknown.
        """
        sizes = self.unit.shapes[node.id][0].sizes
        assert sizes is not None
        shape = self.constant(
            node,
            size_array(tuple([-1 if n is None else n for n in sizes]), np.int64),
            as_dtype(np.int64),
        )
        attrs = {"T": node.output_types[0].base_dtype, "Tshape": as_dtype(np.int64)}
        return self.put(node, "Reshape", attrs, [source, (shape, 0)], passed)

    def constant(self, node: Node, value: Any, dtype: DType | None = None) -> Node:
        """Add a constant that the replacement of `node` reads.

        Args:
          dtype: the constant's dtype, by default the dtype of the array.
        """
        return self.unit.add_constant(node, "simplified", value, dtype, f"for {node.name}")

    def finish(self, what: str) -> Outcome:
        """Update `unit.roots`, drop nodes that are no longer needed, and record for `explain` which
        ops replaced them.

        Return the outcome of the pass. It consists of a summary, which is the number of
        replacements followed by `what`, and of a line for each replacement.
        """
        unit = self.unit
        if self.lines:
            unit.roots = [self._replaced.get(node, node) for node in unit.roots]
            drop_unneeded(unit)
            for node, by in self._passed.items():
                if unit.graph.find(node.name) is None:
                    unit.absorbed[node.name] = Absorbed(node.type, node.origin, by, "part of")
        return f"{len(self.lines)} {what}", self.lines


def _waits(node: Node, kept: set[int], passed: Collection[Node]) -> dict[Node, None]:
    """Return the control inputs of a replacement. These are the nodes after which the replaced node
    ran, without the nodes in `passed`, and without the nodes in `kept`, whose outputs the
    replacement reads.
    """
    waits = dict.fromkeys(node.control_inputs)
    for edge in node._in:
        source = edge.src
        if edge.is_control or source.id in kept or source in passed:
            continue
        if source.is_constant:
            waits.update(dict.fromkeys(source.control_inputs))
        else:
            waits[source] = None
    return waits


NO_GPU = "no GPU has kernels"
"""The reason in the report of a pass for GPUs that does nothing."""


def public_attrs(node: Node) -> dict[str, Any]:
    """Return the attrs of a node whose names do not begin with `_`. Attrs that begin with `_` apply
    to this node only.
    """
    return {key: value for key, value in node.attrs.items() if not key.startswith("_")}


def are_ours(unit: Unit, nodes: Iterable[Node]) -> bool:
    """Return whether a fused op may replace all these nodes.

    It may not if one of the nodes has a hint to swap its input, or a kernel that the user
    registered, because that kernel must run.
    """
    types = unit.device_types
    return all(
        SWAP_HINT not in node.attrs and is_ours(node.type, types[node.assigned_device], node.attrs)
        for node in nodes
    )


def is_reference(edge: Edge) -> bool:
    """Return whether an edge carries a reference to a variable instead of a value."""
    return edge.src.output_types[edge.src_output].is_ref_dtype


def only_taker(node: Node, roots: set[int]) -> Edge | None:
    """Return the only edge from a node. Return None if there are several edges, if the node is a
    root, or if the edge is a control edge or leads to another device.
    """
    if node.id in roots or len(node._out) != 1:
        return None
    (edge,) = node._out
    if edge.is_control or edge.dst.assigned_device != node.assigned_device:
        return None
    return edge


def known_value(unit: Unit, edge: Edge) -> Any:
    """Return the value of an input if it is constant and not the output of a Switch, or else
    None.
    """
    if edge.src.node_class is NodeClass.SWITCH:
        return None
    return unit.values.get((edge.src.id, edge.src_output))


def behind(edge: Edge, passed: list[Node]) -> Edge:
    """Return the edge to the first of the Identities through which the tensor of `edge` passes. Add
    these Identities to `passed`.
    """
    while edge.src.type == "Identity" and not is_reference(first := edge.src.input_edge(0)):
        passed.append(edge.src)
        edge = first
    return edge
