"""Frames: the loop that contains each node of a runtime graph.

A frame is entered by the Enter nodes of one `frame_name` and left by Exit nodes. All inputs of a
node must be in the same frame, and the node is in this frame too. A constant without control inputs
is in no loop, and its consumers may be in any frame.

    root     [x] --> Enter                         Exit --> [y]
                       |                             ^
    loop               Merge --> Switch -------------+
                        ^          |
                        +-- NextIteration <-- body

The rules are those of BuildControlFlowInfo in TensorFlow's core/graph/control_flow.cc.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from gpugraph.base.errors import InternalError, InvalidArgumentError
from gpugraph.graph.nodes.node_and_edge import SINK_ID, Node, NodeClass, origins
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph


@dataclass(slots=True, eq=False)
class Frame:
    """One loop, or the root, which has no parent.

    The frame lists its control flow nodes by type, without the nodes of inner loops. A loop's
    Enters and Exits belong to the loop itself.
    """

    name: str
    parent: Frame | None
    enters: list[Node] = field(default_factory=list)
    merges: list[Node] = field(default_factory=list)
    next_iterations: list[Node] = field(default_factory=list)
    exits: list[Node] = field(default_factory=list)
    loop_cond: Node | None = None
    end: Node | None = None
    """The node that represents the end of an iteration in the order; the compiler pass `order` sets
    it.
    """
    depth: int = field(init=False)
    """The number of loops that contain this frame; 0 for the root."""

    def __post_init__(self) -> None:
        self.depth = 0 if self.parent is None else self.parent.depth + 1

    def up(self) -> Iterator[Frame]:
        """Yield this frame, its parent and so on to the root."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.parent

    def child_towards(self, inner: Frame) -> Frame:
        """Return the direct child of this frame that is `inner` or contains it. `inner` must be a
        descendant.
        """
        return next(frame for frame in inner.up() if frame.parent is self)


class Frames:
    """The frames of a graph, and the frame of each node."""

    def __init__(self) -> None:
        self.root = Frame("", None)
        self.of: dict[int, Frame] = {}
        self.by_name: dict[str, Frame] = {}

    def loops(self) -> list[Frame]:
        """Return all loops, outer ones first."""
        return sorted(self.by_name.values(), key=lambda frame: frame.depth)

    def at(self, node: Node) -> Frame:
        """Return the frame of a node. If the node was added to the graph later, return the root."""
        return self.of.get(node.id, self.root)


def is_loop_merge(node: Node) -> bool:
    """Return whether a node is the Merge at the start of a loop's iterations: it has a back
    edge.
    """
    return node.node_class is NodeClass.MERGE and any(edge.is_back_edge for edge in node._in)


def enters_once(node: Node) -> bool:
    """Return whether `node` is an Enter whose value only the first iteration uses.

    The result is true if the Enter is not constant and feeds only the loop's Merges.
    """
    return (
        node.node_class is NodeClass.ENTER
        and not node.attrs.get("is_constant")
        and all(is_loop_merge(edge.dst) for edge in node._out if edge.dst.is_op)
    )


def loop_frames(graph: RuntimeGraph, ways: Collection[tuple[Node, Node]] = ()) -> Frames:
    """Return the frames of `graph`.

    Raises InvalidArgumentError for a node with inputs from different frames, an Enter without a
    frame name, an Exit or NextIteration outside of loops, or a second LoopCond in a loop. Raises
    InternalError for a frame that is entered from two different frames.

    Args:
      ways: pairs of Send and Recv that are treated as edges.
    """
    frames = Frames()
    send_of = {recv.id: send for send, recv in ways}
    for node in _inputs_first(graph, ways):
        frame = _frame_of_inputs(frames, node, send_of.get(node.id))
        if node.node_class is NodeClass.ENTER:
            frame = _entered(frames, node, frame)
        frames.of[node.id] = frame
        _note(frame, node)
    for frame in frames.loops():
        for node in frame.next_iterations:
            for edge in node._out:
                if edge.is_back_edge and frames.of[edge.dst.id] is not frame:
                    raise _different(edge.dst, node, frame, None, frames.of[edge.dst.id])
    return frames


