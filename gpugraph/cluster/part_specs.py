"""Descriptions of runs that masters and workers exchange, by names: of steps, stages and parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpugraph.cluster.collectives.collective_buckets import CollectiveSpec
from gpugraph.cluster.shared_segments import Lease


class StepNames(NamedTuple):
    """Feeds, fetches and targets of a run, by name; pairs are a tensor and the one fed to it."""

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    connections: tuple[tuple[str, str], ...] = ()
    done: tuple[str, ...] = ()


class StageSpec(NamedTuple):
    """A stage of a part (`run_stages.Stage`) by names: pairs are tensor and key."""

    feeds: Sequence[tuple[str, str]]
    fetches: Sequence[tuple[str, str]]
    targets: Sequence[str]
    connections: Sequence[tuple[str, str]]
    done: Sequence[str]
    receives: Sequence[tuple[str, str, str]]
    sends: Sequence[tuple[str, str]]
    collectives: Sequence[CollectiveSpec] = ()
    takes: Sequence[str] = ()


class PartSpec(NamedTuple):
    """The part of a task in the steps of one run. others: the other tasks of the run."""

    stages: Sequence[StageSpec]
    feeds: Sequence[str]
    fetches: Sequence[str]
    others: Sequence[str]


class StepOptions(NamedTuple):
    """The options of a step: its time limit (0: none), and a list for StepStats as bytes, or None.

    graphs: a list for the stages' graphs of each device, GraphDefs as bytes, or None.
    leases: a list for the leases of shared memory that holds fetched tensors, if the client has
    access to it.
    """

    timeout_ms: int = 0
    trace: list[bytes] | None = None
    leases: list[Lease] | None = None
    graphs: list[bytes] | None = None

    def take_reports(self, answer: Any) -> None:
        """Copy the requested reports from another process's answer, a Values message."""
        if self.trace is not None:
            self.trace.extend(answer.step_stats)
        if self.graphs is not None:
            self.graphs.extend(answer.partition_graph)

    def within(self, limit_ms: int) -> StepOptions:
        """Return these options, with the limit if they have none."""
        return self if self.timeout_ms else self._replace(timeout_ms=max(limit_ms, 0))


Begin = Callable[[Sequence[str], Sequence[Any]], Any]
"""Starts the part of another task with the names and values of the first tensors it receives."""

NO_BEGINS: Mapping[str, Begin] = MappingProxyType({})


class PartStep(NamedTuple):
    """A step of a part: the session, the part's number, the fed values, the options.

    others: the other tasks of the step, which are notified of a failure. rounds: if the part has
    collectives, the number of the session's steps with any, and the number with each of them.
    begins: by task, starts the parts that wait for this one's first stage. first: the names and
    values with which the part is started.
    """

    handle: str
    part: int
    step: int
    values: Sequence[Any]
    options: StepOptions
    others: Sequence[str]
    rounds: Sequence[int] = ()
    begins: Mapping[str, Begin] = NO_BEGINS
    first: tuple[Sequence[str], Sequence[Any]] = ((), ())
