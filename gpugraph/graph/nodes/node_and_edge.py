"""Node and Edge: the two kinds of records of a runtime graph.

A `Node` is one op with its dtypes resolved, an id that never changes, and its incoming and outgoing
edges. An `Edge` runs from an output slot to an input slot. A control edge only imposes an order and
connects slot -1 to slot -1.

      slot 0          slot 0
    [ a ] ---------- e ----------> [ c ]        e.src = a   e.src_output = 0
      |                              ^          e.dst = c   e.dst_input = 0
      +---------- control -----------+          both slots CONTROL_SLOT

These are records only: every change goes through `RuntimeGraph`, which keeps both ends of an edge
consistent. Edges are kept in dicts (insertion ordered, constant-time removal), so traversals are
deterministic. The classes are modelled on TensorFlow's core/graph/graph.h.
"""

from __future__ import annotations

import enum
from collections.abc import KeysView
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import InternalError, NotFoundError, invalid_argument
from gpugraph.graph.op_def import NodeDef, OpDef

CONTROL_SLOT = -1
SOURCE_ID = 0
SINK_ID = 1


class NodeClass(enum.Enum):
    """The classes of nodes that the runtime distinguishes. All other op types are `OTHER`."""

    __hash__ = object.__hash__  # identity suffices; Enum's hash is a Python function

    OTHER = enum.auto()
    SWITCH = enum.auto()
    MERGE = enum.auto()
    ENTER = enum.auto()
    EXIT = enum.auto()
    NEXT_ITERATION = enum.auto()
    LOOP_COND = enum.auto()
    CONTROL_TRIGGER = enum.auto()
    SEND = enum.auto()
    HOST_SEND = enum.auto()
    RECV = enum.auto()
    HOST_RECV = enum.auto()
    CONSTANT = enum.auto()
    VARIABLE = enum.auto()
    IDENTITY = enum.auto()
    GET_SESSION_HANDLE = enum.auto()
    GET_SESSION_TENSOR = enum.auto()
    DELETE_SESSION_TENSOR = enum.auto()
    METADATA = enum.auto()
    SCOPED_ALLOCATOR = enum.auto()
    COLLECTIVE = enum.auto()
    FAKE_PARAM = enum.auto()
    PARTITIONED_CALL = enum.auto()
    IF = enum.auto()
    WHILE = enum.auto()
    ARG = enum.auto()
    RETVAL = enum.auto()


_OP_TYPES: dict[NodeClass, tuple[str, ...]] = {
    NodeClass.SWITCH: ("Switch", "RefSwitch", "_SwitchN"),
    NodeClass.MERGE: ("Merge", "RefMerge"),
    NodeClass.ENTER: ("Enter", "RefEnter"),
    NodeClass.EXIT: ("Exit", "RefExit"),
    NodeClass.NEXT_ITERATION: ("NextIteration", "RefNextIteration"),
    NodeClass.LOOP_COND: ("LoopCond",),
    NodeClass.CONTROL_TRIGGER: ("ControlTrigger",),
    NodeClass.SEND: ("_Send",),
    NodeClass.HOST_SEND: ("_HostSend",),
    NodeClass.RECV: ("_Recv",),
    NodeClass.HOST_RECV: ("_HostRecv",),
    NodeClass.CONSTANT: ("Const", "HostConst"),
    NodeClass.VARIABLE: ("Variable", "VariableV2"),
    NodeClass.IDENTITY: ("Identity", "RefIdentity"),
    NodeClass.GET_SESSION_HANDLE: ("GetSessionHandle", "GetSessionHandleV2"),
    NodeClass.GET_SESSION_TENSOR: ("GetSessionTensor",),
    NodeClass.DELETE_SESSION_TENSOR: ("DeleteSessionTensor",),
    NodeClass.METADATA: ("Size", "Shape", "Rank"),
    NodeClass.SCOPED_ALLOCATOR: ("_ScopedAllocator",),
    NodeClass.COLLECTIVE: tuple(
        f"Collective{kind}" for kind in ("Reduce", "BcastSend", "BcastRecv", "Gather")
    ),
    NodeClass.FAKE_PARAM: ("FakeParam",),
    NodeClass.PARTITIONED_CALL: ("PartitionedCall", "StatefulPartitionedCall"),
    NodeClass.IF: ("If", "StatelessIf"),
    NodeClass.WHILE: ("While", "StatelessWhile"),
    NodeClass.ARG: ("_Arg", "_DeviceArg"),
    NodeClass.RETVAL: ("_Retval", "_DeviceRetval"),
}
_CLASS_BY_TYPE = {name: key for key, names in _OP_TYPES.items() for name in names}
_TRANSFERS = (NodeClass.SEND, NodeClass.HOST_SEND, NodeClass.RECV, NodeClass.HOST_RECV)

