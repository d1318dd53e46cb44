"""Verify: what must hold of a unit after each pass. A breach is a bug of ours: InternalError."""

from __future__ import annotations

from collections.abc import Callable

from gpugraph.compile.partition import is_crossing, memory_of_output
from gpugraph.compile.unit import Storage, TensorId, Unit, variable_key
from gpugraph.errors import InternalError
from gpugraph.graph.frames import enters_once
from gpugraph.graph.runtime_graph import Edge, Node, NodeClass
from gpugraph.memory import ArenaPlan, Lifetime, check_offsets
from gpugraph.ops.declare import DECLARATIONS

__all__ = ["verify"]


def verify(unit: Unit, after: str) -> None:
    """Checks the invariants of pass `after` and of all before it. InternalError when one fails."""
    for name, check in _CHECKS.items():
        check(unit)
        if name == after:
            return
    raise ValueError(f"There is no pass '{after}'")


def _fail(node: Node, what: str) -> InternalError:
    return InternalError(node.node_def, None, f"Compilation went wrong at '{node.name}': {what}")


def _connected(unit: Unit) -> None:
    """Each data input has its one edge, of its dtype."""
    for node in unit.graph.op_nodes():
        edges = node.input_edges()
        for edge, dtype in zip(edges, node.input_types):
            given = edge.src.output_types[edge.src_output]
            if given.base_dtype is not dtype.base_dtype:
                raise _fail(node, f"input {edge.dst_input} is {given.name}, not {dtype.name}")


def _shaped(unit: Unit) -> None:
    """Each output has a shape, and constants have that of their value."""
    for node in unit.graph.op_nodes():
        shapes = unit.shapes.get(node.id)
        if shapes is None or len(shapes) != len(node.output_types):
            raise _fail(node, f"{len(node.output_types)} outputs, but the shapes {shapes}")
    for (key, slot), value in unit.values.items():
        found = unit.graph.find_id(key)
        if found is not None and unit.shapes[key][slot].sizes != value.shape:
            raise _fail(found, f"its value has shape {value.shape}")


def _placed(unit: Unit) -> None:
    """Each node is on a device of the session, with a reason; references stay on one device."""
    names = {device.name for device in unit.target.devices}
    for node in unit.graph.op_nodes():
        if node.assigned_device not in names:
            raise _fail(node, f"it was placed on '{node.assigned_device}'")
        if not unit.reasons.get(node.id) and not node.is_transfer:
            raise _fail(node, "no reason was recorded for its device")
        for index, dtype in enumerate(node.input_types):
            if not dtype.is_ref_dtype:
                continue
            source = node.input_edge(index).src
            if source.assigned_device != node.assigned_device:
                raise _fail(node, f"it refers to '{source.name}' on another device")


def _partitioned(unit: Unit) -> None:
    """No data edge leads from one memory to another, and no way is there twice."""
    for node in unit.graph.op_nodes():
        for edge in node.input_edges():
            if is_crossing(unit, edge):
                raise _fail(node, f"input {edge.dst_input} lies in another device's memory")
    ways = set()
    for send, recv in unit.ways:
        edge = send.input_edge(0)
        # What is read from a variable before an assignment and after it are two tensors.
        is_ref = edge.src.output_types[edge.src_output].is_ref_dtype
        place = frozenset(send.control_inputs) if is_ref else frozenset()
        way = edge.src, edge.src_output, recv.assigned_device, place
        if way in ways:
            raise _fail(send, f"'{edge.src.name}' is sent twice to {recv.assigned_device}")
        ways.add(way)
    if len(unit.transfers) != len(unit.ways):
        raise _fail(unit.graph.source, f"{len(unit.ways)} tensors are sent, but not all listed")


def _ordered(unit: Unit) -> None:
    """Each node comes once, after all that it needs."""
    position = {node.id: index for index, node in enumerate(unit.order)}
    if len(position) != len(unit.graph.op_nodes()) or len(unit.order) != len(position):
        raise _fail(unit.graph.source, "the order does not hold each node once")
    for node in unit.order:
        for edge in node._in:
            if edge.is_back_edge or not edge.src.is_op:
                continue
            if position[edge.src.id] >= position[node.id]:
                raise _fail(node, f"it comes before '{edge.src.name}', which it needs")
    for send, recv in unit.ways:
        if position[send.id] >= position[recv.id]:
            raise _fail(recv, "it comes before its Send")


def _housed(unit: Unit) -> None:
    """Each output has a home in its device's memory; what lives at once shares no bytes."""
    arenas: dict[str, dict[Storage, None]] = {}
    for node in unit.order:
        for slot in range(len(node.output_types)):
            storage = unit.homes[node.id, slot].storage
            if storage.device != memory_of_output(unit, node, slot):
                raise _fail(node, f"output {slot} lies on {storage.device}")
            if storage.kind == "arena":
                arenas.setdefault(storage.device, {})[storage] = None
    for device, found in arenas.items():
        storages = list(found)
        check_offsets(
            [Lifetime(each.size, each.first, each.last) for each in storages],
            ArenaPlan([each.offset for each in storages], unit.arena_sizes[device]),
        )


