"""Idle tensors: tensors in a GPU's arena that no op uses for a long time.

  order     x = f(..)  g(x)  . . . . . . . . . . .  h(x)
  uses      1          2     [ x is idle         ]  3

A use of a view is also a use of the viewed tensor. Fetched tensors, and tensors used in a branch or
a loop, are never treated as idle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from gpugraph.compile.analysis.fusibility import SWAP_HINT
from gpugraph.compile.analysis.step_time_model import node_seconds
from gpugraph.compile.unit.compile_unit import Source, Storage, TensorId, Unit
from gpugraph.graph.nodes.runtime_graph import Edge, Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS

SMALL = 1 << 14
"""The minimum size in bytes of a tensor that is swapped."""

_FLOWING = {NodeClass.SWITCH, NodeClass.MERGE, NodeClass.ENTER, NodeClass.NEXT_ITERATION}


class Idle(NamedTuple):
    """A tensor, and two positions in the order, `first` and `last`, between which no op uses it.

    Args:
      late: the edges of the uses at `last` and later.
      is_hinted: whether the op at `last` has an attr that requests the swap.
    """

    node: Node
    slot: int
    late: Sequence[Edge]
    first: int
    last: int
    storage: Storage
    is_hinted: bool


class DeviceTimeline:
    """The times at which a GPU's nodes end, according to a model.

    Attributes:
      ends: the time at which each position in the order ends, in seconds from the start of the run.
      marks: the position, depth and node of each kernel that runs once in every run. Copies may
        wait for these kernels.
    """

    def __init__(self, unit: Unit, device: str) -> None:
        own = [node for node in unit.order if node.assigned_device == device]
        seconds = dict.fromkeys((node.id for node in unit.order), 0.0)
        seconds.update((node.id, node_seconds(unit, node)) for node in own)
        self.ends = list(accumulate(seconds[node.id] for node in unit.order))
        position = unit.positions()
        self.marks = [
            (position[node.id], unit.depth[node.id], node)
            for node in own
            if seconds[node.id] and is_regular(unit, node)
        ]

    def begin(self, position: int) -> float:
        """Return the time in seconds at which all nodes before a position have ended."""
        return self.ends[position - 1] if position else 0.0


def is_regular(unit: Unit, node: Node) -> bool:
    """Return whether a node runs exactly once in each run, because it is in no branch and no
    loop.
    """
    flow = unit.flow
    if flow is None:
        return True
    return flow.frames.at(node) is flow.frames.root and not flow.guards.get(node.id)


def idle_tensors(unit: Unit, device: str, timeline: DeviceTimeline) -> list[Idle]:
    """Return the tensors of the device's arena that may be swapped, each with one period in which
    it is idle. If an op requests the swap, this is the period before the op. Otherwise it is the
    longest idle period of the tensor.
    """
    uses, blocked = _uses(unit)
    position = unit.positions()
    nodes = {node.id: node for node in unit.order}
    idle = []
    for key, edges in uses.items():
        storage = unit.homes[key].storage
        is_there = storage.kind == "arena" and storage.device == device
        if key in blocked or not is_there or storage.size < SMALL:
            continue
        node = nodes[key[0]]
        if not is_regular(unit, node) or node.node_class is NodeClass.ARG:
            continue
        idle += _longest(node, key[1], storage, edges, position, timeline)
    return idle


def _longest(
    node: Node,
    slot: int,
    storage: Storage,
    edges: Sequence[Edge],
    position: Mapping[int, int],
    timeline: DeviceTimeline,
) -> list[Idle]:
    """Return a list with the longest idle period of the tensor. If an op requests the swap, return
    the period before the op instead. If the tensor may not be swapped, return an empty list.
    """
    edges = sorted(edges, key=lambda edge: position[edge.dst.id])
    places = [position[node.id], *(position[edge.dst.id] for edge in edges)]
    hinted = [place for edge, place in zip(edges, places[1:]) if _is_hinted(edge)]
    gaps = [
        (timeline.begin(after) - timeline.ends[before], before, after)
        for before, after in pairwise(places)
        if before < after and (not hinted or after == hinted[0])
    ]
    if not gaps:
        return []
    _, first, last = max(gaps, key=lambda gap: gap[0])
    late = [edge for edge in edges if position[edge.dst.id] >= last]
    return [Idle(node, slot, late, first, last, storage, bool(hinted))]


def _is_hinted(edge: Edge) -> bool:
    hint = edge.dst.attrs.get(SWAP_HINT)
    return hint is not None and edge.dst_input in (hint if isinstance(hint, list) else [hint])


def _uses(unit: Unit) -> tuple[dict[TensorId, list[Edge]], set[TensorId]]:
    """Return the edges that read each tensor or a view of it, and the tensors that must not be
    swapped.
    """
    uses: dict[TensorId, list[Edge]] = {}
    blocked: set[TensorId] = set()
    for node in unit.order:
        is_kept = node.node_class in _FLOWING or node.node_class is NodeClass.RETVAL
        is_view = unit.modes.get(node.id, "").startswith("view")
        for edge in node.input_edges():
            whole, slot = viewed(unit, edge)
            key = whole.id, slot
            if is_kept or not is_regular(unit, node):
                blocked.add(key)
            elif not is_view:
                uses.setdefault(key, []).append(edge)
    return uses, blocked


def viewed(unit: Unit, edge: Edge) -> Source:
    """Return the tensor that an edge carries. If this tensor is a view, return the tensor whose
    storage it shares.
    """
    node, slot = edge.src, edge.src_output
    while unit.modes.get(node.id, "").startswith("view"):
        index = view_input(node, slot)
        if index is None:
            break
        source = node.input_edge(index)
        key = source.src.id, source.src_output
        if unit.homes[key].storage is not unit.homes[node.id, slot].storage:
            break
        node, slot = source.src, source.src_output
    return node, slot


def view_input(node: Node, slot: int) -> int | None:
    """If output `slot` is declared as a view, return the index of the viewed input. Otherwise
    return None.
    """
    decl = DECLARATIONS.get(node.type)
    return decl.memory.view.get(slot) if decl is not None and decl.memory.view else None