FORWARDING = (NodeClass.SWITCH, NodeClass.ENTER, NodeClass.EXIT, NodeClass.NEXT_ITERATION)
"""The classes of control flow ops that forward one input to their outputs."""


def class_of_type(op_type: str) -> NodeClass:
    """Return the class of an op type. Return `NodeClass.OTHER` for an op type without a separate
    class.
    """
    return _CLASS_BY_TYPE.get(op_type, NodeClass.OTHER)


def _is_of(*classes: NodeClass) -> Any:
    """Return a property of `Node` that is true if the node's class is one of `classes`."""
    return property(lambda node: node.node_class in classes, doc=f"Whether it is of {classes}.")


class Edge:
    """One edge of a runtime graph. The graph never reuses the `id` of a removed edge."""

    __slots__ = ("dst", "dst_input", "id", "src", "src_output")

    def __init__(self, id: int, src: Node, src_output: int, dst: Node, dst_input: int) -> None:
        self.id = id
        self.src = src
        self.src_output = src_output
        self.dst = dst
        self.dst_input = dst_input

    @property
    def is_control(self) -> bool:
        """Whether it is a control edge, which carries no value."""
        return self.src_output == CONTROL_SLOT

    @property
    def is_back_edge(self) -> bool:
        """Whether this edge closes a loop: it goes from a NextIteration to a Merge. Orders of nodes
        ignore such an edge.
        """
        return (
            self.dst.node_class is NodeClass.MERGE
            and self.src.node_class is NodeClass.NEXT_ITERATION
        )

    def debug_string(self) -> str:
        """Return the edge as one line of text, as TensorFlow's `Edge::DebugString` does."""
        ends = f"{self.src.name}:{self.src_output} -> {self.dst.name}:{self.dst_input}"
        return f"[id={self.id} {ends}]"

    def __repr__(self) -> str:
        return f"<Edge {self.debug_string()}>"


