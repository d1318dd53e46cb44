"""GrpcSession: a session whose runs a server does.

The server has a copy of the graph, which grows before a run where the client's has grown. A run
sends names and fed values, and gets values. A server of the same process is called directly.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import (
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    NotFoundError,
    OpError,
    UnimplementedError,
    invalid_argument,
)
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.access import access_of_environment
from gpugraph.cluster.cluster_placement import ClusterExplanation
from gpugraph.cluster.grpc_server import SERVERS
from gpugraph.cluster.master import UNKNOWN_SLOT, Master
from gpugraph.cluster.part_specs import StepNames, StepOptions
from gpugraph.cluster.transport import Peer, message_of, node_of
from gpugraph.cluster.worker_links import devices_of, write_names
from gpugraph.config import ConfigProto, RunMetadata, RunOptions, SessionOptions
from gpugraph.config.environment import setting
from gpugraph.devices import DeviceAttributes
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.node_messages import graph_def_of
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.runtime.step_failure import same_kind
from gpugraph.session import Runner, SessionBackend, SessionFactory
from gpugraph.session.feed_conversion import refuse_shape
from gpugraph.session.session_backend import NO_CONNECTIONS

_SCHEME = "grpc://"
_PLACE = re.compile(r"\[\[node (\S+) \((?:defined at .*?|made by the runtime)\)(?=\]\]|, on )")
_CLOSING_S = 5.0
_KEEPING = frozenset(("GetSessionHandle", "GetSessionHandleV2"))


class _LocalMaster:
    """The master of a server of this process."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self.create_session = master.create_session
        self.list_devices = master.list_devices
        self.close_session = master.close_session
        self.reset = master.reset

    def extend(self, handle: str, content: bytes, old_version: int, new_version: int) -> None:
        """Adds a GraphDef to a session's graph."""
        self._master.session(handle).graph.extend(content, old_version, new_version)

    def run(
        self, handle: str, slot: int, names: StepNames, values: Sequence[Any], options: StepOptions
    ) -> Sequence[Any]:
        """The values of the fetches in one step."""
        session = self._master.session(handle)
        run = session.in_slot(slot, None) or session.in_slot(slot, names)
        assert run is not None
        return session.do(run, values, options)

    def explain(self, handle: str, names: StepNames) -> str:
        """Which task does what in a run."""
        return self._master.session(handle).explain(names)

    def close(self) -> None:
        """There is no connection."""


class _RemoteMaster:
    """The master of a server behind a connection."""

    def __init__(self, target: str) -> None:
        self._peer = Peer(target.removeprefix(_SCHEME), access_of_environment())
        self._known: set[int] = set()  # runs whose names the server has got

    def create_session(self, config: ConfigProto) -> str:
        """The handle of a new session."""
        wait_s = config.operation_timeout_in_ms / 1000 or float(setting("GPUGRAPH_CLUSTER_WAIT"))
        self._peer.call("GetStatus", message_of("Nothing"), wait_s=wait_s)
        message = message_of("CreateSession", config=config.SerializeToString())
        return str(self._peer.call("CreateSession", message).handle)

    def extend(self, handle: str, content: bytes, old_version: int, new_version: int) -> None:
        """Adds a GraphDef to a session's graph."""
        message = message_of(
            "ExtendSession",
            handle=handle,
            graph=content,
            old_version=old_version,
            new_version=new_version,
        )
        self._peer.call("ExtendSession", message)

    def run(
        self, handle: str, slot: int, names: StepNames, values: Sequence[Any], options: StepOptions
    ) -> Sequence[Any]:
        """The values of the fetches in one step. The names go along until the server has them."""
        for has_names in (True,) if slot not in self._known else (False, True):
            message = message_of("RunStep", handle=handle, slot=slot)
            message.timeout_ms, message.trace = options.timeout_ms, options.trace is not None
            if has_names:
                write_names(message.names, names)
            self._peer.write_values(message.value, values)
            try:
                answer = self._peer.call("RunStep", message)
            except NotFoundError as error:
                if error.message != UNKNOWN_SLOT:
                    raise
                continue
            self._known.add(slot)
            if options.trace is not None:
                options.trace.extend(answer.step_stats)
            return self._peer.read_values(answer.value)
        raise AbortedError.of_no_node(f"The server at {self._peer.address} keeps no runs")

    def explain(self, handle: str, names: StepNames) -> str:
        """Which task does what in a run."""
        message = message_of("ExplainStep", handle=handle)
        write_names(message.names, names)
        return str(self._peer.call("ExplainStep", message).text)

    def list_devices(self, handle: str) -> Sequence[DeviceAttributes]:
        """The devices of the session's cluster."""
        return devices_of(
            self._peer.call("ListDevices", message_of("ListDevices", handle=handle)).device
        )

    def close_session(self, handle: str) -> None:
        """Closes a session."""
        message = message_of("SessionHandle", handle=handle)
        self._peer.call("CloseSession", message, limit_s=_CLOSING_S)

    def reset(self, containers: Sequence[str], filters: Sequence[str]) -> None:
        """Closes all sessions of the server and clears containers."""
        message = message_of("Containers", container=containers, filter=filters)
        self._peer.call("Reset", message)

    def close(self) -> None:
        """Ends the connection."""
        self._peer.close()


