"""Master: the object that manages the sessions of a server's clients and distributes their runs
over tasks.
"""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from gpugraph.base.errors import (
    CancelledError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from gpugraph.base.fork_safe_locks import new_lock, new_rlock
from gpugraph.cluster.call_streams import while_waited_for
from gpugraph.cluster.cluster_placement import ClusterPlacer, explanation_of, task_of
from gpugraph.cluster.collectives.collective_buckets import (
    CollectiveSpec,
    collective_groups,
    collective_specs,
    is_collective,
)
from gpugraph.cluster.master_steps import MasterStep
from gpugraph.cluster.part_specs import Begin, PartSpec, PartStep, StageSpec, StepNames, StepOptions
from gpugraph.cluster.run_stages import RunStage, cut_into_stages
from gpugraph.cluster.task_sessions import SessionGraph, session_of
from gpugraph.cluster.worker_links import WorkerLink
from gpugraph.cluster.worker_sessions import may_wait
from gpugraph.config import ConfigProto
from gpugraph.devices import DeviceAttributes, MemoryUse, unknown_handle
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import is_specification_of

MAX_RUNS = 512
"""The maximum number of runs (sets of feeds, fetches and targets) that a session registers."""

UNKNOWN_SLOT = "The run is not kept under this number: send its names"
"""The error message that makes a client send the names of a run again."""


_CLOSED = "Step was cancelled by an explicit call to `Session::Close()`."


class RegisteredRun(NamedTuple):
    """A run whose parts are registered at the workers.

    Args:
      parts: for each task, the number of its part, and the indices of the feeds and fetches of this
        part.
      others: for each task, the other tasks that have parts.
      collectives: for each task, the keys of its part's collectives. A key is None if all members
        of the collective are in the run.
      later: the tasks whose parts are started by messages from the first stage of the master's
        task.
    """

    parts: Mapping[str, tuple[int, Sequence[int], Sequence[int]]]
    others: Mapping[str, Sequence[str]]
    num_feeds: int
    num_fetches: int
    collectives: Mapping[str, Sequence[tuple[int, int] | None]]
    later: Collection[str]


class MasterSession:
    """A client's session: its graph, the devices available to it, and its runs."""

    def __init__(
        self,
        handle: str,
        config: ConfigProto,
        links: Mapping[str, WorkerLink],
        devices: Sequence[DeviceAttributes],
        leader: str = "",
    ) -> None:
        self.handle, self.config, self._leader = handle, config, leader
        self.links, self.devices = links, devices
        self.graph = SessionGraph()
        self._placer = ClusterPlacer(devices, config)
        self._runs: OrderedDict[StepNames, RegisteredRun] = OrderedDict()
        self._slots: OrderedDict[int, RegisteredRun] = OrderedDict()
        self._steps: set[MasterStep] = set()
        self._rounds: dict[tuple[int, int] | None, int] = {None: 0}  # by collective
        self._is_closed = False
        self._lock = new_rlock()

    def registered(self, names: StepNames) -> RegisteredRun:
        """Return the run with these names. The first request for a run places the run's operations,
        divides them into parts, and registers the parts.
        """
        with self._lock:
            run = self._runs.get(names)
            if run is None:
                _, stages = self._placed(names)
                run = self._runs[names] = self._register(stages, names)
                while len(self._runs) > MAX_RUNS:
                    self._runs.popitem(last=False)
            else:
                self._runs.move_to_end(names)
            return run

    def in_slot(self, slot: int, names: StepNames | None) -> RegisteredRun | None:
        """Return the run to which a client has given the number `slot`. Return None if the client
        must send the names again.
        """
        if names is not None:
            run = self.registered(names)
            with self._lock:
                self._slots[slot] = run
                while len(self._slots) > MAX_RUNS:
                    self._slots.popitem(last=False)
            return run
        with self._lock:
            known = self._slots.get(slot)
            if known is not None:
                self._slots.move_to_end(slot)
            return known

    def do(self, run: RegisteredRun, values: Sequence[Any], options: StepOptions) -> list[Any]:
        """Run one step and return the values of the fetches."""
        options = options.within(self.config.operation_timeout_in_ms)
        step = int.from_bytes(os.urandom(8), "little") >> 2
        results: list[Any] = [None] * run.num_fetches
        rounds = self._next_rounds(run) if run.collectives else {}
        running = MasterStep(self.links, step, run.parts)
        with self._begun(running), running, while_waited_for(running.fail):
            begins: dict[str, Begin] = {}
            for task, (number, fed, fetched) in run.parts.items():
                part_values = [values[index] for index in fed]
                others, counts = run.others[task], rounds.get(task, ())
                part_step = PartStep(
                    self.handle, number, step, part_values, options, others, counts, begins
                )
                begin = partial(running.begin, part_step, task, fetched)
                if task in run.later and not options.timeout_ms:
                    begins[task] = begin
                else:
                    begin()
            for part_run, fetched in running.part_runs:
                part_results = part_run()
                running.num_ended += 1
                for index, value in zip(fetched, part_results):
                    results[index] = value
        return results

    def _next_rounds(self, run: RegisteredRun) -> dict[str, list[int]]:
        """Count a step of the run. For each task, return the number of steps with any collective,
        followed by the number of steps with each collective of its part.
        """
        with self._lock:
            for key in {None}.union(*run.collectives.values()):
                self._rounds[key] = self._rounds.get(key, 0) + 1
            return {
                task: [self._rounds[key] for key in (None, *keys)]
                for task, keys in run.collectives.items()
            }

    @contextlib.contextmanager
    def _begun(self, step: MasterStep) -> Iterator[None]:
        """Register a step while the `with` block runs, so that `close` can end the step. Raises
        CancelledError if the session is closed.
        """
        with self._lock:
            if self._is_closed:
                raise CancelledError.of_no_node(_CLOSED)
            self._steps.add(step)
        try:
            yield
        finally:
            with self._lock:
                self._steps.discard(step)

    def explain(self, names: StepNames) -> str:
        """Return, as text, the assignment of a run's operations to tasks."""
        tasks, stages = self._placed(names)
        far = [task for task in stages if len(stages) > 1 and not self.links[task].is_near()]
        return explanation_of(tasks, stages, far, next(iter(self.links)))

    def _placed(
        self, names: StepNames
    ) -> tuple[Mapping[str, str], Mapping[str, Sequence[StageSpec]]]:
        """Return the task of each operation of a run, by name, and the stages of each task."""
        graph = self.graph.graph
        feeds, fetches = self.graph.tensors(names.feeds), self.graph.tensors(names.fetches)
        targets, done = self.graph.operations(names.targets), self.graph.operations(names.done)
        connections = self.graph.connections(names.connections)
        tasks = self._placer.tasks(graph, feeds, fetches, targets, connections, done)
        used = list(dict.fromkeys(tasks.values())) or [next(iter(self.links))]
        if len(used) == 1 and not _is_joined_by_others(graph, tasks):
            return tasks, {used[0]: [_whole(names)]}
        if names.connections or names.done:
            raise UnimplementedError.of_no_node(
                "A partial run, or one with connected tensors, stays on one task, but this one is "
                f"on {', '.join(used)}"
            )
        return tasks, self._cut(feeds, fetches, targets, tasks)

    def _register(
        self, stages: Mapping[str, Sequence[StageSpec]], names: StepNames
    ) -> RegisteredRun:
        parts, others, collectives = {}, {}, {}
        for task in sorted(stages, key=list(self.links).index):  # this process's part comes first
            part_stages = stages[task]
            link = self.links[task]
            link.register_graph(self.handle, self.config, self.graph)
            read = {key for stage in part_stages for _, key in stage.feeds}
            computed = {key for stage in part_stages for _, key in stage.fetches}
            computed |= {f"{name}:0" for stage in part_stages for name in stage.takes}
            fed = [index for index, name in enumerate(names.feeds) if name in read]
            fetched = [index for index, name in enumerate(names.fetches) if name in computed]
            feed_names = [names.feeds[index] for index in fed]
            fetch_names = [names.fetches[index] for index in fetched]
            others[task] = [other for other in stages if other != task]
            keys = [self._keys(spec) for stage in part_stages for spec in stage.collectives]
            if keys:
                collectives[task] = keys
            spec = PartSpec(part_stages, feed_names, fetch_names, others[task])
            number = link.register_part(self.handle, spec)
            parts[task] = number, fed, fetched
        counts = len(names.feeds), len(names.fetches)
        is_plain = not (collectives or may_wait(self.graph.graph))
        later = _begun_by(next(iter(self.links)), stages) if is_plain else ()
        return RegisteredRun(parts, others, *counts, collectives, later)

    def _keys(self, spec: CollectiveSpec) -> tuple[int, int] | None:
        """Return the group and instance keys of a collective if members in other sessions take
        part. Otherwise return None.
        """
        if spec.is_whole:
            return None
        attrs = self.graph.graph.get_operation_by_name(spec.operations[0]).attrs
        return attrs["group_key"], attrs["instance_key"]

    def _cut(
        self,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        tasks: Mapping[str, str],
    ) -> dict[str, list[StageSpec]]:
        parts, groups = cut_into_stages(set(feeds), fetches, targets, lambda op: tasks[op.name])
        return {
            task: [
                _spec(stage, collective_specs(stage.operations, groups, self.config, self._leader))
                for stage in part
            ]
            for task, part in parts.items()
        }

    def keeper(self, tensor: str) -> WorkerLink:
        """Return the link to the worker that keeps a tensor. Raises InvalidArgumentError if no
        worker keeps the tensor.
        """
        link = self.links.get(task_of(tensor.rpartition(";")[2]))
        if link is None or not link.has(self.handle):
            raise unknown_handle(tensor)
        return link

    def close(self) -> None:
        """End the steps in progress with CancelledError, and close the session on all workers."""
        with self._lock:
            self._is_closed, steps = True, list(self._steps)
        for step in steps:
            step.fail(CancelledError.of_no_node(_CLOSED))
        for link in self.links.values():
            link.close_session(self.handle)


def _begun_by(local: str, stages: Mapping[str, Sequence[StageSpec]]) -> Collection[str]:
    """Return the tasks whose parts the first stage of the local task starts. The result contains
    all other tasks, or none.

    The messages of that stage can start a part if the part has nothing to do before it receives
    them.
    """
    if local not in stages:
        return ()
    others, first = [task for task in stages if task != local], stages[local][0]
    sent = {meeting for meeting, _ in first.sends}
    taken = [{meeting for meeting, _, _ in stages[task][0].receives} for task in others]
    return () if first.receives or any(map(sent.isdisjoint, taken)) else others


def _whole(names: StepNames) -> StageSpec:
    """Return the only stage of a run whose operations are all on one task."""
    return StageSpec(
        [(name, name) for name in names.feeds],
        [(name, name) for name in names.fetches],
        names.targets,
        names.connections,
        names.done,
        (),
        (),
    )


def _is_joined_by_others(graph: Graph, tasks: Mapping[str, str]) -> bool:
    """Return whether a run on one task contains only some of the members of a collective."""
    members = [op for op in graph._ops if is_collective(op) and op.name in tasks]
    groups = collective_groups(members, lambda op: tasks[op.name])
    return any(group.is_spread for group in groups.values())


def _spec(stage: RunStage, collectives: Sequence[CollectiveSpec]) -> StageSpec:
    """Return a StageSpec for the stage, in which names replace tensors and operations."""
    return StageSpec(
        [(tensor.name, key) for tensor, key in stage.feeds.items()],
        [(tensor.name, key) for key, tensor in stage.fetches.items()],
        [op.name for op in stage.targets],
        [(tensor.name, other.name) for tensor, other in stage.connections.items()],
        [op.name for op in stage.done],
        [(meeting, task, key) for meeting, (task, key) in stage.receives.items()],
        list(stage.sends.items()),
        collectives,
        list(stage.takes),
    )


class Master:
    """The sessions of one server's clients.

    Args:
      links: the links to the workers of its cluster, by task.
    """

    def __init__(self, task: str, links: Mapping[str, WorkerLink], wait_s: float) -> None:
        self.task = task
        self.links = links
        self._wait_s = wait_s
        self._sessions: dict[str, MasterSession] = {}
        self._lock = new_lock()

    def create_session(self, config: ConfigProto) -> str:
        """Create a session and return its handle. Raises UnavailableError if a worker does not
        answer.
        """
        links = self._seen(config.device_filters)
        wait_s = config.operation_timeout_in_ms / 1000 or self._wait_s
        devices = [device for link in links.values() for device in link.status(wait_s)]
        handle = os.urandom(16).hex()
        session = MasterSession(handle, config, links, devices, min(self.links))
        with self._lock:
            self._sessions[handle] = session
        return handle

    def _seen(self, filters: Sequence[str]) -> dict[str, WorkerLink]:
        """Return the links to workers on tasks that match the device filters. The worker of the
        master's own task comes first.
        """
        try:
            seen = {
                task: link
                for task, link in self.links.items()
                if task == self.task
                or not filters
                or any(_matches(device_filter, task) for device_filter in filters)
            }
        except ValueError as error:
            raise InvalidArgumentError.of_no_node(f"No device filter: {error}") from None
        return dict(sorted(seen.items(), key=lambda item: item[0] != self.task))

    def session(self, handle: str) -> MasterSession:
        """Return the session with this handle. Raises AbortedError if there is no such session."""
        return session_of(self._sessions, handle, self.task)

    def list_devices(self, handle: str) -> Sequence[DeviceAttributes]:
        """Return the devices available to a session."""
        return self.session(handle).devices

    def close_session(self, handle: str) -> None:
        """Close the session with this handle. Raises NotFoundError if there is no such session."""
        with self._lock:
            session = self._sessions.pop(handle, None)
        if session is None:
            raise NotFoundError.of_no_node(f"Session {handle} is not found")
        session.close()

    def has(self, handle: str) -> bool:
        """Return whether the master has a session with this handle."""
        return handle in self._sessions

    def leave_collectives(self, handle: str) -> None:
        """Notify all sessions that share collectives with this session that its client is gone."""
        for link in self.session(handle).links.values():
            link.leave_collectives(handle)

    def memory_use(self, handle: str) -> dict[str, MemoryUse]:
        """Return the memory use of each device that is available to a session."""
        links = self.session(handle).links.values()
        return {device: use for link in links for device, use in link.memory_use(handle).items()}

    def release_memory(self, handle: str) -> int:
        """Release a session's idle plans on all tasks. Return the number of freed bytes."""
        return sum(link.release_memory(handle) for link in self.session(handle).links.values())

    def read_kept(self, handle: str, tensor: str) -> Any:
        """Return a tensor that a session keeps, given the tensor's handle. Raises
        InvalidArgumentError if no tensor has this handle.
        """
        return self.session(handle).keeper(tensor).read_kept(handle, tensor)

    def delete_kept(self, handle: str, tensors: Sequence[str], must_be_there: bool) -> None:
        """Delete tensors that a session keeps.

        Args:
          must_be_there: whether a tensor that does not exist raises InvalidArgumentError.
        """
        session = self.session(handle)
        for tensor in tensors:
            session.keeper(tensor).delete_kept(handle, [tensor], must_be_there)

    def reset(self, containers: Sequence[str], filters: Sequence[str]) -> None:
        """Close all sessions and clear the named containers. If no container is named, clear
        all.
        """
        for handle in list(self._sessions):
            self.close_session(handle)
        for link in self._seen(filters).values():
            link.clear(containers)

    def stop(self) -> None:
        """Close all sessions."""
        for handle in list(self._sessions):
            self.close_session(handle)


def _matches(device_filter: str, task: str) -> bool:
    """Return whether a filter, such as `"/job:ps"`, matches the task."""
    return is_specification_of(device_filter, task)
