"""Lanes: the ops of each CPU device are put together, so that the devices may compute at the same
time.

  order      a0 a1 b0 b1 Recv add          of devices 0 and 1
  lanes      [a0 b0] [a1 b1] Recv add      two lanes of one phase, which may run at the same time

The replicas of a training step compute on separate devices until they exchange values. Each device
has a separate arena. So different lanes have only constants in common, and variables that no lane
writes.

A phase consists of one lane for each device. Ops that exchange tensors, write variables or have a
state run alone between two phases. The order of these ops, and the order of the reads and writes of
each variable, do not change. So results do not depend on the lanes. `compile/steps/native_calls.py`
runs the native code of lanes on threads if that is faster.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from gpugraph.compile.analysis.variable_references import references
from gpugraph.compile.memory.call_waves import followers
from gpugraph.compile.unit.compile_unit import Lane, Unit, variable_key
from gpugraph.config.environment import thread_count
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS

LEAST = 4
"""The minimum number of ops of a lane; a phase with shorter lanes is not worth an exchange."""

_EXCHANGING = (NodeClass.SEND, NodeClass.RECV, NodeClass.RETVAL)


def put_apart(unit: Unit) -> list[str]:
    """Change `unit.order` so that the ops of different CPU devices form lanes. Set `unit.lanes`,
    and return lines for the report.
    """
    devices = {name for name, kind in unit.device_types.items() if kind == "CPU"}
    used = {node.assigned_device for node in unit.order} & devices
    inter = unit.target.config.inter_op_parallelism_threads
    if len(used) < 2 or thread_count() < 2 or inter == 1 or inter < 0 or unit.reported:
        return []
    if any("Collective" in node.type for node in unit.order):
        return []  # its inputs come as early as possible: other processes wait for them
    phases = _Phases(unit, used)
    lanes = Counter(Lane(phase, device) for phase, is_late, device in phases.of.values()
                    if not is_late)  # fmt: skip
    wide = Counter(lane.phase for lane, count in lanes.items() if count >= LEAST)
    if not any(count > 1 for count in wide.values()):
        return []
    rank = {device.name: index for index, device in enumerate(unit.target.devices)}
    position = {node.id: index for index, node in enumerate(unit.order)}

    def place(node: Node) -> tuple[int, ...]:
        phase, is_late, device = phases.of[node.id]
        return phase, is_late, 0 if is_late else rank[device], position[node.id]

    unit.order.sort(key=place)
    unit.lanes = {
        node_id: Lane(phase, device)
        for node_id, (phase, is_late, device) in phases.of.items()
        if not is_late and wide[phase] > 1
    }
    return [f"{count} devices side by side: {sum(n for lane, n in lanes.items() if lane[0] == k)} "
            "ops" for k, count in sorted(wide.items()) if count > 1]  # fmt: skip


class _Phases:
    """The phases of a unit's nodes.

    Attributes:
      of: maps the id of a node to its phase, a bool, and its device. If the bool is true, the node
        runs alone after the lanes of the phase.
    """

    def __init__(self, unit: Unit, devices: Iterable[str]) -> None:
        self.of: dict[int, tuple[int, bool, str]] = {}
        self._devices = frozenset(devices)
        self._variables = references(unit.order)
        self._last_alone = 0
        self._read: dict[tuple[str, str], int] = defaultdict(int)  # the last phase that reads it
        self._written: dict[tuple[str, str], int] = defaultdict(lambda: -1)
        waits: dict[int, list[int]] = defaultdict(list)
        after = followers(unit)
        for node in unit.order:
            self._visit(unit, node, waits.pop(node.id, ()))
            for follower in after(node):
                waits[follower.id].append(node.id)

    def _visit(self, unit: Unit, node: Node, waits: Iterable[int]) -> None:
        device = node.assigned_device
        reads, writes = self._uses(node)
        is_alone = bool(writes) or not self._may_be_beside(unit, node)
        phase = max((self._written[key] + 1 for key in reads), default=0)
        for before in waits:
            number, was_alone, place = self.of[before]
            if not is_alone and (was_alone or place != device):
                number += 1
            phase = max(phase, number)
        if is_alone:
            phase = max([phase, *(self._read[key] for key in writes)])
            if writes or node.op_def.is_stateful:
                phase = self._last_alone = max(phase, self._last_alone)
        for key in reads:
            self._read[key] = max(self._read[key], phase)
        for key in writes:
            self._written[key] = max(self._written[key], phase)
        self.of[node.id] = phase, is_alone, device

    def _uses(self, node: Node) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        """Return the keys of the variables that a node reads, and the keys of the variables that it
        writes.
        """
        decl = DECLARATIONS.get(node.type)
        written = decl.memory.writes if decl is not None else ()
        reads, writes = set(), set()
        for edge in node._in:
            variable = self._variables.get((edge.src.id, edge.src_output))
            if variable is not None and not edge.is_control:
                reads.add(variable_key(variable))
                if edge.dst_input in written:
                    writes.add(variable_key(variable))
        return reads, writes

    def _may_be_beside(self, unit: Unit, node: Node) -> bool:
        if node.assigned_device not in self._devices or node.node_class in _EXCHANGING:
            return False
        return node.node_class in (NodeClass.VARIABLE, NodeClass.ARG) or not (
            node.op_def.is_stateful or node.id in unit.failures
        )
