"""Deferred updates: small updates of variables on GPUs are delayed until they are adjacent in the
order.

  by depth   dW3  Adam(W3)  dW2  Adam(W2)  dW1  Adam(W1)  train
  later      dW3  dW2  dW1  Adam(W3)  Adam(W2)  Adam(W1)  train

Adjacent updates are enqueued on the GPU as one launch (`compile/steps/launch_joining.py`). An
update is delayed until right before the first op that depends on it or on its variables. So the
delay never changes the value of a variable that an op sees. A delayed update extends the lifetimes
of its inputs, so large updates are not delayed. Their launch time is negligible anyway. Updates in
a branch or a loop are not delayed either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gpugraph.compile.analysis.variable_references import references
from gpugraph.compile.unit.compile_unit import Unit, variable_key
from gpugraph.compile.unit.guards import ALWAYS
from gpugraph.compile.unit.rewrite_switches import JOIN, is_off
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.framework.op_declaration import DECLARATIONS

LARGE = 4 << 20
"""Updates of variables with at least this size in bytes are not delayed."""

PART = 32
"""The variables whose updates are delayed occupy at most 1 / PART of a device's memory in total."""

Key = tuple[str, str]
Rank = tuple[int, int, int, int, bool, int]


def later(unit: Unit) -> int:
    """Delay the small updates in `unit.order`, and return the number of nodes that were moved."""
    devices = {device.name: device for device in unit.target.devices if device.has_kernels}
    if not devices or is_off(JOIN):
        return 0
    variables = references(unit.order)
    refers = {key: variable_key(variable) for key, variable in variables.items()}
    sizes = {variable_key(variable): _bytes(unit, variable) for variable in variables.values()}
    left = {name: device.attributes.memory_limit_bytes // PART for name, device in devices.items()}
    moving: set[int] = set()
    for node in unit.order:
        written = _written(unit, node, refers) if node.assigned_device in devices else set()
        size = max((sizes[key] for key in written), default=LARGE)
        if size < LARGE and size <= left[node.assigned_device]:
            left[node.assigned_device] -= size
            moving.add(node.id)
    if not moving:
        return 0
    before = [node.id for node in unit.order]
    places = _places(unit, moving, refers)
    unit.order.sort(key=lambda node: places[node.id])
    return sum(old_id != node.id for old_id, node in zip(before, unit.order) if node.id in moving)


def _bytes(unit: Unit, variable: Node) -> int:
    """Return a variable's size in bytes. If the size is unknown, return a large number."""
    elements = unit.shapes[variable.id][0].num_elements()
    return LARGE if elements is None else elements * variable.output_types[0].base_dtype.itemsize


def _written(unit: Unit, node: Node, refers: dict[tuple[int, int], Key]) -> set[Key]:
    """Return the variables that a node writes. The result is empty if the node must not be delayed,
    because it is in a branch or a loop, or because its variable is unknown.
    """
    decl = DECLARATIONS.get(node.type)
    if decl is None or not decl.memory.writes:
        return set()
    flow = unit.flow
    if flow is not None and (
        flow.frames.at(node) is not flow.frames.root or flow.guards[node.id] != ALWAYS
    ):
        return set()
    edges = [node.input_edge(slot) for slot in decl.memory.writes]
    keys = [refers.get((edge.src.id, edge.src_output)) for edge in edges]
    return {key for key in keys if key is not None} if None not in keys else set()


def _places(unit: Unit, moving: set[int], refers: dict[tuple[int, int], Key]) -> dict[int, Rank]:
    """Return the sort key of each node. A node in `moving` gets a key immediately before the key of
    the first node that must follow it.
    """
    ranks = {device.name: index for index, device in enumerate(unit.target.devices)}
    starts = _starts(unit)
    places: dict[int, Rank] = {}
    touched: dict[Key, list[Rank]] = defaultdict(list)
    for position, node in reversed(list(enumerate(unit.order))):
        inputs = [(edge.src.id, edge.src_output) for edge in node._in]
        keys = {refers[tensor] for tensor in inputs if tensor in refers}
        if node.id in moving:
            after = [places[edge.dst.id] for edge in node._out if edge.dst.id in places]
            after += [rank for key in keys for rank in touched[key]]
            alone = bool(node.attrs.get("use_locking"))
            rank = ranks[node.assigned_device]
            places[node.id] = _right_before(after, len(unit.order), alone, rank, position)
        else:
            places[node.id] = (starts[position], 1, 0, 0, False, position)
        for key in keys:
            touched[key].append(places[node.id])
    return places


def _right_before(after: Iterable[Rank], end: int, alone: bool, device: int, position: int) -> Rank:
    """Return the sort key immediately before the smallest of the keys `after`. If there are none,
    return the key at the end of the order.

    If several updates are delayed until the same node, each update follows the updates on which it
    depends. Independent updates are sorted by device. Updates with `use_locking` (`alone`) can't
    share a launch, and come last.
    """
    first, row = end, 0
    for place, is_node, other, *_ in sorted(after)[:1]:
        first, row = place, 0 if is_node else other - 1
    return first, 0, row, device, alone, position


def _starts(unit: Unit) -> list[int]:
    """Return, for each position in the order, the first position of the outermost loop around it.
    Outside of loops, this is the position itself.
    """
    if unit.flow is None:
        return list(range(len(unit.order)))
    frames = unit.flow.frames
    begins: dict[Frame, int] = {}
    starts = []
    for position, node in enumerate(unit.order):
        around = [frame for frame in frames.at(node).up() if frame.parent is not None]
        starts.append(begins.setdefault(around[-1], position) if around else position)
    return starts