def _remembered(unit: Unit) -> None:
    _housed(unit)
    _kept(unit)
    _outlasting(unit)


def _outlasting(unit: Unit) -> None:
    """What a loop's ops take from outside of it lasts until the loop is over."""
    if unit.flow is None:
        return
    frames = unit.flow.frames
    position = {node.id: at for at, node in enumerate(unit.order)}
    for node in unit.order:
        if node.node_class is not NodeClass.ENTER or enters_once(node):
            continue
        end = frames.at(node).end
        assert end is not None
        for slot in (node.input_edge(0), *(edge for edge in node._out if not edge.is_control)):
            storage = unit.homes[slot.src.id, slot.src_output].storage
            if storage.kind == "arena" and storage.last < position[end.id]:
                raise _fail(node, f"'{slot.src.name}' does not outlast the loop")


def _kept(unit: Unit) -> None:
    """Whenever a tensor is read, its memory holds what was written as that tensor.

    The order is played through: `held` is what each piece of memory holds, `content` what each
    tensor is. Reading a reference reads what is there now. A Recv reads in its Send's place, and
    fetches are read at the end.
    """
    held: dict[object, object] = {}
    content: dict[TensorId, object] = {}
    sends = {recv.id: send for send, recv in unit.ways}
    for at, node in enumerate(unit.order):
        if node.node_class not in (NodeClass.SEND, NodeClass.RETVAL) and not _leaves(unit, node):
            for edge in sends.get(node.id, node).input_edges():
                if not edge.is_back_edge:
                    _read(unit, edge, at, held, content)
            _write(unit, node, held, content)
        if node.type == "_LoopEnd":
            _turn(unit, node, at, held, content)
    for node in unit.retvals:
        _read(unit, node.input_edge(0), len(unit.order), held, content)


def _bytes(storage: Storage) -> object:
    return variable_key(storage.node) if storage.kind == "variable" and storage.node else storage


def _read(
    unit: Unit, edge: Edge, at: int, held: dict[object, object], content: dict[TensorId, object]
) -> None:
    source, slot = edge.src, edge.src_output
    storage = unit.homes[source.id, slot].storage
    if source.output_types[slot].is_ref_dtype or storage.kind == "constant":
        return
    if storage.kind != "variable" and not storage.first <= at <= storage.last:
        raise _fail(edge.dst, f"'{source.name}' lives in steps {storage.first} to {storage.last}, "
                    f"but is read in step {at}")  # fmt: skip
    if held[_bytes(storage)] is not content[source.id, slot]:
        raise _fail(edge.dst, f"'{source.name}' was overwritten before it is read")


def _turn(
    unit: Unit, end: Node, at: int, held: dict[object, object], content: dict[TensorId, object]
) -> None:
    """An iteration is over: what leads back is read; the loop's variables have their places."""
    assert unit.flow is not None
    frame = next(each for each in unit.flow.frames.loops() if each.end is end)
    for node in frame.next_iterations:
        for edge in node._out:
            if edge.is_back_edge:
                _read(unit, edge, at, held, content)
    for merge in frame.merges:
        held[_bytes(unit.homes[merge.id, 0].storage)] = content[merge.id, 0]
    for node in frame.exits:  # read when the loop is over
        edge = node.input_edge(0)
        if _leaves(unit, node):
            _read(unit, edge, at, held, content)
            content[node.id, 0] = content[edge.src.id, edge.src_output]


def _leaves(unit: Unit, node: Node) -> bool:
    """Whether the node is an Exit that is the very bytes which the loop left."""
    is_view = unit.moded.get(node.id, "").startswith("view")
    return node.node_class is NodeClass.EXIT and is_view


def _write(
    unit: Unit, node: Node, held: dict[object, object], content: dict[TensorId, object]
) -> None:
    decl = DECLARATIONS.get(node.type)
    for slot in decl.writes if decl is not None else ():
        edge = node.input_edge(slot)
        held[_bytes(unit.homes[edge.src.id, edge.src_output].storage)] = object()
    is_view = unit.moded.get(node.id, "").startswith("view")
    for slot, dtype in enumerate(node.output_types):
        place = _bytes(unit.homes[node.id, slot].storage)
        if is_view or dtype.is_ref_dtype:
            content[node.id, slot] = held.setdefault(place, object())
        else:
            content[node.id, slot] = held[place] = object()


_CHECKS: dict[str, Callable[[Unit], None]] = {
    "prune": _connected,
    "reread": _connected,
    "fold": _shaped,
    "simplify": _shaped,
    "place": _placed,
    "fuse": _connected,
    "partition": _partitioned,
    "flow": _partitioned,
    "order": _ordered,
    "memory": _remembered,
}
