"""Placement: a device for every op, and the reason for each.

Ops that must share a device form a group: ops colocated by an attr (`_class`), a variable and the
ops that have a reference to it as an input, and variables with the same shared name. A group may be
on any device that the requests and kernels of all members permit. Among these, the device with the
highest priority is chosen (GPU before CPU). If possible, this device can also run the ops outside
the current run that refer to the group's variable. The following rules take precedence, in this
order:

  1. If a variable has memory on a device since an earlier run, it and its group stay there. If
     copies share the memory of the first copy, they stay on the devices of their replicas.
  2. Metadata ops (Shape, Size, Rank) follow their input. So do ops of control flow, except for
     loop counters, which stay on the host.
  3. Ops without inputs (constants, fed tensors) follow their readers, if all are on one device.
  4. Fetched tensors are read from the device that computes them.

A request that no device can satisfy raises InvalidArgumentError, unless `allow_soft_placement`
permits another device. In that case the reason mentions the request. The rules follow TensorFlow's
core/common_runtime/placer.h.
"""

from __future__ import annotations

from collections import Counter

from gpugraph.base.errors import InternalError, InvalidArgumentError
from gpugraph.compile.placement.data_followers import counters, followed
from gpugraph.compile.placement.device_candidates import Candidates, ColocationGroup
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import COPY, Unit, leader_name, variable_key
from gpugraph.graph.device_names import merge_specs
from gpugraph.graph.nodes.loop_frames import enters_once, is_loop_merge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass


@compile_pass()
def place(unit: Unit) -> Outcome:
    """Set `assigned_device` of every node, and the reasons in `unit.reasons`."""
    candidates = Candidates(unit.target)
    nodes = unit.graph.op_nodes()
    if unit.target.task:
        for node in nodes:
            node.requested_device = merge_specs(unit.target.task, node.requested_device)
    group_of = _groups(nodes)
    counting = counters(unit)
    late = []
    for node in nodes:
        if node.node_class is NodeClass.RETVAL or _is_generator(node, group_of):
            late.append(node)
        elif not node.assigned_device:
            group = group_of.get(node.id)
            if group is None and _place_alone(unit, candidates, node):
                continue
            _place_group(unit, candidates, group or ColocationGroup([node]), counting)
    for node in late:
        if not node.assigned_device:
            _place_late(unit, candidates, node)
    devices: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    counts = Counter([(node.assigned_device, unit.reasons[node.id]) for node in nodes])
    for (device, reason), count in counts.items():
        devices[device] += count
        reasons[device, reason.partition("; ")[0]] += count
    return (
        ", ".join(f"{count} ops on {device}" for device, count in sorted(devices.items())),
        [f"{count} on {device}: {why}" for (device, why), count in reasons.most_common()],
    )


def _groups(nodes: list[Node]) -> dict[int, ColocationGroup]:
    """Return the groups of nodes that must share a device, by node id. A node that belongs to no
    group has no entry.
    """
    group_of: dict[int, ColocationGroup] = {}
    by_name = {node.name: node for node in nodes}
    by_variable: dict[tuple[str, str], Node] = {}
    for node in nodes:
        for name in node.attrs.get("_class", ()):
            leader = leader_name(name)
            # If this run does not contain the leader, the first node that is colocated with it
            # takes its role.
            first = by_name.setdefault(leader, node)
            _join(group_of, first, node, f"colocated with {leader}")
        for index, dtype in enumerate(node.input_types):
            if dtype.is_ref_dtype:
                source = node.input_edge(index).src
                _join(group_of, source, node, f"refers to {source.name}")
        if is_loop_merge(node):
            for edge in node.input_edges():
                if edge.is_back_edge or enters_once(edge.src):
                    _join(group_of, node, edge.src, f"is a value of {node.name}")
        if node.node_class is NodeClass.VARIABLE and COPY not in node.attrs:
            first = by_variable.setdefault(variable_key(node), node)
            _join(group_of, first, node, f"is the same variable as {first.name}")
    return group_of


