"""DirectSession: compiles plans for this process's devices, keeps them, and runs them.

A runner (one set of feeds, fetches and targets) finds its plan by the fed shapes (`plan_cache`).
The session keeps its runners and a bounded number of plans, which have memory in turns.
When a device is full, plans that no thread runs give their memory up.
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
    give_back_idle,
    memory_use,
    no_gpu_reason,
)
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.plan import Plan
from gpugraph.runtime import Rendezvous
from gpugraph.session.direct_runner import DirectRunner
from gpugraph.session.explanation import Explanation, log_placements
from gpugraph.session.plan_cache import MOST_PLANS, PlanCache, wait_for
from gpugraph.session.session_backend import NO_CONNECTIONS, SessionBackend

PLAN_LISTENERS: list[Callable[[Explanation], Callable[[Explanation], None] | None]] = []
"""Called with each new plan's explanation: how the command line explains a program's plans. They
return a function to call with the explanation of the plan as it ends, or None."""

SESSIONS: WeakSet[DirectSession] = WeakSet()
"""Those that there are, for forks."""

IN_TURNS = "runs of the session have this memory in turns"
"""What is said of the memory of most plans."""


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
        self._closing: dict[int, int] = {}  # {0: thread} while it closes the session
        self._leaving: dict[int, Plan] = {}  # dropped to close it; they may still be running
        self._has_devices = True
        self.is_of_parent = False  # with devices that a forked child can not use
        self.has_gpu = any(device.has_kernels for device in self.devices)
        self.plans = PlanCache(MOST_PLANS)
        self.lock = self.plans.lock
        self.run_memory = RunMemory(IN_TURNS, self.plans.drop_in)
        self.runners: dict[Any, DirectRunner] = {}
        self._logged: set[str] = set()
        self.last_traced: Callable[[], StepReport] | None = None
        self.unused_options: dict[str, None] = {}  # fields of RunOptions that runs have set in vain
        watch(self)
        install_handlers()
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
            at_end = listener(self.explanation(plan))
            if at_end is not None:
                plan.at_end = partial(self._explain_end, plan, at_end)
        return plan

    def _explain_end(self, plan: Plan, at_end: Callable[[Explanation], None]) -> None:
        """Calls `at_end` with the explanation of a plan that ends."""
        at_end(self.explanation(plan))

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
        return give_back_idle(self.devices, self.reclaim)

    def reset(self, containers: Sequence[str]) -> None:
        """Clears these resource containers (all, if none are named)."""
        with self.lock:
            plans = self.plans.drop_all()
            self.last_traced = None
        wait_for(plans)
        self.resources.clear(list(containers) or None)

    def close(self) -> None:
        """Cancels runs in other threads, and gives everything back once they are over.

        What Ctrl-C ends midway, the next call goes on with.
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
                plan.clock.cancel()  # a loop may be running, and may have no end
            wait_for(plans)
            self.close_devices()
            self._leaving.clear()
            self._has_devices = False
        finally:
            self._closing.pop(0, None)


def end_plans() -> None:
    """Tells listeners of plans that the program is over: their sessions may still be open."""
    for session in list(SESSIONS):
        for plan in session.plans.all():
            plan.end()
