"""The other tasks of a cluster, as a worker needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.errors import OpError
from gpugraph.cluster.calls.answers import message_of, write_failure
from gpugraph.cluster.shared_segments import SegmentName
from gpugraph.cluster.transport import Peer
from gpugraph.cluster.wire_values import Memory, Parcels, SeenParcels, write_values

CLEANING_S = 5.0
"""How long to wait for a server that is told of an end."""

_PATIENCE_S = 20.0
"""How long a server may take to say how far it is; one that has much to do may be slow."""

SeenByTask = dict[str, SeenParcels]
"""Parcels in the memory of others, by who has sent them."""


class PeerTasks:
    """Sends tensors of steps, and asks how far others are.

    peer: the connection to a task. parcels: where large tensors wait until they are fetched.
    """

    def __init__(self, peer: Callable[[str], Peer], parcels: Parcels) -> None:
        self._peer, self._parcels = peer, parcels
        self.segments = parcels.segments

    def send_tensors(
        self, task: str, step: int, keys: Sequence[str], values: Sequence[Any]
    ) -> None:
        """Sends tensors of a step, without waiting for their arrival.

        Large ones are fetched, or read in shared memory.
        """
        message = message_of("SendTensors")
        self.write_tensors(message, task, step, keys, values)
        self._peer(task).send("SendTensors", message)

    def write_tensors(
        self, message: Any, task: str, step: int, keys: Sequence[str], values: Sequence[Any]
    ) -> None:
        """Fills a SendTensors for a task."""

        def share(memory: Memory) -> tuple[str, SegmentName] | None:
            return self._parcels.share(memory, owners) if self.is_near(task) else None

        message.step, owners = step, (step, "")
        message.key.extend(keys)
        write_values(message.value, values, partial(self._parcels.put, owners=owners), share)

    def is_near(self, task: str) -> bool:
        """Whether a task and this one see each other's memory."""
        return self._peer(task).is_near()

    def forget(self, step: int) -> None:
        """What of a failed step waits here to be fetched is not kept."""
        self._parcels.end(step)

    def see_values(self, task: str, messages: Sequence[Any], seen: SeenByTask) -> list[Any]:
        """The arrays that a task has sent. Those in its memory are noted, to be freed."""
        noted = seen.setdefault(task, [])
        return self._peer(task).see_values(messages, self.segments, noted)

    def read_copies(self, task: str, messages: Sequence[Any]) -> list[Any]:
        """As `see_values`, in memory of this process."""
        return self._peer(task).read_copies(messages, self.segments)

    def end(self, seen: SeenByTask, has_failed: bool) -> None:
        """Tells those who have sent it that nothing here reads this any more.

        Where the step has failed they do not write to it again, so that it is not kept here.
        """
        for task, parcels in seen.items():
            if has_failed:
                self.segments.forget(name for _, name in parcels)
            elif parcels:
                self._peer(task).free(parcels)

    def part_state(self, task: str, step: int) -> int:
        """How far the task's part of a step is; UnavailableError where it is not there."""
        message = message_of("PartOfStep", step=step)
        return int(self._peer(task).call("GetPartState", message, wait_s=_PATIENCE_S).state)

    def abort(self, task: str, step: int, error: OpError) -> None:
        """Ends a step there, without waiting for the answer."""
        tell_end(self._peer(task), step, error)


def tell_end(peer: Peer, step: int, error: OpError) -> None:
    """Ends a step at a server, without waiting for the answer."""
    message = message_of("AbortStep", step=step)
    write_failure(message.failure, error)
    peer.tell("AbortStep", message, limit_s=CLEANING_S)
