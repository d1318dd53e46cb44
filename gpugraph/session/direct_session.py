"""DirectSession, which compiles plans for this process's devices, keeps them, and runs them.

A runner (one set of feeds, fetches and targets) finds its plan by the shapes of the feeds
(`plan_cache`). The session keeps its runners and a bounded number of plans, which time-share
memory. If a device is full, plans that are not running release their memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import get_ident
from typing import Any
from weakref import WeakSet

from gpugraph.base.errors import (
    AlreadyExistsError,
    CancelledError,
    FailedPreconditionError,
    invalid_argument,
)
from gpugraph.base.interruptions.signal_handlers import install_handlers
from gpugraph.compile import RunRequest, Target, compile_plan
from gpugraph.config import SessionOptions
from gpugraph.config.environment import is_on, thread_count
from gpugraph.config.experimental import watch
from gpugraph.devices import (
    Device,
    DeviceAttributes,
    DeviceFactory,
    KeptTensors,
    MemoryUse,
    Resources,
    RunMemory,
    give_back_idle,
    memory_use,
    no_gpu_reason,
)
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.source_runs import source_run
from gpugraph.graph.client.tensor import Tensor
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.plan import Plan
from gpugraph.runtime import Rendezvous
from gpugraph.session.direct_runner import DirectRunner
from gpugraph.session.explanations.explanation import Explanation, log_placements
from gpugraph.session.explanations.pipeline_texts import measured_pipelines
from gpugraph.session.graph_functions import GraphFunctions
from gpugraph.session.plan_cache import MOST_PLANS, PlanCache, wait_for
from gpugraph.session.rehearsal import REHEARSALS
from gpugraph.session.session_backend import NO_CONNECTIONS, SessionBackend

PLAN_LISTENERS: list[Callable[[Explanation], Callable[[Explanation], None] | None]] = []
"""Functions that are called with the explanation of each new plan. The command line uses them to
explain a program's plans. A function may return a second function, which is called with a new
explanation when the plan is dropped or the program ends.
"""

SESSIONS: WeakSet[DirectSession] = WeakSet()
"""All live sessions of the process, for the handling of forks and of the program's end."""

TIME_SHARED = "runs of the session time-share this memory"
"""The text in an explanation for memory that a plan shares with other plans."""