class Node:
    """One op of a runtime graph, created by `RuntimeGraph.add_node` and compared by identity.

    Args:
      requested_device: the device that the user has requested, as a partial name.
      origin: the user's line that created the op. Only its `str` is used, in messages.

    Attributes:
      assigned_device: the device that placement has chosen, as a full name.
    """

    __slots__ = (
        "_in", "_out", "assigned_device", "attrs", "id", "input_types", "name",
        "node_class", "op_def", "origin", "output_types", "requested_device", "type",
    )  # fmt: skip

    def __init__(
        self,
        id: int,
        name: str,
        op_def: OpDef,
        attrs: dict[str, Any],
        input_types: tuple[DType, ...],
        output_types: tuple[DType, ...],
        requested_device: str,
        origin: object,
    ) -> None:
        self.id = id
        self.name = name
        self.type = op_def.name
        self.op_def = op_def
        self.attrs = attrs
        self.input_types = input_types
        self.output_types = output_types
        self.requested_device = requested_device
        self.assigned_device = ""
        self.node_class = _CLASS_BY_TYPE.get(op_def.name, NodeClass.OTHER)
        self.origin = origin
        self._in: dict[Edge, None] = {}
        self._out: dict[Edge, None] = {}

    def with_attrs(self, attrs: dict[str, Any]) -> Node:
        """Return a copy of the node with other attrs. The copy has the same id and edges."""
        node = object.__new__(Node)
        for name in self.__slots__:
            setattr(node, name, getattr(self, name))
        node.attrs = attrs
        return node

    # Edges

    @property
    def in_edges(self) -> KeysView[Edge]:
        """The edges into this node, oldest first. This is a live view: copy it before you change
        edges.
        """
        return self._in.keys()

    @property
    def out_edges(self) -> KeysView[Edge]:
        """The edges out of this node, oldest first. This is a live view: copy it before you change
        edges.
        """
        return self._out.keys()

    @property
    def num_inputs(self) -> int:
        """The number of data inputs."""
        return len(self.input_types)

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self.output_types)

    def input_edge(self, index: int) -> Edge:
        """Return the edge into data input `index`. `input_edges` is a faster way to get all these
        edges.

        Raises InvalidArgumentError if there is no such input, and NotFoundError if the input has no
        edge yet.
        """
        if not 0 <= index < len(self.input_types):
            raise invalid_argument(
                f"Invalid input_edge index: {index}, Node {self.name} only has "
                f"{self.num_inputs} inputs."
            )
        for edge in self._in:
            if edge.dst_input == index:
                return edge
        raise NotFoundError.of_no_node(f"Could not find input edge {index} for {self.name}")

    def input_edges(self) -> list[Edge]:
        """Return the edges into the data inputs, in slot order.

        Raises InternalError if an input has two edges, and InvalidArgumentError if an input has no
        edge.
        """
        by_slot: list[Any] = [None] * len(self.input_types)
        for edge in self._in:
            slot = edge.dst_input
            if slot >= 0:
                if by_slot[slot] is not None:
                    message = f"Duplicate edge input number: {slot} of node {self.name}"
                    raise InternalError.of_no_node(message)
                by_slot[slot] = edge
        if None in by_slot:
            message = f"Missing edge input number: {by_slot.index(None)} of node {self.name}"
            raise invalid_argument(message)
        return by_slot

    @property
    def control_inputs(self) -> list[Node]:
        """The sources of control edges into this node, except _SOURCE."""
        return [e.src for e in self._in if e.is_control and e.src.id != SOURCE_ID]

    # Classes

    @property
    def is_source(self) -> bool:
        """Whether this node is _SOURCE, which precedes all other nodes."""
        return self.id == SOURCE_ID

    @property
    def is_sink(self) -> bool:
        """Whether this node is _SINK, which follows all other nodes."""
        return self.id == SINK_ID

    @property
    def is_op(self) -> bool:
        """Whether this is an op of the program, not _SOURCE or _SINK."""
        return self.id > SINK_ID

    is_switch = _is_of(NodeClass.SWITCH)
    is_merge = _is_of(NodeClass.MERGE)
    is_enter = _is_of(NodeClass.ENTER)
    is_exit = _is_of(NodeClass.EXIT)
    is_next_iteration = _is_of(NodeClass.NEXT_ITERATION)
    is_loop_cond = _is_of(NodeClass.LOOP_COND)
    is_control_trigger = _is_of(NodeClass.CONTROL_TRIGGER)
    is_control_flow = _is_of(NodeClass.MERGE, *FORWARDING)
    is_send = _is_of(NodeClass.SEND, NodeClass.HOST_SEND)
    is_recv = _is_of(NodeClass.RECV, NodeClass.HOST_RECV)
    is_host_send = _is_of(NodeClass.HOST_SEND)
    is_host_recv = _is_of(NodeClass.HOST_RECV)
    is_transfer = _is_of(*_TRANSFERS)
    is_constant = _is_of(NodeClass.CONSTANT)
    is_variable = _is_of(NodeClass.VARIABLE)  # false for ops that use resource handles
    is_identity = _is_of(NodeClass.IDENTITY)
    is_metadata = _is_of(NodeClass.METADATA)  # the op reads the shape of a tensor, not its values
    is_collective = _is_of(NodeClass.COLLECTIVE)

    # As a NodeDef and as text

    def input_names(self) -> list[str]:
        """Return the inputs in the form of a NodeDef: `"a"`, `"a:1"`, then control inputs,
        `"^control"`.

        The name of an input without an edge is `""`. Control edges from _SOURCE are omitted.
        """
        names = [""] * len(self.input_types)
        controls: dict[str, None] = {}
        for edge in self._in:
            if edge.dst_input != CONTROL_SLOT:
                slot = f":{edge.src_output}" if edge.src_output else ""
                names[edge.dst_input] = edge.src.name + slot
            elif edge.src.id != SOURCE_ID:
                controls["^" + edge.src.name] = None
        return [*names, *controls]

    @property
    def node_def(self) -> NodeDef:
        """This node as a `NodeDef` record, with its current inputs and its requested device."""
        return NodeDef(
            self.name, self.type, self.input_names(), self.requested_device, dict(self.attrs)
        )

    def debug_string(self) -> str:
        """Return the node as one line of text, as TensorFlow's `Node::DebugString` does."""
        head = f"{{name:'{self.name}' id:{self.id}"
        if not self.is_op:
            return f"{head} {'source' if self.is_source else 'sink'}}}"
        attrs = [f"{key}={self.attrs[key]!r}" for key in sorted(self.attrs)]
        if self.requested_device:
            attrs.append(f'_device="{self.requested_device}"')
        listed = f"[{', '.join(attrs)}]" if attrs else ""
        summary = f"{{{{node {self.name}}}}} = {self.type}{listed}({', '.join(self.input_names())})"
        return f"{head} op device:{{{self.assigned_device}}} def:{{{summary}}}}}"

    def __repr__(self) -> str:
        return f"<Node {self.id} '{self.name}' type={self.type}>"


def origins(*nodes: Node) -> str:
    """Return text to append to an error message: one line for each node with a known origin."""
    known = {node: node.origin for node in nodes if node.origin is not None}
    return "".join(f"\n  {node.name}: defined at {origin}" for node, origin in known.items())
