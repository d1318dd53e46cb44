"""Worker: the object that runs the parts of each session run that are on one task."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import AbortedError, OpError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.collectives.collective_meetings import Round
from gpugraph.cluster.collectives.collective_peers import CollectivePeers
from gpugraph.cluster.collectives.collective_runs import BucketRun, CollectiveStep
from gpugraph.cluster.part_specs import PartStep, StageSpec, StepOptions
from gpugraph.cluster.peer_tasks import PeerTasks, SeenByTask
from gpugraph.cluster.shared_segments import SegmentLease
from gpugraph.cluster.step_mailbox import SLICE_S, StepLimit, StepMailbox, StepMailboxes
from gpugraph.cluster.task_sessions import SessionGraph, TaskDevices, from_task, session_of
from gpugraph.cluster.wire_values import INLINE_BYTES
from gpugraph.cluster.worker_sessions import CLIENT, CompiledStage, TaskPart, WorkerSession
from gpugraph.config import ConfigProto
from gpugraph.devices import KeptTensors, MemoryUse, memory_use
from gpugraph.plan import FetchDestination
from gpugraph.session.feed_conversion import feed_array, refuse_shape
from gpugraph.session.traced_execution import TracedExecution

CLIENT_IS_GONE = "its client is gone"
"""The reason in errors of members that share collectives with a session whose client is gone."""

_NEVER_S = 1e9
_PLAIN = StepOptions()
_MAX_KEPT = 1024
"""The maximum number of steps for which the worker records the tensors that sessions keep."""

_SIGNAL = np.zeros(0, np.bool_)


class Worker:
    """The sessions and steps of one task."""

    def __init__(self, task: TaskDevices, others: PeerTasks) -> None:
        self.task, self._others = task, others
        self._sessions: dict[str, WorkerSession] = {}
        self._lock = new_lock()
        self._segments = others.segments
        self.mailboxes = StepMailboxes(self._forget)
        self._kept_of: OrderedDict[int, list[tuple[KeptTensors, str]]] = OrderedDict()  # by step
        self.is_stopped = False
        self.peers: CollectivePeers | None = None  # of a server with other tasks

    def register_graph(
        self, handle: str, config: ConfigProto, content: bytes, old_version: int, new_version: int
    ) -> None:
        """Extend a session's graph with a serialized GraphDef. The first call creates the
        session.
        """
        with self._lock:
            session = self._sessions.get(handle)
            if session is None:
                if old_version:
                    raise AbortedError.of_no_node(
                        f"{self.task.name} has no session {handle}: it was restarted"
                    )
                session = WorkerSession(self.task, config, SessionGraph())
                self._sessions[handle] = session
        session.graph.extend(content, old_version, new_version)

    def adopt(self, handle: str, config: ConfigProto, graph: SessionGraph) -> WorkerSession:
        """Return the worker's session for the master in this process. The master and the worker's
        session use the same graph.
        """
        with self._lock:
            session = self._sessions.get(handle)
            if session is None:
                session = self._sessions[handle] = WorkerSession(self.task, config, graph)
            return session

    def session(self, handle: str) -> WorkerSession:
        """Return a session. Raises AbortedError if this task has no such session."""
        return session_of(self._sessions, handle, self.task.name)

    def has(self, handle: str) -> bool:
        """Return whether the worker has a session with this handle."""
        return handle in self._sessions

    def run_part(self, part_step: PartStep) -> list[Any]:
        """Run one step of a part and return the values of the part's fetches."""
        return self.begun(part_step)()

    def begun(self, part_step: PartStep) -> Callable[[], list[Any]]:
        """Return a function that runs one step of a part.

        Raises AbortedError if the session or the part does not exist, and InvalidArgumentError if
        the values do not match the part. The other tasks of the step are not notified of these
        errors.
        """
        part, values = self.session(part_step.handle).part(part_step.part), part_step.values
        part.check(len(values), len(part_step.rounds))
        return partial(self._run, part, dict(zip(part.feeds, values)), part_step)

    def _run(self, part: TaskPart, fed: dict[str, Any], part_step: PartStep) -> list[Any]:
        step, options = part_step.step, part_step.options
        if part.is_alone and not part.waits and options[:2] == _PLAIN[:2]:
            return self._run_at_once(part, fed, options.leases)
        mailbox = self.mailboxes.of(step)
        collectives = self._collectives(part_step.handle, part, step, part_step.rounds)
        has_client = options.leases is not None
        shared = _SharedMemory({}, [] if options.leases is None else options.leases, has_client)
        mailbox.is_running = True
        failure: OpError | None = None
        try:
            store = self._run_stages(part, fed, part_step, mailbox, collectives, shared)
        except OpError as error:
            failure = mailbox.failure
            if failure is not None:  # another task failed first; its error counts
                raise failure.bare() from None
            failure = from_task(self.task.name, error)
            self._fail(part, step, mailbox, failure)
            raise failure from error
        except BaseException as error:
            failure = _error_for_others(error)
            self._fail(part, step, mailbox, failure)
            raise
        finally:
            self._note_kept(step, part, fed, failure or mailbox.failure)
            if collectives is not None:
                collectives.close(failure)
            for lease in () if has_client else shared.leases:
                lease.drop()
            self._others.end(shared.seen, failure is not None)
            failure = None  # the error refers to this frame and the step's values
        self.mailboxes.end(step)
        return [store[key] for key in part.fetches]

    def _note_kept(
        self, step: int, part: TaskPart, store: Mapping[str, Any], failure: OpError | None
    ) -> None:
        """Record the tensors that a step keeps for the session. If the step has failed, drop them
        instead, since the client receives no handles.
        """
        kept = [
            (tensors, store[key].decode())
            for stage in part.stages
            for key, tensors in stage.handles.items()
            if tensors is not None and key in store
        ]
        if kept:
            self._kept_of[step] = kept
            if len(self._kept_of) > _MAX_KEPT:
                self._kept_of.popitem(last=False)
            if failure is not None:
                self._forget(step)

    def _forget(self, step: int) -> None:
        """Drop the tensors of a failed step that this task holds for sessions or other tasks."""
        self._others.forget(step)
        for tensors, tensor in self._kept_of.pop(step, ()):
            tensors.discard(tensor)

    def _collectives(
        self, handle: str, part: TaskPart, step: int, rounds: Sequence[int]
    ) -> CollectiveStep | None:
        """Return the object that executes the collectives over several processes in a step. Return
        None if the part has no such collectives.
        """
        if not part.collectives:
            return None
        assert self.peers is not None
        pool = self._segments
        buckets, inside = [], {}
        for (spec, operations), count in zip(part.collectives, rounds[1:]):
            begin = partial(BucketRun, spec, operations, pool, Round(count, 0, rounds[0]))
            if spec.is_inside:
                inside[operations[0].name] = begin
            else:
                buckets.append(begin())
        return CollectiveStep(self.peers, pool, handle, step, buckets, inside)

    def _fail(self, part: TaskPart, step: int, mailbox: StepMailbox, error: OpError) -> None:
        """End a step on this task and on the other tasks that run it, unless another task has
        already ended the step.
        """
        if mailbox.failure is not None:
            return
        self.refuse(step, part.others, error)

    def refuse(self, step: int, others: Sequence[str], error: OpError) -> None:
        """End a step with an error, on this task and on the tasks `others`."""
        self.mailboxes.abort(step, error)
        for task in others:
            self._others.abort(task, step, error)

    def _run_at_once(
        self, part: TaskPart, fed: dict[str, Any], leases: list[SegmentLease] | None
    ) -> list[Any]:
        """Run a part that has a single stage and exchanges no tensors with other tasks."""
        try:
            for stage in part.stages:
                place = None
                if stage.large and leases is not None:
                    place = partial(self._place, stage.large, leases)
                self._run_stage(stage, fed, None, place=place)
        except OpError as error:
            raise from_task(self.task.name, error) from error
        return [fed[key] for key in part.fetches]

    def _run_stages(
        self,
        part: TaskPart,
        store: dict[str, Any],
        part_step: PartStep,
        mailbox: StepMailbox,
        collectives: CollectiveStep | None,
        shared: _SharedMemory,
    ) -> dict[str, Any]:
        step, options = part_step.step, part_step.options
        timeout_ms = options.timeout_ms
        seconds = timeout_ms / 1000 if timeout_ms else _NEVER_S
        limit = StepLimit(seconds, monotonic() + seconds)
        limit.mailbox = mailbox
        execution_limit = limit if part.waits or timeout_ms else None
        for stage in part.stages:
            for task, names, keys in stage.receives:
                messages = mailbox.take(
                    names,
                    partial(self._others.part_state, task, step),
                    partial(limit.check, "before a stage"),
                    min(seconds / 4, SLICE_S),
                )
                if part.copied.isdisjoint(keys):
                    values = self._others.see_values(task, messages, shared.seen)
                else:
                    values = self._others.read_copies(task, messages)
                store |= zip(keys, values)
            limit.check("before a stage")
            if collectives is not None:
                self._take_results(stage.spec, part, collectives, store, limit)
                collectives.begin(stage.spec.collectives)
            place = self._placing(stage, shared)
            self._run_stage(stage, store, execution_limit, collectives, options, place)
            for task, names, keys in stage.sends:
                values = [store[key] if key else _SIGNAL for key in keys]
                begin = part_step.begins.get(task) if stage is part.stages[0] else None
                send = begin or partial(self._others.send_tensors, task, step)
                send(names, values)
        if collectives is not None:
            collectives.wait_for_all(limit)
        return store

    def _take_results(
        self,
        spec: StageSpec,
        part: TaskPart,
        collectives: CollectiveStep,
        store: dict[str, Any],
        limit: StepLimit,
    ) -> None:
        """Wait for the results of the collectives that a stage needs, and put the results into the
        store.
        """
        for key, value in collectives.results(spec.takes, limit).items():
            store[key] = np.array(value) if key in part.lent else value

    def _run_stage(
        self,
        stage: CompiledStage,
        store: dict[str, Any],
        limit: StepLimit | None,
        collectives: CollectiveStep | None = None,
        options: StepOptions = _PLAIN,
        place: FetchDestination | None = None,
    ) -> None:
        if stage.runner is None:
            return
        values = []
        for tensor, key in stage.feeds:
            value = feed_array(tensor, store[key])
            refuse_shape(tensor, value.shape)
            values.append(value)
        execution, trace, graphs = None, options.trace, options.graphs
        if any(wanted is not None for wanted in (limit, trace, graphs, place)):
            execution = TracedExecution(trace is not None, 0)
            execution.limit = limit
            execution.take = None if collectives is None else collectives.take
            execution.place = place
        results = stage.runner.run(values, execution)
        if execution is not None and trace is not None:
            trace.append(execution.statistics(stage.runner.graph_record).SerializeToString())
        if execution is not None and graphs is not None:
            parts = execution.partition_graphs(stage.runner.graph_record)
            graphs.extend(part.SerializeToString() for part in parts)
        for key, position in stage.fetches.items():
            store[key] = results[position]
        for key, kept in stage.handles.items():
            if kept is not None:
                kept.keep(store[key])
            store[key] = bytes(store[key])
        for position in stage.lendable:
            if isinstance(results[position], np.ndarray) and (
                results[position].nbytes > INLINE_BYTES
            ):
                stage.large.add(position)

    def _placing(self, stage: CompiledStage, shared: _SharedMemory) -> FetchDestination | None:
        """Return an allocator of shared memory for large fetches that only other processes read. If
        the stage has no such fetches, return None.
        """
        wanted = set()
        for position in stage.large:
            receivers = stage.lendable[position]
            is_fetched = CLIENT in receivers
            if shared.has_client if is_fetched else any(map(self._others.is_near, receivers)):
                wanted.add(position)
        return partial(self._place, wanted, shared.leases) if wanted else None

    def _place(
        self, wanted: Collection[int], leases: list[SegmentLease], position: int, array: Any
    ) -> Any | None:
        if position not in wanted or array.nbytes <= INLINE_BYTES or array.dtype.hasobject:
            return None
        lease = self._segments.lend(array.nbytes)
        if lease is None:
            return None
        leases.append(lease)
        return lease.content.view(array.dtype).reshape(array.shape)

    def deliver(self, step: int, names: Sequence[str], messages: Sequence[Any]) -> None:
        """Put tensors from another task into the step's mailbox. Raises InvalidArgumentError if the
        number of names differs from the number of messages.
        """
        if len(names) != len(messages):
            raise invalid_argument(f"{len(messages)} values came for {len(names)} names")
        self.mailboxes.of(step).put(names, messages)

    def abort(self, step: int, error: OpError) -> None:
        """End a step on this task with an error."""
        self.mailboxes.abort(step, error)

    def close_session(self, handle: str) -> None:
        """Drop a session with its graph and parts. Do nothing if the session is unknown."""
        with self._lock:
            session = self._sessions.pop(handle, None)
        if session is not None:
            self.leave_collectives(handle, "it was closed")
            session.direct.close()
            self._segments.clear()

    def leave_collectives(self, handle: str, reason: str) -> None:
        """Notify the other members of a session's collectives that the session's members won't join
        again.
        """
        if self.peers is not None:
            self.peers.close_session(handle, reason)

    def memory_use(self, handle: str) -> dict[str, MemoryUse]:
        """Return the memory use of each device by full name, as the total of all sessions."""
        del handle
        return {device.name: memory_use(device) for device in self.task.devices}

    def release_memory(self, handle: str) -> int:
        """Free a session's idle plans and idle shared memory. Return the number of freed bytes on
        devices.
        """
        session = self._sessions.get(handle)
        self._segments.clear()
        return 0 if session is None else session.direct.release_memory()

    def read_kept(self, handle: str, tensor: str) -> Any:
        """Return the value of a tensor that a session keeps. Raises InvalidArgumentError if the
        session does not keep the tensor.
        """
        return self._kept(handle).read(tensor)

    def delete_kept(self, handle: str, tensors: Sequence[str], must_be_there: bool) -> None:
        """Delete tensors that a session keeps.

        Args:
          must_be_there: whether a tensor that does not exist raises InvalidArgumentError.
        """
        kept = self._kept(handle)
        for tensor in tensors:
            (kept.delete if must_be_there else kept.discard)(tensor)

    def _kept(self, handle: str) -> KeptTensors:
        session = self._sessions.get(handle)
        return KeptTensors() if session is None else session.direct.kept_tensors

    def clear(self, containers: Sequence[str]) -> None:
        """Clear the named resource containers. If no container is named, clear all."""
        self.task.clear(containers)

    def stop(self) -> None:
        """End all steps and sessions."""
        self.is_stopped = True
        if self.peers is not None:
            self.peers.stop()
        self.mailboxes.abort_all(_stopped(self.task.name))
        for handle in list(self._sessions):
            self.close_session(handle)
        self.task.close()


class _SharedMemory(NamedTuple):
    """The shared memory of a run: the parcels of other tasks that the run reads, and the leases of
    its results.

    Args:
      has_client: whether a client reads the leased memory. If so, the leases are dropped after the
        answer to the client.
    """

    seen: SeenByTask
    leases: list[SegmentLease]
    has_client: bool


def _stopped(task: str) -> AbortedError:
    return AbortedError.of_no_node(f"The server of {task} has stopped")


def _error_for_others(error: BaseException) -> OpError:
    """Convert an exception to the OpError with which the parts of the step on other tasks are
    ended.
    """
    return AbortedError.of_no_node(f"Another part of the step ended with {type(error).__name__}")
