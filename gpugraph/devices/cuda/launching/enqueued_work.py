"""Steps of a GPU: a call enqueues their work on the stream.

An `Enqueued` does not wait and allocates no memory, so that it can be captured. It has a list of
the memory that its work reads and writes, so that launches can be joined with others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from gpugraph.config.environment import setting
from gpugraph.devices.cuda.driver.driver_interface import Span
from gpugraph.devices.cuda.launching.unbound_launch import Touches, Work
from gpugraph.devices.session_resources import VariableState

MAX_BLOCKS = 1024
"""The maximum number of blocks of a launch to be joined: some microseconds of work."""


class Part(NamedTuple):
    """A callable that enqueues one launch or copy. touches: its memory; None if unknown."""

    call: Callable[[], Any]
    touches: Touches | None
    work: Work | None = None


class Enqueued:
    """Enqueues its parts on a stream, in order, under the lock of the stream.

    assigned: variables that are initialized by the call. notes: lines for the compiler's report,
    which follow the op's name.
    """

    __slots__ = ("assigned", "calls", "lock", "notes", "parts")

    def __init__(self, parts: Sequence[Part], lock: Any, notes: Sequence[str] = ()) -> None:
        self.parts = tuple(parts)
        self.calls = tuple(part.call for part in parts)
        self.lock = lock
        self.notes = tuple(dict.fromkeys(notes))
        self.assigned: tuple[VariableState, ...] = ()

    def __call__(self) -> None:
        with self.lock:
            for call in self.calls:
                call()
            for state in self.assigned:
                state.initialized = True

    def assigning(self, states: Iterable[VariableState]) -> Enqueued:
        """Return the same step, which also marks these variables as initialized."""
        step = copy.copy(self)
        step.assigned = tuple(states)
        return step

    def touches(self) -> Touches | None:
        """Return the memory that all parts read and write; None if that of one is unknown."""
        reads: list[Span] = []
        writes: list[Span] = []
        for part in self.parts:
            if part.touches is None:
                return None
            reads += part.touches.reads
            writes += part.touches.writes
        return Touches(tuple(reads), tuple(writes))

    def kind(self) -> Hashable:
        """Return a key that is equal for steps that may be joined (`Launcher.joined`), or None."""
        work = self.parts[0].work if len(self.parts) == 1 else None
        if work is None or work.parts is None or work.geometry.grid[0] > MAX_BLOCKS:
            return None
        return work.text


class Waiting(Enqueued):
    """A step that waits for its work, so that a failure is raised in the step of its op."""

    __slots__ = ("wait",)

    def __init__(self, step: Enqueued, wait: Callable[[], Any]) -> None:
        super().__init__(step.parts, step.lock, step.notes)
        self.wait = wait

    def __call__(self) -> None:
        with self.lock:
            super().__call__()
            self.wait()


def is_blocking() -> bool:
    """Return whether each launch is waited for: CUDA's switch, which also prevents captures."""
    return setting("CUDA_LAUNCH_BLOCKING") not in ("", "0")
