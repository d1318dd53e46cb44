"""DirectSession: compiles plans for this process's devices, keeps them, and runs them.

A runner (one set of feeds, fetches and targets) finds its plan by the fed shapes (`plan_cache`).
The session keeps its runners and a bounded number of plans, which have memory in turns.
When a device is full, plans that no thread runs give their memory up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any
from weakref import WeakSet

from gpugraph.base.errors import (
    AlreadyExistsError,
    CancelledError,
    FailedPreconditionError,
    OpError,
    invalid_argument,
)
from gpugraph.base.fork_gate import GATE
from gpugraph.base.proto_messages import unused
from gpugraph.compile import FeedSpec, RunRequest, Target, compile_plan, compile_record
from gpugraph.config import RunMetadata, RunOptions, SessionOptions
from gpugraph.config.environment import is_on
from gpugraph.config.experimental import watch
from gpugraph.devices import (
    Device,
    DeviceAttributes,
    DeviceFactory,
    KeptTensors,
    MemoryUse,
    Resources,
    RunMemory,
    given_back,
    memory_use,
    no_gpu_reason,
)
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.plan import GraphRecord, Plan, TimeLimit
from gpugraph.runtime import Rendezvous, execute_in_context, install_interrupts
from gpugraph.session.explanation import Explanation, log_placements
from gpugraph.session.feed_conversion import refuse_shape
from gpugraph.session.plan_cache import (
    MOST_PLANS,
    CachedPlan,
    OpenShape,
    PlanCache,
    RunnerPlans,
    Shapes,
    has_waited_for,
    is_taken,
    wait_for,
)
from gpugraph.session.session_backend import NO_CONNECTIONS, Runner, SessionBackend, with_operation
from gpugraph.session.traced_execution import RUN_LISTENERS, CostModelRuns, TracedExecution

_RUNS_BETWEEN = 63
"""Runs between looks for Ctrl-C's handler and for idle spares; plus 1, a power of 2."""

_shape = attrgetter("shape")

PLAN_LISTENERS: list[Callable[[Explanation], None]] = []
"""Called with each new plan's explanation: how the command line explains a program's plans."""

SESSIONS: WeakSet[DirectSession] = WeakSet()
"""Those that there are, for forks."""


