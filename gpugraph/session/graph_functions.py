"""The graph functions that kernels call. Each function is compiled once, in the same way as the
runs of a session.

A function is cut into pieces at the ops whose output sizes depend on the values of inputs
(`function_pieces`). A call of a piece uses an idle `_Instance` of the piece. If there is no idle
instance, the call creates another. Therefore several threads can call the function at the same
time, and the function can call itself. An instance has a runner, which has a plan for each set of
shapes. Instances use the session's variables, tables and queues. Any other state, such as the
position in a random stream, is separate in each instance. A `KernelFunction` with such a state
reserves an instance, so that each iterator of a dataset draws the same random numbers from the
beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from gpugraph.base.errors import CancelledError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.compile import RunRequest, Target, compile_plan
from gpugraph.config import SessionOptions
from gpugraph.devices import Device, RunMemory
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.kernel.several_calls import SEVERAL
from gpugraph.plan import Plan
from gpugraph.session.direct_kernels import VIEWS, DirectKernel, kernel_in
from gpugraph.session.direct_runner import DirectRunner
from gpugraph.session.explanations.explanation import Explanation
from gpugraph.session.function_pieces import FunctionPiece, pieces_of
from gpugraph.session.lazy_choices import ChoiceCall, Deferred, ReversalCall
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
        self._parts: WeakKeyDictionary[GraphFunction, list[_Part]] = WeakKeyDictionary()
        self._instances: WeakSet[_Instance] = WeakSet()

    def check_open(self) -> None:
        """Raise CancelledError if the session is closed."""
        if self.is_closed:
            raise CancelledError.of_no_node("Session has been closed.")

    def bound(self, function: GraphFunction) -> KernelFunction | PiecesCall:
        """Return a new object that calls the function, for one iterator."""
        self.check_open()
        with self._lock:
            parts = self._parts.get(function)
            if parts is None:
                pieces = pieces_of(function.graph)
                parts = self._parts[function] = [_Part(piece, [], []) for piece in pieces]
        if len(parts) == 1 and parts[0].piece.cut is None:
            return KernelFunction(self, function, parts[0])
        return PiecesCall(self, function, parts)

    def new_instance(self, function: GraphFunction, piece: FunctionPiece) -> _Instance:
        """Return a new copy of the plans of a piece of a function."""
        self.check_open()
        instance = _Instance(self, function.graph, piece)
        self._instances.add(instance)
        return instance

    def close(self) -> None:
        """Cancel the calls in all threads, wait until they end, and free all plans."""
        self.is_closed = True
        running = [plan for instance in list(self._instances) for plan in instance.release()]
        for plan in running:
            plan.clock.cancel()
        wait_for(running)


class _Part(NamedTuple):
    """A piece of a function with its idle instances, and the kernel of its op if it is a cut."""

    piece: FunctionPiece
    idle: list[_Instance]
    kernels: list[DirectKernel]


class KernelFunction:
    """A piece of a function, or a function of one piece, which kernels call. A call receives arrays
    for the feeds and returns arrays of the results.

    If the piece draws random numbers, this object has its own instance, whose random streams start
    again from the beginning. Otherwise each call uses any idle instance.
    """

    __slots__ = ("_exclusive", "_functions", "_lock", "_part", "function")

    def __init__(self, functions: GraphFunctions, function: GraphFunction, part: _Part) -> None:
        self.function = function
        self._functions = functions
        self._part = part
        self._exclusive: _Instance | None = None
        self._lock = new_lock() if part.piece.has_seeds else None

    def again(self) -> KernelFunction:
        """Return a new object that calls this function, for another iterator."""
        return KernelFunction(self._functions, self.function, self._part)

    def of(self, function: GraphFunction) -> KernelFunction | PiecesCall:
        """Return an object that calls another function in the same session."""
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
            self._part.idle.append(instance)

    def kernel(self, values: Sequence[Any]) -> DirectKernel | None:
        """Return the kernel of the piece's op. The caller must ensure that the piece is a single op
        at a cut. Return None if the plan for values of these shapes has no such kernel.
        """
        instance = self._instance()
        try:
            assert self._part.piece.cut is not None
            plan = instance.runner.plan_for([value.shape for value in values]).plan
            kernel = kernel_in(plan, self._part.piece.cut, self._part.piece.feeds)
            if plan.has_cells:
                plan.reset()
            return kernel
        finally:
            self._part.idle.append(instance)

    def positions(self) -> list[list[Any]]:
        """For each op that draws random numbers, return a pair: its name, and the position in its
        stream.
        """
        if self._exclusive is None:
            return []
        states = self._exclusive.resources.states.items()
        return [[name, state.position()] for name, state in states if hasattr(state, "position")]

    def go_to(self, positions: Sequence[Sequence[Any]]) -> None:
        """Set the positions of the random streams to an earlier result of `positions`."""
        if self._lock is not None:
            with self._lock:
                if self._exclusive is None:
                    self._exclusive = self._instance()
                self._exclusive.restart()
                for name, position in positions:
                    self._exclusive.resources.go_to(name, position)

    def _instance(self) -> _Instance:
        try:
            return self._part.idle.pop()
        except IndexError:
            return self._functions.new_instance(self.function, self._part.piece)

    def release(self) -> None:
        """Make the instance that this object has reserved available to other callers."""
        instance, self._exclusive = self._exclusive, None
        if instance is not None:
            self._part.idle.append(instance)


_MOST_SEARCHES = 16
"""The number of runs of a plan after which its kernel is not searched any more."""


class CutCall:
    """A call of a single op whose output sizes depend on the values of inputs.

    The first time that the object is called, the op runs in a plan. Later calls use the kernel of
    this plan, if the kernel can be called on arrays. If the kernel raises an error, the plan runs
    the op again, because the plan's error names the node and the user's line.
    """

    __slots__ = ("_call", "_kernels", "_searches")

    def __init__(self, call: KernelFunction, kernels: list[DirectKernel]) -> None:
        self._call, self._kernels = call, kernels
        self._searches = 0

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the outputs of the op."""
        if self._kernels:
            try:
                return self._kernels[0](values)
            except Exception as error:
                if raised_by_handler(error):
                    raise
                return self._call(values)
        results = self._call(values)
        if self._searches < _MOST_SEARCHES:
            self._searches += 1
            kernel = self._call.kernel(values)
            if kernel is not None:
                self._kernels.append(kernel)
        return results

    def several(self, calls: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Return the outputs of several calls."""
        results = self._kernels[0].several(calls) if self._kernels else None
        return [self(values) for values in calls] if results is None else results


class PiecesCall:
    """A function of several pieces, with the methods of `KernelFunction`."""

    __slots__ = ("_calls", "_functions", "_outputs", "_parts", "_steps", "_views", "function")

    def __init__(
        self, functions: GraphFunctions, function: GraphFunction, parts: Sequence[_Part]
    ) -> None:
        self.function = function
        self._functions, self._parts = functions, parts
        self._calls = [KernelFunction(functions, function, part) for part in parts]
        graph = function.graph
        places = {tensor: number for number, tensor in enumerate(graph.fed)}
        self._steps: list[tuple[Callable[..., Any], list[int]]] = []
        for call, part in zip(self._calls, parts):
            piece = part.piece
            run = call if piece.cut is None else _cut_call(call, part)
            feeds = [places[tensor] for tensor in piece.values]
            for tensor in piece.fetches:
                places[tensor] = len(places)
            self._steps.append((run, feeds))
        self._outputs = [places[tensor] for tensor in graph.outputs]
        views = [place for tensor, place in places.items() if tensor.op.type in VIEWS]
        self._views = [slot for slot, place in enumerate(self._outputs) if place in views]

    def again(self) -> PiecesCall:
        """Return a new object that calls this function, for another iterator."""
        return PiecesCall(self._functions, self.function, self._parts)

    def of(self, function: GraphFunction) -> KernelFunction | PiecesCall:
        """Return an object that calls another function in the same session."""
        return self._functions.bound(function)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the results for these arguments."""
        known = list(values)
        for run, feeds in self._steps:
            _extend(known, run([known[place] for place in feeds]))
        return self._results(known)

    @property
    def takes_several(self) -> bool:
        """Whether an op at a cut can compute several calls at once."""
        types = [part.piece.cut.type for part in self._parts if part.piece.cut is not None]
        return any(op_type in SEVERAL for op_type in types)

    def several(self, calls: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Return the results of several calls. Each piece is computed for all calls before the next
        one. If an error occurs, the results of all calls are lost.
        """
        known = [list(values) for values in calls]
        for run, feeds in self._steps:
            inputs = [[values[place] for place in feeds] for values in known]
            several = run.several(inputs) if isinstance(run, CutCall) else map(run, inputs)
            for values, results in zip(known, several):
                _extend(values, results)
        return [self._results(values) for values in known]

    def _results(self, known: list[Any]) -> list[Any]:
        """Return the function's results. `known` has the values of all tensors that the pieces have
        computed.
        """
        outputs = [known[place] for place in self._outputs]
        for slot in self._views:
            outputs[slot] = _without_large_base(outputs[slot])
        return outputs

    def positions(self) -> list[list[Any]]:
        """Return the positions of the random streams of all pieces."""
        return [position for call in self._calls for position in call.positions()]

    def go_to(self, positions: Sequence[Sequence[Any]]) -> None:
        """Set the positions of the random streams of all pieces to an earlier result of
        `positions`.
        """
        for call in self._calls:
            call.go_to(positions)

    def release(self) -> None:
        """Make the instances that the pieces have reserved available to other callers."""
        for call in self._calls:
            call.release()


class _Instance:
    """One copy of the plans of a piece, used by one call at a time (a `RunnersSession`)."""

    def __init__(self, owner: GraphFunctions, graph: FuncGraph, piece: FunctionPiece) -> None:
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
        self.runner = DirectRunner(self, piece.feeds, piece.fetches, piece.targets, (), ())
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

    def explanation(self, plan: Plan, sources: Plan | None = None) -> Explanation:
        """Return the explanation of a plan."""
        return Explanation(plan, (), (), sources)

    def restart(self) -> None:
        """Set the random streams back to their beginning."""
        for state in self.resources.states.values():
            if hasattr(state, "restart"):
                state.restart()

    def release(self) -> list[Plan]:
        """Drop the plans and return them, since some of them may still run."""
        with self.lock:
            return self.plans.drop_all()


def _cut_call(call: KernelFunction, part: _Part) -> Callable[..., Any]:
    """Return the call of an op at a cut."""
    piece = part.piece
    assert piece.cut is not None
    if piece.cut.type in ("Select", "SelectV2"):
        return ChoiceCall(piece.cut, piece.feeds)
    return ReversalCall(piece.cut) if piece.cut.type == "ReverseV2" else CutCall(call, part.kernels)


def _extend(known: list[Any], results: Sequence[Any]) -> None:
    for result in results:
        is_value = isinstance(result, (np.ndarray, Deferred))
        known.append(result if is_value else _as_array(result))


def _as_array(value: Any) -> Any:
    """Return a result as an array. For a scalar of an object dtype, `value` is the object
    itself.
    """
    if isinstance(value, np.generic):
        return np.asarray(value)
    array = np.empty((), object)
    array[()] = value
    return array


def _without_large_base(array: Any) -> Any:
    """Return the array. If it is a view of a small part of a larger array, return a copy, so that
    the larger array can be freed.
    """
    base = array.base
    return array if base is None or 2 * array.nbytes >= base.nbytes else array.copy()
