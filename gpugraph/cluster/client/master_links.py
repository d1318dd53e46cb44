"""A client's links to masters, in the same process or over a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.errors import AbortedError, NotFoundError
from gpugraph.cluster.access import access_of_environment
from gpugraph.cluster.calls.answers import message_of
from gpugraph.cluster.grpc_server import SERVERS
from gpugraph.cluster.master import UNKNOWN_SLOT, Master
from gpugraph.cluster.part_specs import StepNames, StepOptions
from gpugraph.cluster.shared_segments import SegmentPool, mapped
from gpugraph.cluster.transport import Peer
from gpugraph.cluster.wire_values import read_segment
from gpugraph.cluster.worker_links import SessionMemory, devices_of, write_names
from gpugraph.config import ConfigProto
from gpugraph.config.environment import seconds
from gpugraph.devices import DeviceAttributes
from gpugraph.platform.waiting import warn_while_waiting

SCHEME = "grpc://"
_CLOSING_S = 5.0


class LocalMaster:
    """The link to the master of a server in this process.

    Args:
      timeout_ms: the time limit of a run if its session sets no time limit, or 0 for no limit.
    """

    def __init__(self, master: Master, timeout_ms: int) -> None:
        self._master, self._timeout_ms = master, timeout_ms
        self.list_devices = master.list_devices
        self.close_session = master.close_session
        self.reset = master.reset
        self.memory_use, self.release_memory = master.memory_use, master.release_memory
        self.read_kept, self.delete_kept = master.read_kept, master.delete_kept

    def create_session(self, config: ConfigProto) -> str:
        """Create a session and return its handle."""
        limited = ConfigProto()
        limited.CopyFrom(config)
        limited.operation_timeout_in_ms = config.operation_timeout_in_ms or self._timeout_ms
        return self._master.create_session(limited)

    def extend(self, handle: str, content: bytes, old_version: int, new_version: int) -> None:
        """Add operations to a session's graph on the server.

        Args:
          content: a serialized GraphDef with the operations that were added to the client's graph
            between the two versions.
        """
        self._master.session(handle).graph.extend(content, old_version, new_version)

    def run(
        self, handle: str, slot: int, names: StepNames, values: Sequence[Any], options: StepOptions
    ) -> Sequence[Any]:
        """Run one step and return the values of the fetches."""
        session = self._master.session(handle)
        run = session.in_slot(slot, None) or session.in_slot(slot, names)
        assert run is not None
        return session.do(run, values, options)

    def explain(self, handle: str, names: StepNames) -> str:
        """Return the assignment of a run's operations to tasks."""
        return self._master.session(handle).explain(names)

    def close(self) -> None:
        """Do nothing: there is no connection."""


class RemoteMaster(SessionMemory):
    """The link to the master of a server in another process, over a connection."""

    def __init__(self, target: str) -> None:
        self._peer = Peer(target.removeprefix(SCHEME), access_of_environment())
        self._known: set[int] = set()  # runs whose names the server has received
        self._is_near = False
        self._segments = SegmentPool()

    @property
    def peer(self) -> Peer:
        """The connection to the master's server."""
        return self._peer

    def create_session(self, config: ConfigProto) -> str:
        """Create a session and return its handle.

        Waits until the server answers. The maximum wait is the operation timeout of `config` or, if
        that is not set, GPUGRAPH_CLUSTER_WAIT seconds.
        """
        wait_s = config.operation_timeout_in_ms / 1000 or seconds("GPUGRAPH_CLUSTER_WAIT")
        with warn_while_waiting(f"Waiting for the server at {self._peer.address}"):
            status = self._peer.call("GetStatus", message_of("Nothing"), wait_s=wait_s)
        self._is_near = mapped(read_segment(status.segment)) is not None
        message = message_of("CreateSession", config=config.SerializeToString())
        with warn_while_waiting(
            f"CreateSession still waiting for response from master: {self._peer.address}, which "
            "waits for the other servers of its cluster"
        ):
            return str(self._peer.call("CreateSession", message).handle)

    def extend(self, handle: str, content: bytes, old_version: int, new_version: int) -> None:
        """Add operations to a session's graph on the server, as `LocalMaster.extend` does."""
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
        """Run one step and return the values of the fetches. The names of the feeds, fetches and
        targets are sent until the server has stored them under the number `slot`.
        """
        for has_names in (True,) if slot not in self._known else (False, True):
            message = message_of("RunStep", handle=handle, slot=slot)
            message.timeout_ms, message.trace = options.timeout_ms, options.trace is not None
            message.is_near, message.graphs = self._is_near, options.graphs is not None
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
            options.take_reports(answer)
            return self._peer.read_copies(answer.value, self._segments)
        raise AbortedError.of_no_node(f"The server at {self._peer.address} keeps no runs")

    def explain(self, handle: str, names: StepNames) -> str:
        """Return the assignment of a run's operations to tasks."""
        message = message_of("ExplainStep", handle=handle)
        write_names(message.names, names)
        return str(self._peer.call("ExplainStep", message).text)

    def list_devices(self, handle: str) -> Sequence[DeviceAttributes]:
        """Return the devices of the session's cluster."""
        return devices_of(
            self._peer.call("ListDevices", message_of("ListDevices", handle=handle)).device
        )

    def close_session(self, handle: str) -> None:
        """Close a session on the server. If the server does not answer within five seconds, give
        up.
        """
        message = message_of("SessionHandle", handle=handle)
        self._peer.call("CloseSession", message, limit_s=_CLOSING_S)

    def reset(self, containers: Sequence[str], filters: Sequence[str]) -> None:
        """Close all sessions of the server. Clear containers on the tasks that match `filters`."""
        message = message_of("Containers", container=containers, filter=filters)
        self._peer.call("Reset", message)

    def close(self) -> None:
        """End the connection."""
        self._peer.close()


MasterLink = LocalMaster | RemoteMaster
"""A client's link to a master."""


def master_of(target: str) -> MasterLink:
    """Return the link to a target's master, in this process or over a connection."""
    server = SERVERS.get(target)
    if server is None:
        return RemoteMaster(target)
    defaults = server.server_def.default_session_config
    return LocalMaster(server.master, defaults.operation_timeout_in_ms)
