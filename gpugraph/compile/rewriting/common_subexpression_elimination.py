"""Common subexpression elimination: ops that compute the same value from the same inputs are
merged.

Two nodes are merged if they agree in op type, attrs, inputs (for a commutative op in either order),
control inputs, requested device and colocation. Constants are merged if they agree in dtype, shape
and bytes. A node's inputs determine its loop and its guard, so these agree as well. Some nodes are
never merged: impure ops (random numbers, Python functions, ops with a state), reads of variables,
control flow, and nodes with which other nodes are colocated. If an input is the output of an
Identity, the input of the Identity is compared instead. When two nodes are merged, the node that
was created first is kept. `Session.explain` still lists the removed node.

The pass visits the nodes once, in topological order. Attrs are compared only if two nodes agree in
everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, resource
from gpugraph.base.shapes import TensorShape
from gpugraph.compile.analysis.purity import is_pure
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Absorbed, TensorId, Unit, leader_name
from gpugraph.graph.nodes.node_and_edge import SINK_ID
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass, RuntimeGraph

LARGEST_CONSTANT = 1024
"""The maximum size in bytes of constants that are merged."""

_ORDERED = {"Maximum", "Minimum"}
"""Commutative ops whose result may be 0.0 instead of -0.0, or vice versa, if their operands are
exchanged.
"""

Key = tuple[Any, ...]


@compile_pass("common_subgraph_elimination")
def common(unit: Unit) -> Outcome:
    """Merge equal nodes of the graph, and record the removed nodes in `unit.absorbed`."""
    walk = _Walk(unit)
    for node in _inputs_first(unit.graph):
        walk.visit(node)
    walk.finish()
    lines = [f"{name}: as {node.name}" for name, (_, node) in walk.merged.items()]
    return f"{len(lines)} ops merged into equal ones", lines


class _Walk:
    """The nodes visited so far, by key. An entry is a single node or, if several nodes have the
    key, a dict of these nodes by attrs.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.merged: dict[str, tuple[Node, Node]] = {}
        self._seen: dict[Key, Node | dict[Key, Node]] = {}
        self._same: dict[TensorId, TensorId] = {}  # the tensor before any Identities
        self._leaders: set[str] | None = None

    def visit(self, node: Node) -> None:
        """Merge the node into an earlier node that computes the same value, or record the node if
        no earlier node does.
        """
        if not is_pure(node) or not node.output_types:
            return
        key = self._key(node)
        if key is None:
            return
        known = self._seen.setdefault(key, node)
        if known is node:
            return
        if isinstance(known, Node):
            known = self._seen[key] = {_attrs(known): known}
        first = known.setdefault(_attrs(node), node)
        if first is not node:
            self._leaders = _leaders(self.unit) if self._leaders is None else self._leaders
            if node.name not in self._leaders:
                self._merge(node, first)

    def _key(self, node: Node) -> Key | None:
        """Return a key of all properties of the node except its attrs. If the node must not be
        merged, return None.
        """
        sources: list[TensorId] = [(0, 0)] * len(node.input_types)
        control_inputs = set()
        for edge in node._in:
            source = edge.src
            if edge.dst_input < 0:
                if source.id > SINK_ID:
                    control_inputs.add(source.id)
                continue
            dtype = source.output_types[edge.src_output]
            if dtype.is_ref_dtype or dtype is resource:
                return None
            tensor = source.id, edge.src_output
            sources[edge.dst_input] = self._same.get(tensor, tensor)
        if node.node_class is NodeClass.IDENTITY:
            if not control_inputs:
                self._same[node.id, 0] = sources[0]
            return None
        content = _content(node) if node.node_class is NodeClass.CONSTANT else ()
        if content is None:
            return None
        if node.op_def.is_commutative and is_symmetric(node):
            sources.sort()
        controls = frozenset(control_inputs) if control_inputs else None
        return node.type, node.requested_device, *content, controls, *sources

    def _merge(self, node: Node, first: Node) -> None:
        """Make `first` the source of all edges from `node`."""
        graph = self.unit.graph
        for edge in list(node._out):
            if edge.is_control:
                graph.add_control_edge(first, edge.dst)
            else:
                graph.update_edge(first, edge.src_output, edge.dst, edge.dst_input)
        self.merged[node.name] = node, first

    def finish(self) -> None:
        """Remove the merged nodes from the graph, and update `unit.roots` and `unit.absorbed`."""
        if self.merged:
            self.unit.remove(*[node for node, _ in self.merged.values()])
            unit, ends = self.unit, dict(self.merged.values())
            unit.roots = list(dict.fromkeys(ends.get(node, node) for node in unit.roots))
            for name, (node, first) in self.merged.items():
                unit.absorbed[name] = Absorbed(node.type, node.origin, first.name, "the same as")


def _inputs_first(graph: RuntimeGraph) -> Iterator[Node]:
    """Yield the nodes in topological order. Among nodes that may come in any order, the node with
    the lowest id comes first.
    """
    done: set[int] = set()
    for start in graph.op_nodes():
        if start.id in done:
            continue
        for edge in start._in:
            if edge.src.id not in done and edge.src.id > SINK_ID:
                break
        else:
            done.add(start.id)
            yield start
            continue
        stack = [start]
        while stack:
            node = stack[-1]
            waits = [e.src for e in node._in if e.src.id not in done and e.src.id > SINK_ID]
            if waits and node.node_class is NodeClass.MERGE:
                waits = [wait for wait in waits if wait.node_class is not NodeClass.NEXT_ITERATION]
            stack += waits
            if waits:
                continue
            stack.pop()
            if node.id not in done:
                done.add(node.id)
                yield node


def _leaders(unit: Unit) -> set[str]:
    """Return the names of the nodes with which other nodes are colocated."""
    nodes = unit.graph.op_nodes()
    return {leader_name(entry) for node in nodes for entry in node.attrs.get("_class", ())}


def is_symmetric(node: Node) -> bool:
    """Return whether a commutative op computes the same bits if its two inputs are exchanged."""
    dtype = node.output_types[0]
    if len(node.input_types) != 2 or dtype.is_complex:
        return False
    return not (dtype.is_floating and node.type in _ORDERED)


def _content(node: Node) -> Key | None:
    """Return a key of the dtype and value of a constant, or None if the value is too large to be
    compared.
    """
    value = node.attrs["value"]
    if value.nbytes > LARGEST_CONSTANT:
        return None
    return node.output_types[0], *frozen(value)


def _attrs(node: Node) -> Key:
    """Return a key of a node's attrs. The value and dtype of a constant are omitted, because `_key`
    already contains them.
    """
    attrs = node.attrs
    names = sorted(attrs)
    if node.is_constant:
        names = [name for name in names if name not in ("value", "dtype")]
    return tuple((name, frozen(attrs[name])) for name in names)


def frozen(value: Any) -> Key:
    """Return a hashable key of a value. Keys are equal only for equal values of the same type, and
    0.0 and -0.0 have different keys.
    """
    if isinstance(value, (list, tuple)):
        return ("list", *map(frozen, value))
    if isinstance(value, TensorShape):
        return ("shape", value.sizes)
    if isinstance(value, np.ndarray) and value.nbytes <= LARGEST_CONSTANT:
        if value.dtype == object:
            return ("array", value.shape, *map(frozen, value.ravel().tolist()))
        return ("array", value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, np.generic):
        return "scalar", value.dtype.str, value.tobytes()
    if isinstance(value, float):
        return "float", value.hex()
    if value is None or isinstance(value, (str, bytes, int, DType)):
        return type(value), value
    return "object", id(value)
