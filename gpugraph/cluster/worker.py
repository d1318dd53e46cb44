"""Worker: runs the parts of steps that are on the devices of one task."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import AbortedError, OpError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.collectives.collective_buckets import CollectiveSpec
from gpugraph.cluster.collectives.collective_peers import CollectivePeers
from gpugraph.cluster.collectives.collective_runs import BucketRun, CollectiveStep
from gpugraph.cluster.shared_segments import SegmentPool
from gpugraph.cluster.step_mailbox import StepLimit, StepMailbox, StepMailboxes
from gpugraph.cluster.task_sessions import (
    SessionGraph,
    TaskDevices,
    TaskSession,
    from_task,
    session_of,
)
from gpugraph.config import ConfigProto
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.session import Runner
from gpugraph.session.feed_conversion import feed_array, refuse_shape
from gpugraph.session.traced_execution import TracedExecution

MOST_PARTS = 1024
"""Of one session on a worker; the part that was run least recently goes first."""

_NEVER_S = 1e9
_SIGNAL = np.zeros(0, np.bool_)

Receive = Callable[[str, int, Sequence[str], float], Any]
"""Asks a task for the values of keys of a step, for at most some seconds (0: for ever).

What it gives waits for them when it is called, and may be cancelled.
"""


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


class _CompiledStage(NamedTuple):
    """A stage with what runs it."""

    spec: StageSpec
    runner: Runner | None
    feeds: Sequence[tuple[Tensor, str]]
    fetches: Mapping[str, int]


class _Part(NamedTuple):
    """What this task does in the steps of one set of feeds and fetches.

    lent: keys of results of collectives that leave the task, so that they are copied.
    """

    stages: Sequence[_CompiledStage]
    feeds: Sequence[str]
    fetches: Sequence[str]
    num_sent: int
    may_wait: bool
    collectives: Sequence[tuple[CollectiveSpec, Sequence[Operation]]]
    lent: Collection[str]


class WorkerSession:
    """A session on this task: the client's graph, and the parts that were registered."""

    def __init__(self, task: TaskDevices, config: ConfigProto, graph: SessionGraph) -> None:
        self.graph = graph
        self.direct = TaskSession(task, config, graph.graph)
        self.segments = SegmentPool()
        self._parts: OrderedDict[int, _Part] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = new_lock()

    def register(
        self, stages: Sequence[StageSpec], feeds: Sequence[str], fetches: Sequence[str]
    ) -> int:
        """The number of a new part; InvalidArgumentError for names that the graph has not."""
        compiled = [self._compiled(stage) for stage in stages]
        num_sent = sum(len(stage.sends) for stage in stages)
        collectives = [
            (spec, self.graph.operations(spec.operations))
            for stage in stages
            for spec in stage.collectives
        ]
        may_wait = len(stages) > 1 or any(stage.receives for stage in stages) or self._waits()
        results = {f"{name}:0" for stage in stages for name in stage.takes}
        sent = {key for stage in stages for _, key in stage.sends}
        part = _Part(
            *(compiled, feeds, fetches, num_sent, may_wait or bool(collectives), collectives),
            results & sent.union(fetches),
        )
        with self._lock:
            number = next(self._numbers)
            self._parts[number] = part
            while len(self._parts) > MOST_PARTS:
                self._parts.popitem(last=False)
        return number

    def part(self, number: int) -> _Part:
        """The part of a number; AbortedError where it is not there."""
        with self._lock:
            part = self._parts.get(number)
            if part is None:
                raise AbortedError.of_no_node(f"The part {number} of the graph is not registered")
            self._parts.move_to_end(number)
            return part

    def _waits(self) -> bool:
        """Whether an operation of the graph may wait for other runs."""
        types = {op.type for op in self.graph.graph._ops}
        return any(word in kind for kind in types for word in _WAITING)

    def _compiled(self, spec: StageSpec) -> _CompiledStage:
        graph = self.graph
        keys = [key for _, key in spec.feeds]
        feeds = list(zip(graph.tensors([name for name, _ in spec.feeds]), keys))
        tensors = graph.tensors([name for name, _ in spec.fetches])
        fetched = dict(zip([key for _, key in spec.fetches], tensors))
        unique = list(dict.fromkeys(fetched.values()))
        positions = {key: unique.index(tensor) for key, tensor in fetched.items()}
        runner = None
        if unique or spec.targets:
            runner = self.direct.prepare(
                [tensor for tensor, _ in feeds],
                unique,
                graph.operations(spec.targets),
                graph.connections(spec.connections),
                graph.operations(spec.done),
            )
        return _CompiledStage(spec, runner, feeds, positions)


