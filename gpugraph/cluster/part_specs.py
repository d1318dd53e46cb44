"""What masters and workers tell each other of runs, by names: of steps, stages and parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpugraph.cluster.collectives.collective_buckets import CollectiveSpec
from gpugraph.cluster.shared_segments import Lease


class StepNames(NamedTuple):
    """What a run feeds, fetches and runs, by names; pairs are of a tensor and what is fed to it."""

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    connections: tuple[tuple[str, str], ...] = ()
    done: tuple[str, ...] = ()


class StageSpec(NamedTuple):
    """A stage of a part (`run_stages.Stage`) by names: pairs are of tensor and key."""

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
    """What a task does in the steps of one run. others: the other tasks of the run."""

    stages: Sequence[StageSpec]
    feeds: Sequence[str]
    fetches: Sequence[str]
    others: Sequence[str]


class StepOptions(NamedTuple):
    """How a step is run: its time limit (0: none), and what takes StepStats as bytes, or None.

    graphs: takes the stages' graphs of each device, GraphDefs as bytes, or None.
    leases: takes those of the shared memory in which fetched tensors are, where the client sees it.
    """

    timeout_ms: int = 0
    trace: list[bytes] | None = None
    leases: list[Lease] | None = None
    graphs: list[bytes] | None = None

    def take_reports(self, answer: Any) -> None:
        """Take over what another process's answer, a Values message, has of the wanted reports."""
        if self.trace is not None:
            self.trace.extend(answer.step_stats)
        if self.graphs is not None:
            self.graphs.extend(answer.partition_graph)

    def within(self, limit_ms: int) -> StepOptions:
        """These, with the limit where they have none of their own."""
        return self if self.timeout_ms else self._replace(timeout_ms=max(limit_ms, 0))


Begin = Callable[[Sequence[str], Sequence[Any]], Any]
"""What begins the part of another task with the first tensors that it takes: names and values."""

NO_BEGINS: Mapping[str, Begin] = MappingProxyType({})


class PartStep(NamedTuple):
    """A step of a part: the session, the part's number, the fed values, how it is run.

    others: the other tasks of the step, which are told of a failure. rounds: where the part has
    collectives, how many steps of the session have had any, and for each how many had this one.
    begins: by task, what begins the parts that wait for what this one's first stage sends. first:
    what the part is begun with, by names and values.
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
