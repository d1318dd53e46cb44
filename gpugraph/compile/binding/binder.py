"""The binder allocates the plan's memory, binds kernels to arrays, and creates the plan.

The binder first allocates the arena on each device. Each node then gets the arrays of its inputs
and outputs, and the node's device binds the kernel to these arrays. The result is a callable, which
becomes a step. Nodes that do nothing in a run (constants, variables, views, fed and fetched
tensors) get no step. If the size of a tensor is known only in a run, the step binds its kernel
again in each run (`compile/steps/dynamic_steps.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.errors import ResourceExhaustedError
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.compile.analysis.counted_rows import INFERRED
from gpugraph.compile.binding.feeds_and_fetches import FeedsAndFetches
from gpugraph.compile.binding.placement_report import placements
from gpugraph.compile.binding.wrapped_steps import (
    BoundLater,
    initializing,
    locking,
    plain_step,
    raising,
)
from gpugraph.compile.control_flow.branch_binding import Branches
from gpugraph.compile.memory.arena_records import arena_records, loop_records
from gpugraph.compile.memory.arena_refusal import refused_beside_arena
from gpugraph.compile.steps.dynamic_steps import CallingStep, DynamicStep
from gpugraph.compile.steps.gpu_node_steps import bind_on_device
from gpugraph.compile.steps.kernel_context import BoundNode, KernelBinding
from gpugraph.compile.steps.measured_steps import SizedStep, dynamic_step
from gpugraph.compile.steps.native_node_code import Candidate, native_form
from gpugraph.compile.steps.run_time_native import plain_reason
from gpugraph.compile.steps.step_list import StepList
from gpugraph.compile.steps.swap_copies import swap_copies
from gpugraph.compile.steps.tensor_moves import copying, releasing
from gpugraph.compile.unit.compile_unit import TensorId, Unit
from gpugraph.devices import Device, Enqueued, VariableState
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.graph.op_def import host_slots
from gpugraph.kernel import Kernel, Sized, reference
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.plan import Plan, Run, Step, WaitingRun, all_steps, rendezvous_key

_NO_STEP = {NodeClass.CONSTANT, NodeClass.ARG, NodeClass.RETVAL}


def bind(unit: Unit) -> Plan:
    """Return the plan of a unit. Raises ResourceExhaustedError if a device can't hold its arena or
    a variable. If an error is raised, the memory that was allocated is released.
    """
    return bind_by(Binder(unit))


def bind_by(binder: Binder) -> Plan:
    """Bind the unit of `binder`, which is a new binder, and return the plan. Raises the same errors
    as `bind`.
    """
    try:
        return _bound(binder.unit, binder)
    except BaseException:
        binder.holdings.release()
        raise


def _bound(unit: Unit, binder: Binder) -> Plan:
    holdings = binder.holdings
    with unit.report("binder") as set_outcome:
        binder.take_arenas()
        for sizes in unit.growing.values():
            binder.reported.update(sizes)
        for node in unit.order:
            binder.visit(node)
        ends = FeedsAndFetches(binder, binder.branches)
        feeds = tuple(ends.feed(node, index) for index, node in enumerate(unit.args))
        fetches = tuple(ends.fetch(node) for node in unit.retvals)
        steps = binder.steps()
        kinds = [step.kind for step in all_steps(steps)]
        set_outcome(
            f"{kinds.count('kernel')} kernels, {kinds.count('copy')} copies between devices, "
            f"{kinds.count('guard')} guards of variables",
            binder.report_lines,
        )
    return Plan(
        unit.key,
        tuple(steps),
        feeds,
        fetches,
        tuple(unit.transfers),
        placements(unit, steps),
        tuple(unit.reports),
        arena_records(unit),
        tuple(binder.variables.values()),
        tuple(state for state, _ in holdings.variables),
        holdings.moved,
        holdings.reset,
        holdings.release,
        access=binder.access if binder.access.reads else None,
        has_cells=bool(binder.cells or holdings.objects or holdings.swaps),
        ends=tuple(ends.end(name) for name in binder.refusals),
        clock=binder.clock,
        runs_once=unit.runs_once,
        writes=binder.writes,
        in_use={device.name: _bytes_in_use(device) for device in unit.target.devices},
        waits={
            device.name: device.synchronize for device in unit.target.devices if device.has_kernels
        },
        sized_in_run=binder.sized_in_run(),
        reported=binder.reported,
        loops=loop_records(unit),
        whose_memory=binder.run_memory.why,
        memory=binder.run_memory,
        holder=binder.run_memory.holder,
        has_arena_in=holdings.has_arena_in,
    )


def _bytes_in_use(device: Device) -> Callable[[], int]:
    return lambda: device.allocator.get_stats().bytes_in_use


class Binder(StepList):
    """An object that binds the nodes in their order, and adds their steps to the plan's list of
    steps.
    """

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.writes = False  # whether a node writes a variable
        self.side_by_side = {node.id for group in unit.parallel for node in group}
        self.swap_copies: dict[int, Run] = {}
        self.branches = Branches(self, unit.flow) if unit.flow is not None else None

    def take_arenas(self) -> None:
        """Allocate the plan's arenas, and bind the copies of swapped tensors."""
        super().take_arenas()
        self.swap_copies = swap_copies(self)

    def steps(self) -> list[Step]:
        """Return the steps of the plan. Adjacent steps are combined into regions, runs of native
        steps, and CUDA graphs.
        """
        if self.branches is not None:
            return self.branches.steps()
        return [entry.step for entry in self.with_stretches(self.entries)]

    def visit(self, node: Node) -> None:
        """If a node does something in a run, add a step for the node."""
        if self.branches is not None:
            self.guard = self.branches.enter(node)
            if self.branches.visit(node):
                return
        if node.node_class is NodeClass.VARIABLE:
            self.variable(node)
        elif node.id in self.swap_copies:
            self.add(node, self.swap_copies[node.id], "copy")
        elif node.node_class is NodeClass.SEND:
            self._send(node)
        elif node.node_class is NodeClass.RECV:
            self.add(node, self._copy(node), "copy")
        elif node.node_class not in _NO_STEP and node.type != "NoOp":
            self._compute(node)

    # -- kernels

    @uninterrupted
    def _compute(self, node: Node) -> None:
        """Bind the node's kernel and add its step, unless the node is a view. If binding raises an
        error, add a step that raises this error in each run.
        """
        variables = self.refs(node)
        decl = DECLARATIONS.get(node.type)
        is_view = self.unit.modes.get(node.id, "").startswith("view")
        is_view &= decl is not None and (bool(decl.memory.view) or node.id in self.unit.parts)
        if is_view and not node.op_def.is_stateful:
            return
        kernel = self.unit.kernel(node)
        run: Run
        native = None
        try:
            if node.id in self.unit.failures:
                raise self.unit.failures[node.id]
            bound = self._bound_node(node, kernel, variables)
            if self._is_sized_at_run_time(bound):
                run = self._dynamic(bound)
                code = (
                    run.code if isinstance(run, DynamicStep) else plain_step("launched by itself")
                )
            else:
                context, arrays = self._static_context(bound), self._static_arrays(bound)
                native = self._candidate(bound, context, arrays)
                if native is None or self.unit.programs is None:
                    run = bind_on_device(bound, context, arrays, self.report_lines)
                else:
                    run = BoundLater(partial(bind_on_device, bound, context, arrays))
                code = plain_step(self._plain_reason(bound, run))
        except ResourceExhaustedError as error:
            raise refused_beside_arena(self.unit, node, self.runner(node), error) from error
        except Exception as error:
            run, code = raising(error), plain_step("it raises an error")
        call = reference(kernel)
        if decl is None or not decl.memory.writes:
            run = WaitingRun(run, self.access, self.clock) if call.waits else run
            self.add(node, run, "kernel", native, code=code)
            return
        written = [variables[index] for index in decl.memory.writes]
        self.writes = True
        assigns = node.op_def.allows_uninitialized_input
        assigns = assigns and (native is None or not self.checked.issuperset(map(id, written)))
        if assigns:
            code = code if native is None else plain_step("it may give a variable its first value")
            run, native = initializing(run, written), None
        self.access.writes |= self.access.reads.intersection(map(id, written))
        run = WaitingRun(run, self.access, self.clock) if call.waits else run
        by_reference = [state for state in written if id(state) not in self.access.writes]
        if by_reference and node.attrs.get("use_locking"):
            run, holding = locking(run, written), partial(locking, states=written)
            native = native and native._replace(holding=holding)
        self.add(node, run, "kernel", native, assigns, code)

    def _bound_node(
        self, node: Node, kernel: Kernel, variables: dict[int, VariableState]
    ) -> BoundNode:
        homes = self.unit.homes
        keys: list[TensorId] = [(0, 0)] * len(node.input_types)
        for edge in node._in:
            if edge.dst_input >= 0:
                keys[edge.dst_input] = (edge.src.id, edge.src_output)
        output_keys = [(node.id, slot) for slot in range(len(node.output_types))]
        runner = self.runner(node)
        return BoundNode(
            node,
            kernel,
            runner,
            self.refusals_on(runner),
            variables,
            [(key, homes[key]) for key in keys],
            [(key, homes[key]) for key in output_keys],
            host_slots(node.op_def.inputs, node.op_def.host_inputs, node.attrs),
        )

    def _is_sized_at_run_time(self, bound: BoundNode) -> bool:
        """Return whether the kernel must be bound in each run, because the size of a tensor or the
        value of a host input becomes known only in the run.
        """
        if isinstance(bound.kernel, Sized) or reference(bound.kernel).waits:
            return True
        if bound.node.id in self.unit.reported or bound.node.type in INFERRED:
            return True
        for _, home in (*bound.inputs, *bound.outputs):
            if home.storage.kind == "cell":
                return True
        if not bound.host:
            return False
        return not bound.is_late and len(self._host_values(bound)) < len(bound.host)

    def _host_values(self, bound: BoundNode) -> dict[int, Any]:
        """Return the values of the host inputs that are constant, by input slot."""
        if not bound.host:
            return {}
        values = self.unit.values
        keys = {slot: bound.inputs[slot][0] for slot in bound.host}
        return {slot: values[key] for slot, key in keys.items() if key in values}

    def _dynamic(self, bound: BoundNode) -> Run:
        if reference(bound.kernel).waits:
            return CallingStep(self, bound, self.clock)
        step = dynamic_step(self, bound, self.report_lines)
        if isinstance(step, SizedStep) and step.measures is not None:
            self.add(bound.node, step.measures, "measure", part="sizes")
        return step

    def _static_context(self, bound: BoundNode) -> KernelBinding:
        memory = self.holdings.memory
        if bound.node.id in self.side_by_side:  # other nodes run at the same time
            memory = memory._replace(pools={})
        return KernelBinding(
            bound,
            [home.shape or () for _, home in bound.inputs],
            [home.shape or () for _, home in bound.outputs],
            self._host_values(bound),
            memory,
            self.unit.target.resources,
            self.jit,
        )

    def _static_arrays(self, bound: BoundNode) -> list[Any]:
        """Return the arrays that the kernel receives: the inputs, followed by the outputs. Constant
        host inputs are omitted, because the kernel receives their values instead.
        """
        values = self._host_values(bound)
        arrays = [
            values[slot] if slot in values else self.array(bound.inputs[slot][1])
            for slot in bound.array_slots
        ]
        arrays += [self.array(home) for _, home in bound.outputs]
        return arrays

    def _candidate(
        self, bound: BoundNode, context: KernelBinding, arrays: Sequence[Any]
    ) -> Candidate | None:
        """Return the data for compiling the step to native code. Return None if the node has no
        native form on its device, or if its sizes are known only in the run.
        """
        node, slots = bound.node, bound.array_slots
        native = native_form(node)
        is_on_cpu = self.unit.device_types[node.assigned_device] == "CPU"
        if native is None or bound.is_late or not is_on_cpu or reference(bound.kernel).dynamic:
            return None
        kinds = [bound.inputs[slot][1].storage.kind for slot in slots]
        return Candidate(
            native,
            context,
            [node.input_types[slot].base_dtype for slot in slots],
            arrays,
            len(slots),
            frozenset([index for index, kind in enumerate(kinds) if kind == "variable"]),
            tuple(sorted(DECLARATIONS[node.type].memory.writes)),
            partial(bound.runner.bind, bound.kernel),
            None if self.unit.programs is None else self.unit.programs.get(node.id),
            constants=frozenset(index for index, kind in enumerate(kinds) if kind == "constant")
            if self.unit.programs is None  # a call that can be opened keeps nothing
            else frozenset(),
        )

    def bound_run(self, bound: BoundNode) -> Run:
        """Bind a node's kernel to its arrays, and return the callable."""
        return bind_on_device(bound, self._static_context(bound), self._static_arrays(bound))

    def candidate(self, node: Node) -> Candidate | None:
        """Return the data for compiling a node to native code, or None if the node has no native
        form.
        """
        bound = self._bound_node(node, self.unit.kernel(node), self.refs(node))
        return self._candidate(bound, self._static_context(bound), self._static_arrays(bound))

    def _plain_reason(self, bound: BoundNode, run: Run) -> str:
        """Return the reason, for the report, why a step is not native code."""
        if bound.runner.has_kernels:
            return "launched by itself" if isinstance(run, Enqueued) else "it runs on the host"
        return plain_reason(bound, self.jit, "a small step alone is as fast by NumPy")

    # -- transfers

    def _send(self, send: Node) -> None:
        """Add a step for a Send if a size of the sent tensor is known only in the run. The step
        posts the tensor to the mailbox. Any other Send needs no step, because the Recv's step
        copies the tensor.
        """
        key, home = self.home(send, 0)
        if not self._is_static(send, self.recvs[send.id]):
            source = self.source(key, home)
            post, label = self.mailbox.send, self._rendezvous_key(send)
            self.refs(send)
            self.add(send, partial(post, label, source), "send")

    def _is_static(self, send: Node, recv: Node) -> bool:
        _, home = self.home(send, 0)
        return "cell" not in (home.storage.kind, self.unit.homes[recv.id, 0].storage.kind)

    def _rendezvous_key(self, send: Node) -> str:
        source, target = send.attrs["send_device"], send.attrs["recv_device"]
        incarnation = self.devices[source].attributes.incarnation
        return rendezvous_key(source, incarnation, target, send.attrs["tensor_name"])

    def _copy(self, recv: Node) -> Run:
        """Return the callable for a Recv. It copies the tensor from the Send's device to the Recv's
        device.
        """
        send = self.sends[recv.id]
        key, home = self.home(send, 0)
        result = self.unit.homes[recv.id, 0]
        source, target = self.devices[send.assigned_device], self.devices[recv.assigned_device]
        self.refs(send)
        if self._is_static(send, recv):
            return target.copy_from(source, self.array(home), self.array(result))
        receive, label = self.mailbox.recv, self._rendezvous_key(send)

        def read() -> Any:
            source_array, _ = receive(label)
            return source_array()  # read only now: a variable may have moved since it was sent

        transfer = copying(self, source, target, read, result)
        return releasing(transfer, self.dying_cells(recv, [key]))
