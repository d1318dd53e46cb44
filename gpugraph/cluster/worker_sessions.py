"""Sessions on a worker: the client's graph, and the compiled parts of the session's runs that
belong to this task.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from gpugraph.base.dtypes import string
from gpugraph.base.errors import AbortedError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.collectives.collective_buckets import CollectiveSpec
from gpugraph.cluster.part_specs import PartSpec, StageSpec
from gpugraph.cluster.task_sessions import SessionGraph, TaskDevices, TaskSession
from gpugraph.config import ConfigProto
from gpugraph.devices import KeptTensors
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.session.direct_runner import DirectRunner
from gpugraph.session.tensor_handles import gives_handle

MAX_PARTS = 1024
"""The maximum number of parts that one session registers on a worker. If there are more, the least
recently run part is dropped.
"""

CLIENT = ""
"""Represents the client among the receivers of a fetch; all other receivers are tasks."""


class CompiledStage(NamedTuple):
    """A stage with its runner. The runner is None if the stage computes nothing.

    Args:
      feeds: pairs of a tensor and the key of its value.
      fetches: maps the key of a result to its index among the runner's results.
      receives, sends: for each other task, the rendezvous keys of values, and the values' keys in
        the store.
      lendable: maps the index of each fetch that may be in shared memory to the fetch's receivers
        (tasks, or CLIENT).
      large: the indices of the fetches that have been larger than `INLINE_BYTES`.
      handles: maps the key of a tensor handle to the session's kept tensors, or to None if the
        client does not fetch the handle.
    """

    spec: StageSpec
    runner: DirectRunner | None
    feeds: Sequence[tuple[Tensor, str]]
    fetches: Mapping[str, int]
    receives: Sequence[tuple[str, Sequence[str], Sequence[str]]]
    sends: Sequence[tuple[str, Sequence[str], Sequence[str]]]
    lendable: Mapping[int, Sequence[str]]
    large: set[int]
    handles: Mapping[str, KeptTensors | None]


class TaskPart(NamedTuple):
    """The work of this task in the steps of one set of feeds and fetches.

    Args:
      is_alone: whether the part exchanges no tensors with other tasks and has no collective over
        several processes.
      waits: whether the part may wait for other runs.
      lent: the keys of the results of collectives that are sent or fetched. These results are
        copied, because the next run overwrites the memory of the collectives.
      copied: the keys of received values that are fetched. These values are copied.
    """

    stages: Sequence[CompiledStage]
    feeds: Sequence[str]
    fetches: Sequence[str]
    others: Sequence[str]
    is_alone: bool
    waits: bool
    collectives: Sequence[tuple[CollectiveSpec, Sequence[Operation]]]
    lent: Collection[str]
    copied: frozenset[str]

    def check(self, num_values: int, num_rounds: int) -> None:
        """Raise InvalidArgumentError if a step does not have the number of values or of rounds that
        this part requires.
        """
        if num_values != len(self.feeds):
            raise invalid_argument(f"{num_values} values were fed to {len(self.feeds)} tensors")
        if num_rounds != (len(self.collectives) + 1 if self.collectives else 0):
            raise invalid_argument(f"{num_rounds} counts for {len(self.collectives)} collectives")


class WorkerSession:
    """A session on this task: the client's graph, and its registered parts."""

    def __init__(self, task: TaskDevices, config: ConfigProto, graph: SessionGraph) -> None:
        self.graph = graph
        self.direct = TaskSession(task, config, graph.graph)
        self._parts: OrderedDict[int, TaskPart] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = new_lock()

    def register(self, spec: PartSpec) -> int:
        """Register a new part and return its number.

        Raises InvalidArgumentError if a name does not exist in the graph, or if no stage supplies a
        value that is needed.
        """
        _refuse_gaps(spec)
        stages, feeds, fetches, others = spec
        compiled = [self._compiled(stage, fetches) for stage in stages]
        collectives = [
            (collective, self.graph.operations(collective.operations))
            for stage in stages
            for collective in stage.collectives
        ]
        results = {f"{name}:0" for stage in stages for name in stage.takes}
        sent = {key for stage in stages for _, key in stage.sends}
        is_alone = not (others or collectives)
        waits = may_wait(self.graph.graph) or bool(collectives)
        part = TaskPart(
            *(compiled, feeds, fetches, others, is_alone, waits, collectives),
            *(results & sent.union(fetches), frozenset(fetches)),
        )
        with self._lock:
            number = next(self._numbers)
            self._parts[number] = part
            while len(self._parts) > MAX_PARTS:
                self._parts.popitem(last=False)
        return number

    def part(self, number: int) -> TaskPart:
        """Return the part with this number. Raises AbortedError if there is no such part."""
        with self._lock:
            part = self._parts.get(number)
            if part is None:
                raise AbortedError.of_no_node(f"The part {number} of the graph is not registered")
            self._parts.move_to_end(number)
            return part

    def _compiled(self, spec: StageSpec, fetches: Sequence[str]) -> CompiledStage:
        graph = self.graph
        keys = [key for _, key in spec.feeds]
        feeds = list(zip(graph.tensors([name for name, _ in spec.feeds]), keys))
        tensors = graph.tensors([name for name, _ in spec.fetches])
        fetched = dict(zip([key for _, key in spec.fetches], tensors))
        unique = list(dict.fromkeys(fetched.values()))
        positions = {key: unique.index(tensor) for key, tensor in fetched.items()}
        runner: DirectRunner | None = None
        if unique or spec.targets:
            runner = self.direct.prepare(
                [tensor for tensor, _ in feeds],
                unique,
                graph.operations(spec.targets),
                graph.connections(spec.connections),
                graph.operations(spec.done),
            )
        receives = _by_task((task, meeting, key) for meeting, task, key in spec.receives)
        sends = _by_task((meeting.rpartition(">")[2], meeting, key) for meeting, key in spec.sends)
        lendable: dict[int, list[str]] = {}
        for task, _, sent in sends:
            for key in sent:
                if key in positions:
                    lendable.setdefault(positions[key], []).append(task)
        for key in positions.keys() & {*fetches}:
            lendable.setdefault(positions[key], []).append(CLIENT)
        lendable = {
            place: receivers
            for place, receivers in lendable.items()
            if unique[place].dtype.base_dtype is not string and not gives_handle(unique[place])
        }
        kept = self.direct.kept_tensors
        handles = {
            key: kept if key in fetches else None
            for key, tensor in fetched.items()
            if gives_handle(tensor)
        }
        places = positions, receives, sends
        return CompiledStage(spec, runner, feeds, *places, lendable, set(), handles)