def _inputs_first(graph: RuntimeGraph, ways: Collection[tuple[Node, Node]]) -> Iterator[Node]:
    """Yield the nodes in topological order. Back edges are ignored."""
    recv_of = {send.id: recv for send, recv in ways}
    pending = {}
    for node in graph.op_nodes():
        pending[node.id] = sum(e.src.id > SINK_ID and not e.is_back_edge for e in node._in)
    for recv in recv_of.values():
        pending[recv.id] += 1
    ready = [node for node in graph.op_nodes() if not pending[node.id]][::-1]
    while ready:
        node = ready.pop()
        yield node
        following = [e.dst for e in node._out if e.dst.id > SINK_ID and not e.is_back_edge]
        if node.id in recv_of:
            following.append(recv_of[node.id])
        for after in following:
            pending[after.id] -= 1
            if not pending[after.id]:
                ready.append(after)


def _frame_of_inputs(frames: Frames, node: Node, send: Node | None) -> Frame:
    """Return the frame of a node's inputs. For a Recv, return the frame of `send`."""
    if send is not None:
        return frames.of[send.id]
    first: Node | None = None
    innermost = frames.root
    for edge in node._in:
        source = edge.src
        if source.id <= SINK_ID or edge.is_back_edge or is_free(source):
            continue
        frame = _left(frames, source)
        if first is None:
            first, innermost = source, frame
        elif frame is not innermost:
            raise _different(node, source, frame, first, innermost)
    return innermost


def is_free(node: Node) -> bool:
    """Return whether a node is a constant without control inputs. Nodes of any frame may use such a
    node.
    """
    return node.node_class is NodeClass.CONSTANT and not any(e.src.id > SINK_ID for e in node._in)


def _left(frames: Frames, source: Node) -> Frame:
    """Return the frame of a node's outputs: for an Exit the parent frame, otherwise the node's
    frame.
    """
    frame = frames.of[source.id]
    if source.node_class is not NodeClass.EXIT:
        return frame
    assert frame.parent is not None
    return frame.parent


def _entered(frames: Frames, node: Node, parent: Frame) -> Frame:
    name = node.attrs.get("frame_name", "")
    name = name.decode() if isinstance(name, bytes) else name
    if not name:
        raise _refusal(node, f"The Enter {node.name} must have a frame name.")
    frame = frames.by_name.setdefault(name, Frame(name, parent))
    if frame.parent is not parent:
        known = frame.parent.name if frame.parent is not None else ""
        raise InternalError(
            node.node_def,
            None,
            f"Mismatched parent frames for '{name}': it is entered from '{known}' and by "
            f"{node.name} from '{parent.name}'{origins(node)}",
        )
    return frame


def _note(frame: Frame, node: Node) -> None:
    """Add a control flow node to its frame's lists.

    Raises InvalidArgumentError for a node that is not allowed in the frame.
    """
    kind = node.node_class
    if kind is NodeClass.ENTER:
        frame.enters.append(node)
    elif kind is NodeClass.MERGE and is_loop_merge(node):
        frame.merges.append(node)
    elif kind in (NodeClass.EXIT, NodeClass.NEXT_ITERATION, NodeClass.LOOP_COND):
        if frame.parent is None:
            raise _refusal(node, f"{node.type} '{node.name}' is in no loop: no Enter leads to it")
        if kind is NodeClass.EXIT:
            frame.exits.append(node)
        elif kind is NodeClass.NEXT_ITERATION:
            frame.next_iterations.append(node)
        elif frame.loop_cond is None:
            frame.loop_cond = node
        else:
            raise _refusal(
                node,
                f"Loop '{frame.name}' has more than one LoopCond node: {node.name} and "
                f"{frame.loop_cond.name}",
            )


def _different(
    node: Node, source: Node, frame: Frame, first: Node | None, other: Frame
) -> InvalidArgumentError:
    where = f" The input {{{{node {first.name}}}}} is in frame '{other.name}'." if first else (
        f" {{{{node {node.name}}}}} itself is in frame '{other.name}'."
    )  # fmt: skip
    return _refusal(
        node,
        f"{{{{node {node.name}}}}} has inputs from different frames. The input "
        f"{{{{node {source.name}}}}} is in frame '{frame.name}'.{where}",
    )


def _refusal(node: Node, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(node.node_def, None, f"{why}{origins(node)}")
