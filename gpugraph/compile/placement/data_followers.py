"""Placement of control flow ops for which no device is requested. These ops are placed on the
device of their data.

A Switch, Enter, Exit, NextIteration or Merge forwards a tensor and computes nothing, so it is
placed on the device that computes the tensor. The counters of a loop (integer and boolean scalars
on which its condition depends) stay on the host, which decides whether the loop continues.
"""

from __future__ import annotations

from gpugraph.compile.placement.device_candidates import ColocationGroup
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.device_names import matches
from gpugraph.graph.nodes.loop_frames import is_loop_merge
from gpugraph.graph.nodes.node_and_edge import FORWARDING
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

_MOVERS = {NodeClass.MERGE, *FORWARDING}
_STAYING = {NodeClass.VARIABLE, NodeClass.ARG, NodeClass.RETVAL}


def followed(group: ColocationGroup, devices: list[str]) -> str | None:
    """Return the device in `devices` that computes a group's data, or that is requested for this
    data. If neither is known, return None.
    """
    if not any(node.node_class in _MOVERS for node in group.nodes):
        return _of_metadata(group)
    inside = {node.id for node in group.nodes}
    for node in sorted(group.nodes, key=_priority):
        for edge in node.input_edges() if node.node_class in _MOVERS else ():
            source = edge.src
            if edge.dst_input != 0 and node.node_class is not NodeClass.MERGE:
                continue  # a predicate
            if source.id in inside:
                continue
            if source.assigned_device in devices:
                return source.assigned_device
            if source.requested_device:
                return next(
                    (name for name in devices if matches(source.requested_device, name)), None
                )
    return None


def _priority(node: Node) -> int:
    """Return the sort key of a node in a group. NextIterations come first, since their input is
    computed in the loop.
    """
    return 0 if node.node_class is NodeClass.NEXT_ITERATION else 1


def _of_metadata(group: ColocationGroup) -> str | None:
    node = group.nodes[0]
    if len(group.nodes) > 1 or not node.is_metadata:
        return None
    return node.input_edge(0).src.assigned_device or None


def counters(unit: Unit) -> set[int]:
    """Return the ids of the nodes that compute only integer or boolean scalars and on which a
    loop's condition depends. If all devices have the same type, the result is empty.
    """
    if len({device.device_type for device in unit.target.devices}) == 1:
        return set()
    nodes = unit.graph.op_nodes()
    stack = [node for node in nodes if node.node_class is NodeClass.LOOP_COND]
    counting = {node.id for node in stack}
    while stack:
        for edge in stack.pop()._in:
            source = edge.src
            if edge.is_control or source.id in counting or not _counts(unit, source):
                continue
            counting.add(source.id)
            stack.append(source)
    return counting


def _counts(unit: Unit, node: Node) -> bool:
    if node.node_class in _STAYING or node.op_def.is_stateful or node.requested_device:
        return False
    if is_loop_merge(node) and any(e.src.requested_device for e in node._in):
        return False
    return all(
        shape.sizes == () and not (dtype.is_floating or dtype.is_complex or dtype.is_ref_dtype)
        for shape, dtype in zip(unit.shapes[node.id], node.output_types)
    )