def _refuse_gaps(spec: PartSpec) -> None:
    """Raise InvalidArgumentError if a stage, or the client, needs a value that nothing supplies."""
    known = {"", *spec.feeds}
    for stage in spec.stages:
        tasks = {task for _, task, _ in stage.receives}
        tasks |= {meeting.rpartition(">")[2] for meeting, _ in stage.sends}
        if not tasks.issubset(spec.others):
            strange = min(tasks.difference(spec.others))
            raise invalid_argument(f"{strange!r:.80} has no part in the run of a stage")
        known.update(key for _, _, key in stage.receives)
        known.update(f"{name}:0" for name in stage.takes)
        missing = {key for _, key in stage.feeds} - known
        known.update(key for _, key in stage.fetches)
        missing |= {key for _, key in stage.sends} - known
        if missing:
            raise invalid_argument(f"Nothing supplies {min(missing)!r:.80} to a stage of the part")
    if not known.issuperset(spec.fetches):
        raise invalid_argument("Nothing supplies the fetched values of the part")


def _by_task(
    transfers: Iterable[tuple[str, str, str]],
) -> list[tuple[str, Sequence[str], Sequence[str]]]:
    """Group transfers (task, rendezvous key, key) by task. Each task has a list of rendezvous keys
    and a list of keys.
    """
    grouped: dict[str, tuple[list[str], list[str]]] = {}
    for task, meeting, key in transfers:
        names, keys = grouped.setdefault(task, ([], []))
        names.append(meeting)
        keys.append(key)
    return [(task, names, keys) for task, (names, keys) in grouped.items()]


def may_wait(graph: Graph) -> bool:
    """Return whether a run of the graph may wait for other runs. The op types in the graph
    determine the answer.
    """
    types = {op.type for op in graph._ops}
    return any(word in kind for kind in types for word in _WAITING)


_WAITING = ("Queue", "Barrier", "Accumulator", "Reader", "Stage", "Map", "PyFunc", "Enter")
"""Substrings of the types of ops that may wait for other runs, or may run for a long time."""
