"""The devices of a task of a cluster, and the sessions that compile and run on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakSet

from gpugraph.base.errors import AbortedError, OpError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.building.graph_files.graph_extension import extend_graph
from gpugraph.config import ConfigProto, SessionOptions
from gpugraph.devices import Device, DeviceAttributes, DeviceFactory, Resources
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.runtime.step_failure import same_kind
from gpugraph.session import DirectSession

T = TypeVar("T")


def from_task(task: str, error: OpError) -> OpError:
    """Return the error with the name of its task in the message."""
    if error.message.startswith("From /job:"):
        return error
    placed = same_kind(error, error._node_def, error.op, f"From {task}:\n{error.message}")
    placed.node_name = getattr(error, "node_name", None)  # type: ignore[attr-defined]
    return placed


def session_of(sessions: Mapping[str, T], handle: str, task: str) -> T:
    """Return the session of a handle; AbortedError if there is none."""
    if handle not in sessions:
        raise AbortedError.of_no_node(
            f"{task} has no session {handle}: it was closed, or the server was restarted. Create a "
            "new session"
        )
    return sessions[handle]


class TaskDevices:
    """The devices of one task, and the variables and queues on them, which outlive sessions.

    name: `/job:worker/replica:0/task:1`.
    """

    def __init__(self, name: str, config: ConfigProto) -> None:
        self.name = name
        self.num_threads = config.inter_op_parallelism_threads  # the default of sessions
        self.devices = DeviceFactory.add_devices(SessionOptions("", config), name)
        self.resources = Resources()
        self.sessions: WeakSet[TaskSession] = WeakSet()
        for device in self.devices:
            device.reclaim = self._reclaim

    @property
    def attributes(self) -> list[DeviceAttributes]:
        """The attributes of each device."""
        return [device.attributes for device in self.devices]

    def _reclaim(self) -> None:
        for session in list(self.sessions):
            session.reclaim()

    def clear(self, containers: Sequence[str]) -> None:
        """Clear these resource containers (all, if none are named)."""
        for session in list(self.sessions):
            session.reset(containers)  # of other masters: their plans are bound to these resources
        self.resources.clear(list(containers) or None)

    def close(self) -> None:
        """Close the sessions and free the memory."""
        for session in list(self.sessions):
            session.close()
        self.resources.clear()
        for device in self.devices:
            device.close()


class TaskSession(DirectSession):
    """A session on the devices of a task.

    It shares variables and queues with the other sessions there, unless `isolate_session_state`.
    """

    def __init__(self, task: TaskDevices, config: ConfigProto, graph: Graph) -> None:
        self._task = task
        self._is_isolated = config.isolate_session_state
        local = ConfigProto()
        local.CopyFrom(config)
        local.isolate_session_state, local.device_filters = False, []  # they are applied here
        local.inter_op_parallelism_threads = config.inter_op_parallelism_threads or task.num_threads
        super().__init__(SessionOptions("", local))
        self.target = self.target._replace(task=task.name)
        self.create(graph)
        task.sessions.add(self)

    def open_devices(self) -> tuple[Sequence[Device], Resources]:
        """Return the task's devices and its long-lived resources."""
        resources = Resources() if self._is_isolated else self._task.resources.for_session()
        return self._task.devices, resources

    def close_devices(self) -> None:
        """Drop the resources that only this session uses."""
        if self._is_isolated:
            self.resources.clear()
        else:
            self.resources.end_session()


class SessionGraph:
    """A client's graph on a server: a copy that grows with the client's.

    `increments` are the GraphDefs from which it was built, as bytes, with the client's number of
    operations after each.
    """

    def __init__(self) -> None:
        self.graph = Graph()
        self.increments: list[tuple[bytes, int]] = []
        self._lock = new_lock()

    @property
    def version(self) -> int:
        """The client's number of operations after the last increment."""
        return self.increments[-1][1] if self.increments else 0

    def extend(self, content: bytes, old_version: int, new_version: int) -> None:
        """Add a GraphDef that leads from one version to another.

        AbortedError if the graph has another version, InvalidArgumentError for malformed bytes;
        otherwise as `extend_graph`.
        """
        graph_def = parsed_message("GraphDef", content)
        with self._lock:
            if old_version != self.version:
                raise AbortedError.of_no_node(
                    f"Current version of the graph is {self.version}, not {old_version}: another "
                    "client has extended it"
                )
            try:
                extend_graph(self.graph, graph_def)
            except (TypeError, ValueError) as error:
                raise invalid_argument(f"The graph can't be taken over: {error}") from error
            self.increments.append((content, new_version))

    def tensors(self, names: Sequence[str]) -> list[Tensor]:
        """Return the tensors of these names; InvalidArgumentError for an unknown name."""
        return [self._element(self.graph.get_tensor_by_name, name) for name in names]

    def operations(self, names: Sequence[str]) -> list[Operation]:
        """Return the operations of these names; InvalidArgumentError for an unknown name."""
        return [self._element(self.graph.get_operation_by_name, name) for name in names]

    def connections(self, pairs: Sequence[tuple[str, str]]) -> dict[Tensor, Tensor]:
        """Return the connected tensors for pairs of names."""
        firsts = self.tensors([first for first, _ in pairs])
        return dict(zip(firsts, self.tensors([second for _, second in pairs])))

    def _element(self, find: Callable[[str], T], name: str) -> T:
        try:
            return find(name)
        except (KeyError, ValueError, TypeError) as error:
            raise invalid_argument(f"The graph has no such name: {error}") from None


def parsed_message(name: str, content: bytes) -> Any:
    """Parse TensorFlow's message from bytes; InvalidArgumentError if they are malformed."""
    try:
        return messages_pb2.parse_bytes(getattr(messages_pb2, name), content)
    except ValueError as error:
        raise invalid_argument(f"No {name}: {error}") from error
