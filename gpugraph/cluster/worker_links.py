"""A master's links to workers: to the worker in the same process, and to other workers over
connections.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from gpugraph.base.errors import OpError, UnavailableError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.calls.answers import PendingCall, message_of
from gpugraph.cluster.collectives.collective_buckets import CollectiveSpec
from gpugraph.cluster.part_specs import PartSpec, PartStep, StageSpec, StepNames, StepOptions
from gpugraph.cluster.peer_tasks import CLEANING_S, PeerTasks, tell_end
from gpugraph.cluster.task_sessions import SessionGraph
from gpugraph.cluster.transport import Peer, StreamedCall
from gpugraph.cluster.worker import CLIENT_IS_GONE, Worker
from gpugraph.config import ConfigProto
from gpugraph.devices import DeviceAttributes, MemoryUse
from gpugraph.platform.waiting import warn_while_waiting

_COUNTERS = [entry.name for entry in fields(MemoryUse) if entry.name != "owners"]


class LocalWorker:
    """The link to the worker of the master's process."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.memory_use, self.release_memory = worker.memory_use, worker.release_memory
        self.read_kept, self.delete_kept = worker.read_kept, worker.delete_kept
        self.has = worker.has

    def status(self, wait_s: float) -> Sequence[DeviceAttributes]:
        """Return the attributes of the worker's devices. `wait_s` is not used."""
        del wait_s
        return self._worker.task.attributes

    def is_near(self) -> bool:
        """Return True, because the worker's memory is in this process."""
        return True

    def register_graph(self, handle: str, config: ConfigProto, graph: SessionGraph) -> None:
        """Give the worker a session that uses the master's copy of the graph, unless it already has
        the session.
        """
        self._worker.adopt(handle, config, graph)

    def register_part(self, handle: str, spec: PartSpec) -> int:
        """Register a part with a session of the worker, and return the part's number."""
        return self._worker.session(handle).register(spec)

    def run_part(self, part_step: PartStep) -> LocalRun:
        """Return a run of a part. The thread that calls the run executes it."""
        return LocalRun(partial(self._worker.run_part, part_step))

    def abort(self, step: int, error: OpError) -> None:
        """End a step on the worker with an error."""
        self._worker.abort(step, error)

    def close_session(self, handle: str) -> None:
        """Drop the worker's session."""
        self._worker.close_session(handle)

    def leave_collectives(self, handle: str) -> None:
        """Notify the members that share collectives with this session that its client is gone."""
        self._worker.leave_collectives(handle, CLIENT_IS_GONE)

    def clear(self, containers: Sequence[str]) -> None:
        """Clear the named resource containers of the worker. If no container is named, clear
        all.
        """
        self._worker.clear(containers)


class LocalRun:
    """A run of a part in this process. Calling the object executes the run."""

    def __init__(self, run: Callable[[], list[Any]]) -> None:
        self._run = run
        self._on_failure: Callable[[OpError | None], Any] | None = None

    def __call__(self) -> list[Any]:
        """Run the part and return the values of its fetches."""
        try:
            return self._run()
        except OpError as error:
            if self._on_failure is not None:
                self._on_failure(error)
            raise

    def when_done(self, function: Callable[[OpError | None], Any]) -> None:
        """Register a function that is called, with the error, if the part fails."""
        self._on_failure = function

    def cancel(self) -> None:
        """Do nothing. The thread that calls this method also executes the run, so the run is not in
        progress at that time.
        """


class SessionMemory(ABC):
    """Access to the memory of a server's sessions. A session of a master uses memory on all tasks,
    and a session of a worker uses memory on one task.
    """

    @property
    @abstractmethod
    def peer(self) -> Peer:
        """The connection to the server."""

    def memory_use(self, handle: str) -> dict[str, MemoryUse]:
        """Return the memory use of each device by full name, as the total of all sessions."""
        message = message_of("MemoryOf", handle=handle)
        return read_memory(self.peer.call("GetMemoryUse", message).use)

    def release_memory(self, handle: str) -> int:
        """Release a session's idle plans. Return the number of freed bytes."""
        message = message_of("MemoryOf", handle=handle, is_released=True)
        return int(self.peer.call("GetMemoryUse", message).given_back)

    def read_kept(self, handle: str, tensor: str) -> Any:
        """Return a tensor that a session keeps, given the tensor's handle. Raises
        InvalidArgumentError if no tensor has this handle.
        """
        peer, message = self.peer, message_of("KeptTensors", handle=handle, tensor=[tensor])
        return peer.read_values(peer.call("ReadKept", message).value)[0]

    def delete_kept(self, handle: str, tensors: Sequence[str], must_be_there: bool) -> None:
        """Delete tensors that a session keeps, given their handles.

        Args:
          must_be_there: whether an unknown handle raises InvalidArgumentError. Otherwise an unknown
            handle is ignored.
        """
        message = message_of("KeptTensors", handle=handle, tensor=tensors)
        message.must_be_there = must_be_there
        self.peer.call("DeleteKept", message)