class DirectSession(SessionBackend):
    """A session that runs in this process, on its devices."""

    def __init__(self, options: SessionOptions) -> None:
        thread_count()  # an invalid GPUGRAPH_THREADS is an error before any work is done
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
        self.functions = self.resources.functions = GraphFunctions(self.target, options)
        self.graph: Graph | None = None
        self.closed = False
        self._closing: dict[int, int] = {}  # {0: thread id} while a thread closes the session
        self._leaving: dict[int, Plan] = {}  # by id, the plans for which `close` waits
        self._has_devices = True
        self.is_of_parent = False  # inherited by a forked child, which can't use GPUs
        self.has_gpu = any(device.has_kernels for device in self.devices)
        self.plans = PlanCache(MOST_PLANS)
        self.lock = self.plans.lock
        self.run_memory = RunMemory(TIME_SHARED, self.plans.drop_in)
        self.runners: dict[Any, DirectRunner] = {}
        self._logged: set[str] = set()
        self.last_traced: Callable[[], StepReport] | None = None
        self.unused_options: dict[str, None] = {}  # RunOptions fields without effect
        watch(self)
        install_handlers()
        SESSIONS.add(self)

    def open_devices(self) -> tuple[Sequence[Device], Resources]:
        """Create the devices for this session, and the objects that hold its resources, such as
        variables and queues.
        """
        devices = DeviceFactory.add_devices(self.options, "/job:localhost/replica:0/task:0")
        for device in devices:
            device.reclaim = self.reclaim
        return devices, Resources()

    def close_devices(self) -> None:
        """Release the devices and resources that `open_devices` returned."""
        self.resources.clear()
        for device in self.devices:
            device.close()

    def settings_changed(self) -> None:
        """Drop all plans if there is a GPU, because their matrix products were compiled with the
        old settings.
        """
        if self.has_gpu:
            with self.lock:
                self.plans.drop_all()

    def after_fork(self) -> None:
        """Make the session usable in a forked child, where the parent's other threads do not exist.

        Plans that such a thread was running are dropped. A session with a GPU refuses further runs.
        """
        self.is_of_parent = self.has_gpu
        self.resources.access.forget_all()
        self.plans.abandon(idle_too=self.is_of_parent)

    def reclaim(self) -> None:
        """Drop the plans that are not running, and the constants that only these plans used."""
        self.last_traced = None
        self.plans.drop_idle()
        self.resources.release_unused()

    def create(self, graph: Graph) -> None:
        """Set the session's graph. Raises AlreadyExistsError if the session has a graph."""
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
        """Return the runner for these tensors and operations. This does not compile anything.

        Args:
          connections: tensors that are fed with the values of other tensors, which the run
            computes.
          done: operations that have already run, in earlier parts of a partial run.
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
                runner = self.runners[key] = self._new_runner(*key)
            return runner

    def _new_runner(
        self,
        feeds: tuple[Tensor, ...],
        fetches: tuple[Tensor, ...],
        targets: tuple[Operation, ...],
        connections: tuple[tuple[Tensor, Tensor], ...],
        done: tuple[Operation, ...],
    ) -> DirectRunner:
        first = None
        if not (connections or done or REHEARSALS):
            first = source_run(feeds, fetches, targets)
        if first is None:
            return DirectRunner(self, feeds, fetches, targets, connections, done)
        sources = DirectRunner(self, first.feeds, first.fetches, first.targets, (), ())
        rest = tuple(op for op in targets if op not in first.operations)
        return DirectRunner(self, feeds, fetches, rest, (), first.operations, sources)

    def check_open(self) -> None:
        """Raise an error unless the session can run.

        Raises CancelledError if it is closed, InvalidArgumentError if `create` was not called, and
        FailedPreconditionError if it has a GPU and this process was forked from the process that
        created it.
        """
        if self.closed:
            raise CancelledError.of_no_node("Session has been closed.")
        if self.is_of_parent:
            raise FailedPreconditionError.of_no_node(
                "This session has a GPU and was created before the process forked; the child can't "
                "use it: create sessions after a fork, or start processes by 'spawn'"
            )
        if self.graph is None:
            raise invalid_argument("Session was not created with a graph before Run()!")

    def compile(
        self,
        request: RunRequest,
        memory: RunMemory,
        make: Callable[[Target, RunRequest], Plan] | None = None,
    ) -> Plan:
        """Return a new plan that uses `memory`. If a device is full, drop idle plans.

        Args:
          make: a function that compiles the plan. By default, the plan is compiled for exactly the
            shapes of the request.
        """
        self.check_open()
        plan = (make or compile_plan)(self.target._replace(run_memory=memory), request)
        if self.options.config.log_device_placement:
            log_placements(plan, self._logged)
        for listener in PLAN_LISTENERS:
            at_end = listener(self.explanation(plan))
            if at_end is not None:
                plan.at_end = partial(self._explain_end, plan, at_end)
        return plan

    def _explain_end(self, plan: Plan, at_end: Callable[[Explanation], None]) -> None:
        """Call `at_end` with a new explanation of a plan that is about to be dropped."""
        at_end(self.explanation(plan))

    def explanation(self, plan: Plan, sources: Plan | None = None) -> Explanation:
        """Return an explanation of how a plan runs. It also lists the fields of RunOptions that the
        program has set and that have no effect.

        Args:
          sources: the plan that runs before it and whose results it receives.
        """
        pipelines = measured_pipelines(self.resources)
        return Explanation(plan, tuple(self.unused_options), pipelines, sources)

    def plan_rows(self) -> list[tuple[str, str, int]]:
        """For each plan, return its fetches and targets, the shapes of its feeds, and its number of
        runs.
        """
        with self.lock:
            exact = [runner.plans.exact for runner in self.runners.values()]
            cached = [(shapes, plans[shapes].plan) for plans in exact for shapes in plans]
        return [
            (
                ", ".join([*plan.key.fetches, *plan.key.targets]),
                ", ".join(map(str, shapes)),
                plan.runs,
            )
            for shapes, plan in cached
        ]

    @property
    def kept_tensors(self) -> KeptTensors:
        """The tensors that `tf.get_session_handle` has kept for later runs."""
        return self.resources.kept

    def last_report(self) -> StepReport:
        """Return the report of the last traced run. Raises ValueError if no run was traced."""
        if self.last_traced is None:
            raise ValueError(
                "There is no traced run to report: pass fetches, or first run with "
                "tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) and run_metadata"
            )
        return self.last_traced()

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the attributes of the session's devices."""
        self.check_open()
        return [device.attributes for device in self.devices]

    def memory_stats(self) -> dict[str, MemoryUse]:
        """Return a dict from full device names to the device's memory counters and the bytes of
        each owner.
        """
        self.check_open()
        return {device.name: memory_use(device) for device in self.devices}

    def release_memory(self) -> int:
        """Drop idle plans and free unused regions. Return the number of freed bytes."""
        self.check_open()
        return give_back_idle(self.devices, self.reclaim)

    def reset(self, containers: Sequence[str]) -> None:
        """Drop all plans, wait for their runs, and clear these containers. If `containers` is
        empty, clear all containers.
        """
        with self.lock:
            plans = self.plans.drop_all()
            self.last_traced = None
        wait_for(plans)
        self.resources.clear(list(containers) or None)

    def close(self) -> None:
        """Cancel runs in other threads, wait until they end, and release everything.

        If Ctrl-C interrupts the call, a second call completes it. While another thread is closing
        the session, the call does nothing.
        """
        thread = get_ident()
        if not self._has_devices or self._closing.setdefault(0, thread) != thread:
            return
        try:
            with self.lock:
                self.closed = True
                self._leaving |= {id(plan): plan for plan in self.plans.all()}
                self.plans.drop_all()
                self.runners.clear()
                self.last_traced = None
            plans = list(self._leaving.values())
            for plan in plans:
                plan.clock.cancel()  # the run may be in an endless loop
            self.functions.close()
            wait_for(plans)
            self.close_devices()
            self._leaving.clear()
            self._has_devices = False
        finally:
            self._closing.pop(0, None)


def end_plans() -> None:
    """Call the `at_end` functions of all plans at the exit of the program, as if the plans were
    dropped.
    """
    for session in list(SESSIONS):
        for plan in session.plans.all():
            plan.end()
