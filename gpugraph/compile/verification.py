"""Verification: checks of a unit's invariants after each pass. A violation raises InternalError,
because it is a bug of gpugraph.
"""

from __future__ import annotations

from collections.abc import Callable

from gpugraph.base.errors import InternalError
from gpugraph.base.sizes import hint
from gpugraph.compile.placement.graph_partition import is_crossing, memory_of_output
from gpugraph.compile.unit.compile_unit import Storage, TensorId, Unit, variable_key
from gpugraph.compile.unit.guards import ALWAYS, Guard, apart, holds_never
from gpugraph.graph.nodes.loop_frames import Frame, enters_once, is_loop_merge
from gpugraph.graph.nodes.runtime_graph import Edge, Node, NodeClass
from gpugraph.memory import ArenaPlan, Lifetime, check_offsets
from gpugraph.ops.framework.op_declaration import DECLARATIONS


def verify(unit: Unit) -> None:
    """Check the invariants of all passes that `unit` reports. Raises InternalError if an invariant
    is violated.
    """
    passed = {report.name for report in unit.reports}
    for name, check in _CHECKS.items():
        if name in passed:
            check(unit)


def _fail(node: Node, what: str) -> InternalError:
    return InternalError(node.node_def, None, f"Compilation went wrong at '{node.name}': {what}")


def _check_edges(unit: Unit) -> None:
    """Check that each data input has exactly one edge, and that the edge carries the dtype of the
    input.
    """
    for node in unit.graph.op_nodes():
        edges = node.input_edges()
        for edge, dtype in zip(edges, node.input_types):
            output_type = edge.src.output_types[edge.src_output]
            if output_type.base_dtype is not dtype.base_dtype:
                raise _fail(node, f"input {edge.dst_input} is {output_type.name}, not {dtype.name}")


def _check_shapes(unit: Unit) -> None:
    """Check that each output has a shape, and that the shape of a constant is the shape of its
    value.
    """
    for node in unit.graph.op_nodes():
        shapes = unit.shapes.get(node.id)
        if shapes is None or len(shapes) != len(node.output_types):
            raise _fail(node, f"{len(node.output_types)} outputs, but the shapes {shapes}")
    for (key, slot), value in unit.values.items():
        constant = unit.graph.find_id(key)
        if constant is not None and unit.shapes[key][slot].sizes != value.shape:
            raise _fail(constant, f"its value has shape {value.shape}")


def _check_placement(unit: Unit) -> None:
    """Check that each node has a device and a reason, and that no reference leads to another
    device.
    """
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


def _check_partition(unit: Unit) -> None:
    """Check that no data edge leads from the memory of one device to the memory of another, and
    that no tensor is sent to a device twice.
    """
    for node in unit.graph.op_nodes():
        for edge in node.input_edges():
            if is_crossing(unit, edge):
                raise _fail(node, f"input {edge.dst_input} lies in another device's memory")
    sent = set()
    for send, recv in unit.send_recv_pairs:
        edge = send.input_edge(0)
        # Reads of a variable before and after an assignment are two tensors.
        is_ref = edge.src.output_types[edge.src_output].is_ref_dtype
        control_inputs = frozenset(send.control_inputs) if is_ref else frozenset()
        transfer = edge.src, edge.src_output, recv.assigned_device, control_inputs
        if transfer in sent:
            raise _fail(send, f"'{edge.src.name}' is sent twice to {recv.assigned_device}")
        sent.add(transfer)
    if len(unit.transfers) != len(sent):
        raise _fail(unit.graph.source, f"{len(sent)} tensors are sent, but not all listed")


def _check_order(unit: Unit) -> None:
    """Check that the order contains each node exactly once, after all of its inputs."""
    position = {node.id: index for index, node in enumerate(unit.order)}
    if len(position) != len(unit.graph.op_nodes()) or len(unit.order) != len(position):
        raise _fail(unit.graph.source, "the order does not hold each node once")
    for node in unit.order:
        for edge in node._in:
            if edge.is_back_edge or not edge.src.is_op:
                continue
            if position[edge.src.id] >= position[node.id]:
                raise _fail(node, f"it comes before '{edge.src.name}', which it needs")
    for send, recv in unit.send_recv_pairs:
        if position[send.id] >= position[recv.id]:
            raise _fail(recv, "it comes before its Send")


def _check_homes(unit: Unit) -> None:
    """Check that each output has a storage in its device's memory, and that live tensors share no
    bytes.
    """
    arenas: dict[str, dict[Storage, None]] = {}
    for node in unit.order:
        for slot in range(len(node.output_types)):
            storage = unit.homes[node.id, slot].storage
            if storage.device != memory_of_output(unit, node, slot):
                raise _fail(node, f"output {slot} lies on {storage.device}")
            if storage.kind == "arena":
                arenas.setdefault(storage.device, {})[storage] = None
    for device, storages in arenas.items():
        check_offsets(
            [Lifetime(hint(storage.size), storage.first, storage.last) for storage in storages],
            ArenaPlan([storage.offset for storage in storages], unit.arena_sizes[device]),
        )