class RemoteWorker(SessionMemory):
    """The link to a worker in another process, over a connection that is opened when it is first
    used.

    Args:
      others: the object that writes the tensors that are sent to the worker when a part starts.
    """

    def __init__(self, task: str, open_peer: Callable[[], Peer], others: PeerTasks) -> None:
        self.task, self._open_peer, self._others = task, open_peer, others
        self._versions: dict[str, int] = {}
        self._lock = new_lock()

    @property
    def peer(self) -> Peer:
        """The connection to the worker's server."""
        return self._open_peer()

    def status(self, wait_s: float) -> Sequence[DeviceAttributes]:
        """Wait until the worker's server answers, and return the attributes of the worker's
        devices.

        Raises UnavailableError if no server answers, or if the answering server belongs to another
        task.

        Args:
          wait_s: the number of seconds to wait for the server.
        """
        peer = self.peer
        with warn_while_waiting(
            f"CreateSession still waiting for response from worker: {self.task} at {peer.address}"
        ):
            status = peer.call("GetStatus", message_of("Nothing"), wait_s=wait_s)
        if status.task != self.task:
            raise UnavailableError.of_no_node(
                f"The server at {self.peer.address} is {status.task}, not {self.task}: the "
                "processes were given different clusters"
            )
        return devices_of(status.device)

    def has(self, handle: str) -> bool:
        """Return whether the graph of the session `handle` was sent to this worker."""
        return handle in self._versions

    def is_near(self) -> bool:
        """Return whether the worker and this process share memory. Raises UnavailableError if the
        worker is gone.
        """
        return self.peer.is_near()

    def register_graph(self, handle: str, config: ConfigProto, graph: SessionGraph) -> None:
        """Send the increments of a session's graph that the worker has not received yet."""
        with self._lock:
            known = self._versions.get(handle, 0)
            for content, version in graph.increments[known:]:
                message = message_of(
                    "ExtendSession",
                    handle=handle,
                    graph=content,
                    old_version=graph.increments[known - 1][1] if known else 0,
                    new_version=version,
                    config=b"" if known else config.SerializeToString(),
                )
                self.peer.call("RegisterGraph", message)
                known += 1
                self._versions[handle] = known

    def register_part(self, handle: str, spec: PartSpec) -> int:
        """Register a part with a session of the worker, and return the part's number."""
        stages, feeds, fetches, others = spec
        message = message_of("RegisterPart", handle=handle, feed=feeds, fetch=fetches, task=others)
        for stage in stages:
            write_stage(message.stage.add(), stage)
        return int(self.peer.call("RegisterPart", message).part)

    def run_part(self, part_step: PartStep) -> RemoteRun:
        """Start a step of a part on the worker, and return the run without waiting for its
        results.
        """
        handle, part, step, values, options, others, rounds, _, first = part_step
        message = message_of("RunPart", handle=handle, part=part, step=step, task=others)
        message.timeout_ms, message.trace = options.timeout_ms, options.trace is not None
        message.graphs = options.graphs is not None
        if rounds:
            message.round.extend(rounds)
        peer = self.peer
        peer.write_values(message.value, values)
        if first[0]:
            self._others.write_tensors(message.first, self.task, step, *first)
        call = peer.begin("RunPart", message, limit_s=options.timeout_ms / 1000)
        return RemoteRun(peer, call, options)

    def abort(self, step: int, error: OpError) -> None:
        """End a step on the worker with an error, without waiting for the answer."""
        tell_end(self.peer, step, error)

    def close_session(self, handle: str) -> None:
        """Drop the session `handle` on the worker. Do nothing if the worker does not have this
        session, or if the server is gone.
        """
        with self._lock:
            is_known = self._versions.pop(handle, None) is not None
        if is_known:
            message = message_of("SessionHandle", handle=handle)
            with contextlib.suppress(OpError):  # a server that is gone has no sessions
                self.peer.call("CloseWorkerSession", message, limit_s=CLEANING_S)

    def leave_collectives(self, handle: str) -> None:
        """Notify the members that share collectives with this session that its client is gone.

        Does not wait for the answer.
        """
        if handle in self._versions:
            message = message_of("SessionHandle", handle=handle, client_is_gone=True)
            self.peer.tell("CloseWorkerSession", message, limit_s=CLEANING_S)

    def clear(self, containers: Sequence[str]) -> None:
        """Clear the named resource containers of the worker. If no container is named, clear
        all.
        """
        self.peer.call("ClearContainers", message_of("Containers", container=containers))


