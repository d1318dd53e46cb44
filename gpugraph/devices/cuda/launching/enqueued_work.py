"""What is told to a GPU's stream when it is called, and what it touches.

Calling an `Enqueued` only tells the stream, without waiting and without memory being taken, so that
it can be captured; what is known of its memory lets its launches be joined with others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from gpugraph.config.environment import setting
from gpugraph.devices.cuda.launching.unbound_launch import Touches, Work
from gpugraph.devices.session_resources import VariableState

MOST_BLOCKS = 1024
"""Blocks of a launch that is small enough to be joined with others: some microseconds of work."""


class Part(NamedTuple):
    """What tells a stream one thing. touches: None where that is not known."""

    call: Callable[[], Any]
    touches: Touches | None
    work: Work | None = None


class Enqueued:
    """Tells a stream what to do, part by part, unless another thread is just capturing it.

    assigned: variables that have a value from then on. notes: what whoever compiles a plan is to
    report of it, to stand behind the op's name.
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
        """The same, which gives these variables a value."""
        made = copy.copy(self)
        made.assigned = tuple(states)
        return made

    def touches(self) -> Touches | None:
        """What memory all of it reads and writes; None where that is not known."""
        found = [part.touches for part in self.parts]
        if None in found:
            return None
        known = [each for each in found if each is not None]
        return Touches(
            tuple(span for each in known for span in each.reads),
            tuple(span for each in known for span in each.writes),
        )

    def kind(self) -> Hashable:
        """What it has in common with those that it may be joined with (`Launcher.joined`); None
        where it can't be."""
        work = self.parts[0].work if len(self.parts) == 1 else None
        if work is None or work.parts is None or work.geometry.grid[0] > MOST_BLOCKS:
            return None
        return work.text


class Waiting(Enqueued):
    """The same, and waits until it is done: what fails does so here, where its op is known."""

    __slots__ = ("wait",)

    def __init__(self, made: Enqueued, wait: Callable[[], Any]) -> None:
        super().__init__(made.parts, made.lock, made.notes)
        self.wait = wait

    def __call__(self) -> None:
        with self.lock:
            super().__call__()
            self.wait()


def is_blocking() -> bool:
    """Whether each launch is waited for: CUDA's own switch, heeded here for captures too."""
    return setting("CUDA_LAUNCH_BLOCKING") not in ("", "0")