def _check_memory(unit: Unit) -> None:
    _check_homes(unit)
    _check_contents(unit)
    _check_loop_inputs(unit)


def _check_loop_inputs(unit: Unit) -> None:
    """Check that a tensor from outside a loop lives until the loop has ended, if an op of the loop
    reads it.
    """
    if unit.flow is None:
        return
    frames = unit.flow.frames
    position = {node.id: index for index, node in enumerate(unit.order)}
    for node in unit.order:
        if node.node_class is not NodeClass.ENTER or enters_once(node):
            continue
        end = frames.at(node).end
        assert end is not None
        for slot in (node.input_edge(0), *(edge for edge in node._out if not edge.is_control)):
            storage = unit.homes[slot.src.id, slot.src_output].storage
            if storage.kind == "arena" and storage.last < position[end.id]:
                raise _fail(node, f"'{slot.src.name}' does not outlast the loop")


def _check_contents(unit: Unit) -> None:
    """Check that whenever a tensor is read, its memory contains the value that was written as this
    tensor.

    This function replays the order, and records the content of each block of memory and of each
    tensor. A read of a reference returns the current content. A Recv reads the input of its Send,
    and fetches are read at the end.
    """
    replay = _Replay(unit)
    sends = {recv.id: send for send, recv in unit.send_recv_pairs}
    positions = unit.positions()
    for node in unit.order:
        index = positions[node.id]
        if node.node_class not in (NodeClass.SEND, NodeClass.RETVAL) and not _leaves(unit, node):
            for edge in sends.get(node.id, node).input_edges():
                if not edge.is_back_edge:
                    replay.read(edge, index)
            replay.write(node)
        if node.type == "_LoopEnd":
            replay.end_iteration(node, index)
    for node in unit.retvals:
        replay.read(node.input_edge(0), len(unit.order))


