"""Members of a collective that meet in this process, for tests of their exchange."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["Wires", "all_ranks"]


class Wires:
    """The wires between `size` members. `messages` holds (from, to, name, bytes), in sending order.

    delay_s: how long an array that has arrived is in transit before it is read.
    """

    def __init__(self, size: int, delay_s: float = 0.0) -> None:
        self.size, self.delay_s = size, delay_s
        self.messages: list[tuple[int, int, str, int]] = []
        self._queues: dict[tuple[int, int, str], queue.Queue[Any]] = {}
        self._lock = threading.Lock()

    def queue(self, *key: Any) -> queue.Queue[Any]:
        with self._lock:
            return self._queues.setdefault(key, queue.Queue())

    @property
    def num_left(self) -> int:
        """Arrays that nobody has asked for."""
        return sum(waiting.qsize() for waiting in self._queues.values())

    def wire(self, rank: int) -> Any:
        return _Wire(self, rank)


class _Wire:
    def __init__(self, wires: Wires, rank: int) -> None:
        self._wires, self.rank, self.size = wires, rank, wires.size

    def send(self, rank: int, name: str, array: Any) -> None:
        self._wires.messages.append((self.rank, rank, name, np.asarray(array).nbytes))
        self._wires.queue(self.rank, rank, name).put(array)

    def ask(self, rank: int, name: str) -> Callable[[], Any]:
        def read() -> Any:
            array = self._wires.queue(rank, self.rank, name).get(timeout=20)
            time.sleep(self._wires.delay_s)
            return np.array(array)

        return read


def all_ranks(size: int, work: Callable[[int], Any]) -> Sequence[Any]:
    """Call a function for each rank in a separate thread, and return the results."""
    results: list[Any] = [None] * size

    def run(rank: int) -> None:
        try:
            with np.errstate(all="ignore"):
                results[rank] = work(rank)
        except BaseException as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
