"""Rendezvous, which are tables through which senders pass tensors to receivers. Each tensor has a
key.

A key names one transfer of a run: "source;incarnation;target;edge;frame:iteration". `send` never
blocks. The values of one key are received in the order in which they were sent. A receiver waits
until a value arrives, the rendezvous is aborted, or its timeout expires. A tensor of a branch that
was not taken is sent with a mark that it is dead. The design follows TensorFlow's
core/framework/rendezvous.h.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from gpugraph.base.errors import DeadlineExceededError, OpError, invalid_argument


def parse_key(key: str) -> tuple[str, int, str, str, tuple[int, int]]:
    """Return (source, incarnation, target, edge, (frame, iteration)).

    Raises InvalidArgumentError if the key does not have this format.
    """
    parts = key.split(";")
    try:
        source, incarnation, target, edge, frame = parts
        frame_id, iteration = frame.split(":")
        return source, int(incarnation, 16), target, edge, (int(frame_id), int(iteration))
    except ValueError:
        raise invalid_argument(f"Invalid rendezvous key: {key}") from None


class Rendezvous:
    """Values in transit between senders and receivers of one process."""

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._values: dict[str, deque[tuple[Any, bool]]] = {}
        self._aborted: OpError | None = None

    def send(self, key: str, value: Any, is_dead: bool = False) -> None:
        """Store a value. After an abort, raise the abort's error."""
        with self._arrived:
            if self._aborted is not None:
                raise self._aborted
            self._values.setdefault(key, deque()).append((value, is_dead))
            self._arrived.notify_all()

    def recv(self, key: str, timeout_s: float | None = 0.0) -> tuple[Any, bool]:
        """Wait for the next value of `key`. Return it, and whether it is dead.

        Raises DeadlineExceededError if no value arrives in time. After an abort, raises the abort's
        error.

        Args:
          timeout_s: the number of seconds to wait. None means no limit.
        """
        with self._arrived:
            ready = self._arrived.wait_for(
                lambda: self._aborted is not None or bool(self._values.get(key)), timeout_s
            )
            if self._aborted is not None:
                raise self._aborted
            if not ready:
                raise DeadlineExceededError(
                    None, None, f"No value was sent for {key} within {timeout_s} s"
                )
            queue = self._values[key]
            value = queue.popleft()
            if not queue:
                del self._values[key]
            return value

    def start_abort(self, error: OpError) -> None:
        """Make all waiting receivers, and every later call, raise `error`."""
        with self._arrived:
            if self._aborted is None:
                self._aborted = error
                self._values.clear()
            self._arrived.notify_all()

    def clear(self) -> None:
        """Drop the values that were not received. This is called between two runs."""
        with self._arrived:
            self._values.clear()