class DirectSession(SessionBackend):
    """A session on this process's devices."""

    def __init__(self, options: SessionOptions) -> None:
        self.options = options
        self.devices, self.resources = self.open_devices()
        self.target = Target(
            self.devices,
            self.resources,
            options.config,
            no_gpu_reason(options),
            is_on("GPUGRAPH_VERIFY"),
            Rendezvous,
        )
        self.graph: Graph | None = None
        self.closed = False
        self.is_of_parent = False  # with devices that a forked child can not use
        self.has_gpu = any(device.has_kernels for device in self.devices)
        self.plans = PlanCache(MOST_PLANS)
        self.lock = self.plans.lock
        self.run_memory = RunMemory("runs of the session have it in turns", self.plans.drop_in)
        self.runners: dict[Any, DirectRunner] = {}
        self._logged: set[str] = set()
        self.last_traced: Callable[[], StepReport] | None = None
        self.unused_options: dict[str, None] = {}  # fields of RunOptions that runs have set in vain
        watch(self)
        install_interrupts()
        SESSIONS.add(self)

    def open_devices(self) -> tuple[Sequence[Device], Resources]:
        """The devices, and what lasts on them; of this session alone."""
        devices = DeviceFactory.add_devices(self.options, "/job:localhost/replica:0/task:0")
        for device in devices:
            device.reclaim = self.reclaim
        return devices, Resources()

    def close_devices(self) -> None:
        """Gives back what `open_devices` gave."""
        self.resources.clear()
        for device in self.devices:
            device.close()

    def settings_changed(self) -> None:
        """Gives up all plans for GPUs with kernels: products in them are as was allowed then."""
        if self.has_gpu:
            with self.lock:
                self.plans.drop_all()

    def after_fork(self) -> None:
        """Has a forked child begin anew: no run of the parent's other threads ends there."""
        self.is_of_parent = self.has_gpu
        self.resources.access.forget_all()
        self.plans.abandon(idle_too=self.is_of_parent)

    def reclaim(self) -> None:
        """Gives up idle plans, and the constants that only they used."""
        self.last_traced = None
        self.plans.drop_idle()
        self.resources.release_unused()

    def create(self, graph: Graph) -> None:
        """Takes the graph; AlreadyExistsError when it has one."""
        if self.graph is not None:
            raise AlreadyExistsError.of_no_node(
                "A Graph has already been created for this session."
            )
        self.graph = graph

    def prepare(
        self,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        connections: Mapping[Tensor, Tensor] = NO_CONNECTIONS,
        done: Sequence[Operation] = (),
    ) -> DirectRunner:
        """What runs these; compiles nothing yet. A connected tensor is fed with its other.

        done: operations that have run before, in other parts of a partial run.
        """
        self.check_open()
        key = (
            tuple(feeds),
            tuple(fetches),
            tuple(targets),
            tuple(connections.items()),
            tuple(done),
        )
        with self.lock:
            runner = self.runners.get(key)
            if runner is None:
                if len(self.runners) >= 2 * MOST_PLANS:
                    self.runners = {
                        key: runner for key, runner in self.runners.items() if runner.plans.exact
                    }
                runner = self.runners[key] = DirectRunner(self, *key)
            return runner

    def check_open(self) -> None:
        """CancelledError when closed, InvalidArgumentError before `create`."""
        if self.closed:
            raise CancelledError.of_no_node("Session has been closed.")
        if self.is_of_parent:
            raise FailedPreconditionError.of_no_node(
                "This session has a GPU and was created before the process forked; the child can't "
                "use it: create sessions after a fork, or start processes by 'spawn'"
            )
        if self.graph is None:
            raise invalid_argument("Session was not created with a graph before Run()!")

    def compile(self, request: RunRequest, memory: RunMemory) -> Plan:
        """A new plan on run memory. Idle ones are given up for it where a device is full."""
        self.check_open()
        plan = compile_plan(self.target._replace(run_memory=memory), request)
        if self.options.config.log_device_placement:
            log_placements(plan, self._logged)
        for listener in PLAN_LISTENERS:
            listener(self.explanation(plan))
        return plan

    def explanation(self, plan: Plan) -> Explanation:
        """How a plan runs, and what settings of runs by now have no effect."""
        return Explanation(plan, tuple(self.unused_options))

    @property
    def kept_tensors(self) -> KeptTensors:
        """The tensors that stay between runs."""
        return self.resources.kept

    def last_report(self) -> StepReport:
        """The report of the last run that was traced; ValueError where there is none."""
        if self.last_traced is None:
            raise ValueError(
                "There is no traced run to report: give fetches, or run with "
                "tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) and run_metadata before"
            )
        return self.last_traced()

    def list_devices(self) -> list[DeviceAttributes]:
        """The session's devices."""
        self.check_open()
        return [device.attributes for device in self.devices]

    def memory_stats(self) -> dict[str, MemoryUse]:
        """Each device's counters and owners, by full device name."""
        self.check_open()
        return {device.name: memory_use(device) for device in self.devices}

    def release_memory(self) -> int:
        """Gives up idle plans, and whole regions to the system; the bytes given back."""
        self.check_open()
        return given_back(self.devices, self.reclaim)

    def reset(self, containers: Sequence[str]) -> None:
        """Clears these resource containers (all, if none are named)."""
        with self.lock:
            plans = self.plans.drop_all()
            self.last_traced = None
        wait_for(plans)
        self.resources.clear(list(containers) or None)

    def close(self) -> None:
        """Cancels runs in other threads, and gives everything back once they are over."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
            plans = self.plans.drop_all()
            self.runners.clear()
            self.last_traced = None
        for plan in plans:
            plan.clock.cancel()  # a loop may be running, and may have no end
        wait_for(plans)
        self.close_devices()


class DirectRunner(Runner):
    """One set of feeds, fetches, targets and connections, and its plans by the fed shapes."""

    def __init__(
        self,
        session: DirectSession,
        feeds: tuple[Tensor, ...],
        fetches: tuple[Tensor, ...],
        targets: tuple[Operation, ...],
        connections: tuple[tuple[Tensor, Tensor], ...],
        done: tuple[Operation, ...],
    ) -> None:
        self.session = session
        self.feeds = feeds
        self.fetches = fetches
        self.targets = targets
        self.connections = dict(connections)
        self.done = done
        self.plans = RunnerPlans(session.plans, self._compile, session.run_memory)
        self.costs = CostModelRuns()
        self.limit_ms = max(session.options.config.operation_timeout_in_ms, 0)
        self.is_watched = self.limit_ms > 0 or bool(RUN_LISTENERS)

    def run(self, values: Sequence[Any], execution: TracedExecution | None = None) -> list[Any]:
        """The fetches' values. `execution` runs the plan; as the session's settings are if None."""
        if execution is None and self.is_watched:
            execution = TracedExecution(bool(RUN_LISTENERS), self.limit_ms)
        cached = self.plans.exact.get(tuple(map(_shape, values)))
        try:
            plan = None if cached is None else cached.plan
            if plan is None or not plan.lock.acquire(False):
                plan = self._idle_plan(values, execution).plan
            elif plan.stale or GATE.is_closed or not plan.vacancy.pop(0, False):
                plan.lock.release()
                plan = self._idle_plan(values, execution).plan
            try:
                if not plan.runs & _RUNS_BETWEEN:
                    install_interrupts()
                    self.plans.drop_idle_spares(plan)
                if execution is None:
                    return plan.context.run(execute_in_context, plan, values)
                return execution(plan, values, self)
            finally:
                plan.vacancy[0] = True
                plan.lock.release()
                if plan.clock.interrupted is not None:
                    plan.clock.deliver()
        except OpError as error:
            raise with_operation(self.session.graph, error) from error.__cause__

    def _idle_plan(self, values: Sequence[Any], execution: TracedExecution | None) -> CachedPlan:
        """A plan that no run holds, with its lock held."""
        limit = None if execution is None else execution.limit
        while True:
            GATE.wait()
            cached = self.plan_for(values, execution)
            spares = self.plans.spares.get(cached.plan.key, ())
            for candidate in (cached, *spares):
                if is_taken(candidate.plan):
                    return candidate
            if self.plans.leaves_memory(cached, limit):
                continue
            if not cached.plan.stale and not self._has_waited(cached.plan, limit):
                with self.session.plans.locked(limit):
                    self.session.check_open()
                    spare = self.plans.add_spare(cached.plan.key)
                if is_taken(spare.plan):
                    return spare

    def _has_waited(self, plan: Plan, limit: TimeLimit | None) -> bool:
        """Waits for the run of another thread; False once it has taken long."""
        runs, is_over = plan.runs, has_waited_for(plan)
        if is_over is not None:
            return is_over
        self.session.check_open()
        if limit is not None:
            limit.check("while it waited for another run of the same fetches")
        return plan.runs != runs

    def run_with(
        self, values: Sequence[Any], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[Any]:
        """As `run`, with a time limit and with statistics into `metadata`."""
        chosen = options if options is not None else RunOptions()
        TracedExecution.refuse_pools(chosen, self.session.options.config)
        self.session.unused_options.update(dict.fromkeys(unused(chosen)))
        limit, alone = chosen.timeout_in_ms or self.limit_ms, chosen.inter_op_thread_pool < 0
        if metadata is None:
            return self.run(values, TracedExecution(False, limit, alone))
        costs = self.costs.is_due(self.session.options.config.graph_options)
        trace = costs or chosen.trace_level != RunOptions.NO_TRACE
        execution = TracedExecution(trace, limit, alone)
        results = self.run(values, execution)
        execution.report(chosen, metadata, self.graph_record, costs)
        if trace:
            self.session.last_traced = partial(execution.step_report, self.graph_record)
        return results

    def report(self, values: Sequence[Any]) -> StepReport:
        """Runs these values once, and reports the run."""
        execution = TracedExecution(True, self.limit_ms)
        self.run(values, execution)
        self.session.last_traced = partial(execution.step_report, self.graph_record)
        return self.session.last_traced()

    def graph_record(self, plan: Plan) -> GraphRecord:
        """The compiled graph of a plan of this runner; compiled again at the first call."""
        if plan.graph_record is None:
            request = self._request([shape for _, shape in plan.key.feeds])
            with self.session.lock:
                plan.graph_record = compile_record(self.session.target, request)
        return plan.graph_record

    def explain(self, values: Sequence[Any]) -> Explanation:
        """How values of these shapes are run."""
        return self.session.explanation(self.plan_for(values).plan)

    def plan_for(
        self, values: Sequence[Any], execution: TracedExecution | None = None
    ) -> CachedPlan:
        """The plan for values of these shapes, compiled now if there is none.

        ValueError for a shape that does not fit its tensor; else what compilation raises.
        """
        shapes: Shapes = tuple(map(_shape, values))
        with self.session.plans.locked(None if execution is None else execution.limit):
            self.session.check_open()
            cached = self.plans.find(shapes)
            if cached is not None:
                return cached
            for tensor, shape in zip(self.feeds, shapes):
                refuse_shape(tensor, shape)
            return self.plans.add(shapes)

    def _request(self, shapes: Sequence[OpenShape]) -> RunRequest:
        """What to compile for feeds of these shapes."""
        assert self.session.graph is not None
        feeds = [
            FeedSpec(tensor.name, tensor.dtype.base_dtype, shape)
            for tensor, shape in zip(self.feeds, shapes)
        ]
        return RunRequest(
            self.session.graph, feeds, self.fetches, self.targets, self.connections, self.done
        )

    def _compile(self, shapes: Sequence[OpenShape], memory: RunMemory) -> Plan:
        try:
            return self.session.compile(self._request(shapes), memory)
        except OpError as error:
            raise with_operation(self.session.graph, error) from error.__cause__
