"""The placement report, which contains the device, the loop and the guard of each op of a plan, and
the reason for the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpugraph.compile.analysis.flow_analysis import in_words
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import Placement, Step, all_steps


def placements(unit: Unit, steps: Sequence[Step]) -> tuple[Placement, ...]:
    """Return the placements of all ops, in the order of the plan. The members of a fused node come
    before the node, and absorbed ops come last.
    """
    modes = {
        step.name: step.kind for step in all_steps(steps) if step.kind in ("kernel", "copy", "send")
    }
    records: list[Placement] = []
    for node in unit.order:
        if node.type == "_LoopEnd":
            continue
        mode = "folded" if node.id in unit.folded else unit.modes.get(node.id, "")
        mode = mode or modes.get(node.name, "") or node.node_class.name.lower()
        device, reason = node.assigned_device, _reason(unit, node)
        if node.id in unit.fused:
            fused = f"fused into {node.name}"
            records += [
                Placement(name, op_type, device, reason, fused, origin)
                for name, op_type, origin in unit.fused[node.id]
            ]
        records.append(Placement(node.name, node.type, device, reason, mode, node.origin))
    return (*records, *_absorbed(unit, {record.name: record for record in records}))


def _absorbed(unit: Unit, placement_by_name: dict[str, Placement]) -> Iterator[Placement]:
    """Yield a placement for each op that another op of the plan has absorbed, directly or through
    other absorbed ops.
    """
    for name, (op_type, origin, by, mode) in unit.absorbed.items():
        while by not in placement_by_name and by in unit.absorbed:
            by = unit.absorbed[by].by
        if by in placement_by_name and name not in placement_by_name:
            known = placement_by_name[by]
            yield Placement(name, op_type, known.device, known.reason, f"{mode} {by}", origin)


def _reason(unit: Unit, node: Node) -> str:
    """Return the reason for a node's device as text, followed by the node's loop and guard if it
    has any.
    """
    reason = unit.reasons.get(node.id, "")
    if unit.flow is None:
        return reason
    reasons = [reason]
    frame, guard = unit.flow.frames.at(node), unit.flow.guards[node.id]
    if frame.parent is not None:
        reasons.append(f"in loop {frame.name}")
    if guard:
        reasons.append(f"runs {in_words(unit, guard)}")
    return "; ".join(reasons)
