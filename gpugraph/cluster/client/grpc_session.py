"""GrpcSession: a session that executes its runs on a server.

The server has a copy of the graph. If the client's graph has grown, the copy is extended before a
run. The client sends names and fed values, and receives values. A server in the same process is
called directly.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import AlreadyExistsError, CancelledError, OpError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.calls.answers import node_of
from gpugraph.cluster.client.master_links import SCHEME, master_of
from gpugraph.cluster.cluster_placement import ClusterExplanation
from gpugraph.cluster.part_specs import StepNames, StepOptions
from gpugraph.config import RunMetadata, RunOptions, SessionOptions
from gpugraph.devices import DeviceAttributes, KeptTensors, MemoryUse, NewHandle
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.node_messages import graph_def_of
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.runtime.step_failure import same_kind
from gpugraph.session import Runner, SessionBackend, SessionFactory
from gpugraph.session.feed_conversion import refuse_shape
from gpugraph.session.session_backend import NO_CONNECTIONS
from gpugraph.session.tensor_handles import gives_handle

_PLACE = re.compile(r"\[\[node (\S+) \((?:defined at .*?|made by the runtime)\)(?=\]\]|, on )")


class _KeptOnServer(KeptTensors):
    """The tensors that a session keeps on the devices of its cluster.

    A program may drop the handle of a tensor at any time. The tensor is deleted when the session
    next calls the server.
    """

    def __init__(self, session: GrpcSession) -> None:
        super().__init__()
        self._session = session
        self._discarded: list[str] = []

    def keep(self, handle: NewHandle) -> None:
        """Do nothing, because the worker that computed the tensor keeps it."""

    def read(self, handle: str) -> Any:
        """Return the tensor of a handle. Raises InvalidArgumentError if the tensor is deleted or
        belongs to another session.
        """
        return self._session.master.read_kept(self._session.handle(), handle)

    def delete(self, handle: str) -> None:
        """Delete the tensor on its worker. Raises InvalidArgumentError if the tensor is deleted or
        belongs to another session.
        """
        self._session.master.delete_kept(self._session.handle(), [handle], True)

    def discard(self, handle: str) -> None:
        """Delete the tensor when the session next calls the server. Do nothing if the tensor no
        longer exists by that time.
        """
        self._discarded.append(handle)

    def flush(self, handle: str) -> None:
        """Delete the discarded tensors on their workers.

        Args:
          handle: the session's handle on its server.
        """
        discarded, self._discarded = self._discarded, []
        if discarded:
            self._session.master.delete_kept(handle, discarded, False)


class GrpcSession(SessionBackend):
    """A session that a server's master executes, on the devices of the server's cluster."""

    def __init__(self, options: SessionOptions) -> None:
        self._config = options.config
        self._graph: Graph | None = None
        self._is_closed = False
        self.master = master_of(options.target)
        self._handle = ""
        self._version = 0  # the number of operations in the server's copy of the graph
        self._lock = new_lock()
        self._runners: dict[StepNames, GrpcRunner] = {}
        self._kept = _KeptOnServer(self)
        self._slots = itertools.count()

    def create(self, graph: Graph) -> None:
        """Set the session's graph. Raises AlreadyExistsError if the session already has a graph."""
        if self._graph is not None:
            raise AlreadyExistsError.of_no_node(
                "A Graph has already been created for this session."
            )
        self._graph = graph

    def handle(self) -> str:
        """Return the session's handle on the server. The first call creates the session on the
        server.

        Raises CancelledError if the session is closed, and UnavailableError if the server does not
        answer.
        """
        if self._is_closed:
            raise CancelledError.of_no_node("Session has been closed.")
        with self._lock:
            if not self._handle:
                self._handle = self.master.create_session(self._config)
            return self._handle

    def extend(self) -> str:
        """Send the operations that are missing in the server's copy of the graph, and return the
        session's handle.
        """
        handle, graph = self.handle(), self._graph
        assert graph is not None
        if graph.version != self._version:
            with self._lock, graph._lock:
                ops, old = graph._ops, self._version
                if len(ops) > old:
                    part = graph_def_of(ops[old:], graph._versions, False, sort_controls=False)
                    content = part.SerializeToString()
                    self.master.extend(handle, content, old, len(ops))
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
        """Return the runner for these feeds, fetches and targets."""
        if self._is_closed:
            raise CancelledError.of_no_node("Session has been closed.")
        names = StepNames(
            tuple(tensor.name for tensor in feeds),
            tuple(tensor.name for tensor in fetches),
            tuple(op.name for op in targets),
            tuple((tensor.name, other.name) for tensor, other in connections.items()),
            tuple(op.name for op in done),
        )
        runner = self._runners.get(names)
        if runner is None:
            runner = GrpcRunner(self, next(self._slots), names, feeds)
            runner.handles = [n for n, tensor in enumerate(fetches) if gives_handle(tensor)]
            self._runners[names] = runner
        return runner

    def run(
        self, slot: int, names: StepNames, values: Sequence[Any], options: StepOptions
    ) -> list[Any]:
        """Run one step on the server and return the values of the fetches.

        Args:
          slot: the runner's number. In the first run, the server stores the names under this
            number.
        """
        try:
            handle = self.extend()
            self._kept.flush(handle)
            results = self.master.run(handle, slot, names, values, options)
        except (OpError, ValueError) as error:  # gRPC raises ValueError for a closed connection
            if self._is_closed and not isinstance(error, CancelledError):
                raise CancelledError.of_no_node("Session has been closed.") from None
            if not isinstance(error, OpError):
                raise
            raise self._with_op(error) from error.__cause__
        return [x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in results]

    def explain(self, names: StepNames) -> ClusterExplanation:
        """Return the assignment of a run's operations to tasks. Raises the errors of `run`."""
        try:
            return ClusterExplanation(self.master.explain(self.extend(), names))
        except OpError as error:
            raise self._with_op(error) from error.__cause__

    def _with_op(self, error: OpError) -> OpError:
        """Return a copy of a server's error that names the client's operation and the lines of the
        program that created the operation.
        """
        graph = self._graph
        assert graph is not None

        def place(match: re.Match[str]) -> str:
            op = graph._by_name.get(match.group(1))
            return match.group() if op is None else f"[[node {op.name} (defined at {op.origin})"

        message = _PLACE.sub(place, error.message)
        op = graph._by_name.get(node_of(error))
        return same_kind(error, None if op is None else op._record, op, message)

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the devices of the cluster that `device_filters` do not exclude."""
        return list(self.master.list_devices(self.handle()))

    @property
    def kept_tensors(self) -> KeptTensors:
        """The tensors that remain on the servers between runs."""
        return self._kept

    def memory_stats(self) -> dict[str, MemoryUse]:
        """Return the memory counters and owners of each device of the cluster, by full device name.

        The counters include the memory of all sessions on these devices. Raises UnavailableError if
        a task does not answer.
        """
        handle = self.handle()
        self._kept.flush(handle)
        return self.master.memory_use(handle)

    def release_memory(self) -> int:
        """Release the session's idle plans on all tasks. Return the number of freed bytes."""
        handle = self.handle()
        self._kept.flush(handle)
        return self.master.release_memory(handle)

    def reset(self, containers: Sequence[str]) -> None:
        """Do nothing: the factory's `reset` has cleared the containers of the server."""

    def close(self) -> None:
        """Close the session on the server. If the server can't be reached, do nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._runners.clear()
        try:
            if self._handle:
                self.master.close_session(self._handle)
        except OpError:
            pass  # the server is gone or was reset
        finally:
            self.master.close()


class GrpcRunner(Runner):
    """One set of feeds, fetches and targets of a GrpcSession.

    Attributes:
      handles: the indices of the fetches that return handles of kept tensors.
    """

    handles: Sequence[int] = ()

    def __init__(
        self, session: GrpcSession, slot: int, names: StepNames, feeds: Sequence[Tensor]
    ) -> None:
        self._session, self._names, self._feeds = session, names, feeds
        self._slot = slot

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Return the values of the fetches. Raises ValueError if the shape of a value does not
        match its feed.
        """
        return self._run(values, StepOptions())

    def _run(self, values: Sequence[Any], options: StepOptions) -> list[Any]:
        for tensor, value in zip(self._feeds, values):
            refuse_shape(tensor, value.shape)
        results = self._session.run(self._slot, self._names, values, options)
        for number in self.handles:
            results[number] = NewHandle(results[number])
        return results

    def run_with(
        self, values: Sequence[Any], options: RunOptions | None, metadata: RunMetadata | None
    ) -> list[Any]:
        """Run with the time limit of `options`, and store the reports that `options` requests in
        `metadata`.

        These reports are the StepStats and the partition graphs of all tasks.
        """
        chosen = options if options is not None else RunOptions()
        if metadata is None:
            return self._run(values, StepOptions(chosen.timeout_in_ms))
        is_traced = chosen.trace_level != RunOptions.NO_TRACE
        trace: list[bytes] | None = [] if is_traced else None
        graphs: list[bytes] | None = [] if chosen.output_partition_graphs else None
        results = self._run(values, StepOptions(chosen.timeout_in_ms, trace, None, graphs))
        metadata.Clear()
        if graphs is not None:
            metadata.partition_graphs = lambda: _graphs_of_devices(graphs)
        if trace is not None:
            metadata.step_stats = lambda: _joined(trace)
        return results

    def explain(self, values: Sequence[Any]) -> ClusterExplanation:
        """Print and return the assignment of the run's operations to the tasks of the cluster."""
        del values
        return self._session.explain(self._names)


