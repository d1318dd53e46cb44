"""Errors for plans that do not fit into memory, raised before any kernel runs."""

from __future__ import annotations

from math import inf

from gpugraph.base.errors import ResourceExhaustedError
from gpugraph.compile.memory.arena_records import arena_records, first_beyond
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.devices import (
    STAYS_USABLE,
    Device,
    HeldMemory,
    StepMemory,
    largest_hole,
    out_of_memory,
    tensor_words,
)
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.memory import human_readable_bytes

_NONE_HAS_RUN = "None of its kernels has run."


def arena_refused(unit: Unit, device: Device) -> ResourceExhaustedError:
    """Return the error for an arena that is larger than the device's largest free block. The error
    names the tensor that does not fit, and suggests settings.
    """
    arena = arena_records(unit)[device.name]
    available = largest_hole(device)
    place, tensor = first_beyond(arena, arena.bound - 1 if available is None else available)
    node = unit.order[place]
    advice = unit.advise(device.name, available) if available is not None else ()
    live = [row for row in arena.buffers if row.first <= place <= row.last]
    step = StepMemory(
        f"{tensor.op} (defined at {tensor.origin or node.origin})",
        f"The step needs {human_readable_bytes(arena.num_bytes)} there, and most of it at "
        f"'{arena.node}' (defined at {arena.origin}). {_NONE_HAS_RUN}",
        [HeldMemory(row.num_bytes, row.text) for row in live],
        advice,
    )
    words = tensor_words(tensor.shape, tensor.dtype)
    error = out_of_memory(device, tensor.num_bytes, words, tensor.op, step)
    error.node_name = tensor.op  # type: ignore[attr-defined]
    return error


def part_of_room(unit: Unit, device: Device) -> float:
    """Return the arena's size divided by the device's free memory. If the arena does not fit, drop
    the session's idle plans first.

    Raises ResourceExhaustedError if the arena still does not fit.
    """
    needed = unit.arena_sizes.get(device.name, 0)
    if needed > _room(device):
        device.reclaim()
        if needed > _room(device):
            raise arena_refused(unit, device)
    return needed / max(_room(device), 1)


def _room(device: Device) -> float:
    """Return the number of free bytes of the device. These bytes need not be contiguous. If the
    device has no limit, return infinity.
    """
    stats = device.allocator.get_stats()
    return inf if stats.bytes_limit is None else stats.bytes_limit - stats.bytes_in_use


def refused_beside_arena(
    unit: Unit, node: Node, device: Device, error: ResourceExhaustedError
) -> ResourceExhaustedError:
    """Return the error for a node whose scratch memory does not fit in addition to the arena.

    Args:
      error: the error of the allocator, to whose message an explanation is added.
    """
    arena, hole = unit.arena_sizes.get(device.name, 0), largest_hole(device)
    lines = [
        f"It is needed besides the step's arena of {human_readable_bytes(arena)}. {_NONE_HAS_RUN}"
    ]
    advice = () if hole is None else unit.advise(device.name, min(arena, hole))
    if advice:
        lines += ["It would fit", *(f"  {line}" for line in advice)]
    parts = error.message.rpartition(STAYS_USABLE)
    message = "".join([parts[0], "\n".join([*lines, ""]), *parts[1:]])
    name = node.name
    if node.node_class is NodeClass.ARG:
        name = node.attrs["tensor"].partition(":")[0]
    message += f"\n\t [[node {name} (defined at {node.origin})]]"
    refused = ResourceExhaustedError.of_no_node(message)
    refused.node_name = name  # type: ignore[attr-defined]
    return refused
