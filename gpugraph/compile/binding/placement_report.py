"""What a plan says of its ops: where each is, why, in which loop, and under which condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpugraph.compile.analysis.flow_analysis import in_words
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import Placed, Step, all_steps


def placed(unit: Unit, steps: Sequence[Step]) -> tuple[Placed, ...]:
    """One record for each op, in the order of the plan."""
    modes = {
        step.name: step.kind for step in all_steps(steps) if step.kind in ("kernel", "copy", "send")
    }
    found = []
    for node in unit.order:
        if node.type == "_LoopEnd":
            continue
        mode = "folded" if node.id in unit.folded else unit.modes.get(node.id, "")
        mode = mode or modes.get(node.name, "") or node.node_class.name.lower()
        where = node.assigned_device
        for name, op_type, origin in unit.fused.get(node.id, ()):
            said = f"fused into {node.name}"
            found.append(Placed(name, op_type, where, _why(unit, node), said, origin))
        found.append(Placed(node.name, node.type, where, _why(unit, node), mode, node.origin))
    if unit.absorbed:
        found += _absorbed(unit, {each.name: each for each in found})
    return tuple(found)


def _absorbed(unit: Unit, known: dict[str, Placed]) -> Iterator[Placed]:
    """The ops that others do, where those are part of the plan."""
    for name, (op_type, origin, by, said) in unit.absorbed.items():
        while by not in known and by in unit.absorbed:
            by = unit.absorbed[by].by
        if by in known and name not in known:
            where, reason = known[by].device, known[by].reason
            yield Placed(name, op_type, where, reason, f"{said} {by}", origin)


def _why(unit: Unit, node: Node) -> str:
    """Why a node is where it is, and in which loop and under which condition it runs."""
    said = [unit.reasons.get(node.id, "")]
    if unit.flow is not None:
        frame, guard = unit.flow.frames.at(node), unit.flow.guards[node.id]
        if frame.parent is not None:
            said.append(f"in loop {frame.name}")
        if guard:
            said.append(f"runs {in_words(unit, guard)}")
    return "; ".join(said)
