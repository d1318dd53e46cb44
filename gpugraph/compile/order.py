"""Order: one sequence for all devices, by (depth, device, creation).

Depth is the length of the longest path to an op, counted over the whole graph with Send->Recv as
an edge, so that one thread never meets a Recv before its Send.
"""

from __future__ import annotations

from gpugraph.compile.unit import Unit
from gpugraph.graph.walks import depths

__all__ = ["order"]


def order(unit: Unit) -> None:
    """Fills `unit.order` and `unit.depth`; InvalidArgumentError names the cycle if there is one."""
    with unit.report("order") as say:
        unit.depth = depth = depths(unit.graph, unit.ways)
        rank = {device.name: index for index, device in enumerate(unit.target.devices)}
        unit.order = sorted(
            unit.graph.op_nodes(),
            key=lambda node: (depth[node.id], rank[node.assigned_device], node.id),
        )
        deepest = max(depth.values(), default=0)
        say(f"{len(unit.order)} nodes in {deepest + 1} levels", ())
