"""Bind: kernels become callables, offsets become arrays, and the plan is frozen.

One arena per device is taken from its allocator. Each node then gets the arrays of its inputs and
outputs, and its device turns kernel and arrays into what a step calls. Nodes that need no work
(constants, variables, views, fed and fetched tensors) get no step. Steps with a tensor that is
sized at run time are bound anew at each run, by `compile/dynamic.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpugraph.compile.context import Bound, Cell
from gpugraph.compile.dynamic import DynamicCopy, DynamicStep
from gpugraph.compile.unit import Home, Storage, TensorId, Unit
from gpugraph.devices import Block, Device, VariableState, out_of_memory
from gpugraph.errors import OpError
from gpugraph.graph.op_def import host_slots
from gpugraph.graph.runtime_graph import Node, NodeClass
from gpugraph.graph.text import format_node
from gpugraph.kernel import Kernel
from gpugraph.memory import human_readable_bytes
from gpugraph.ops.declare import DECLARATIONS
from gpugraph.ops.kernels import HostOnly, find_kernel
from gpugraph.plan import FeedSlot, FetchSlot, Placed, Plan, Step, rendezvous_key

__all__ = ["bind"]

_NO_STEP = {
    NodeClass.CONSTANT,
    NodeClass.VARIABLE,
    NodeClass.ARG,
    NodeClass.RETVAL,
}


def bind(unit: Unit) -> Plan:
    """The plan. ResourceExhaustedError when a device has no room for its arena or a variable."""
    with unit.report("bind") as say:
        binder = _Binder(unit)
        try:
            for node in unit.order:
                binder.visit(node)
            feeds = tuple(binder.feed(node, index) for index, node in enumerate(unit.args))
            fetches = tuple(binder.fetch(node) for node in unit.retvals)
        except BaseException:
            binder.release()
            raise
        kinds = [step.kind for step in binder.steps]
        say(
            f"{kinds.count('kernel')} kernels, {kinds.count('copy')} copies between devices, "
            f"{kinds.count('guard')} guards of variables",
            [],
        )
    return Plan(
        unit.key,
        tuple(binder.steps),
        feeds,
        fetches,
        tuple(unit.transfers),
        binder.placed(),
        tuple(unit.reports),
        dict(unit.arena_sizes),
        tuple(binder.variables.values()),
        binder.reset,
        binder.release,
        partial(_partitions, unit),
        has_cells=bool(binder.cells),
    )


class _Binder:
    """Arrays and steps in the making, and what they hold."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.steps: list[Step] = []
        self.owned: list[Block] = []
        self.cells: dict[TensorId, Cell] = {}
        self.arrays: dict[TensorId, Any] = {}
        self.variables: dict[int, VariableState] = {}
        self.guarded: set[int] = set()
        self.devices = {device.name: device for device in unit.target.devices}
        self.sends = {recv.id: send for send, recv in unit.ways}
        self.recvs = {send.id: recv for send, recv in unit.ways}
        self.positions = {node.id: index for index, node in enumerate(unit.order)}
        self.mailbox = unit.target.new_mailbox()
        self.arenas: dict[str, int] = {}
        for name, size in unit.arena_sizes.items():
            self._take_arena(self.devices[name], size)

    def _take_arena(self, device: Device, size: int) -> None:
        if size == 0:
            return
        address = device.allocator.allocate_raw(size)
        if address is None:
            self.release()
            raise out_of_memory(device, size, f"the arena of a run: {self._largest(device)}")
        self.owned.append(Block(device, address, None))
        self.arenas[device.name] = address

    def _largest(self, device: Device) -> str:
        """The tensors that take most of a device's arena, for the message that it is too big."""
        found: dict[Storage, None] = {}
        for home in self.unit.homes.values():
            if home.storage.kind == "arena" and home.storage.device == device.name:
                found[home.storage] = None
        largest = sorted(found, key=lambda storage: -storage.size)[:5]
        return "the largest tensors are " + ", ".join(
            f"'{storage.owner}' ({human_readable_bytes(storage.size)})" for storage in largest
        )

    def reset(self) -> None:
        """Frees what a run left in cells."""
        for cell in self.cells.values():
            cell.release()
        self.mailbox.clear()

    def release(self) -> None:
        """Gives all memory of the plan back (variables are the session's)."""
        self.reset()
        for block in self.owned:
            block.release()
        self.owned.clear()

    # -- where tensors are

    def home(self, node: Node, slot: int) -> tuple[TensorId, Home]:
        """The key and home of the tensor that input `slot` takes."""
        edge = node.input_edge(slot)
        key = (edge.src.id, edge.src_output)
        return key, self.unit.homes[key]

    def array(self, key: TensorId, home: Home) -> Any:
        """The array of a tensor of static size."""
        found = self.arrays.get(key)
        if found is None:
            found = self.arrays[key] = self._make_array(home)
        return found

    def _make_array(self, home: Home) -> Any:
        storage, shape, dtype = home
        assert shape is not None
        device = self.devices[storage.device]
        if storage.kind == "arena":
            if storage.size == 0:
                return device.view(None, shape, dtype)
            return device.view(self.arenas[storage.device] + storage.offset, shape, dtype)
        assert storage.node is not None
        if storage.kind == "constant":
            value = storage.node.attrs["value"]
            whole = device.constant(value)
            if whole is None:
                whole = self.unit.target.resources.constant(
                    device, value, dtype, storage.node.name
                )
        else:
            whole = self.variable(storage.node).reserve(_whole(storage.node))
        return whole if tuple(whole.shape) == shape else whole.reshape(shape)

    def variable(self, node: Node) -> VariableState:
        """The session's variable of a VariableV2 node."""
        state = self.variables.get(node.id)
        if state is None:
            attrs = node.attrs
            state = self.unit.target.resources.variable(
                attrs.get("container", ""),
                attrs.get("shared_name") or node.name,
                self.devices[node.assigned_device],
                attrs["dtype"],
            )
            self.variables[node.id] = state
        return state

    def cell(self, key: TensorId, name: str) -> Cell:
        if key not in self.cells:
            self.cells[key] = Cell(name)
        return self.cells[key]

    def source(self, key: TensorId, home: Home) -> Callable[[], Any]:
        """What gives the tensor's array during a run."""
        if home.storage.kind == "cell":
            if home.storage.node is not None:
                state = self.variable(home.storage.node)
                return lambda: state.value
            cell = self.cell(key, home.storage.owner)
            return lambda: cell.array
        array = self.array(key, home)
        return lambda: array

    # -- steps

    def visit(self, node: Node) -> None:
        """Adds the step of a node, if it needs one."""
        unit = self.unit
        if node.node_class is NodeClass.VARIABLE:
            self.variable(node)
            return
        if node.node_class in _NO_STEP or node.type == "NoOp":
            return
        if node.node_class is NodeClass.SEND:
            self._send(node)
            return
        if node.node_class is NodeClass.RECV:
            self._add(node, self._copy(node), "copy")
            return
        variables = self._refs(node)
        decl = DECLARATIONS.get(node.type)
        if decl is not None and 0 in decl.view and unit.moded.get(node.id, "").startswith("view"):
            return
        kernel = self._kernel(node)
        try:
            run = self._bound(node, kernel, variables)
        except OpError:
            raise
        except (ValueError, TypeError, ArithmeticError, IndexError, LookupError) as error:
            run = _raiser(error)
        if decl is not None and decl.writes and node.op_def.allows_uninitialized_input:
            run = _marking(run, [variables[index] for index in decl.writes])
        self._add(node, run, "kernel")

    def _add(self, node: Node, run: Callable[[], Any], kind: str) -> None:
        size = 0
        for slot in range(len(node.output_types)):
            size += self.unit.homes[node.id, slot].storage.size
        self.steps.append(
            Step(
                node.name,
                node.type,
                node.assigned_device,
                self.unit.depth[node.id],
                run,
                node.origin,
                kind,
                size,
            )
        )

    def _refs(self, node: Node) -> dict[int, VariableState]:
        """The variables behind the node's inputs; those it reads are guarded once in the plan."""
        found: dict[int, VariableState] = {}
        for edge in node._in:
            if edge.is_control or not edge.src.output_types[edge.src_output].is_ref_dtype:
                continue
            storage = self.unit.homes[edge.src.id, edge.src_output].storage
            if storage.node is None:
                continue
            state = self.variable(storage.node)
            found[edge.dst_input] = state
            if storage.node.id in self.guarded or node.op_def.allows_uninitialized_input:
                continue
            self.guarded.add(storage.node.id)
            self._add(node, partial(_check, state), "guard")
        return found

    def _kernel(self, node: Node) -> Kernel:
        kind = self.devices[node.assigned_device].device_type
        entry = find_kernel(node.type, kind, node.attrs)
        assert entry is not None and not isinstance(entry.kernel, HostOnly)
        return entry.kernel

    def _bound(
        self, node: Node, kernel: Kernel, variables: dict[int, VariableState]
    ) -> Callable[[], Any]:
        inputs = [self.home(node, slot) for slot in range(len(node.input_types))]
        outputs = [
            ((node.id, slot), self.unit.homes[node.id, slot])
            for slot in range(len(node.output_types))
        ]
        host = host_slots(node.op_def.inputs, node.op_def.host_inputs, node.attrs)
        fixed = all(home.storage.kind != "cell" for _, home in (*inputs, *outputs)) and all(
            inputs[slot][0] in self.unit.values for slot in host
        )
        if not fixed:
            return DynamicStep(self, node, kernel, variables, inputs, outputs, host)
        sources = [self.array(key, home) for key, home in inputs]
        results = [self.array(key, home) for key, home in outputs]
        context = Bound(
            node.name,
            node.attrs,
            (node.input_types, node.output_types),
            ([array.shape for array in sources], [array.shape for array in results]),
            {slot: self.unit.values[inputs[slot][0]] for slot in host},
            variables,
            self.devices[node.assigned_device],
            self.unit.target.resources,
            self.owned,
        )
        given = [array for slot, array in enumerate(sources) if slot not in host]
        return self.devices[node.assigned_device].bind(kernel, context, [*given, *results])

    def _send(self, send: Node) -> None:
        """Nothing to do where both ends are fixed: the Recv's copy is the whole way."""
        key, home = self.home(send, 0)
        if not self._is_fixed(send, self.recvs[send.id]):
            source = self.source(key, home)
            post, label = self.mailbox.send, self._way(send)
            self._refs(send)
            self._add(send, lambda: post(label, source()), "send")

    def _is_fixed(self, send: Node, recv: Node) -> bool:
        _, home = self.home(send, 0)
        return "cell" not in (home.storage.kind, self.unit.homes[recv.id, 0].storage.kind)

    def _way(self, send: Node) -> str:
        """The rendezvous key of a tensor's way."""
        source, target = send.attrs["send_device"], send.attrs["recv_device"]
        incarnation = self.devices[source].attributes.incarnation
        return rendezvous_key(source, incarnation, target, send.attrs["tensor_name"])

    def _copy(self, recv: Node) -> Callable[[], Any]:
        """The way of a tensor from its Send to `recv`."""
        send = self.sends[recv.id]
        key, home = self.home(send, 0)
        own = self.unit.homes[recv.id, 0]
        source, target = self.devices[send.assigned_device], self.devices[recv.assigned_device]
        self._refs(send)
        if not self._is_fixed(send, recv):
            return DynamicCopy(self, recv, self._way(send), (source, target), key, own)
        return target.copy_from(source, self.array(key, home), self.array((recv.id, 0), own))

    # -- the ends

    def feed(self, node: Node, index: int) -> FeedSlot:
        """How fed tensor `index` gets its value."""
        spec = self.unit.feeds[index]
        home = self.unit.homes[node.id, 0]
        device = self.devices[home.storage.device]
        if home.storage.kind == "cell":
            cell = self.cell((node.id, 0), spec.name)

            def load(value: Any) -> None:
                cell.fill(device.allocate(value.shape, home.dtype, spec.name))
                device.write(cell.array, value)

            return FeedSlot(spec.name, spec.dtype, spec.shape, load)
        write = partial(device.write, self.array((node.id, 0), home))
        return FeedSlot(spec.name, spec.dtype, spec.shape, write)

    def fetch(self, node: Node) -> FetchSlot:
        """How a fetched tensor's value is read."""
        key, home = self.home(node, 0)
        source = node.input_edge(0).src
        name = self.unit.key.fetches[node.attrs["index"]]
        device = self.devices[home.storage.device]
        if home.storage.node is not None and home.storage.kind != "constant":
            self._refs(node)
        if home.storage.kind == "cell":
            array = self.source(key, home)
            return FetchSlot(name, lambda: device.read(array())[()], source.origin)
        fixed = self.array(key, home)
        if home.shape == ():
            return FetchSlot(name, lambda: device.read(fixed)[()], source.origin)
        return FetchSlot(name, partial(device.read, fixed), source.origin)

    def placed(self) -> tuple[Placed, ...]:
        """Where each op of the plan is, and why."""
        unit = self.unit
        modes = {step.name: "kernel" for step in self.steps if step.kind != "guard"}
        found = []
        for node in unit.order:
            mode = unit.moded.get(node.id) or unit.folded.get(node.id) or modes.get(node.name, "")
            found.append(
                Placed(
                    node.name,
                    node.type,
                    node.assigned_device,
                    unit.reasons.get(node.id, ""),
                    mode or node.node_class.name.lower(),
                    node.origin,
                )
            )
        return tuple(found)


def _whole(node: Node) -> tuple[int, ...]:
    return tuple(node.attrs["shape"].as_list())


def _check(state: VariableState) -> None:
    """Raises unless the variable is initialized."""
    state.value  # noqa: B018


def _marking(run: Callable[[], Any], states: list[VariableState]) -> Callable[[], Any]:
    """`run`, after which the variables are initialized."""

    def assign() -> None:
        run()
        for state in states:
            state.initialized = True

    return assign


def _raiser(error: Exception) -> Callable[[], Any]:
    """A kernel that refused what it was bound to: the run raises its error at that step."""

    def fail() -> None:
        raise error

    return fail


def _partitions(unit: Unit) -> dict[str, str]:
    """Each device's part of the graph as text."""
    parts: dict[str, list[str]] = {}
    for node in unit.order:
        parts.setdefault(node.assigned_device, []).append(format_node(node))
    return {device: "\n".join(lines) for device, lines in parts.items()}