class RemoteRun:
    """A run of a part on another server. Calling the object waits for the results."""

    def __init__(
        self, peer: Peer, pending: PendingCall | StreamedCall, options: StepOptions
    ) -> None:
        self._peer, self._pending, self._options = peer, pending, options

    def __call__(self) -> list[Any]:
        """Wait for the values of the part's fetches, and return them."""
        answer = self._pending()
        self._options.take_reports(answer)
        return self._peer.read_values(answer.value)

    def when_done(self, function: Callable[[OpError | None], Any]) -> None:
        """Register a function to be called, in some thread, if the server is lost. The function
        receives the error.

        If the part fails on the server, the function is not called, because the worker itself ends
        the step on all tasks.
        """
        self._pending.when_lost(function)

    def cancel(self) -> None:
        """Stop waiting for the answer. The worker ends the step."""
        self._pending.cancel()


WorkerLink = LocalWorker | RemoteWorker
"""A master's link to a worker."""

PartRun = LocalRun | RemoteRun
"""A run of a part: calling it returns the values of its fetches."""


def write_stage(message: Any, stage: StageSpec) -> None:
    """Fill a Stage message from a StageSpec."""
    for field, pairs in (
        (message.feed, stage.feeds),
        (message.fetch, stage.fetches),
        (message.connection, stage.connections),
        (message.send, stage.sends),
    ):
        for first, second in pairs:
            field.add(first=first, second=second)
    message.target.extend(stage.targets)
    message.done.extend(stage.done)
    for key, task, value in stage.receives:
        message.receive.add(key=key, task=task, value=value)
    for spec in stage.collectives:
        message.collective.add(
            operation=spec.operations,
            num_local=spec.num_local,
            leader=spec.leader,
            is_whole=spec.is_whole,
            is_inside=spec.is_inside,
        )
    message.take.extend(stage.takes)


def read_stage(message: Any) -> StageSpec:
    """Return the StageSpec in a Stage message."""
    return StageSpec(
        read_pairs(message.feed),
        read_pairs(message.fetch),
        list(message.target),
        read_pairs(message.connection),
        list(message.done),
        [(item.key, item.task, item.value) for item in message.receive],
        read_pairs(message.send),
        [
            CollectiveSpec(list(x.operation), x.num_local, x.leader, x.is_whole, x.is_inside)
            for x in message.collective
        ],
        list(message.take),
    )


def write_names(message: Any, names: StepNames) -> None:
    """Fill a StepNames message."""
    message.feed.extend(names.feeds)
    message.fetch.extend(names.fetches)
    message.target.extend(names.targets)
    for first, second in names.connections:
        message.connection.add(first=first, second=second)
    message.done.extend(names.done)


def read_names(message: Any) -> StepNames:
    """Return the names in a StepNames message."""
    return StepNames(
        tuple(message.feed),
        tuple(message.fetch),
        tuple(message.target),
        tuple(read_pairs(message.connection)),
        tuple(message.done),
    )


def read_pairs(messages: Any) -> list[tuple[str, str]]:
    """Return the pairs of strings in a repeated field of pair messages."""
    return [(pair.first, pair.second) for pair in messages]


def write_devices(field: Any, devices: Sequence[DeviceAttributes]) -> None:
    """Append devices to a repeated field of DeviceAttributes messages."""
    for name, kind, limit, incarnation, text in devices:
        device = field.add(name=name, device_type=kind, memory_limit=limit, description=text)
        device.incarnation = incarnation


def devices_of(messages: Any) -> list[DeviceAttributes]:
    """Return the devices in a repeated field of DeviceAttributes messages."""
    return [
        DeviceAttributes(x.name, x.device_type, x.memory_limit, x.incarnation, x.description)
        for x in messages
    ]


def write_memory(field: Any, use: Mapping[str, MemoryUse]) -> None:
    """Append the memory use of each device to a repeated field of messages. An unknown counter is
    written as -1.
    """
    for device, memory in use.items():
        counters = [getattr(memory, counter) for counter in _COUNTERS]
        field.add(
            device=device,
            counter=[-1 if value is None else value for value in counters],
            owner=memory.owners,
            owned=memory.owners.values(),
        )


def read_memory(messages: Any) -> dict[str, MemoryUse]:
    """Return the memory use of each device from a field that `write_memory` has filled."""
    uses = {}
    for message in messages:
        values = (None if value < 0 else int(value) for value in message.counter)
        counters: dict[str, Any] = dict(zip(_COUNTERS, values))
        owners = dict(zip(message.owner, map(int, message.owned)))
        uses[str(message.device)] = MemoryUse(**counters, owners=owners)
    return uses
