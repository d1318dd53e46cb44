"""Execution order: one sequence for all devices. Ops are sorted by depth, then by device. Within a
device, writes of variables come last, and all other ops are in order of creation.

The depth of an op is the length of the longest path to it. The depth is measured over the whole
graph, with an edge from each Send to its Recv, so the sequence never has a Recv before its Send. An
op that writes a variable comes after all other ops of its depth and device, so reads of the same
depth see the old value, regardless of the order of creation. Inputs of a collective over several
processes come before all other ops of their depth.

With control flow, ops with equal guards stay together as long as possible. The ops of a loop take
the position of the loop. Within a loop, the order is: Enters, Merges, then all other ops. Small
updates of variables on GPUs are then moved to later positions (`deferred_updates`).

Without control flow, ops whose kernels report sizes come first, together with all ops on which they
depend.

Calls of user functions may wait for each other, and ops on queues may wait for other runs. If there
are several calls of user functions, or one op on a queue, the order consists of waves
(`call_waves`). First come all ops that depend on none of these calls, then, at one depth, the calls
that depend on no other call, then the ops that depend on these calls, and so on. The calls of one
wave run concurrently (`compile/steps/concurrent_calls.py`). Then the ops of each CPU device are put
together if they wait for no other device, so that the devices may compute at the same time
(`replica_lanes`). Finally, large independent matrix products are moved next to each other
(`side_by_side`).
"""

from __future__ import annotations

from gpugraph.compile.memory.call_waves import calls, followers, in_waves
from gpugraph.compile.memory.deferred_updates import later
from gpugraph.compile.memory.replica_lanes import put_apart
from gpugraph.compile.memory.side_by_side import bring_together
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.guards import ALWAYS, Flow
from gpugraph.compile.unit.loop_levels import Item, arranged, flattened
from gpugraph.graph.nodes.graph_walks import depths
from gpugraph.graph.nodes.loop_frames import Frame, is_loop_merge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

_FIRST = "_CollectiveInput"
"""The op type that comes first among ops of equal depth. Other processes wait for the values that
these ops pass to a collective, while this process continues.
"""


@compile_pass()
def order(unit: Unit) -> Outcome:
    """Set `unit.order` and `unit.depth`. Raises InvalidArgumentError, with the names of the nodes,
    if the graph has a cycle.
    """
    rank = {device.name: index for index, device in enumerate(unit.target.devices)}
    calling = calls(unit)
    lines: list[str] = []
    if unit.flow is not None:
        _order_flow(unit, unit.flow, rank, calling)
    else:
        unit.depth = depth = depths(unit.graph, unit.send_recv_pairs)
        if calling:
            nodes = {node: depth[node.id] for node in unit.graph.op_nodes()}
            waves = in_waves(nodes, followers(unit), calling)
            unit.depth = depth = {node.id: wave for node, wave in waves.items()}
        reporting = _reporting(unit)
        unit.order = sorted(
            unit.graph.op_nodes(),
            key=lambda node: (
                *(
                    node.id not in reporting,
                    depth[node.id],
                    node.type != _FIRST,
                    rank[node.assigned_device],
                ),
                *(_writes(node), node.id),
            ),
        )
        if not calling:
            lines = put_apart(unit)
    deepest = max(unit.depth.values(), default=0)
    deferred = later(unit)
    note = f"; {deferred} updates of variables deferred" if deferred else ""
    return f"{len(unit.order)} nodes in {deepest + 1} levels{note}", [*lines, *bring_together(unit)]


def _order_flow(unit: Unit, flow: Flow, rank: dict[str, int], calling: set[Item]) -> None:
    """Set the order and depths of a graph with control flow, one frame after another.

    Args:
      rank: the position of each device among ops of equal depth, by device name.
      calling: the calls that are ordered in waves.
    """
    orders: dict[Frame, list[Item]] = {}
    for frame, level in flow.levels.items():
        depths_here = level.depth
        if calling:
            depths_here = in_waves(level.depth, level.followers.__getitem__, calling)

        def place(item: Item, depth: dict[Item, int] = depths_here) -> tuple[int, ...]:
            if isinstance(item, Frame):
                return 1, depth[item], len(rank), 0, item.enters[0].id
            first = int(not _starts(item))
            return first, depth[item], rank[item.assigned_device], int(_writes(item)), item.id

        def guard(item: Item) -> object:
            if isinstance(item, Frame):
                return flow.outer[item]
            return ALWAYS if _starts(item) else flow.guards[item.id]

        orders[frame] = arranged(level, place, guard)
        for item in level.items:
            if not isinstance(item, Frame):
                unit.depth[item.id] = depths_here[item]
    for frame in flow.frames.loops():
        _add_end(unit, frame)
    unit.order = flattened(orders, flow.frames.root)


def _reporting(unit: Unit) -> set[int]:
    """Return the nodes whose kernels report sizes, and all nodes on which they depend. These nodes
    come first in the order, so that the sizes of all other nodes are known together.
    """
    nodes = [node for node in unit.graph.op_nodes() if node.id in unit.reported]
    found = {node.id for node in nodes}
    while nodes:
        for edge in nodes.pop()._in:
            if edge.src.id not in found:
                found.add(edge.src.id)
                nodes.append(edge.src)
    return found


def _writes(node: Node) -> bool:
    """Return whether a node might write a variable, because it has an input of a reference
    dtype.
    """
    for dtype in node.input_types:  # noqa: SIM110 - called for every node
        if dtype.is_ref_dtype:
            return True
    return False


def _starts(node: Node) -> bool:
    """Return whether a node runs at the start of an iteration, before all other ops. Enters and the
    Merges of loops do.
    """
    return node.node_class is NodeClass.ENTER or is_loop_merge(node)


def _add_end(unit: Unit, frame: Frame) -> None:
    """Add the `_LoopEnd` of a loop. This node marks the end of an iteration in the order."""
    end = frame.end = unit.add_op(
        "_LoopEnd",
        frame.enters[0],
        attrs={"frame_name": frame.name},
        suffix="end",
        device=unit.host,
        shapes=[],
    )
    unit.reasons[end.id] = "the end of an iteration"
    unit.depth[end.id] = 0
