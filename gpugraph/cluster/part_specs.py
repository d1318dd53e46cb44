"""Descriptions of steps, stages and parts, which masters and workers exchange. They refer to
tensors and operations by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpugraph.cluster.collectives.collective_buckets import CollectiveSpec
from gpugraph.cluster.shared_segments import SegmentLease


class StepNames(NamedTuple):
    """The names of a run's feeds, fetches and targets.

    Args:
      connections: pairs of tensor names. The second tensor is read instead of the first.
      done: the operations that earlier calls of a partial run have executed.
    """

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    connections: tuple[tuple[str, str], ...] = ()
    done: tuple[str, ...] = ()


class StageSpec(NamedTuple):
    """A stage of a part (`run_stages.Stage`), with names in place of tensors and operations. The
    part's store is a dict with the values that its stages receive and pass to each other.

    Args:
      feeds, fetches: pairs of a tensor and its key in the part's store.
      receives: triples of a rendezvous key, the sending task, and a key in the store.
      sends: pairs of a rendezvous key and a key in the store.
    """

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
    """The part of one task in all steps that have the same feeds and fetches.

    Args:
      feeds: the names of the feeds that the part reads.
      fetches: the names of the fetches that the part computes.
      others: the other tasks of the run.
    """

    stages: Sequence[StageSpec]
    feeds: Sequence[str]
    fetches: Sequence[str]
    others: Sequence[str]


class StepOptions(NamedTuple):
    """The options of a step.

    Args:
      timeout_ms: the time limit in milliseconds, or 0 for no limit.
      trace: a list to which serialized StepStats are appended, or None.
      leases: a list to which the leases of shared memory with fetched tensors are appended, or None
        if the client can't access shared memory.
      graphs: a list to which serialized GraphDefs for each stage and device are appended, or None.
    """

    timeout_ms: int = 0
    trace: list[bytes] | None = None
    leases: list[SegmentLease] | None = None
    graphs: list[bytes] | None = None

    def take_reports(self, answer: Any) -> None:
        """Append the reports in a Values message, the answer of another process, to the lists of
        these options.
        """
        if self.trace is not None:
            self.trace.extend(answer.step_stats)
        if self.graphs is not None:
            self.graphs.extend(answer.partition_graph)

    def within(self, limit_ms: int) -> StepOptions:
        """Return these options, with the time limit `limit_ms` if they have none."""
        return self if self.timeout_ms else self._replace(timeout_ms=max(limit_ms, 0))


Begin = Callable[[Sequence[str], Sequence[Any]], Any]
"""A function that starts another task's part. Its arguments are the rendezvous keys and the values
of the first tensors that the part receives.
"""

NO_BEGINS: Mapping[str, Begin] = MappingProxyType({})


class PartStep(NamedTuple):
    """One step of a part.

    Args:
      handle: the session's handle.
      part, step: the numbers of the part and of the step.
      values: the fed values.
      others: the other tasks of the step, which are notified of a failure.
      rounds: if the part has collectives, the number of the session's steps so far with any
        collective, followed by the number for each collective of the part.
      begins: functions that start the parts that wait for this part's first stage, by task.
      first: the rendezvous keys and values of tensors that the part has already received when it
        starts.
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