def _master_of(target: str) -> _LocalMaster | _RemoteMaster:
    server = SERVERS.get(target)
    return _RemoteMaster(target) if server is None else _LocalMaster(server.master)


class GrpcSession(SessionBackend):
    """A session on a server."""

    def __init__(self, options: SessionOptions) -> None:
        self._config = options.config
        self._graph: Graph | None = None
        self._is_closed = False
        self._master = _master_of(options.target)
        self._handle = ""
        self._version = 0  # of the server's copy of the graph
        self._lock = new_lock()
        self._runners: dict[StepNames, GrpcRunner] = {}
        self._slots = itertools.count()

    def create(self, graph: Graph) -> None:
        """Takes the graph; AlreadyExistsError when it has one."""
        if self._graph is not None:
            raise AlreadyExistsError.of_no_node(
                "A Graph has already been created for this session."
            )
        self._graph = graph

    def handle(self) -> str:
        """The session's handle on the server, where it is made with its first use.

        CancelledError when closed, UnavailableError where the server does not answer.
        """
        if self._is_closed:
            raise CancelledError.of_no_node("Session has been closed.")
        with self._lock:
            if not self._handle:
                self._handle = self._master.create_session(self._config)
            return self._handle

    def extend(self) -> str:
        """The handle, once the server's copy of the graph is as this one."""
        handle, graph = self.handle(), self._graph
        assert graph is not None
        if graph.version != self._version:
            with self._lock, graph._lock:
                ops, old = graph._ops, self._version
                if len(ops) > old:
                    part = graph_def_of(ops[old:], graph._versions, False, sort_controls=False)
                    content = part.SerializeToString()
                    self._master.extend(handle, content, old, len(ops))
                    self._version = len(ops)
        return handle

    def prepare(
        self,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        connections: Mapping[Tensor, Tensor] = NO_CONNECTIONS,
        done: Sequence[Operation] = (),
    ) -> GrpcRunner:
        """What runs these. UnimplementedError for tensors that would stay on the server."""
        if self._is_closed:
            raise CancelledError.of_no_node("Session has been closed.")
        for tensor in fetches:
            if tensor.op.type in _KEEPING:
                raise UnimplementedError(
                    tensor.op._record,
                    tensor.op,
                    f"'{tensor.name}' keeps a tensor between runs, which sessions of servers do "
                    "not: use a variable",
                )
        names = StepNames(
            tuple(tensor.name for tensor in feeds),
            tuple(tensor.name for tensor in fetches),
            tuple(op.name for op in targets),
            tuple((tensor.name, other.name) for tensor, other in connections.items()),
            tuple(op.name for op in done),
        )
        runner = self._runners.get(names)
        if runner is None:
            runner = self._runners[names] = GrpcRunner(self, next(self._slots), names, feeds)
        return runner

    def run(
        self, slot: int, names: StepNames, values: Sequence[Any], options: StepOptions
    ) -> list[Any]:
        """The values of the fetches, as a run of a DirectSession gives them."""
        try:
            handle = self.extend()
            if not options.timeout_ms and self._config.operation_timeout_in_ms > 0:
                options = options._replace(timeout_ms=self._config.operation_timeout_in_ms)
            results = self._master.run(handle, slot, names, values, options)
        except OpError as error:
            raise self._with_op(error) from error.__cause__
        return [x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in results]

    def explain(self, names: StepNames) -> ClusterExplanation:
        """How a run is spread over the tasks; errors as of `run`."""
        try:
            return ClusterExplanation(self._master.explain(self.extend(), names))
        except OpError as error:
            raise self._with_op(error) from error.__cause__

    def _with_op(self, error: OpError) -> OpError:
        """The error with the client's operation, and with the lines of the client's program."""
        graph = self._graph
        assert graph is not None

        def place(match: re.Match[str]) -> str:
            op = graph._by_name.get(match.group(1))
            return match.group() if op is None else f"[[node {op.name} (defined at {op.origin})"

        message = _PLACE.sub(place, error.message)
        op = graph._by_name.get(node_of(error))
        return same_kind(error, None if op is None else op._record, op, message)

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices of the cluster, but for those that `device_filters` leave out."""
        return list(self._master.list_devices(self.handle()))

    def memory_stats(self) -> dict[str, Any]:
        """UnimplementedError: the memory is of other processes."""
        raise UnimplementedError.of_no_node("A session of a server has no statistics of memory")

    def reset(self, containers: Sequence[str]) -> None:
        """Nothing: the factory's `reset` has cleared the containers of the server."""

    def close(self) -> None:
        """Closes the session on the server, where it can be reached."""
        if self._is_closed:
            return
        self._is_closed = True
        self._runners.clear()
        try:
            if self._handle:
                self._master.close_session(self._handle)
        except OpError:
            pass  # the server has gone, or was reset: there is nothing left to close
        finally:
            self._master.close()


