"""Records of a plan's memory: the buffers and the peak of each device's arena, and the tensors that
loops keep.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from gpugraph.base.dtypes import OBJECTS
from gpugraph.compile.unit.compile_unit import Home, Unit
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.plan import ArenaRecord, BufferRecord, LoopRecord

_KEPT_INPUT = {"StackPushV2": 1, "TensorArrayWriteV3": 2}
"""By op type, the index of the input that a stack or TensorArray keeps until it is read."""


def arena_records(unit: Unit) -> dict[str, ArenaRecord]:
    """Return a record for each device that has an arena, by full device name."""
    nodes = {node.id: node for node in unit.order}
    buffers: dict[str, dict[int, BufferRecord]] = {device: {} for device in unit.arena_sizes}
    for (node_id, slot), home in unit.homes.items():
        storage = home.storage
        if storage.kind == "arena" and id(storage) not in buffers[storage.device]:
            buffers[storage.device][id(storage)] = _buffer(unit, nodes[node_id], slot, home)
    return {
        device: _record(unit, device, list(records.values())) for device, records in buffers.items()
    }


def loop_records(unit: Unit) -> tuple[LoopRecord, ...]:
    """Return a record for each loop and device: the tensors that one iteration adds to stacks and
    TensorArrays, in the order of the plan.
    """
    if unit.flow is None:
        return ()
    frames = unit.flow.frames
    kept: dict[tuple[str, str], list[BufferRecord]] = {}
    for place, node in enumerate(unit.order):
        frame = frames.at(node)
        if node.type in _KEPT_INPUT and frame is not frames.root:
            record = _kept(unit, node, place)
            kept.setdefault((frame.name, node.assigned_device), []).append(record)
    return tuple(
        LoopRecord(*key, sorted(records, key=lambda record: -record.num_bytes))
        for key, records in kept.items()
    )


def _kept(unit: Unit, node: Node, place: int) -> BufferRecord:
    edge = node.input_edge(_KEPT_INPUT[node.type])
    shape, dtype = unit.shapes[edge.src.id][edge.src_output], edge.src.output_types[edge.src_output]
    elements = shape.num_elements() if dtype.base_dtype not in OBJECTS else None
    name, origin = _maker(unit, edge.src, edge.src_output)
    num_bytes = (elements or 0) * dtype.base_dtype.itemsize
    return BufferRecord(name, num_bytes, place, place, shape.sizes, dtype.base_dtype, origin)


def _buffer(unit: Unit, node: Node, slot: int, home: Home) -> BufferRecord:
    storage = home.storage
    name, origin = _maker(unit, node, slot)
    first, last = max(storage.first, 0), min(storage.last, len(unit.order) - 1)
    return BufferRecord(name, storage.size, first, last, home.shape or (), home.dtype, origin)


def _maker(unit: Unit, node: Node, slot: int) -> tuple[str, Any]:
    """Return the name of the op that computes an output, and the line of the user's program that
    created the op. If the node is fused, this op is the member that computes the output.
    """
    if node.node_class is NodeClass.ARG:
        return unit.feeds[node.attrs["index"]].name.partition(":")[0], node.origin
    if node.type != "_Fused":
        return node.name, node.origin
    value = node.attrs["stores"][slot] - len(node.input_types)
    ends = accumulate(len(member.output_types) for member in node.attrs.get("members", ()))
    member = next(number for number, end in enumerate(ends) if value < end)
    name, _, origin = unit.fused[node.id][member]
    return name, origin


def _record(unit: Unit, device: str, buffers: list[BufferRecord]) -> ArenaRecord:
    changes = [0] * (len(unit.order) + 1)
    for buffer in buffers:
        changes[buffer.first] += buffer.num_bytes
        changes[buffer.last + 1] -= buffer.num_bytes
    live = list(accumulate(changes))
    place = max(range(len(unit.order)), key=live.__getitem__)
    node = unit.order[place]
    name, origin = (node.name, node.origin) if node.type != "_Fused" else _maker(unit, node, 0)
    size = unit.arena_sizes[device]
    return ArenaRecord(device, size, live[place], place, name, origin, buffers)


def first_beyond(arena: ArenaRecord, available: int) -> tuple[int, BufferRecord]:
    """Return the first position in the order at which live tensors exceed `available` bytes, and
    the tensor that is first written at this position.

    If live tensors never exceed this size, the arena is too large only because of fragmentation.
    Then return the position of the peak and the largest tensor at this position.
    """
    total, place, last = 0, arena.place, arena.at_peak()[0]
    ends = sorted(arena.buffers, key=lambda buffer: buffer.last)
    dead = 0
    for buffer in sorted(arena.buffers, key=lambda buffer: buffer.first):
        while ends[dead].last < buffer.first:
            total -= ends[dead].num_bytes
            dead += 1
        total += buffer.num_bytes
        if total > available:
            return buffer.first, buffer
    return place, last
