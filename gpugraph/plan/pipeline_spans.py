"""Time spans of the threads that read data pipelines, and the switch for watching all pipelines.

The ops of datasets record spans only within a `recording_spans` block.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

MAX_SPANS = 50_000
"""The maximum number of spans that are kept, the last."""


class Span(NamedTuple):
    """The time span of one call of a stage's iterator in one thread. Times are in nanoseconds since
    the epoch.

    Args:
      depth: the number of calls of other iterators, in the same thread, inside which this call
        takes place.
    """

    thread: str
    depth: int
    name: str
    kind: str
    begun: int
    ended: int


_SPANS: deque[Span] = deque(maxlen=MAX_SPANS)
_listeners = 0
_OFFSET = time.time_ns() - time.perf_counter_ns()


def note(name: str, kind: str, depth: int, begun: int, ended: int) -> None:
    """Record the span of a call, if a `recording_spans` block is active.

    Args:
      begun, ended: the times of `time.perf_counter_ns` at the start and the end of the call.
    """
    if _listeners:
        thread = threading.current_thread()
        label = f"{thread.name} {thread.ident}"
        _SPANS.append(Span(label, depth, name, kind, begun + _OFFSET, ended + _OFFSET))


@contextmanager
def recording_spans() -> Iterator[None]:
    """Record the spans of watched pipelines during the block."""
    global _listeners
    _listeners += 1
    try:
        yield
    finally:
        _listeners -= 1


def spans_between(begun: int, ended: int) -> list[Span]:
    """Return the recorded spans that end between two times, which are in nanoseconds since the
    epoch.
    """
    return [span for span in list(_SPANS) if begun < span.ended <= ended]


# -- iterators that are watched from their start


class WatchAll:
    """A switch. While it is on, each iterator that is initialized is watched, and its watch is
    recorded here.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.watches: list[Any] = []

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch all iterators that are initialized during the block."""
        self.is_on = True
        self.watches.clear()
        try:
            yield
        finally:
            self.is_on = False


WATCH_ALL = WatchAll()