_WAITING = ("Queue", "Barrier", "Accumulator", "Reader", "Stage", "Map", "PyFunc", "Enter")
"""What the names of op types hold that may wait for other runs, or run for long."""


class Worker:
    """The sessions and steps of one task. `receive` asks other tasks for tensors."""

    def __init__(self, task: TaskDevices, receive: Receive) -> None:
        self.task, self._receive = task, receive
        self._sessions: dict[str, WorkerSession] = {}
        self._lock = new_lock()
        self.mailboxes = StepMailboxes()
        self.is_stopped = False
        self.peers: CollectivePeers | None = None  # of a server with other tasks

    def register_graph(
        self, handle: str, config: ConfigProto, content: bytes, old_version: int, new_version: int
    ) -> None:
        """Adds to the graph of a session, which begins with its first GraphDef."""
        with self._lock:
            session = self._sessions.get(handle)
            if session is None:
                if old_version:
                    raise AbortedError.of_no_node(
                        f"{self.task.name} does not know the session {handle}: it was started anew"
                    )
                session = WorkerSession(self.task, config, SessionGraph())
                self._sessions[handle] = session
        session.graph.extend(content, old_version, new_version)

    def adopt(self, handle: str, config: ConfigProto, graph: SessionGraph) -> WorkerSession:
        """The session of the master in this process, whose graph it shares."""
        with self._lock:
            session = self._sessions.get(handle)
            if session is None:
                session = self._sessions[handle] = WorkerSession(self.task, config, graph)
            return session

    def session(self, handle: str) -> WorkerSession:
        """A session; AbortedError where this task does not know it."""
        return session_of(self._sessions, handle, self.task.name)

    def run_part(
        self, handle: str, number: int, step: int, values: Sequence[Any], timeout_ms: int
    ) -> list[Any]:
        """The values of the part's fetches in this step."""
        session = self.session(handle)
        part = session.part(number)
        if len(values) != len(part.feeds):
            raise invalid_argument(f"{len(values)} values were fed to {len(part.feeds)} tensors")
        fed = dict(zip(part.feeds, values))
        if not part.may_wait and not timeout_ms and not part.num_sent:
            return self._run_at_once(session, part, fed)
        mailbox = self.mailboxes.of(step)
        collectives = self._collectives(session, handle, part, step)
        failure: OpError | None = None
        try:
            store = self._run_stages(session, part, fed, step, mailbox, timeout_ms, collectives)
        except OpError as error:
            failure = from_task(self.task.name, error)
            self.mailboxes.abort(step, failure)
            raise failure from error
        except BaseException as error:
            failure = _ending(error)
            self.mailboxes.abort(step, failure)
            raise
        finally:
            if collectives is not None:
                collectives.close(failure)
        self.mailboxes.note(step, mailbox, num_sent=part.num_sent)
        return [store[key] for key in part.fetches]

    def _collectives(
        self, session: WorkerSession, handle: str, part: _Part, step: int
    ) -> CollectiveStep | None:
        """What does the collectives over processes of a run, where there are such."""
        if not part.collectives:
            return None
        assert self.peers is not None
        pool = session.segments
        buckets = [BucketRun(spec, operations, pool) for spec, operations in part.collectives]
        return CollectiveStep(self.peers, pool, handle, step, buckets)

    def _run_at_once(self, session: WorkerSession, part: _Part, fed: dict[str, Any]) -> list[Any]:
        """Runs a part of one stage that takes nothing of other tasks and sends nothing."""
        try:
            for stage in part.stages:
                self._run_stage(session, stage, fed, None)
        except OpError as error:
            raise from_task(self.task.name, error) from error
        return [fed[key] for key in part.fetches]

    def _run_stages(
        self,
        session: WorkerSession,
        part: _Part,
        store: dict[str, Any],
        step: int,
        mailbox: StepMailbox,
        timeout_ms: int,
        collectives: CollectiveStep | None,
    ) -> dict[str, Any]:
        seconds = timeout_ms / 1000 if timeout_ms else _NEVER_S
        limit = StepLimit(seconds, monotonic() + seconds)
        limit.mailbox = mailbox
        limit_s = timeout_ms / 1000
        arriving = [self._ask(stage.spec, step, mailbox, limit_s) for stage in part.stages]
        if mailbox.failure is not None:  # the step may have ended before it knew of these calls
            for cancel in mailbox.cancels:
                cancel()
            raise mailbox.failure
        for stage, calls in zip(part.stages, arriving):
            for keys, call in calls:
                try:
                    store |= zip(keys, call())
                except OpError:
                    if mailbox.failure is not None:
                        raise mailbox.failure from None
                    raise
            limit.check("before a stage")
            if collectives is not None:
                self._take_results(stage.spec, part, collectives, store, limit)
                collectives.begin(stage.spec.collectives)
            self._run_stage(session, stage, store, limit, collectives)
            for meeting, key in stage.spec.sends:
                mailbox.rendezvous.send(meeting, store[key] if key else _SIGNAL)
        if collectives is not None:
            collectives.wait_for_all(limit)
        return store

    def _take_results(
        self,
        spec: StageSpec,
        part: _Part,
        collectives: CollectiveStep,
        store: dict[str, Any],
        limit: StepLimit,
    ) -> None:
        """Waits for the results of collectives that a stage needs."""
        for key, value in collectives.results(spec.takes, limit).items():
            store[key] = np.array(value) if key in part.lent else value

    def _ask(
        self, spec: StageSpec, step: int, mailbox: StepMailbox, limit_s: float
    ) -> list[tuple[list[str], Callable[[], Sequence[Any]]]]:
        """Asks other tasks for what a stage takes of them: its keys, and what waits for them."""
        by_task: dict[str, list[tuple[str, str]]] = {}
        for meeting, task, key in spec.receives:
            by_task.setdefault(task, []).append((meeting, key))
        calls = []
        for task, wanted in by_task.items():
            call = self._receive(task, step, [meeting for meeting, _ in wanted], limit_s)
            mailbox.cancels.append(call.cancel)
            calls.append(([key for _, key in wanted], call))
        return calls

    def _run_stage(
        self,
        session: WorkerSession,
        stage: _CompiledStage,
        store: dict[str, Any],
        limit: StepLimit | None,
        collectives: CollectiveStep | None = None,
    ) -> None:
        if stage.runner is None:
            return
        values = []
        for tensor, key in stage.feeds:
            value = feed_array(tensor, store[key])
            refuse_shape(tensor, value.shape)
            values.append(value)
        execution = None
        if limit is not None:
            execution = TracedExecution(False, 0)
            execution.limit = limit
            execution.take = None if collectives is None else collectives.take
        results = stage.runner.run(values, execution)  # type: ignore[call-arg]
        for key, position in stage.fetches.items():
            store[key] = results[position]

    def receive(self, step: int, keys: Sequence[str]) -> list[Any]:
        """What this task sends to others in a step, as soon as it is there."""
        mailbox = self.mailboxes.of(step)
        values = mailbox.receive(keys, lambda: not self.is_stopped)
        self.mailboxes.note(step, mailbox, num_taken=len(keys))
        return values

    def abort(self, step: int, error: OpError) -> None:
        """Ends a step."""
        self.mailboxes.abort(step, error)

    def close_session(self, handle: str) -> None:
        """Forgets a session, with its graph and parts; nothing where it is not known."""
        with self._lock:
            session = self._sessions.pop(handle, None)
        if session is not None:
            session.direct.close()
            session.segments.clear()

    def clear(self, containers: Sequence[str]) -> None:
        """Clears these containers."""
        self.task.clear(containers)

    def stop(self) -> None:
        """Ends all steps and sessions."""
        self.is_stopped = True
        if self.peers is not None:
            self.peers.stop()
        self.mailboxes.abort_all(_stopped(self.task.name))
        for handle in list(self._sessions):
            self.close_session(handle)
        self.task.close()


def _stopped(task: str) -> AbortedError:
    return AbortedError.of_no_node(f"The server of {task} has stopped")


def _ending(error: BaseException) -> OpError:
    """What others of the step are told."""
    return AbortedError.of_no_node(f"Another part of the step ended with {type(error).__name__}")
