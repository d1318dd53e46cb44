"""DirectRunner, which runs one set of feeds, fetches and targets of a session.

A run finds its plan by the shapes of the feeds (`runner_plans`), acquires the plan's lock and
memory, and executes the plan. If the plan is busy, the run waits for it or uses a replica (the same
plan, compiled once more). If the plan is stale, because a variable's memory has moved, the run
compiles it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from gpugraph.base.dtypes import string
from gpugraph.base.errors import OpError
from gpugraph.base.interruptions.fork_gate import GATE
from gpugraph.base.interruptions.signal_handlers import PENDING, deliver_signals, install_handlers
from gpugraph.base.proto_messages import unused
from gpugraph.base.sizes import SizeTrace
from gpugraph.compile import FeedSpec, OpenUnit, RunRequest, Target, compile_record, part_of_memory
from gpugraph.config import RunMetadata, RunOptions, SessionOptions
from gpugraph.devices import Device, RunMemory
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.plan import (
    GraphRecord,
    Plan,
    SeparatedCopiesError,
    TimeLimit,
    UnfitReportError,
    UnfitShapesError,
)
from gpugraph.runtime import execute_in_context
from gpugraph.session.explanations.explanation import Explanation
from gpugraph.session.feed_conversion import refuse_shape
from gpugraph.session.open_shapes import OpenShapes, UnitForShapes
from gpugraph.session.plan_cache import CachedPlan, PlanCache, try_acquire, wait_until_idle
from gpugraph.session.rehearsal import REHEARSALS, RehearsedRuns
from gpugraph.session.room_for_open_sizes import RoomForOpenSizes, Shapes
from gpugraph.session.runner_plans import OpenShape, RunnerPlans
from gpugraph.session.session_backend import Runner, with_operation
from gpugraph.session.traced_execution import RUN_LISTENERS, CostModelRuns, TracedExecution

_CHECK_MASK = 63
"""A mask for a plan's run counter. Every 64 runs, idle replicas are dropped. In the main thread,
the program's signal handlers are also wrapped, unless they already are.
"""

_PROMOTION_MASK = 15
"""Mask of a plan's run counter: every 16 runs, a plan whose kernels report sizes is replaced, if it
can be, by one that does not allocate tensors in the run.
"""

_shape = attrgetter("shape")


class RunnersSession(Protocol):
    """The attributes and methods of a session that its runners use."""

    options: SessionOptions
    devices: Sequence[Device]
    target: Target
    graph: Graph | None
    lock: Any
    plans: PlanCache
    run_memory: RunMemory
    unused_options: dict[str, None]
    last_traced: Callable[[], StepReport] | None

    def check_open(self) -> None:
        """Raise CancelledError if the session is closed, and InvalidArgumentError if it has no
        graph.
        """

    def compile(
        self,
        request: RunRequest,
        memory: RunMemory,
        make: Callable[[Target, RunRequest], Plan] | None = None,
    ) -> Plan:
        """Return a new plan that uses `memory`.

        Args:
          make: a function that compiles the plan. By default, the plan is compiled for exactly the
            request's shapes.
        """

    def explanation(self, plan: Plan, sources: Plan | None = None) -> Explanation:
        """Return the explanation of a plan, and of the plan that runs before it."""


class DirectRunner(Runner):
    """One set of feeds, fetches, targets and connections. It has plans for several sets of shapes
    of the feeds.

    A connection is a tensor that is fed with the value of another tensor of the graph.

    Args:
      sources: a runner that runs first and whose fetches are fed too (`source_runs.py`).
    """

    def __init__(
        self,
        session: RunnersSession,
        feeds: tuple[Tensor, ...],
        fetches: tuple[Tensor, ...],
        targets: tuple[Operation, ...],
        connections: tuple[tuple[Tensor, Tensor], ...],
        done: tuple[Operation, ...],
        sources: DirectRunner | None = None,
    ) -> None:
        self.session = session
        self.sources = sources
        self._places: list[int] = []  # of the feeds of the sources
        self._element_shapes: Shapes | None = None  # the last ones
        self._strings: list[int] = []  # the places of strings among the results of the sources
        if sources is not None:
            kinds = [tensor.dtype.base_dtype for tensor in sources.fetches]
            self._strings = [place for place, dtype in enumerate(kinds) if dtype == string]
            self._places = [feeds.index(tensor) for tensor in sources.feeds]
            feeds = (*feeds, *sources.fetches)
        self.feeds: tuple[Tensor, ...] = feeds
        self.fetches: tuple[Tensor, ...] = fetches
        self.targets = targets
        self.connections = dict(connections)
        self.done = done
        self.plans = RunnerPlans(session.plans, self._compile, session.run_memory)
        if any(device.device_type == "GPU" for device in session.devices):
            self.plans.room = RoomForOpenSizes(self._part_of_memory)
        else:
            self.plans.open_shapes = OpenShapes(self._compile_open, session.target.verify)
        self.costs = CostModelRuns()
        self._rehearsal: RehearsedRuns | None = None
        self.limit_ms = max(session.options.config.operation_timeout_in_ms, 0)
        self.is_watched = self.limit_ms > 0 or bool(RUN_LISTENERS)

    def run(self, values: Sequence[Any], execution: TracedExecution | None = None) -> list[Any]:
        """Run the graph with these fed arrays, and return the values of the fetches.

        Args:
          execution: an object that executes the plan with a time limit or a trace. None means a
            plain execution.
        """
        if execution is None and self.is_watched:
            execution = TracedExecution(bool(RUN_LISTENERS), self.limit_ms)
        if self.sources is not None:
            values = self._with_elements(values, execution)
        return self._run(values, execution)

    def _with_elements(
        self, values: Sequence[Any], execution: TracedExecution | None
    ) -> Sequence[Any]:
        """Run the sources. Return all values to feed: `values` and the results of the sources."""
        assert self.sources is not None
        first = None
        if execution is not None:
            first = execution.of_sources(self.sources.graph_record)
        fed = [values[place] for place in self._places]
        elements = self.sources.run(fed, first)
        for place in self._strings:  # a scalar is bytes
            elements[place] = np.asarray(elements[place], object)
        self._element_shapes = tuple(map(_shape, elements))
        return [*values, *elements]

    def _run(self, values: Sequence[Any], execution: TracedExecution | None) -> list[Any]:
        shapes = tuple(map(_shape, values))
        if REHEARSALS:
            return self._rehearsed(shapes)
        cached = self.plans.exact.get(shapes)
        try:
            plan = None if cached is None else cached.plan
            if plan is None or not plan.lock.acquire(False):
                plan = self._idle_plan(values, execution).plan
            elif (
                plan.running
                or plan.stale
                or GATE.is_closed
                or plan.holder.setdefault(0, plan) is not plan
            ):
                plan.lock.release()
                plan = self._idle_plan(values, execution).plan
            try:
                if plan.sizes is not None:
                    plan.sizes.select(shapes)
                if not plan.runs & _CHECK_MASK:
                    install_handlers()
                    self.plans.drop_idle_spares(plan)
                if execution is None:
                    return plan.context.run(execute_in_context, plan, values)
                return execution(plan, values, self)
            finally:
                is_promoted = plan.reported and (
                    not plan.runs & _PROMOTION_MASK or shapes in self.plans.returning
                )
                plan.holder.pop(0, None)
                plan.lock.release()
                if PENDING:
                    plan.clock.go_on()
                    deliver_signals()
                if is_promoted:
                    self._promote(shapes)
        except OpError as error:
            raise with_operation(self.session.graph, error) from error.__cause__
        except UnfitReportError as error:
            if not error.is_larger:
                with self.session.plans.locked(None):
                    self.plans.run_apart(shapes, error.reported)
            return self._run(values, execution)
        except SeparatedCopiesError:
            assert plan is not None
            with self.session.plans.locked(None):
                self.plans.compile_again(plan)
            return self._run(values, execution)
        except UnfitShapesError:
            with self.session.plans.locked(None):
                self.plans.refuse(shapes)
            return self._run(values, execution)
        except BaseException:
            self.session.plans.give_back()
            raise

    def _rehearsed(self, shapes: Shapes) -> list[Any]:
        """Compile the graph for feeds of these shapes, but do not run it. Return zeros in place of
        the fetches' values.
        """
        if self._rehearsal is None:
            wanted = [*(tensor.name for tensor in self.fetches), *(op.name for op in self.targets)]
            title = ", ".join(wanted[:6]) + (" ..." if len(wanted) > 6 else "")
            self._rehearsal = RehearsedRuns(self.session.target, self.fetches, title)
        with self.session.lock:
            return self._rehearsal.run(shapes, partial(self._request, shapes))

    def _promote(self, shapes: Shapes) -> None:
        """Replace the plan of these shapes, whose runs allocate tensors, with a plan that uses the
        sizes that kernels have reported.
        """
        with self.session.plans.locked(None):
            self.plans.promote(shapes)

    def _idle_plan(self, values: Sequence[Any], execution: TracedExecution | None) -> CachedPlan:
        """Find an idle plan for feeds with the shapes of `values`, acquire its lock and its memory,
        and return it.
        """
        limit = None if execution is None else execution.limit
        while True:
            GATE.wait()
            shapes = tuple(map(_shape, values))
            cached = self.plan_for(shapes, execution)
            key = self.plans.key_of(cached.plan, shapes)
            spares = self.plans.spares.get(key, ())
            for candidate in (cached, *spares):
                if try_acquire(candidate.plan):
                    return candidate
            if self.plans.move_off_contended_memory(cached, limit):
                continue
            if not cached.plan.stale and not self._wait_until_idle(cached.plan, limit):
                with self.session.plans.locked(limit):
                    self.session.check_open()
                    spare = self.plans.add_spare(key)
                if try_acquire(spare.plan):
                    return spare

    def _wait_until_idle(self, plan: Plan, limit: TimeLimit | None) -> bool:
        """Wait briefly for another thread to end its run of the plan.

        Return True if the plan is idle, or has completed a run in the meantime. Return False if a
        single long run, or a run of this thread, holds the plan. Raises DeadlineExceededError if
        the time limit has passed.
        """
        runs, is_over = plan.runs, wait_until_idle(plan)
        if is_over is not None:
            return is_over
        self.session.check_open()
        if limit is not None:
            limit.check("while it waited for another run of the same fetches")
        return plan.runs != runs

    def run_with(
        self, values: Sequence[Any], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[Any]:
        """Run the graph as `run` does, with the time limit in `options`. Set the statistics in
        `metadata`.
        """
        chosen = options if options is not None else RunOptions()
        TracedExecution.refuse_pools(chosen, self.session.options.config)
        self.session.unused_options.update(dict.fromkeys(unused(chosen)))
        limit, alone = chosen.timeout_in_ms or self.limit_ms, chosen.inter_op_thread_pool < 0
        if metadata is None:
            return self.run(values, TracedExecution(False, limit, alone))
        costs = self.costs.count_run(self.session.options.config.graph_options)
        trace = costs or chosen.trace_level != RunOptions.NO_TRACE
        execution = TracedExecution(trace, limit, alone)
        results = self.run(values, execution)
        execution.report(chosen, metadata, self.graph_record, costs)
        if trace:
            self.session.last_traced = partial(execution.step_report, self.graph_record)
        return results

    def report(self, values: Sequence[Any]) -> StepReport:
        """Run the graph once with these values and a trace of the steps. Return the report of the
        run.
        """
        execution = TracedExecution(True, self.limit_ms)
        self.run(values, execution)
        self.session.last_traced = partial(execution.step_report, self.graph_record)
        return self.session.last_traced()

    def graph_record(self, plan: Plan) -> GraphRecord:
        """Return the record of a plan's graph.

        The first call compiles the graph once more, because plans do not keep it.
        """
        if plan.graph_record is None:
            request = self._request([shape for _, shape in plan.key.feeds])
            with self.session.lock:
                plan.graph_record = compile_record(self.session.target, request)
        return plan.graph_record

    def explain(self, values: Sequence[Any]) -> Explanation:
        """Return an explanation of a run whose feeds have the shapes of `values`.

        If the run has no plan yet, compile it.
        """
        shapes, sources = tuple(map(_shape, values)), None
        if self.sources is not None:
            fed = [shapes[place] for place in self._places]
            sources = self.sources.plan_for(fed).plan
            if self._element_shapes is None:
                elements = [tensor.shape.sizes for tensor in self.sources.fetches]
                plan = self._compile([*shapes, *elements], self.session.run_memory, None)
                return self.session.explanation(plan, sources)
            shapes += self._element_shapes
        plan = self.plan_for(shapes).plan
        if plan.sizes is not None:
            plan = plan.sizes.described(shapes)
        return self.session.explanation(plan, sources)

    def plan_for(
        self, shapes: Sequence[tuple[int, ...]], execution: TracedExecution | None = None
    ) -> CachedPlan:
        """Return the plan for feeds of these shapes, and compile it if necessary.

        Raises ValueError if a shape does not fit its tensor. Raises all errors of compilation.

        Args:
          execution: an object with the time limit, which also applies to waiting for other
            compilations.
        """
        key = tuple(shapes)
        with self.session.plans.locked(None if execution is None else execution.limit):
            self.session.check_open()
            cached = self.plans.find(key)
            if cached is not None:
                return cached
            for tensor, shape in zip(self.feeds, key):
                refuse_shape(tensor, shape)
            return self.plans.add(key)

    def _request(
        self, shapes: Sequence[OpenShape], report: Callable[[str], Any] | None = None
    ) -> RunRequest:
        """Return the compilation request for feeds of these shapes.

        Args:
          report: see `RunRequest`.
        """
        assert self.session.graph is not None
        feeds = [
            FeedSpec(tensor.name, tensor.dtype.base_dtype, shape)
            for tensor, shape in zip(self.feeds, shapes)
        ]
        return RunRequest(
            *(self.session.graph, feeds, self.fetches, self.targets),
            *(self.connections, self.done, report),
        )

    def _compile(
        self, shapes: Sequence[OpenShape], memory: RunMemory, unit: UnitForShapes | None
    ) -> Plan:
        make = None if unit is None else partial(unit.unit.plan, unit.values)
        try:
            return self.session.compile(self._request(shapes), memory, make)
        except OpError as error:
            raise with_operation(self.session.graph, error) from error.__cause__

    def _compile_open(self, shapes: Sequence[OpenShape], trace: SizeTrace) -> OpenUnit:
        report = trace.report if trace.may_report else None
        return OpenUnit(self.session.target, self._request(shapes, report), trace)

    def _part_of_memory(self, shapes: Shapes) -> float:
        return part_of_memory(self.session.target, self._request(shapes))
