"""Bind: kernels become callables, offsets become arrays, and the plan is frozen.

One arena per device is taken from its allocator. Each node then gets the arrays of its inputs and
outputs, and its device turns kernel and arrays into what a step calls. Nodes that need no work
(constants, variables, views, fed and fetched tensors) get no step. Steps with a tensor that is
sized at run time are bound anew at each run, by `compile/steps/dynamic_steps.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from gpugraph.base.errors import ResourceExhaustedError, invalid_argument
from gpugraph.compile.binding.placement_report import placed
from gpugraph.compile.control_flow.branch_binding import Branches
from gpugraph.compile.steps.dynamic_steps import DynamicCopy
from gpugraph.compile.steps.gpu_node_steps import bound_on
from gpugraph.compile.steps.guarded_regions import Entry
from gpugraph.compile.steps.kernel_context import Bound
from gpugraph.compile.steps.measured_steps import SizedStep, dynamic_step
from gpugraph.compile.steps.native_node_code import Candidate, native_of
from gpugraph.compile.steps.plan_arrays import at_node
from gpugraph.compile.steps.step_list import Making
from gpugraph.compile.unit.compile_unit import Home, TensorId, Unit
from gpugraph.compile.unit.guards import ALWAYS
from gpugraph.devices import Device, Enqueued, VariableState
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.graph.op_def import host_slots
from gpugraph.kernel import Kernel, Sized, reference
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.plan import FeedSlot, FetchSlot, Plan, Step, all_steps, rendezvous_key

_NO_STEP = {NodeClass.CONSTANT, NodeClass.VARIABLE, NodeClass.ARG, NodeClass.RETVAL}


def bind(unit: Unit) -> Plan:
    """The plan. ResourceExhaustedError when a device has no room for its arena or a variable."""
    with unit.report("bind") as say:
        binder = Binder(unit)
        try:
            for node in unit.order:
                binder.visit(node)
            feeds = tuple(binder.feed(node, index) for index, node in enumerate(unit.args))
            fetches = tuple(binder.fetch(node) for node in unit.retvals)
            steps = binder.made()
        except BaseException:
            binder.holdings.release()
            raise
        kinds = [step.kind for step in all_steps(steps)]
        say(
            f"{kinds.count('kernel')} kernels, {kinds.count('copy')} copies between devices, "
            f"{kinds.count('guard')} guards of variables",
            binder.told,
        )
    return Plan(
        unit.key,
        tuple(steps),
        feeds,
        fetches,
        tuple(unit.transfers),
        placed(unit, steps),
        tuple(unit.reports),
        dict(unit.arena_sizes),
        tuple(binder.variables.values()),
        tuple(state for state, _ in binder.holdings.variables),
        binder.holdings.moved,
        binder.holdings.reset,
        binder.holdings.release,
        has_cells=bool(binder.cells or binder.holdings.objects),
        ends=tuple(binder.end(name) for name in binder.refusals),
        clock=binder.clock,
        waits={each.name: each.synchronize for each in unit.target.devices if each.has_kernels},
    )


class Binder(Making):
    """The steps in the making, over the plan's arrays."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.branches = Branches(self, unit.flow) if unit.flow is not None else None
        self.waited: set[str] = set()  # devices that a fetch of each run waits for

    def made(self) -> list[Step]:
        """The plan's steps."""
        if self.branches is not None:
            return self.branches.steps()
        return [entry.step for entry in self.stretched(self.entries)]

    # -- steps

    def visit(self, node: Node) -> None:
        """Adds the step of a node, if it needs one."""
        unit = self.unit
        if self.branches is not None:
            self.guard = self.branches.enter(node)
            if self.branches.visit(node):
                return
        if node.node_class is NodeClass.VARIABLE:
            self.variable(node)
            return
        if node.node_class in _NO_STEP or node.type == "NoOp":
            return
        if node.node_class is NodeClass.SEND:
            self._send(node)
            return
        if node.node_class is NodeClass.RECV:
            self.add(node, self._copy(node), "copy")
            return
        variables = self.refs(node)
        decl = DECLARATIONS.get(node.type)
        is_view = unit.modes.get(node.id, "").startswith("view")
        if decl is not None and decl.view and is_view and not node.op_def.is_stateful:
            return
        kernel = unit.kernel(node)
        native = None
        try:
            run, native = self._bound(node, kernel, variables)
        except ResourceExhaustedError as error:
            raise at_node(error, node) from error
        except Exception as error:
            run = _raiser(error)
        assigns = False
        if decl is not None and decl.writes and node.op_def.allows_uninitialized_input:
            run, assigns = _marking(run, [variables[index] for index in decl.writes]), True
        if decl is not None and decl.writes and node.attrs.get("use_locking"):
            run, native = _locking(run, [variables[index] for index in decl.writes]), None
        self.add(node, run, "kernel", None if assigns else native, assigns)

    def _bound(
        self, node: Node, kernel: Kernel, variables: dict[int, VariableState]
    ) -> tuple[Callable[[], Any], Candidate | None]:
        homes, values = self.unit.homes, self.unit.values
        keys: list[TensorId] = [(0, 0)] * len(node.input_types)
        for edge in node._in:
            if edge.dst_input >= 0:
                keys[edge.dst_input] = (edge.src.id, edge.src_output)
        made = [(node.id, slot) for slot in range(len(node.output_types))]
        inputs, outputs = [(key, homes[key]) for key in keys], [(key, homes[key]) for key in made]
        host = host_slots(node.op_def.inputs, node.op_def.host_inputs, node.attrs)
        kinds = [home.storage.kind for _, home in (*inputs, *outputs)]
        late = reference(kernel).late
        is_sized = isinstance(kernel, Sized)
        if is_sized or "cell" in kinds or not (late or all(keys[slot] in values for slot in host)):
            places = inputs, outputs
            step = dynamic_step(self, node, kernel, variables, *places, host, self.told)
            if isinstance(step, SizedStep) and step.measures is not None:
                self.add(node, step.measures, "measure")
            return step, None
        taken = [slot for slot in range(len(inputs)) if late or slot not in host]
        given = [
            values[keys[slot]]
            if slot in host and keys[slot] in values
            else self.array(homes[keys[slot]])
            for slot in taken
        ]
        results = [self.array(home) for _, home in outputs]
        context = Bound(
            node.name,
            node.attrs,
            (node.input_types, node.output_types),
            ([home.shape or () for _, home in inputs], [home.shape or () for _, home in outputs]),
            {slot: values[keys[slot]] for slot in host if keys[slot] in values},
            variables,
            self.runner(node),
            self.unit.target.resources,
            self.owned,
            self.holdings.kept,
            host if late else frozenset(),
            self.holdings.shared,
        )
        runner = self.runner(node)
        arrays, refusals = [*given, *results], self.refusals_on(runner)
        run = bound_on(runner, node, kernel, context, arrays, taken, refusals, self.told)
        native = native_of(node)
        if native is None or late or self.unit.device_types[node.assigned_device] != "CPU":
            return run, None
        types = [node.input_types[slot].base_dtype for slot in taken]
        kinds = [homes[keys[slot]].storage.kind for slot in taken]
        kept = frozenset([at for at, kind in enumerate(kinds) if kind == "variable"])
        return run, Candidate(
            native,
            context,
            types,
            [*given, *results],
            len(given),
            kept,
            tuple(sorted(DECLARATIONS[node.type].writes)),
            partial(self.runner(node).bind, kernel),
        )

    def _send(self, send: Node) -> None:
        """Nothing to do where both ends are fixed: the Recv's copy is the whole way."""
        key, home = self.home(send, 0)
        if not self._is_fixed(send, self.recvs[send.id]):
            source = self.source(key, home)
            post, label = self.mailbox.send, self._way(send)
            self.refs(send)
            self.add(send, partial(post, label, source), "send")

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
        self.refs(send)
        if not self._is_fixed(send, recv):
            return DynamicCopy(self, recv, self._way(send), (source, target), key, own)
        return target.copy_from(source, self.array(home), self.array(own))

    # -- the ends

    def feed(self, node: Node, index: int) -> FeedSlot:
        """How fed tensor `index` gets its value."""
        spec = self.unit.feeds[index]
        home = self.unit.homes[node.id, 0]
        device = self.devices[home.storage.device]
        if home.storage.kind == "cell":
            cell = self.cell(home.storage)

            def load(value: Any) -> None:
                cell.fill(device.allocate(value.shape, home.dtype, spec.name))
                device.write(cell.array, value)

            return FeedSlot(spec.name, spec.dtype, spec.shape, load)
        write = partial(device.write, self.array(home))
        return FeedSlot(spec.name, spec.dtype, spec.shape, write)

    def fetch(self, node: Node) -> FetchSlot:
        """How a fetched tensor's value is read."""
        key, home = self.home(node, 0)
        source = node.input_edge(0).src
        name = self.unit.key.fetches[node.attrs["index"]]
        if self.branches is not None:
            self.guard = self.branches.enter(node)
        slot = self._fetch(node, name, source, key, home)
        if self.branches is None:
            return slot
        flag = self.branches.flag_of(self.guard)
        if flag is None:
            return slot
        return slot._replace(read=_alive(self.branches.flags.values, flag, node, slot.read))

    def _fetch(self, node: Node, name: str, source: Node, key: TensorId, home: Home) -> FetchSlot:
        device = self.devices[home.storage.device]
        if home.storage.node is not None and home.storage.kind != "constant":
            self.refs(node)
        if home.storage.kind == "cell":
            array = self.source(key, home)
            return FetchSlot(name, lambda: device.read(array())[()], source.origin)
        read = self._reading(name, device, self.array(home), source)
        if home.shape == ():
            return FetchSlot(name, lambda: read()[()], source.origin)
        return FetchSlot(name, read, source.origin)

    def _reading(self, name: str, device: Device, array: Any, source: Node) -> Callable[[], Any]:
        """What reads a fetched array; a device that brings it in two parts gets the first as a
        step, after all others."""
        way = device.fetching(array)
        if way is None:
            return partial(device.read, array)
        self.owned.append(way)
        step = Step(
            name,
            "_Retval",
            device.name,
            self.unit.depth[source.id],
            way.begin,
            source.origin,
            "fetch",
            array.nbytes,
        )
        self.entries.append(Entry(self.guard, step))
        if self.guard == ALWAYS:
            self.waited.add(device.name)
        return way.read

    def end(self, name: str) -> Callable[[], Any]:
        """What raises at the end of a run what a device's kernels refused: of a run with fetches
        all of it, also where none of them has waited for that device."""
        refusals = self.refusals[name]
        is_waited = name in self.waited or not self.unit.retvals
        return refusals.check if is_waited else refusals.wait


def _alive(flags: list[bool], flag: int, node: Node, read: Callable[[], Any]) -> Callable[[], Any]:
    """`read`, if the fetched tensor is alive."""

    def read_if_alive() -> Any:
        if not flags[flag]:
            raise invalid_argument(
                f"Retval[{node.attrs['index']}] does not have value: "
                f"'{node.input_edge(0).src.name}' is of a branch that was not taken"
            )
        return read()

    return read_if_alive


def _marking(run: Callable[[], Any], states: list[VariableState]) -> Callable[[], Any]:
    """`run`, after which the variables are initialized."""
    if isinstance(run, Enqueued):
        return run.assigning(states)

    def assign() -> None:
        run()
        for state in states:
            state.initialized = True

    return assign


def _locking(run: Callable[[], Any], states: list[VariableState]) -> Callable[[], Any]:
    """`run` while no other such write of these variables runs (in one order for all runs)."""
    locks = [state.lock for state in sorted(states, key=id)]

    def write() -> None:
        with ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            run()

    return write


def _raiser(error: Exception) -> Callable[[], Any]:
    """A kernel that refused what it was bound to: the run raises its error at that step."""

    def fail() -> None:
        raise copy.copy(error)

    return fail
