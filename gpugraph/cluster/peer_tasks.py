"""Communication of a worker with the other tasks of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.errors import OpError, UnavailableError
from gpugraph.cluster.calls.answers import message_of, write_failure
from gpugraph.cluster.shared_segments import SegmentName
from gpugraph.cluster.transport import Peer
from gpugraph.cluster.wire_values import Memory, Parcels, SeenParcels, write_values

CLEANING_S = 5.0
"""The number of seconds to wait until a server acknowledges the end of a step or a session."""

_PATIENCE_S = 20.0
"""The number of seconds to wait for a server's report on a part's state, since a busy server may be
slow.
"""

SeenByTask = dict[str, SeenParcels]
"""Parcels (large tensors in transfer) in shared memory of other tasks, by sending task."""


class PeerTasks:
    """An object that sends tensors of steps to other tasks, and requests the state of their parts.

    Args:
      peer: a function that returns the connection to a task.
      parcels: the object that holds large tensors until they are fetched.
    """

    def __init__(self, peer: Callable[[str], Peer], parcels: Parcels) -> None:
        self._peer, self._parcels = peer, parcels
        self.segments = parcels.segments

    def send_tensors(
        self, task: str, step: int, keys: Sequence[str], values: Sequence[Any]
    ) -> None:
        """Send tensors of a step to a task, without waiting for their arrival.

        The message does not contain large tensors. The receiver fetches large tensors separately,
        or reads them in shared memory.

        Args:
          keys: the tensors' rendezvous keys.
        """
        message = message_of("SendTensors")
        self.write_tensors(message, task, step, keys, values)
        self._peer(task).send("SendTensors", message)

    def write_tensors(
        self, message: Any, task: str, step: int, keys: Sequence[str], values: Sequence[Any]
    ) -> None:
        """Write tensors of a step into a SendTensors message for a task."""

        def share(memory: Memory) -> tuple[str, SegmentName] | None:
            return self._parcels.share(memory, owners) if self.is_near(task) else None

        message.step, owners = step, (step, "")
        message.key.extend(keys)
        write_values(message.value, values, partial(self._parcels.put, owners=owners), share)

    def is_near(self, task: str) -> bool:
        """Return whether a task and this process are on one machine, where they share memory."""
        return self._peer(task).is_near()

    def forget(self, step: int) -> None:
        """Drop the tensors of a failed step that this task holds for other tasks to fetch."""
        self._parcels.end(step)

    def see_values(self, task: str, messages: Sequence[Any], seen: SeenByTask) -> list[Any]:
        """Return the arrays in Value messages from a task.

        Arrays in the task's shared memory are not copied. These arrays are recorded in `seen`,
        which must later be passed to `end`.
        """
        noted = seen.setdefault(task, [])
        return self._peer(task).see_values(messages, self.segments, noted)

    def read_copies(self, task: str, messages: Sequence[Any]) -> list[Any]:
        """Return the arrays in Value messages from a task, copied to the memory of this process."""
        return self._peer(task).read_copies(messages, self.segments)

    def end(self, seen: SeenByTask, has_failed: bool) -> None:
        """Notify the senders that this process no longer reads the parcels in `seen`.

        If the step has failed, the senders are not notified, so they do not reuse the memory. After
        a failure, the memory is only unmapped in this process.
        """
        for task, parcels in seen.items():
            if has_failed:
                self.segments.forget(name for _, name in parcels)
            elif parcels:
                self._peer(task).free(parcels)

    def part_state(self, task: str, step: int, incarnation: int = 0) -> int:
        """Return the state of a task's part of a step. Raises UnavailableError if the task is
        gone.

        Args:
          incarnation: the incarnation of the server that has begun the step, or 0 if it is not
            known. If the server was restarted since, the task's part is gone.
        """
        message = message_of("PartOfStep", step=step)
        answer = self._peer(task).call("GetPartState", message, wait_s=_PATIENCE_S)
        if incarnation and answer.incarnation != incarnation:
            raise UnavailableError.of_no_node("its server was restarted")
        return int(answer.state)

    def abort(self, task: str, step: int, error: OpError) -> None:
        """End a step on another task with an error, without waiting for the answer."""
        tell_end(self._peer(task), step, error)


def tell_end(peer: Peer, step: int, error: OpError) -> None:
    """End a step on a server with an error, without waiting for the answer."""
    message = message_of("AbortStep", step=step)
    write_failure(message.failure, error)
    peer.tell("AbortStep", message, limit_s=CLEANING_S)
