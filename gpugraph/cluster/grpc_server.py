"""Server: one task of a cluster, which answers over gRPC."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.errors import AbortedError, NotFoundError, OpError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.access import access_of_environment, check_listening
from gpugraph.cluster.call_streams import SessionClients, while_waited_for
from gpugraph.cluster.calls.answers import error_of, message_of
from gpugraph.cluster.cluster_spec import ClusterSpec, check_addresses
from gpugraph.cluster.collectives.collective_peers import CollectivePeers
from gpugraph.cluster.listener import Handlers, Listener
from gpugraph.cluster.master import UNKNOWN_SLOT, Master, MasterSession
from gpugraph.cluster.part_specs import PartSpec, PartStep, StepOptions
from gpugraph.cluster.peer_tasks import PeerTasks
from gpugraph.cluster.server_defs import config_of, own_address, server_def_of, task_name
from gpugraph.cluster.task_sessions import TaskDevices
from gpugraph.cluster.transport import Peer
from gpugraph.cluster.wire_values import write_segment
from gpugraph.cluster.worker import CLIENT_IS_GONE, Worker
from gpugraph.cluster.worker_links import (
    LocalWorker,
    RemoteWorker,
    read_names,
    read_stage,
    write_devices,
    write_memory,
)
from gpugraph.config import ConfigProto
from gpugraph.config.environment import seconds
from gpugraph.plan import check_run

_LOG = logging.getLogger("gpugraph")
_GRACE_S = 1.0
_TASK = re.compile(r"/job:(\w+)/replica:0/task:(\d{1,9})")
_SLICE_S = 0.5

SERVERS: weakref.WeakValueDictionary[str, Server] = weakref.WeakValueDictionary()
"""The started servers of this process, by target. Sessions in this process call them directly."""


class Server:
    """A task of a cluster. It runs parts of graphs on its devices for sessions of all processes.

    Raises ModuleNotFoundError if grpcio is not installed, TypeError if the cluster is invalid,
    ValueError if `job_name` or `task_index` is missing although the cluster has several tasks,
    InternalError if the task is not in the cluster, UnknownError if the address is not available,
    and FailedPreconditionError if strangers could call the server (`docs/cluster.md`).

    Args:
      server_or_cluster_def: a ServerDef message, or a cluster in any form that ClusterSpec accepts.
      job_name, task_index: the task of this server. Both arguments may be omitted if the cluster
        has only one task.
      protocol: "grpc".
      config: the settings of the task's devices, and the default settings of sessions.
      start: whether the server answers immediately, rather than only after `start()`.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: ConfigProto | None = None,
        start: bool = True,
    ) -> None:
        self._server_def = server_def_of(
            server_or_cluster_def, job_name, task_index, protocol, config
        )
        self._cluster = ClusterSpec(self._server_def.cluster)
        check_addresses(self._cluster)
        address = own_address(self._cluster, self._server_def)
        self._access = access_of_environment()
        check_listening(address, self._access)
        keep_s = seconds("GPUGRAPH_SESSION_GC")
        self._clients = SessionClients(self._note_gone, self._close_lost, keep_s)
        self._listener = Listener(self._access, self._clients)
        host = address.rpartition(":")[0]
        self._port = self._listener.bind(address)
        self._target = f"grpc://{host}:{self._port}"
        name = task_name(self._server_def.job_name, self._server_def.task_index)
        if config is None:  # from the message, which lacks fields of ConfigProto
            config = config_of(self._server_def.default_session_config.SerializeToString())
        self._task = TaskDevices(name, config)
        self._others = others = PeerTasks(self.peer, self._listener.parcels)
        self._worker = Worker(self._task, others)
        tasks = [
            task_name(job, x) for job in self._cluster.jobs for x in self._cluster.task_indices(job)
        ]
        mailboxes, incarnation = self._worker.mailboxes, self._listener.incarnation
        self._collectives = CollectivePeers(name, tasks, mailboxes, self.peer, others, incarnation)
        self._worker.peers = self._collectives
        self._peers: dict[str, Peer] = {}
        self._lock = new_lock()
        self._ended = threading.Event()
        self._state = "new"
        wait_s = seconds("GPUGRAPH_CLUSTER_WAIT")
        self.master = Master(name, self._links(name), wait_s)
        if start:
            self.start()

    @classmethod
    def create_local_server(cls, config: ConfigProto | None = None, start: bool = True) -> Server:
        """Create the server of a cluster that has one task, on a free port of this machine."""
        return cls({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)

    @property
    def server_def(self) -> Any:
        """The ServerDef message of this server."""
        return self._server_def

    @property
    def target(self) -> str:
        """The `target` of sessions that use this server: `"grpc://host:port"`."""
        return self._target

    def start(self) -> None:
        """Start answering. Do nothing if the server was started before. Raises AbortedError after
        `stop`.
        """
        if self._state == "ended":
            raise AbortedError.of_no_node("This server has been stopped: make another one")
        if self._state == "new":
            self._state = "started"
            self._listener.start(self._handlers())
            SERVERS[self._target] = self

    def join(self) -> None:
        """Wait until `stop` is called. Most programs never call `stop`."""
        while not self._ended.wait(_SLICE_S):
            check_run("while a server was waited for")

    def stop(self) -> None:
        """End all steps and sessions of this server, and free its port."""
        if self._state == "ended":
            return
        was_started, self._state = self._state == "started", "ended"
        SERVERS.pop(self._target, None)
        self._clients.stop()
        self._worker.is_stopped = True
        self.master.stop()
        self._worker.stop()
        if was_started:
            self._listener.stop(_GRACE_S)
        for peer in self._peers.values():
            peer.close()
        self._ended.set()

    # -- other tasks

    def _links(self, local_task: str) -> dict[str, Any]:
        links: dict[str, Any] = {}
        for job in self._cluster.jobs:
            for index in self._cluster.task_indices(job):
                task = task_name(job, index)
                links[task] = (
                    LocalWorker(self._worker)
                    if task == local_task
                    else RemoteWorker(task, partial(self.peer, task), self._others)
                )
        return links

    def peer(self, task: str) -> Peer:
        """Return the connection to another task. The first call opens the connection.

        Raises InvalidArgumentError if the task is not in the cluster.
        """
        with self._lock:
            if task not in self._peers:
                match = _TASK.fullmatch(task)
                try:
                    if match is None:
                        raise ValueError(f"{task[:80]!r} is not a task")
                    address = self._cluster.task_address(match[1], int(match[2]))
                except ValueError as error:
                    raise invalid_argument(f"{error} of {self._task.name}'s cluster") from None
                self._peers[task] = Peer(address, self._access)
            return self._peers[task]

    # -- sessions whose client, or whose master, has gone

    def _note_gone(self, handle: str) -> None:
        """Record that a session's client has disconnected, and notify all sessions that share
        collectives with this session.
        """
        with contextlib.suppress(OpError):  # it may have been closed, and its partners may be gone
            if self.master.has(handle):
                self.master.leave_collectives(handle)
            else:
                self._worker.leave_collectives(handle, CLIENT_IS_GONE)

    def _close_lost(self, handle: str) -> None:
        self._clients.forget(handle)
        _LOG.info("Session %s is closed, as its client has gone", handle)
        with contextlib.suppress(OpError):
            if self.master.has(handle):
                self.master.close_session(handle)
            else:
                self._worker.close_session(handle)

    def _close_session(self, message: Any) -> None:
        self._clients.forget(message.handle)
        self.master.close_session(message.handle)

    def _close_worker_session(self, message: Any) -> None:
        if message.client_is_gone:
            self._worker.leave_collectives(message.handle, CLIENT_IS_GONE)
            return
        self._clients.forget(message.handle)
        self._worker.close_session(message.handle)

    def _session(self, handle: str) -> MasterSession:
        """Return the session with this handle, and record the current caller as its client."""
        session = self.master.session(handle)
        self._clients.use(handle)
        return session

    # -- answers

    def _handlers(self) -> Handlers:
        worker, master = self._worker, self.master
        does: dict[str, Callable[[Any], None]] = {
            "ExtendSession": lambda m: self._session(m.handle).graph.extend(
                m.graph, m.old_version, m.new_version
            ),
            "CloseSession": self._close_session,
            "Reset": lambda m: master.reset(m.container, m.filter),
            "RegisterGraph": self._register_graph,
            "SendTensors": lambda m: worker.deliver(m.step, m.key, m.value),
            "AbortStep": lambda m: worker.abort(m.step, error_of(m.failure)),
            "CloseWorkerSession": self._close_worker_session,
            "ClearContainers": lambda m: worker.clear(m.container),
            "FreeParcels": lambda m: self._listener.parcels.free(m.ticket),
            "SettleCollective": self._collectives.answer_settle,
            "LeaveCollective": self._collectives.answer_leave,
            "DeleteKept": lambda m: self._keeper_of_tensors(m.handle).delete_kept(
                m.handle, m.tensor, m.must_be_there
            ),
        }
        answers: Handlers = {
            "GetStatus": lambda _: self._status(),
            "CreateSession": self._create_session,
            "RunStep": self._run_step,
            "ExplainStep": lambda m: message_of(
                "Explanation", text=self._session(m.handle).explain(read_names(m.names))
            ),
            "ListDevices": self._list_devices,
            "RegisterPart": self._register_part,
            "RunPart": self._run_part,
            "GetMemoryUse": self._memory_use,
            "ReadKept": self._read_kept,
            "JoinCollective": self._collectives.answer_join,
            "GetPartState": self._part_state,
        }
        return {**answers, **{name: _answering_nothing(do) for name, do in does.items()}}

    def _create_session(self, message: Any) -> Any:
        defaults = self._server_def.default_session_config.SerializeToString()
        handle = self.master.create_session(config_of(defaults + message.config))  # merged settings
        self._clients.use(handle)
        return message_of("SessionHandle", handle=handle)

    def _register_graph(self, message: Any) -> None:
        config, versions = config_of(message.config), (message.old_version, message.new_version)
        self._worker.register_graph(message.handle, config, message.graph, *versions)
        self._clients.use(message.handle)

    def _register_part(self, message: Any) -> Any:
        session = self._worker.session(message.handle)
        stages = [read_stage(stage) for stage in message.stage]
        spec = PartSpec(stages, list(message.feed), list(message.fetch), list(message.task))
        number = session.register(spec)
        return message_of("PartHandle", part=number)

    def _keeper(self, handle: str) -> Master | Worker:
        """Return the object that manages a session's memory.

        If the session was created at this server, return the master, which manages the memory of
        all tasks. Otherwise return the worker, which manages the memory of this task.
        """
        return self.master if self.master.has(handle) else self._worker

    def _keeper_of_tensors(self, handle: str) -> Master | Worker:
        """Return the result of `_keeper`. Raises AbortedError if the session was closed or was lost
        in a restart.
        """
        keeper = self._keeper(handle)
        keeper.session(handle)
        return keeper

    def _memory_use(self, message: Any) -> Any:
        keeper, uses = self._keeper(message.handle), message_of("MemoryUses")
        if message.is_released:
            uses.given_back = keeper.release_memory(message.handle)
        else:
            write_memory(uses.use, keeper.memory_use(message.handle))
        return uses

    def _read_kept(self, message: Any) -> Any:
        if len(message.tensor) != 1:
            raise invalid_argument(f"{len(message.tensor)} tensors are to be read at once")
        keeper = self._keeper_of_tensors(message.handle)
        value = keeper.read_kept(message.handle, message.tensor[0])
        return self._values([value], StepOptions())

    def _status(self) -> Any:
        status = message_of("Status", task=self._task.name, incarnation=self._listener.incarnation)
        write_devices(status.device, self._task.attributes)
        write_segment(status.segment, self._listener.parcels.segments.probe())
        return status

    def _part_state(self, message: Any) -> Any:
        state = self._worker.mailboxes.state(message.step)
        return message_of("PartState", state=state, incarnation=self._listener.incarnation)

    def _list_devices(self, message: Any) -> Any:
        devices = message_of("Devices")
        write_devices(devices.device, self._session(message.handle).devices)
        return devices

    def _run_step(self, message: Any) -> Any:
        session = self._session(message.handle)
        names = read_names(message.names) if message.HasField("names") else None
        run = session.in_slot(message.slot, names)
        if run is None:
            raise NotFoundError.of_no_node(UNKNOWN_SLOT)
        if len(message.value) != run.num_feeds:
            raise invalid_argument(f"{len(message.value)} values are fed to {run.num_feeds}")
        values = self._listener.read_values(message.value)
        options = _options(message)
        if message.is_near:
            options = options._replace(leases=[])
        try:
            return self._values(session.do(run, values, options), options)
        finally:
            for lease in options.leases or ():
                lease.drop()

    def _run_part(self, message: Any) -> Any:
        step, others, options = message.step, message.task, _options(message)
        try:
            values = self._listener.read_values(message.value)
            run = self._worker.begun(
                PartStep(message.handle, message.part, step, values, options, others, message.round)
            )
            self._clients.use(message.handle)
            if message.HasField("first"):
                self._worker.deliver(step, message.first.key, message.first.value)
        except OpError as error:
            self._worker.refuse(step, others, error)
            raise
        with while_waited_for(lambda error: self._worker.refuse(step, others, error)):
            return self._values(run(), options, step)

    def _values(self, arrays: Sequence[Any], options: StepOptions, step: int = 0) -> Any:
        values = message_of(
            "Values", step_stats=options.trace or (), partition_graph=options.graphs or ()
        )
        self._listener.write_values(values.value, arrays, step, options.leases is not None)
        return values


def _options(message: Any) -> StepOptions:
    """Return the options in a RunStep or RunPart message."""
    graphs: list[bytes] | None = [] if message.graphs else None
    return StepOptions(message.timeout_ms, [] if message.trace else None, None, graphs)


def _answering_nothing(do: Callable[[Any], None]) -> Callable[[Any], Any]:
    nothing = message_of("Nothing")

    def answer(message: Any) -> Any:
        do(message)
        return nothing

    return answer
