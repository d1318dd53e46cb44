"""The graph functions that kernels call. Each function is compiled once, in the same way as the
runs of a session.

A call uses an idle `_Instance` of the function, or creates a new instance. Therefore several
threads can call the function at the same time, and it can call itself. An instance has a runner
with plans for several sets of shapes. The plans use the session's variables, tables and queues. All
other states, such as positions in random streams, belong to the instance. A `FunctionCall` with
states reserves an instance, so each iterator over a dataset draws the same numbers again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from gpugraph.base.errors import CancelledError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.compile import RunRequest, Target, compile_plan
from gpugraph.config import SessionOptions
from gpugraph.devices import Device, RunMemory
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.plan import Plan
from gpugraph.session.direct_runner import DirectRunner
from gpugraph.session.explanations.explanation import Explanation
from gpugraph.session.plan_cache import PlanCache, wait_for

MAX_PLANS = 32
"""The maximum number of plans of one instance of a function."""

_MEMORY = "calls of the function time-share this memory"


class GraphFunctions:
    """The functions that a session has compiled.

    The functions run on the session's CPU. After `close`, calls raise CancelledError.
    """

    def __init__(self, target: Target, options: SessionOptions) -> None:
        self.options = options
        self.devices = [device for device in target.devices if device.device_type == "CPU"]
        self.target = target._replace(devices=self.devices)
        self.is_closed = False
        self._lock = new_lock()
        self._idle: WeakKeyDictionary[GraphFunction, list[_Instance]] = WeakKeyDictionary()
        self._instances: WeakSet[_Instance] = WeakSet()

    def check_open(self) -> None:
        """Raise CancelledError if the session is closed."""
        if self.is_closed:
            raise CancelledError.of_no_node("Session has been closed.")

    def bound(self, function: GraphFunction) -> FunctionCall:
        """Return a new call of the function, for one iterator."""
        self.check_open()
        with self._lock:
            idle = self._idle.setdefault(function, [])
        return FunctionCall(self, function, idle)

    def new_instance(self, function: GraphFunction) -> _Instance:
        """Return a new copy of a function's plans."""
        self.check_open()
        instance = _Instance(self, function.graph)
        self._instances.add(instance)
        return instance

    def close(self) -> None:
        """Cancel the calls in all threads, wait until they end, and free all plans."""
        self.is_closed = True
        running = [plan for instance in list(self._instances) for plan in instance.release()]
        for plan in running:
            plan.clock.cancel()
        wait_for(running)


class FunctionCall:
    """A callable through which kernels call a function. It receives arrays for `graph.fed`, and
    returns the results as arrays.

    If the function draws random numbers, the call has its own instance, whose random streams start
    from their beginning. Otherwise the call uses any idle instance.
    """

    __slots__ = ("_exclusive", "_functions", "_idle", "_lock", "function")

    def __init__(
        self, functions: GraphFunctions, function: GraphFunction, idle: list[_Instance]
    ) -> None:
        self.function = function
        self._functions = functions
        self._idle = idle
        self._exclusive: _Instance | None = None
        self._lock = new_lock() if function.graph.has_seeds else None

    def again(self) -> FunctionCall:
        """Return a new call of this function, for another iterator."""
        return FunctionCall(self._functions, self.function, self._idle)

    def of(self, function: GraphFunction) -> FunctionCall:
        """Return a call of another function in the same session."""
        return self._functions.bound(function)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the results for these arguments."""
        if self._lock is not None:
            with self._lock:
                if self._exclusive is None:
                    self._exclusive = self._instance()
                    self._exclusive.restart()
                return self._exclusive.runner.run(values)
        instance = self._instance()
        try:
            return instance.runner.run(values)
        finally:
            self._idle.append(instance)

    def positions(self) -> list[list[Any]]:
        """Return pairs of the name of an op that draws random numbers and the position in its
        stream.
        """
        if self._exclusive is None:
            return []
        states = self._exclusive.resources.states.items()
        return [[name, state.position()] for name, state in states if hasattr(state, "position")]

    def go_to(self, positions: Sequence[Sequence[Any]]) -> None:
        """Set the positions of the random streams. They are a result of `positions`."""
        if self._lock is not None:
            with self._lock:
                if self._exclusive is None:
                    self._exclusive = self._instance()
                self._exclusive.restart()
                for name, position in positions:
                    self._exclusive.resources.go_to(name, position)

    def _instance(self) -> _Instance:
        try:
            return self._idle.pop()
        except IndexError:
            return self._functions.new_instance(self.function)

    def release(self) -> None:
        """Make the instance of this call available to other calls."""
        instance, self._exclusive = self._exclusive, None
        if instance is not None:
            self._idle.append(instance)


class _Instance:
    """One copy of a function's plans, used by one call at a time (a `RunnersSession`)."""

    def __init__(self, owner: GraphFunctions, graph: FuncGraph) -> None:
        self._owner = owner
        self.options = owner.options
        self.devices: Sequence[Device] = owner.devices
        self.resources = owner.target.resources.for_session()
        self.target = owner.target._replace(resources=self.resources)
        self.graph: Graph | None = graph
        self.plans = PlanCache(MAX_PLANS)
        self.lock = self.plans.lock
        self.run_memory = RunMemory(_MEMORY, self.plans.drop_in)
        self.unused_options: dict[str, None] = {}
        self.last_traced: Callable[[], StepReport] | None = None
        parts = tuple(graph.fed), tuple(graph.outputs), tuple(graph.controls)
        self.runner = DirectRunner(self, *parts, (), ())
        self.runner.is_watched = False  # listeners see the runs of sessions

    def check_open(self) -> None:
        """Raise CancelledError if the session is closed."""
        self._owner.check_open()

    def compile(
        self,
        request: RunRequest,
        memory: RunMemory,
        make: Callable[[Target, RunRequest], Plan] | None = None,
    ) -> Plan:
        """Return a new plan that uses `memory`."""
        self.check_open()
        return (make or compile_plan)(self.target._replace(run_memory=memory), request)

    def explanation(self, plan: Plan) -> Explanation:
        """Return the explanation of a plan."""
        return Explanation(plan, ())

    def restart(self) -> None:
        """Return to the beginning of the random streams."""
        for state in self.resources.states.values():
            if hasattr(state, "restart"):
                state.restart()

    def release(self) -> list[Plan]:
        """Drop the plans and return them, since some of them may still run."""
        with self.lock:
            return self.plans.drop_all()
