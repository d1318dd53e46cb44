"""Limits on the connection requests of hosts whose connections too often end without a proof that
the client has the cluster's key.

Each connection that ends without a proof adds 1 to the count of its host. The count falls by
`FALL_PER_S` each second. If the count is above `MANY`, the kernel drops three of four connection
requests of the host. If the count is above `TOO_MANY`, the kernel drops all connection requests of
the host. There is one exception: if another connection of the host has sent a valid proof within
the last minute, one of four requests is always accepted.
"""

from __future__ import annotations

import time
from collections.abc import Callable

MANY, TOO_MANY = 10, 40
FALL_PER_S = 4.0
_HIGHEST = 100.0
_PROVEN_S = 60.0
_SHARE_OF_MANY, _SHARE_OF_TOO_MANY = 0.75, 1.0
_MAX_HOSTS = 4096


class HostLimits:
    """Counts of unproven connections by host. Only the method `note_proven` is thread-safe.

    Args:
      clock: a function that returns the time in seconds. Tests replace the clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[str, tuple[float, float]] = {}  # the count, and its time
        self._proven: dict[str, float] = {}  # the time of the latest proof

    def note_proven(self, host: str) -> None:
        """Record that a connection of a host has now sent a valid proof."""
        self._proven[host] = self._clock()

    def note_unproven(self, host: str) -> None:
        """Record that a connection of the host has ended without a valid proof."""
        count = min(self._count(host) + 1, _HIGHEST)
        self._counts.pop(host, None)
        self._counts[host] = count, self._clock()
        if len(self._counts) > _MAX_HOSTS:
            del self._counts[next(iter(self._counts))]

    def shares(self) -> dict[str, float]:
        """Return the fraction of new connections to drop (0 to 1) for each host that is currently
        limited.
        """
        self._forget()
        return {
            host: _SHARE_OF_MANY
            if host in self._proven or self._count(host) <= TOO_MANY
            else _SHARE_OF_TOO_MANY
            for host in self._counts
            if self._count(host) > MANY
        }

    def _forget(self) -> None:
        """Remove hosts whose count has fallen to 0, and proofs that are more than a minute old."""
        oldest_s = self._clock() - _PROVEN_S
        self._counts = {host: noted for host, noted in self._counts.items() if self._count(host)}
        for host, proven_s in list(self._proven.items()):
            if proven_s < oldest_s:
                self._proven.pop(host, None)

    def _count(self, host: str) -> float:
        count, noted_s = self._counts.get(host, (0.0, 0.0))
        return max(0.0, count - FALL_PER_S * (self._clock() - noted_s))
