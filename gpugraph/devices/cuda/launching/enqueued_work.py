"""Steps of a GPU plan that only enqueue commands on the stream.

An `Enqueued` neither waits nor allocates memory, so it can be captured in a CUDA graph. It lists
the memory that its commands read and write, so that independent launches can be joined.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from gpugraph.config.environment import setting
from gpugraph.devices.cuda.driver.driver_interface import Driver, Span, Stream
from gpugraph.devices.cuda.launching.unbound_launch import Touches, Work
from gpugraph.devices.session_resources import VariableState

MAX_BLOCKS = 1024
"""The maximum number of blocks of a launch that may be joined with others. Such a launch takes a
few microseconds.
"""


class EnqueuedPart(NamedTuple):
    """A callable that enqueues one launch or copy.

    Args:
      touches: the memory that the launch or copy reads and writes, or None if this memory is
        unknown.
      work: the unbound form of a launch, or None for a copy.
      prepare: a function that waits until the launch is compiled, if it must be compiled.
    """

    call: Callable[[], Any]
    touches: Touches | None
    work: Work | None = None
    prepare: Callable[[], Any] | None = None


class Pending:
    """A launch of a kernel that another thread may still be compiling. `prepare` waits for the
    compilation.
    """

    __slots__ = ("call", "driver", "module", "stream", "work")

    def __init__(self, driver: Driver, module: Future[Any], work: Work, stream: Stream) -> None:
        self.driver, self.module, self.work, self.stream = driver, module, work, stream
        self.call: Callable[[], None] | None = None

    def prepare(self) -> Callable[[], None]:
        """Wait for the compilation, and return the callable that launches the kernel."""
        if self.call is None:
            _, function, geometry, arguments, reads, writes, _ = self.work
            module = self.module.result()
            self.call = self.driver.launcher(
                module, function, geometry, arguments, self.stream, reads, writes
            )
        return self.call

    def __call__(self) -> None:
        (self.call or self.prepare())()


class Enqueued:
    """A step that enqueues its parts in order on a stream while it holds the stream's lock.

    Args:
      notes: lines for the compiler's report. The report puts the op's name before each line.

    Attributes:
      assigned: variables that the call marks as initialized.
    """

    __slots__ = ("assigned", "calls", "is_prepared", "lock", "notes", "parts")

    def __init__(self, parts: Sequence[EnqueuedPart], lock: Any, notes: Sequence[str] = ()) -> None:
        self.parts = tuple(parts)
        self.calls = tuple(part.call for part in parts)
        self.lock = lock
        self.notes = tuple(dict.fromkeys(notes))
        self.assigned: tuple[VariableState, ...] = ()
        self.is_prepared = all(part.prepare is None for part in parts)

    def prepare(self) -> None:
        """Wait until all launches are compiled. The first call does this, too, before it acquires
        the lock, so that the steps of other threads need not wait.
        """
        for part in self.parts:
            if part.prepare is not None:
                part.prepare()
        self.is_prepared = True

    def __call__(self) -> None:
        if not self.is_prepared:
            self.prepare()
        with self.lock:
            for call in self.calls:
                call()
            for state in self.assigned:
                state.initialized = True

    def assigning(self, states: Iterable[VariableState]) -> Enqueued:
        """Return a copy of the step that also marks the variables `states` as initialized."""
        step = copy.copy(self)
        step.assigned = tuple(states)
        return step

    def touches(self) -> Touches | None:
        """Return the memory that all parts read and write, or None if it is unknown for one of the
        parts.
        """
        reads: list[Span] = []
        writes: list[Span] = []
        for part in self.parts:
            if part.touches is None:
                return None
            reads += part.touches.reads
            writes += part.touches.writes
        return Touches(tuple(reads), tuple(writes))

    def kind(self) -> Hashable:
        """Return a key of the step, or None if it can't be joined with other steps.
        `Launcher.joined` may join steps with equal keys.
        """
        work = self.parts[0].work if len(self.parts) == 1 else None
        if work is None or work.parts is None or work.geometry.grid[0] > MAX_BLOCKS:
            return None
        return work.text


class Waiting(Enqueued):
    """A step that enqueues its commands and waits for them. So if a kernel fails, the step of its
    op raises the error.
    """

    __slots__ = ("wait",)

    def __init__(self, step: Enqueued, wait: Callable[[], Any]) -> None:
        super().__init__(step.parts, step.lock, step.notes)
        self.wait = wait

    def __call__(self) -> None:
        if not self.is_prepared:
            self.prepare()
        with self.lock:
            super().__call__()
            self.wait()


def is_blocking() -> bool:
    """Return whether CUDA_LAUNCH_BLOCKING requires the host to wait for each launch. If so,
    captures are impossible.
    """
    return setting("CUDA_LAUNCH_BLOCKING") not in ("", "0")
