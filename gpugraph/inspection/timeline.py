"""Timeline: TensorFlow's conversion of step statistics to a Chrome trace.

Names, arguments and defaults are the same as in `tensorflow/python/client/timeline.py` of
TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.inspection.chrome_trace import TraceEvents, start_of


class AllocationMaximum(NamedTuple):
    """The peak of an allocator.

    Args:
      timestamp: the time of the peak, in microseconds since the epoch.
      num_bytes: the bytes in use at the peak.
      tensors: the name of the step at the peak.
    """

    timestamp: float
    num_bytes: int
    tensors: frozenset[str]


class ChromeTrace:
    """A trace that can be formatted as JSON."""

    def __init__(self, events: TraceEvents) -> None:
        self._events = events

    def format_to_string(self, pretty: bool = False) -> str:
        """Return the trace as JSON. If `pretty` is true, the JSON is indented."""
        return self._events.as_json(4 if pretty else None)


class StepStatsAnalysis(NamedTuple):
    """The result of `Timeline.analyze_step_stats`."""

    chrome_trace: ChromeTrace
    allocator_maximums: dict[str, AllocationMaximum]


class Timeline:
    """The steps of a run over time.

        timeline = Timeline(run_metadata.step_stats)
        text = timeline.generate_chrome_trace_format()

    Args:
      step_stats: a StepStats message, from gpugraph or TensorFlow.
      graph: not used.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        if not hasattr(step_stats, "dev_stats"):
            raise TypeError(
                f"step_stats must be a StepStats, but it is {step_stats!r}: run with "
                "tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) and run_metadata"
            )
        self._step_stats = step_stats
        self._graph = graph

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False
    ) -> str:
        """Return a trace as JSON, which chrome://tracing and ui.perfetto.dev open.

        Args:
          show_dataflow: whether to add arrows for tensors that move between devices.
          show_memory: whether to add counters of live bytes.
        """
        return self._trace(show_dataflow, show_memory).as_json()

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True
    ) -> StepStatsAnalysis:
        """Return the trace, and the peak of each allocator.

        The arguments are the same as in `generate_chrome_trace_format`.
        """
        trace = ChromeTrace(self._trace(show_dataflow, show_memory))
        return StepStatsAnalysis(trace, allocator_maximums(self._step_stats))

    def _trace(self, dataflow: bool, memory: bool) -> TraceEvents:
        events = TraceEvents()
        events.add(self._step_stats, dataflow, memory)
        return events


def allocator_maximums(step_stats: Any) -> dict[str, AllocationMaximum]:
    """Return, by the name of each allocator, the peak of its bytes in use."""
    maximums: dict[str, AllocationMaximum] = {}
    for device in step_stats.dev_stats:
        for stats in device.node_stats:
            for used in stats.memory:
                known = maximums.get(used.allocator_name)
                if known is None or used.allocator_bytes_in_use > known.num_bytes:
                    maximums[used.allocator_name] = AllocationMaximum(
                        start_of(stats), used.allocator_bytes_in_use, frozenset([stats.node_name])
                    )
    return maximums
