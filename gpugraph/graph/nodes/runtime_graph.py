"""RuntimeGraph: nodes and edges, as the compiler views and changes them.

The client's graph only grows. The runtime graph is copied from it for a run, and the compiler's
passes then prune, fold, fuse and split it. Three invariants hold after every call. A call that
would violate one of them raises an error and changes nothing:

* every edge is registered in the graph, its source and its destination, or in none of them;
* node ids and edge ids are assigned in rising order and never reused; names are unique;
* a data edge joins slots that exist, with dtypes that fit; a control edge joins control slots.

Every graph starts with _SOURCE (id 0), _SINK (id 1) and a control edge between them. NodeDefs are
derived from the edges, so there is no second copy of the edges to maintain. The class is modelled
on TensorFlow's core/graph/graph.cc and validate.cc.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, ValuesView
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import AlreadyExistsError, InvalidArgumentError, invalid_argument
from gpugraph.graph.nodes.node_and_edge import (
    CONTROL_SLOT as CONTROL_SLOT,
    SINK_ID,
    SOURCE_ID,
    Edge as Edge,
    Node as Node,
    NodeClass as NodeClass,
    origins,
)
from gpugraph.graph.op_def import NodeDef, OpDef

_NAME = re.compile(r"[A-Za-z0-9._][A-Za-z0-9_.\-/>]*")
_NO_OP = OpDef("NoOp")


class RuntimeGraph:
    """A mutable directed graph of `Node`s, with data and control edges."""

    def __init__(self) -> None:
        self._types: dict[tuple[DType, ...], tuple[DType, ...]] = {}  # interned tuples
        self._nodes: dict[int, Node] = {}
        self._edges: dict[int, Edge] = {}
        self._by_name: dict[str, Node] = {}
        self._next_node_id = 0
        self._next_edge_id = 0
        self.source, self.sink = self.add_node("_SOURCE", _NO_OP), self.add_node("_SINK", _NO_OP)
        self._link(self.source, CONTROL_SLOT, self.sink, CONTROL_SLOT)

    # Nodes

    def add_node(
        self,
        name: str,
        op_def: OpDef,
        *,
        attrs: Mapping[str, Any] | None = None,
        input_types: Iterable[DType] = (),
        output_types: Iterable[DType] = (),
        requested_device: str = "",
        origin: object = None,
        shares_attrs: bool = False,
    ) -> Node:
        """Add a node without edges, with a copy of `attrs`.

        Raises AlreadyExistsError if `name` is in use, and InvalidArgumentError if `name` is
        invalid. A valid name starts with a letter, digit, dot or underscore. After the first
        character, `-`, `/` and `>` are also allowed.

        Args:
          shares_attrs: whether the attrs and the name come from an operation of a client graph. In
            this case, the attrs are not copied, and the name is not checked.
        """
        if name in self._by_name:
            where = origins(self._by_name[name])
            raise AlreadyExistsError.of_no_node(f"Node already exists: {name}{where}")
        if not shares_attrs and not _NAME.fullmatch(name):
            raise invalid_argument(f"Node name is not valid: '{name}'")
        node_attrs: Any = attrs if shares_attrs and type(attrs) is dict else dict(attrs or ())
        takes, makes = tuple(input_types), tuple(output_types)
        takes, makes = self._types.setdefault(takes, takes), self._types.setdefault(makes, makes)
        id = self._next_node_id
        node = Node(id, name, op_def, node_attrs, takes, makes, requested_device, origin)
        self._next_node_id = id + 1
        self._nodes[id] = self._by_name[name] = node
        return node

    def copy_node(self, node: Node, name: str | None = None) -> Node:
        """Add a copy of `node`, a node of this graph or another graph, without edges.

        Raises the errors of `add_node`, and InvalidArgumentError for _SOURCE and _SINK.

        Args:
          name: the name of the copy. If it is None, the copy has the name of `node`, or a new name
            derived from it if that name is in use.
        """
        if not node.is_op:
            raise invalid_argument(f"Node {node.name} cannot be copied")
        if name is None:
            name = self.new_name(node.name) if node.name in self._by_name else node.name
        copy = self.add_node(
            name,
            node.op_def,
            attrs=node.attrs,
            input_types=node.input_types,
            output_types=node.output_types,
            requested_device=node.requested_device,
            origin=node.origin,
        )
        copy.assigned_device = node.assigned_device
        return copy

    def remove_node(self, node: Node) -> None:
        """Remove a node and all its edges. The id of a removed node is not reused.

        Raises InvalidArgumentError for _SOURCE, _SINK and nodes that are not in this graph.
        """
        self.remove_nodes((node,))

    def remove_nodes(self, nodes: Collection[Node]) -> None:
        """Remove several nodes, each listed once, and their edges. On an error, no node is removed.

        Raises the errors of `remove_node`.
        """
        for node in nodes:
            if self._nodes.get(node.id) is not node:
                self._check_own(node)
            if node.id <= SINK_ID:
                raise invalid_argument(f"Node {node.name} cannot be removed")
        edges, gone = self._edges, {node.id for node in nodes}
        for node in nodes:
            for edge in node._in:
                del edges[edge.id]
                if edge.src.id not in gone:
                    del edge.src._out[edge]
            for edge in node._out:
                if edge.dst.id not in gone:  # other edges are edges into one of the nodes
                    del edges[edge.id]
                    del edge.dst._in[edge]
            del self._nodes[node.id]
            del self._by_name[node.name]
        for node in nodes:
            node._in, node._out = {}, {}

    def rename_node(self, node: Node, name: str) -> None:
        """Rename a node. Raises AlreadyExistsError if the name is in use."""
        self._check_own(node)
        if name in self._by_name:
            raise AlreadyExistsError.of_no_node(f"Node already exists: {name}")
        self._by_name[name] = self._by_name.pop(node.name)
        node.name = name

    def new_name(self, prefix: str) -> str:
        """Return an unused name that consists of `prefix`, `/_` and a number."""
        number = self._next_node_id
        while f"{prefix}/_{number}" in self._by_name:
            number += 1
        return f"{prefix}/_{number}"

    def nodes(self) -> ValuesView[Node]:
        """Return all nodes in the order of their ids, _SOURCE and _SINK first, as a live view."""
        return self._nodes.values()

    def op_nodes(self) -> list[Node]:
        """Return all nodes except _SOURCE and _SINK, in the order of their ids."""
        return list(self._nodes.values())[2:]

    def find(self, name: str) -> Node | None:
        """Return the node with this name, or None."""
        return self._by_name.get(name)

    def find_id(self, id: int) -> Node | None:
        """Return the node with this id, or None if it was removed or never created."""
        return self._nodes.get(id)

    @property
    def num_nodes(self) -> int:
        """The number of nodes in the graph, including _SOURCE and _SINK."""
        return len(self._nodes)

    @property
    def num_node_ids(self) -> int:
        """The largest node id that was ever assigned, plus 1: the length of a table that is indexed
        by id.
        """
        return self._next_node_id

    # Edges

    def add_edge(self, src: Node, src_output: int, dst: Node, dst_input: int) -> Edge:
        """Add an edge from an output slot to an input slot. If both slots are -1, the edge is a
        control edge.

        Raises InvalidArgumentError for slots that do not exist, for an edge between a control slot
        and a data slot, for dtypes that do not fit, and for nodes of another graph. An output that
        is a reference may feed an input that takes a value, but not the reverse.
        """
        nodes, makes, takes = self._nodes, src.output_types, dst.input_types
        if not (
            nodes.get(src.id) is src
            and nodes.get(dst.id) is dst
            and 0 <= src_output < len(makes)
            and 0 <= dst_input < len(takes)
            and makes[src_output] is takes[dst_input]
        ):  # the general check also accepts control edges and references that feed values
            self._check_edge(src, src_output, dst, dst_input)
        return self._link(src, src_output, dst, dst_input)

    def add_control_edge(self, src: Node, dst: Node, allow_duplicates: bool = False) -> Edge | None:
        """Add a control edge that makes `dst` run after `src`.

        Return the new edge, or None if no edge was added.

        Raises InvalidArgumentError for nodes of another graph.

        Args:
          allow_duplicates: whether to add an edge even if the nodes already have a control edge.
        """
        self._check_edge(src, CONTROL_SLOT, dst, CONTROL_SLOT)
        if not allow_duplicates and _control_edge(src, dst) is not None:
            return None
        return self._link(src, CONTROL_SLOT, dst, CONTROL_SLOT)

    def remove_edge(self, edge: Edge) -> None:
        """Remove an edge. Raises InvalidArgumentError if it is not in this graph."""
        if self._edges.get(edge.id) is not edge:
            message = f"Edge {edge.debug_string()} is not in this graph"
            raise invalid_argument(message)
        self._unlink(edge)

    def remove_control_edge(self, edge: Edge) -> None:
        """Remove a control edge and its duplicates: the NodeDef of its destination loses `^src`.

        Raises InvalidArgumentError for a data edge and for an edge that is not in this graph.
        """
        if not edge.is_control:
            message = f"Edge {edge.debug_string()} is not a control edge"
            raise invalid_argument(message)
        self.remove_edge(edge)
        while (twin := _control_edge(edge.src, edge.dst)) is not None:
            self._unlink(twin)

    def update_edge(self, new_src: Node, new_src_output: int, dst: Node, dst_input: int) -> Edge:
        """Replace the edge into data input `dst_input` of `dst` by an edge from another output.

        Return the new edge. Raises the errors of `add_edge`, and InvalidArgumentError for a control
        slot or for an input without an edge.
        """
        if CONTROL_SLOT in (new_src_output, dst_input):
            message = f"Only a data input can be updated, not a control input of {dst.name}"
            raise invalid_argument(message)
        self._check_edge(new_src, new_src_output, dst, dst_input)
        for edge in dst._in:
            if edge.dst_input == dst_input:
                self._unlink(edge)
                return self._link(new_src, new_src_output, dst, dst_input)
        message = f"Couldn't find an edge to input {dst_input} of node {dst.name}{origins(dst)}"
        raise invalid_argument(message)

    def edges(self) -> ValuesView[Edge]:
        """Return all edges in the order of their ids, as a live view."""
        return self._edges.values()

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return len(self._edges)

    def fix_source_and_sink_edges(self) -> bool:
        """Connect nodes without incoming edges to _SOURCE, and nodes without outgoing edges to
        _SINK.

        Return whether an edge was added.
        """
        before = self._next_edge_id
        for node in self.op_nodes():
            if not node._in:
                self._link(self.source, CONTROL_SLOT, node, CONTROL_SLOT)
            if not node._out:
                self._link(node, CONTROL_SLOT, self.sink, CONTROL_SLOT)
        return self._next_edge_id > before

    def to_node_defs(self) -> list[NodeDef]:
        """Return every op as a NodeDef record, in the order of the ids.

        The record's device is the assigned device, or the requested device if none was assigned.
        """
        defs = []
        for node in self.op_nodes():
            node_def = node.node_def
            node_def.device = node.assigned_device or node.requested_device
            defs.append(node_def)
        return defs

    # Creation and removal of edges

    def _link(self, src: Node, src_output: int, dst: Node, dst_input: int) -> Edge:
        id = self._next_edge_id
        edge = Edge(id, src, src_output, dst, dst_input)
        self._next_edge_id = id + 1
        self._edges[id] = edge
        src._out[edge] = None
        dst._in[edge] = None
        return edge

    def _unlink(self, edge: Edge) -> None:
        del self._edges[edge.id]
        del edge.src._out[edge]
        del edge.dst._in[edge]

    # Checks

    def _check_own(self, node: Node) -> None:
        if self._nodes.get(node.id) is not node:
            message = f"Node {node.name} is not in this graph{origins(node)}"
            raise invalid_argument(message)

    def _check_edge(self, src: Node, src_output: int, dst: Node, dst_input: int) -> None:
        nodes = self._nodes
        if nodes.get(src.id) is not src or nodes.get(dst.id) is not dst:
            self._check_own(src)
            self._check_own(dst)
        if (
            0 <= src_output < len(src.output_types)
            and 0 <= dst_input < len(dst.input_types)
            and _fits(src.output_types[src_output], dst.input_types[dst_input])
        ):
            return
        if src_output == dst_input == CONTROL_SLOT and src.id != SINK_ID and dst.id != SOURCE_ID:
            return
        raise _edge_error(src, src_output, dst, dst_input)


def _fits(actual: DType, expected: DType) -> bool:
    return actual is expected or actual == expected or actual.base_dtype == expected


def _edge_error(src: Node, src_output: int, dst: Node, dst_input: int) -> InvalidArgumentError:
    ends = f"{src.name}:{src_output} -> {dst.name}:{dst_input}"
    if src_output == dst_input == CONTROL_SLOT:
        message = f"Nothing can run before _SOURCE or after _SINK, as edge {ends} requires"
    elif CONTROL_SLOT in (src_output, dst_input):
        message = f"A control slot joins only a control slot, unlike edge {ends}"
    elif not 0 <= src_output < src.num_outputs:
        message = (
            f"Node '{dst.name}': Connecting to invalid output {src_output} of source node "
            f"{src.name} which has {src.num_outputs} outputs"
        )
    elif not 0 <= dst_input < dst.num_inputs:
        message = (
            f"Node '{src.name}' cannot feed input {dst_input} of node '{dst.name}' "
            f"(type: '{dst.type}', num of inputs: {dst.num_inputs})"
        )
    else:
        message = (
            f"Input {dst_input} of node {dst.name} was passed {src.output_types[src_output].name} "
            f"from {src.name}:{src_output} incompatible with expected "
            f"{dst.input_types[dst_input].name}."
        )
    return invalid_argument(message + origins(src, dst))


def _control_edge(src: Node, dst: Node) -> Edge | None:
    """Return a control edge between two nodes, or None. The edges of the node that has fewer edges
    are searched.
    """
    for edge in src._out if len(src._out) < len(dst._in) else dst._in:
        if edge.dst is dst and edge.src is src and edge.dst_input == CONTROL_SLOT:
            return edge
    return None


# Cycles
