"""Runs of a plan with a time limit, or with statistics of the steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.config import ConfigProto, GraphOptions, RunMetadata, RunOptions
from gpugraph.inspection.plain_messages import as_message
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.inspection.step_statistics import cost_graph, partition_graphs, step_statistics
from gpugraph.plan import FetchDestination, GraphRecord, Plan, Take, TimeLimit
from gpugraph.plan.pipeline_spans import Span, recording_spans, spans_between
from gpugraph.runtime import StepTrace, execute_traced
from gpugraph.session.explanations.pipeline_texts import measured_pipelines

RUN_LISTENERS: list[Callable[[Any, TracedExecution], None]] = []
"""Functions that are called after each run, with the runner and the execution.

They apply to runners that are prepared while this list is not empty. All runs of these runners are
traced.
"""


class TracedExecution:
    """A callable that executes a plan once, with a time limit, or with a trace.

    `times` and `plan` are the recorded times and the plan after the run. During the run, `take`
    receives the inputs of collectives from kernels, and `place` provides the memory of fetched
    arrays. `spans` has the time spans of data pipelines during a run with a trace.

    Args:
      trace: whether to record the times of the steps.
      limit_ms: the time limit in milliseconds from now. 0 means no limit.
      one_thread: whether all work is done in the calling thread.
    """

    def __init__(self, trace: bool, limit_ms: int, one_thread: bool = False) -> None:
        self.trace = trace
        self.one_thread = one_thread
        self.limit = TimeLimit.of(limit_ms / 1000) if limit_ms > 0 else None
        self.times: StepTrace | None = None
        self.plan: Plan | None = None
        self.take: Take | None = None
        self.place: FetchDestination | None = None
        self.spans: list[Span] = []
        self._first: tuple[TracedExecution, Callable[[Plan], GraphRecord]] | None = None

    def of_sources(self, graph_record: Callable[[Plan], GraphRecord]) -> TracedExecution:
        """Return the execution of the sources, which the run begins with. This execution includes
        its statistics.

        Args:
          graph_record: a function that returns the record of the plan of the sources.
        """
        first = TracedExecution(self.trace, 0, self.one_thread)
        first.limit = self.limit
        self._first = first, graph_record
        return first

    def _whole(
        self, graph_record: Callable[[Plan], GraphRecord]
    ) -> tuple[StepTrace | None, GraphRecord]:
        """Return the times and the graph of the whole run, including those of its sources."""
        assert self.plan is not None
        times, record = self.times, graph_record(self.plan)
        if self._first is None:
            return times, record
        first, record_of = self._first
        if first.plan is None:
            return times, record
        earlier, sources = first._whole(record_of)
        if times is not None and earlier is not None:
            times = times.after(earlier)
        return times, record.after(sources)

    def _all_spans(self) -> list[Span]:
        return self.spans if self._first is None else [*self._first[0].spans, *self.spans]

    def __call__(self, plan: Plan, values: Sequence[Any], runner: Any) -> list[Any]:
        self.plan = plan
        plan.clock.one_thread, plan.clock.take = self.one_thread, self.take
        try:
            with self._spans(runner):
                results, self.times = execute_traced(
                    plan, values, self.trace, self.limit, self.place
                )
        finally:
            plan.clock.one_thread, plan.clock.take = False, None
        for listener in RUN_LISTENERS:
            listener(runner, self)
        return results

    @contextmanager
    def _spans(self, runner: Any) -> Iterator[None]:
        """Record the spans of the session's pipelines during a run with a trace."""
        if not self.trace:
            yield
            return
        measured_pipelines(runner.session.target.resources)
        begun = time.time_ns()
        with recording_spans():
            yield
            self.spans = spans_between(begun, time.time_ns())

    def report(
        self,
        options: RunOptions,
        metadata: RunMetadata,
        graph_record: Callable[[Plan], GraphRecord],
        costs: bool,
    ) -> None:
        """Set the fields of `metadata` to functions that build the messages on first access.

        Args:
          costs: whether to include a cost graph.
        """
        metadata.Clear()  # fields of an earlier run
        plan, times = self.plan, self.times
        if plan is None or not (times is not None or options.output_partition_graphs):
            return
        all_times, record = self._whole(graph_record)
        if all_times is not None:
            spans = self._all_spans()
            metadata.step_stats = lambda: as_message(step_statistics(all_times, record, spans))
            if costs:
                metadata.cost_graph = lambda: as_message(cost_graph(all_times, record))
        if options.output_partition_graphs:
            metadata.partition_graphs = lambda: partition_graphs(record)

    def statistics(self, graph_record: Callable[[Plan], GraphRecord]) -> Any:
        """Return the StepStats message of the traced run."""
        times, record = self._whole(graph_record)
        assert times is not None
        return as_message(step_statistics(times, record, self._all_spans()))

    def partition_graphs(self, graph_record: Callable[[Plan], GraphRecord]) -> list[Any]:
        """Return the compiled graph of each device, as a GraphDef."""
        return [] if self.plan is None else partition_graphs(self._whole(graph_record)[1])

    def step_report(self, graph_record: Callable[[Plan], GraphRecord]) -> StepReport:
        """Return the report of the traced run, from which an HTML page is built."""
        times, record = self._whole(graph_record)
        assert self.plan is not None and times is not None
        return StepReport(self.plan, times, record)

    @staticmethod
    def refuse_pools(options: RunOptions, config: ConfigProto) -> None:
        """Raise InvalidArgumentError if the options name a thread pool that does not exist."""
        count = max(1, len(config.session_inter_op_thread_pool))
        if options.inter_op_thread_pool not in range(-1, count):
            raise invalid_argument(
                f"Invalid inter_op_thread_pool: {options.inter_op_thread_pool}. There are 0 to "
                f"{count - 1}, the session's, and -1, the calling thread"
            )


class CostModelRuns:
    """A counter of the runs with RunMetadata. It determines which of these runs return a cost
    graph.
    """

    def __init__(self) -> None:
        self._count = 0

    def count_run(self, options: GraphOptions) -> bool:
        """Count a run. Return whether its metadata has a cost graph.

        After the first `build_cost_model_after` runs, every `build_cost_model`-th run has a cost
        graph.
        """
        number = self._count - options.build_cost_model_after
        self._count += 1
        every = options.build_cost_model
        return every > 0 and number >= 0 and number % every == 0
