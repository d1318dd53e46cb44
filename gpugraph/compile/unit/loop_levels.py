"""Levels: the ops and loops of one frame, where each loop is a single item.

A level has the ops directly in a frame, the loops directly inside it, and the dependencies between
these items. An edge between nodes of different frames becomes a dependency in the level of the
innermost frame that contains both nodes. There, the dependency connects the items that contain the
two nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from gpugraph.base.errors import InternalError, InvalidArgumentError, invalid_argument
from gpugraph.graph.nodes.cycle_check import validate_no_cycle
from gpugraph.graph.nodes.loop_frames import Frame, Frames, loop_frames
from gpugraph.graph.nodes.node_and_edge import origins
from gpugraph.graph.nodes.runtime_graph import Node, RuntimeGraph

Item = Node | Frame


@dataclass(eq=False)
class Level:
    """The items of one frame.

    Attributes:
      pending: the number of predecessors of each item.
      depth: the length of the longest path to each item.
    """

    frame: Frame
    items: list[Item] = field(default_factory=list)
    followers: dict[Item, list[Item]] = field(default_factory=dict)
    pending: dict[Item, int] = field(default_factory=dict)
    depth: dict[Item, int] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """Add an item without predecessors."""
        self.items.append(item)
        self.followers[item] = []
        self.pending[item] = 0


def levels(
    graph: RuntimeGraph, frames: Frames, send_recv_pairs: Collection[tuple[Node, Node]]
) -> dict[Frame, Level]:
    """Return the level of each frame. Raises InvalidArgumentError if there is a cycle, or if a loop
    depends on its own result.
    """
    level_of = {frame: Level(frame) for frame in (frames.root, *frames.loops())}
    for frame in frames.loops():
        assert frame.parent is not None
        level_of[frame.parent].add(frame)
    nodes = graph.op_nodes()
    for node in nodes:
        level_of[frames.at(node)].add(node)
    pairs = [(e.src, e.dst) for e in graph.edges() if e.src.is_op and not e.is_back_edge]
    for before, after in (*pairs, *send_recv_pairs):
        if after.is_op:
            _bind(level_of, frames, before, after)
    for level in level_of.values():
        _measure(level, graph, send_recv_pairs)
    return level_of


def _bind(level_of: dict[Frame, Level], frames: Frames, before: Node, after: Node) -> None:
    """Record that `after` depends on `before`, in the level of the innermost frame that contains
    both nodes.
    """
    one, two = frames.at(before), frames.at(after)
    if one is two and before.is_exit and after.is_enter:
        raise _needs_itself(one)
    first: Item = before
    second: Item = after
    if one is not two:
        above = list(one.up())
        shared = next(frame for frame in two.up() if frame in above)
        first = before if one is shared else shared.child_towards(one)
        second = after if two is shared else shared.child_towards(two)
        if first is second:
            return
        one = shared
    level = level_of[one]
    level.followers[first].append(second)
    level.pending[second] += 1


def _measure(
    level: Level, graph: RuntimeGraph, send_recv_pairs: Collection[tuple[Node, Node]]
) -> None:
    """Set the depth of each item of a level. Raises InvalidArgumentError if there is a cycle."""
    pending = dict(level.pending)
    level.depth = dict.fromkeys(level.items, 0)
    row = [item for item in level.items if not pending[item]]
    done = 0
    while row:
        done += len(row)
        following = []
        for item in row:
            for after in level.followers[item]:
                level.depth[after] = level.depth[item] + 1
                pending[after] -= 1
                if not pending[after]:
                    following.append(after)
        row = following
    if done < len(level.items):
        validate_no_cycle(graph, send_recv_pairs)
        stuck = [loop for loop in level.items if isinstance(loop, Frame) and pending[loop]]
        if not stuck:
            raise InternalError.of_no_node("An order ended early although there is no cycle")
        raise _needs_itself(stuck[0])


def _needs_itself(frame: Frame) -> InvalidArgumentError:
    return invalid_argument(
        f"The loop '{frame.name}' needs its own result before it can start{origins(*frame.enters)}"
    )


def arranged(
    level: Level, rank: Callable[[Item], tuple[int, ...]], group: Callable[[Item], Hashable]
) -> list[Item]:
    """Return the items in topological order, with items of one group adjacent where possible.

    An item is ready if all items on which it depends precede it. After each item comes a ready item
    of the same group. If there is none, the ready item with the minimum `rank` comes next, followed
    by its group.
    """
    pending = dict(level.pending)
    ready: dict[Hashable, list[tuple[tuple[int, ...], int, Item]]] = {}
    count = 0

    def offer(item: Item) -> None:
        nonlocal count
        count += 1
        heappush(ready.setdefault(group(item), []), (rank(item), count, item))

    for item in level.items:
        if not pending[item]:
            offer(item)
    order: list[Item] = []
    current: Hashable = None
    while ready:
        if current not in ready:
            current = min(ready, key=lambda key: ready[key][0][:2])
        heap = ready[current]
        item = heappop(heap)[2]
        if not heap:
            del ready[current]
        order.append(item)
        for after in level.followers[item]:
            pending[after] -= 1
            if not pending[after]:
                offer(after)
    return order


def loops_whole(graph: RuntimeGraph) -> list[Node]:
    """Return the nodes in topological order. The nodes of each loop are adjacent, and come before
    all nodes that depend on the loop.
    """
    frames = loop_frames(graph)
    orders: dict[Frame, list[Item]] = {
        frame: sorted(level.items, key=level.depth.__getitem__)
        for frame, level in levels(graph, frames, ()).items()
    }
    return flattened(orders, frames.root)


def flattened(orders: Mapping[Frame, list[Item]], frame: Frame) -> list[Node]:
    """Return all nodes of a frame, in the order given by `orders`. The nodes of a loop are at the
    loop's position, followed by the node that marks its end.
    """
    nodes: list[Node] = []
    for item in orders[frame]:
        if isinstance(item, Frame):
            nodes += flattened(orders, item)
        else:
            nodes.append(item)
    if frame.end is not None:
        nodes.append(frame.end)
    return nodes
