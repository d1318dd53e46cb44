"""The devices of one task of a cluster, and the sessions that compile graphs for these devices and
run them.
"""

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
    """Return the error with the prefix `From <task>:` in its message, unless the message already
    has such a prefix.
    """
    if error.message.startswith("From /job:"):
        return error
    placed = same_kind(error, error._node_def, error.op, f"From {task}:\n{error.message}")
    placed.node_name = getattr(error, "node_name", None)  # type: ignore[attr-defined]
    return placed


def session_of(sessions: Mapping[str, T], handle: str, task: str) -> T:
    """Return the session with this handle. Raises AbortedError if this task has no such session."""
    if handle not in sessions:
        raise AbortedError.of_no_node(
            f"{task} has no session {handle}: it was closed, or the server was restarted. Create a "
            "new session"
        )
    return sessions[handle]


class TaskDevices:
    """The devices of one task, and the variables and queues on these devices. Variables and queues
    outlive sessions.

    Args:
      name: the task's name, such as `/job:worker/replica:0/task:1`.
    """

    def __init__(self, name: str, config: ConfigProto) -> None:
        self.name = name
        self.num_threads = config.inter_op_parallelism_threads  # for sessions that set none
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
        """Clear the named resource containers for all sessions of the task. If no container is
        named, clear all.
        """
        for session in list(self.sessions):
            session.reset(containers)  # of other masters too: their plans are bound to these
        self.resources.clear(list(containers) or None)

    def close(self) -> None:
        """Close the task's sessions and free the memory of its devices."""
        for session in list(self.sessions):
            session.close()
        self.resources.clear()
        for device in self.devices:
            device.close()


class TaskSession(DirectSession):
    """A session on the devices of a task.

    The session shares variables and queues with the task's other sessions, unless
    `isolate_session_state` is set.
    """

    def __init__(self, task: TaskDevices, config: ConfigProto, graph: Graph) -> None:
        self._task = task
        self._is_isolated = config.isolate_session_state
        local = ConfigProto()
        local.CopyFrom(config)
        local.isolate_session_state, local.device_filters = False, []  # both are applied here
        local.inter_op_parallelism_threads = config.inter_op_parallelism_threads or task.num_threads
        super().__init__(SessionOptions("", local))
        self.target = self.target._replace(task=task.name)
        self.create(graph)
        task.sessions.add(self)

    def open_devices(self) -> tuple[Sequence[Device], Resources]:
        """Return the task's devices, and the resources that the session uses."""
        resources = Resources() if self._is_isolated else self._task.resources.for_session()
        return self._task.devices, resources

    def close_devices(self) -> None:
        """Drop the resources that only this session uses. The devices remain open for other
        sessions.
        """
        if self._is_isolated:
            self.resources.clear()
        else:
            self.resources.end_session()


class SessionGraph:
    """A server's copy of a client's graph. When the client adds operations to the graph, the new
    operations are sent to the server and added to the copy.

    Attributes:
      increments: the serialized GraphDefs from which the copy was built. Each is paired with the
        number of operations that the client's graph had after this increment.
    """

    def __init__(self) -> None:
        self.graph = Graph()
        self.increments: list[tuple[bytes, int]] = []
        self._lock = new_lock()

    @property
    def version(self) -> int:
        """The number of operations that the client's graph had after the last increment."""
        return self.increments[-1][1] if self.increments else 0

    def extend(self, content: bytes, old_version: int, new_version: int) -> None:
        """Add the operations that the client's graph has in `new_version` but not in `old_version`.

        Raises AbortedError if the copy is not at `old_version`, InvalidArgumentError if the bytes
        are malformed, and the errors of `extend_graph`.

        Args:
          content: a serialized GraphDef with the operations to add.
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
        """Return the tensors with these names. Raises InvalidArgumentError if a name is unknown."""
        return [self._element(self.graph.get_tensor_by_name, name) for name in names]

    def operations(self, names: Sequence[str]) -> list[Operation]:
        """Return the operations with these names. Raises InvalidArgumentError if a name is
        unknown.
        """
        return [self._element(self.graph.get_operation_by_name, name) for name in names]

    def connections(self, pairs: Sequence[tuple[str, str]]) -> dict[Tensor, Tensor]:
        """Return a mapping from the first tensor to the second tensor of each pair.

        Args:
          pairs: pairs of tensor names.
        """
        firsts = self.tensors([first for first, _ in pairs])
        return dict(zip(firsts, self.tensors([second for _, second in pairs])))

    def _element(self, find: Callable[[str], T], name: str) -> T:
        try:
            return find(name)
        except (KeyError, ValueError, TypeError) as error:
            raise invalid_argument(f"The graph has no such name: {error}") from None


def parsed_message(name: str, content: bytes) -> Any:
    """Parse a message of the type `name`.

    Raises InvalidArgumentError if the bytes are malformed.
    """
    try:
        return messages_pb2.parse_bytes(getattr(messages_pb2, name), content)
    except ValueError as error:
        raise invalid_argument(f"No {name}: {error}") from error