def _joined(parts: Sequence[bytes]) -> Any:
    """Return one StepStats message, merged by device from the serialized StepStats of all
    stages.
    """
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


def _graphs_of_devices(parts: Sequence[bytes]) -> list[Any]:
    """Return one GraphDef for each device, merged from the serialized GraphDefs of a step's
    stages.
    """
    by_device: dict[str, Any] = {}
    for part in parts:
        graph = messages_pb2.GraphDef.FromString(part)
        whole = by_device.setdefault(graph.node[0].device, graph)
        if whole is not graph:
            whole.node.extend(graph.node)
    return [*by_device.values()]


class GrpcSessionFactory:
    """The factory of sessions whose target begins with `grpc://`."""

    def accepts_options(self, options: SessionOptions) -> bool:
        """Return whether the target is the address of a server."""
        return options.target.startswith(SCHEME)

    def new_session(self, options: SessionOptions) -> GrpcSession:
        """Return a session on the target's server. Raises InvalidArgumentError if the address is
        malformed.
        """
        host, _, port = options.target.removeprefix(SCHEME).rpartition(":")
        if not host or not port.isdecimal():
            raise invalid_argument(
                f'The target "{options.target}" is not the address of a server: "grpc://host:port"'
            )
        return GrpcSession(options)

    def reset(self, options: SessionOptions, containers: Sequence[str]) -> None:
        """Clear resource containers of the target's cluster, and close its sessions.

        Args:
          containers: the names of the containers. An empty list means all containers.
        """
        master = master_of(options.target)
        try:
            master.reset(containers, options.config.device_filters)
        finally:
            master.close()


SessionFactory.register("GRPC_SESSION", GrpcSessionFactory())