class _Replay:
    """The contents of memory at a point of the order. A storage may have several contents, if they
    were written under guards that are never true together.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.content: dict[TensorId, tuple[object, ...]] = {}
        self._held: dict[object, list[tuple[Frame | None, Guard, object]]] = {}

    def _place(self, node: Node) -> tuple[Frame | None, Guard]:
        flow = self.unit.flow
        if flow is None:
            return None, ALWAYS
        return flow.frames.at(node), flow.guards.get(node.id, ALWAYS)

    def _hold(self, storage: Storage, node: Node, content: object) -> None:
        self._layer(storage, *self._place(node), content)

    def _layer(self, storage: Storage, frame: Frame | None, guard: Guard, content: object) -> None:
        if self._is_never(frame, guard):
            return
        layers = self._held.get(_bytes(storage), [])
        left = [layer for layer in layers if layer[0] is not frame or not layer[1] >= guard]
        self._held[_bytes(storage)] = [*left, (frame, guard, content)]

    def _reading(self, edge: Edge) -> tuple[Frame | None, Guard]:
        """Return the frame in which the tensor of an edge is read, and the guard of the read."""
        source, user, flow = edge.src, edge.dst, self.unit.flow
        if flow is None:
            return None, ALWAYS
        if user.node_class is NodeClass.ENTER:  # before the loop
            frame = flow.frames.at(user)
            return frame.parent, flow.of_output(source, edge.src_output)
        if user.node_class is not NodeClass.MERGE:
            return self._place(user)
        frame = flow.frames.at(user)
        return frame, flow.of_output(source, edge.src_output)

    def held(self, storage: Storage, frame: Frame | None, guard: Guard) -> object:
        """Return the content of the memory for a read in this frame, under this guard."""
        for other, written, content in reversed(self._held.get(_bytes(storage), ())):
            if not self._are_apart(frame, guard, other, written):
                return content
        return None

    def _are_apart(
        self, one: Frame | None, guard: Guard, other: Frame | None, written: Guard
    ) -> bool:
        """Return whether two guards are never true at the same time. Each guard is relative to its
        frame.
        """
        flow = self.unit.flow
        if flow is None or one is None or other is None:
            return False
        if one is not other:
            shared = next(frame for frame in one.up() if frame in list(other.up()))
            guard = guard if one is shared else flow.outer[shared.child_towards(one)]
            written = written if other is shared else flow.outer[shared.child_towards(other)]
        return apart(guard, written)

    def read(self, edge: Edge, position: int) -> None:
        """Check that memory still holds the tensor of `edge` when it is read at `position` of the
        order.
        """
        source, slot = edge.src, edge.src_output
        storage = self.unit.homes[source.id, slot].storage
        if source.output_types[slot].is_ref_dtype or storage.kind == "constant":
            return
        if storage.kind != "variable" and not storage.first <= position <= storage.last:
            raise _fail(
                edge.dst,
                f"'{source.name}' lives in steps {storage.first} to {storage.last}, but is read "
                f"in step {position}",
            )
        place = self._reading(edge)
        if self._is_never(*place):
            return
        if self._entered(storage, *place):
            return  # the Enter has read it; outer writes come after the loop
        if self.held(storage, *place) not in self.content[source.id, slot]:
            raise _fail(edge.dst, f"'{source.name}' was overwritten before it is read")

    def _entered(self, storage: Storage, frame: Frame | None, guard: Guard) -> bool:
        """Return whether the loop that reads the memory did not write it, so that the last write
        happened outside of the loop.
        """
        if frame is None or frame.parent is None:
            return False
        above = list(frame.parent.up())
        for other, written, _ in reversed(self._held.get(_bytes(storage), ())):
            if other in above or not self._are_apart(frame, guard, other, written):
                return other in above
        return False

    def _is_never(self, frame: Frame | None, guard: Guard) -> bool:
        """Return whether no op of the frame ever runs under the guard."""
        loops = [loop for loop in frame.up() if loop.parent is not None] if frame else []
        outer = self.unit.flow.outer if self.unit.flow is not None else {}
        return holds_never(guard) or any(holds_never(outer[loop]) for loop in loops)

    def end_iteration(self, end: Node, position: int) -> None:
        """Replay the end of an iteration: read the next values, and update the loop variables."""
        unit, content = self.unit, self.content
        assert unit.flow is not None
        frame = next(loop for loop in unit.flow.frames.loops() if loop.end is end)
        for node in frame.next_iterations:
            for edge in node._out:
                if edge.is_back_edge:
                    self.read(edge, position)
        for merge in frame.merges:
            self._hold(unit.homes[merge.id, 0].storage, merge, content[merge.id, 0][-1])
        for node in frame.exits:  # read after the loop
            edge = node.input_edge(0)
            if _leaves(unit, node):
                if any(not out.is_control for out in node._out):
                    self.read(edge, position)
                content[node.id, 0] = content[edge.src.id, edge.src_output]

    def write(self, node: Node) -> None:
        """Record the memory that a node writes."""
        unit = self.unit
        decl = DECLARATIONS.get(node.type)
        for slot in decl.memory.writes if decl is not None else ():
            edge = node.input_edge(slot)
            self._hold(unit.homes[edge.src.id, edge.src_output].storage, node, object())
        if node.node_class is NodeClass.MERGE and not is_loop_merge(node):
            self._merge(node)
            return
        is_view = unit.modes.get(node.id, "").startswith("view")
        for slot, dtype in enumerate(node.output_types):
            storage = unit.homes[node.id, slot].storage
            held = self.held(storage, *self._place(node)) if is_view or dtype.is_ref_dtype else None
            if held is None:
                held = object()
                self._hold(storage, node, held)
            self.content[node.id, slot] = (held,)
            if is_view and decl is not None and storage.kind == "arena":
                edge = node.input_edge(unit.parts.get(node.id, decl.memory.view.get(slot)))
                self.content[node.id, slot] = self.content[edge.src.id, edge.src_output]

    def _merge(self, node: Node) -> None:
        """Record the content of a Merge. The content is the input that was computed in the Merge's
        storage or, if there is none, the input that was copied to it.
        """
        unit, flow = self.unit, self.unit.flow
        assert flow is not None
        storage = unit.homes[node.id, 0].storage
        content: object = object()
        known: list[object] = []
        for edge in node.input_edges():
            if unit.homes[edge.src.id, edge.src_output].storage is storage:
                known += self.content[edge.src.id, edge.src_output]
            else:
                guard = flow.of_output(edge.src, edge.src_output)
                self._layer(storage, flow.frames.at(node), guard, content)
        self.content[node.id, 0] = (*known, content)
        self._hold(unit.homes[node.id, 1].storage, node, content)
        self.content[node.id, 1] = (content,)


def _bytes(storage: Storage) -> object:
    return variable_key(storage.node) if storage.kind == "variable" and storage.node else storage


def _leaves(unit: Unit, node: Node) -> bool:
    """Return whether the node is an Exit that has the storage of a loop variable's last value."""
    is_view = unit.modes.get(node.id, "").startswith("view")
    return node.node_class is NodeClass.EXIT and is_view


_CHECKS: dict[str, Callable[[Unit], None]] = {
    "prune": _check_edges,
    "constant_folding": _check_shapes,
    "placer": _check_placement,
    "graph_partition": _check_partition,
    "execution_order": _check_order,
    "memory_planning": _check_memory,
}
"""The check for each pass: it tests the invariant that the pass establishes and that later passes
keep.
"""
