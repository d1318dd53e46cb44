"""Plain records of the compiled graph: nodes with their devices, tensors, and the lifetimes of
storages.
"""

from __future__ import annotations

import math

from gpugraph.base.dtypes import OBJECTS
from gpugraph.compile.analysis.step_time_model import copy_seconds, node_seconds
from gpugraph.compile.unit.compile_unit import Home, Storage, Unit
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import LASTING, GraphRecord, NodeRecord, StorageRecord, TensorRecord


def graph_record(unit: Unit) -> GraphRecord:
    """Return the records of the nodes of a compiled unit, in their order, and of its storages."""
    places: dict[int, int] = {}
    storages: list[StorageRecord] = []
    for home in unit.homes.values():
        storage = home.storage
        if id(storage) not in places:
            places[id(storage)] = len(storages)
            storages.append(_storage_record(storage))
        if storage.kind in LASTING:  # their storage has no size: the plan does not allocate it
            place = places[id(storage)]
            known = storages[place]
            storages[place] = known._replace(num_bytes=max(known.num_bytes, _bytes(home)))
    senders = {recv.id: send for send, recv in unit.send_recv_pairs}
    nodes = [_node_record(unit, node, places, senders.get(node.id)) for node in unit.order]
    return GraphRecord(nodes, storages)


def _storage_record(own: Storage) -> StorageRecord:
    span = (own.first, own.last)
    return StorageRecord(own.kind, own.device, own.owner, own.offset, own.size, span)


def _bytes(home: Home) -> int:
    """Return the size of a tensor in bytes, or 0 if its shape is unknown or it holds strings or
    handles.
    """
    if home.shape is None or home.dtype.base_dtype in OBJECTS:
        return 0
    return math.prod(home.shape) * home.dtype.base_dtype.size


def _node_record(unit: Unit, node: Node, places: dict[int, int], sender: Node | None) -> NodeRecord:
    node_def = node.node_def
    node_def.device = node.assigned_device
    received = None
    if sender is not None:
        edge = sender.input_edge(0)
        slot = f":{edge.src_output}" if edge.src_output else ""
        received = (edge.src.name + slot, sender.assigned_device)
    return NodeRecord(
        node_def,
        unit.depth.get(node.id, 0),
        tuple(_tensor_record(unit, node, slot, places) for slot in range(node.num_outputs)),
        tuple(name for name, _, _ in unit.fused.get(node.id, ())),
        received,
        node_seconds(unit, node) if sender is None else _copy_seconds(unit, node),
    )


def _copy_seconds(unit: Unit, node: Node) -> float:
    home = unit.homes.get((node.id, 0))
    return copy_seconds(0 if home is None else _bytes(home))


def _tensor_record(unit: Unit, node: Node, slot: int, places: dict[int, int]) -> TensorRecord:
    dtype, home = node.output_types[slot].base_dtype, unit.homes.get((node.id, slot))
    if home is None:
        return TensorRecord(dtype, None, -1)
    return TensorRecord(dtype, home.shape, places[id(home.storage)])