def _join(group_of: dict[int, ColocationGroup], first: Node, second: Node, why: str) -> None:
    """Merge the groups of the two nodes. The smaller group is merged into the larger group.

    Args:
      why: the reason why the group of `second` joins.
    """
    if first is second:
        return
    one = group_of.get(first.id) or ColocationGroup([first])
    two = group_of.get(second.id) or ColocationGroup([second])
    group_of[first.id], group_of[second.id] = one, two
    if one is two:
        return
    if len(one.nodes) < len(two.nodes):
        one, two = two, one
    one.nodes += two.nodes
    one.why.update(two.why)
    one.why.setdefault(second.id, why)
    for node in two.nodes:
        group_of[node.id] = one


def _is_generator(node: Node, group_of: dict[int, ColocationGroup]) -> bool:
    return (
        not node.input_types
        and len(node.output_types) == 1
        and not node.output_types[0].is_ref_dtype
        and node.id not in group_of
    )


def _place_alone(unit: Unit, candidates: Candidates, node: Node) -> bool:
    """Place a node without a group if only one device can run it. Return whether the node was
    placed.
    """
    if node.node_class is NodeClass.VARIABLE or node.id in unit.kin:
        return False
    devices, reason = candidates.of_one(node)
    if len(devices) > 1:
        return False
    node.assigned_device, unit.reasons[node.id] = devices[0], reason
    return True


def _place_group(
    unit: Unit, candidates: Candidates, group: ColocationGroup, counting: set[int]
) -> None:
    home = _home(unit, group)
    if home is not None:
        candidates.check_home(group, home)
        device, reason = home, "its variable lives there"
    else:
        devices, reason = _candidates_of(unit, candidates, group)
        device = devices[0]
        if len(devices) > 1 and unit.host in devices and counting & {n.id for n in group.nodes}:
            device, reason = unit.host, "counts a loop, which the host decides on"
        elif len(devices) > 1 and (there := followed(group, devices)) in devices:
            device, reason = there, _WHY[group.nodes[0].is_metadata]
    for node in group.nodes:
        node.assigned_device = device
        unit.reasons[node.id] = reason
        if len(group.nodes) > 1:
            unit.reasons[node.id] = f"{reason}; {group.why.get(node.id, 'leads its group')}"


def _candidates_of(
    unit: Unit, candidates: Candidates, group: ColocationGroup
) -> tuple[list[str], str]:
    """Return the devices that can run the group, and the reason. If possible, return only devices
    that can also run the ops outside the current run that refer to the group's variables.
    """
    kin = [other for node in group.nodes for other in unit.kin.get(node.id, ())]
    if kin:
        try:
            return candidates.of(ColocationGroup([*group.nodes, *kin], group.why))
        except InvalidArgumentError:
            pass  # another run's impossible request is an error of that run
    return candidates.of(group)


def _home(unit: Unit, group: ColocationGroup) -> str | None:
    """Return the device on which a variable of the group has memory since an earlier run, or None
    if there is none.
    """
    homes = {}
    for node in group.nodes:
        if node.node_class is NodeClass.VARIABLE and COPY not in node.attrs:
            home = unit.target.resources.home(*variable_key(node))
            if home is not None:
                homes[home] = node.name
    if len(homes) > 1:
        where = ", ".join(f"{name} on {device}" for device, name in homes.items())
        raise InternalError.of_no_node(
            f"Variables that must share a device live on several: {where}"
        )
    return next(iter(homes), None)


_WHY = {True: "metadata of a tensor there", False: "its data is there"}


def _place_late(unit: Unit, candidates: Candidates, node: Node) -> None:
    if node.node_class is NodeClass.RETVAL:
        node.assigned_device = node.input_edge(0).src.assigned_device
        if not node.assigned_device:
            _place_late(unit, candidates, node.input_edge(0).src)
            node.assigned_device = node.input_edge(0).src.assigned_device
        unit.reasons[node.id] = "read where it is"
        return
    devices, reason = candidates.of(ColocationGroup([node]))
    consumers = {
        edge.dst.assigned_device
        for edge in node._out
        if not edge.is_control and edge.dst.assigned_device
    }
    device = devices[0]
    if len(consumers) == 1 and next(iter(consumers)) in devices:
        device, reason = next(iter(consumers)), "follows its consumers"
    elif node.node_class is NodeClass.ARG:
        device, reason = unit.host, "fed from the host"
    node.assigned_device = device
    unit.reasons[node.id] = reason