class GrpcRunner(Runner):
    """One set of feeds, fetches and targets of a GrpcSession."""

    def __init__(
        self, session: GrpcSession, slot: int, names: StepNames, feeds: Sequence[Tensor]
    ) -> None:
        self._session, self._names, self._feeds = session, names, feeds
        self._slot = slot

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The fetches' values. ValueError for a value whose shape does not fit."""
        return self._run(values, StepOptions())

    def _run(self, values: Sequence[Any], options: StepOptions) -> list[Any]:
        for tensor, value in zip(self._feeds, values):
            refuse_shape(tensor, value.shape)
        return self._session.run(self._slot, self._names, values, options)

    def run_with(
        self, values: Sequence[Any], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[Any]:
        """As `run`, with a time limit; and with the statistics of all tasks into `metadata`."""
        chosen = options if options is not None else RunOptions()
        if metadata is None:
            return self._run(values, StepOptions(chosen.timeout_in_ms))
        is_traced = chosen.trace_level != RunOptions.NO_TRACE
        trace: list[bytes] | None = [] if is_traced else None
        results = self._run(values, StepOptions(chosen.timeout_in_ms, trace))
        metadata.Clear()
        if trace is not None:
            metadata.step_stats = lambda: _joined(trace)
        return results

    def explain(self, values: Sequence[Any]) -> ClusterExplanation:
        """Which task does what; print it."""
        del values
        return self._session.explain(self._names)


def _joined(parts: Sequence[bytes]) -> Any:
    """The StepStats of a step, by device, of those of its stages."""
    joined = messages_pb2.StepStats()
    by_device: dict[str, Any] = {}
    for part in parts:
        for stats in messages_pb2.StepStats.FromString(part).dev_stats:
            if stats.device in by_device:
                by_device[stats.device].MergeFrom(stats)
            else:
                by_device[stats.device] = joined.dev_stats.add()
                by_device[stats.device].CopyFrom(stats)
    return joined


class GrpcSessionFactory:
    """Accepts targets that begin with `grpc://`."""

    def accepts_options(self, options: SessionOptions) -> bool:
        """Whether the target names a server."""
        return options.target.startswith(_SCHEME)

    def new_session(self, options: SessionOptions) -> GrpcSession:
        """A session on that server. InvalidArgumentError for an address that is none."""
        host, _, port = options.target.removeprefix(_SCHEME).rpartition(":")
        if not host or not port.isdecimal():
            raise invalid_argument(
                f'The target "{options.target}" is no address of a server: "grpc://host:port"'
            )
        return GrpcSession(options)

    def reset(self, options: SessionOptions, containers: Sequence[str]) -> None:
        """Clears containers (all, if none are named) of a cluster, and closes its sessions."""
        master = _master_of(options.target)
        try:
            master.reset(containers, options.config.device_filters)
        finally:
            master.close()


SessionFactory.register("GRPC_SESSION", GrpcSessionFactory())
