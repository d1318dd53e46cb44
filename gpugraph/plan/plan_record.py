"""The plan, a frozen record of the steps of a run. It is the interface between compilation and
runtime.

`compile/` creates a `Plan`, and `runtime/` runs it. Neither of these packages imports the other.
All names, devices, memory and kernels are fixed. A step is a callable without arguments, a feed is
a callable that receives an array, and a fetch is a callable that returns an array. The names in the
graph are used only as labels in messages and statistics.

In a well-formed plan (see `compile/verification.py`):

  - The inputs of each step are written by earlier steps, or before the run.
  - A step reads and writes only memory of the device that runs it, except for the copies of a
    Recv.
  - Nothing outlives a run except variables.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.plan.arena_record import ArenaRecord, LoopRecord
from gpugraph.plan.graph_record import GraphRecord
from gpugraph.plan.plan_steps import Access, Run, Step, StepSequence, all_steps
from gpugraph.plan.run_clock import RUN_CLOCK, Clock
from gpugraph.plan.step_code import StepCode


class PlanKey(NamedTuple):
    """The identity of a plan, which consists of the fed tensors with their shapes, the fetches and
    the targets. The shapes may contain open sizes.
    """

    feeds: tuple[tuple[str, tuple[int | None, ...] | None], ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]


class Mailbox(Protocol):
    """A buffer through which one step passes a tensor to another step, under a rendezvous key."""

    def send(self, key: str, value: Any, is_dead: bool = False) -> None:
        """Store a value.

        Args:
          is_dead: whether the value belongs to a branch that was not taken.
        """

    def recv(self, key: str) -> tuple[Any, bool]:
        """Remove and return the value of a key, and whether it is dead."""

    def clear(self) -> None:
        """Drop all values."""


def rendezvous_key(
    source: str, incarnation: int, target: str, edge: str, frame: int = 0, iteration: int = 0
) -> str:
    """Return the key of one transfer, which is `source;incarnation in
    hex;target;edge;frame:iteration`.
    """
    return f"{source};{incarnation:016x};{target};{edge};{frame}:{iteration}"


class FeedSlot(NamedTuple):
    """A fed tensor.

    Args:
      load: a function that stores an array of this dtype and shape as the value of the tensor in
        the next run.
    """

    name: str
    dtype: DType
    shape: tuple[int | None, ...] | None
    load: Callable[[Any], Any]


class FetchSlot(NamedTuple):
    """A fetched tensor.

    Args:
      read: a function that returns a copy of the tensor's value, as an array on the host.
      array: the array that `read` copies, if it is the same host array in each run. Otherwise None.
    """

    name: str
    read: Callable[[], Any]
    origin: Any = None
    array: Any = None


class Transfer(NamedTuple):
    """The transfer of one tensor to another device.

    Args:
      num_bytes: the number of bytes, or None if it is known only in a run.
    """

    tensor: str
    source: str
    target: str
    num_bytes: int | None


class PassReport(NamedTuple):
    """The report of a compiler pass. It has a heading, and lines with the changes of the pass and
    their reasons.
    """

    name: str
    summary: str
    lines: Sequence[str] = ()
    seconds: float = 0.0


class Placement(NamedTuple):
    """The device of one op of the plan and the reason for it.

    Args:
      mode: how the op runs, such as `kernel`, `view` or `folded`.
    """

    name: str
    op_type: str
    device: str
    reason: str
    mode: str
    origin: Any = None


class OpenSizes(Protocol):
    """The open sizes of a plan that can run many sets of shapes
    (`compile/binding/open_plan.py`).
    """

    def select(self, shapes: tuple[tuple[int, ...], ...]) -> None:
        """Prepare the plan for runs in which the feeds have these shapes. The caller must hold the
        plan's lock. Raises UnfitShapesError if the shapes need another plan.
        """

    def described(self, shapes: tuple[tuple[int, ...], ...]) -> Plan:
        """Return a copy of the plan whose reports are for feeds of these shapes."""


class UnfitShapesError(Exception):
    """The error for feeds whose shapes an open plan can't run."""


class SeparatedCopiesError(Exception):
    """The error for a plan that is bound to the common memory of a variable's copies, after the
    copies were separated.

    It is raised before the run has any effect.
    """


class UnfitReportError(Exception):
    """The error for a size that a kernel reported in a run and that does not fit the open plan.

    It is raised before the run has any effect.

    Args:
      is_larger: whether the size fits in another run, with more memory.
      reported: by name, the sizes that the run has reported so far.
    """

    def __init__(self, is_larger: bool, reported: Mapping[str, int] | None = None) -> None:
        super().__init__()
        self.is_larger = is_larger
        self.reported = reported or {}


@dataclass(slots=True)
class Plan:
    """A compiled run.

    Its memory serves one run at a time. To run or release the plan, a caller must hold `lock`. To
    run it, a caller must also acquire its `memory`, which other plans may share. Plans that share
    memory have the same dict `holder`, which is `{0: plan}` while a run of `plan` uses the memory.
    A caller has acquired the memory if `holder.setdefault(0, plan) is plan`. `has_arena_in` returns
    whether the plan's arena is in a given memory block.

    The callables in `ends` run after a run's fetches. They raise the errors that devices have
    reported. `waits` has a function for each device that waits until the device has completed all
    enqueued work. `in_use` has a function for each device that returns the bytes that the device's
    allocator has in use.

    `access` is the run's entry in the session's table of runs that use variables. A run calls
    `access.enter` before its first step, and `access.leave` at its end. `runs` counts runs, so that
    a waiting thread can detect whether the lock's holder is still in the same run. A plan that
    `runs_once` becomes stale when its run begins, and its memory is freed when the run ends.

    `sized_in_run` has two numbers for each device: how many tensors are not in the arena, because
    their size is known only in a run, and the device's memory limit in bytes. `loops` describes the
    memory that iterations keep in addition to the arena. A plan with `sizes` can run many sets of
    shapes. Before a run, `sizes.select` prepares the plan for one set of shapes. `opening` is the
    object that can turn a plan for one set of shapes into a plan with `sizes`. `reported` has, for
    each node, the number of rows that its kernel counted in the last run. `at_end` is called once,
    when the plan's memory is released.

    `graph_record` is set when a run has been traced (`graph_record.py`).

    Runs execute in `context`, a `contextvars` context. In it, NumPy's floating-point warnings are
    off (switching them off in each run would take a microsecond), and `RUN_CLOCK` is the plan's
    clock. If the plan has a single step, `alone` is this step. `run_unguarded` then calls it
    directly, and errors are attributed to it.

    `watched` has the variables to whose memory the steps are bound. If the memory of one of these
    variables has `moved`, the plan is stale. The lock is reentrant. A kernel may call the session,
    and this call may need the very plan that is executing the kernel. Such a call does not
    deadlock, because it finds that the plan is `running`.

    Args:
      variables: all variables that the plan uses.
      writes: whether the plan writes to any of these variables.
    """

    key: PlanKey
    steps: tuple[Step, ...]
    feeds: tuple[FeedSlot, ...]
    fetches: tuple[FetchSlot, ...]
    transfers: tuple[Transfer, ...]
    placements: tuple[Placement, ...]
    reports: tuple[PassReport, ...]
    arenas: dict[str, ArenaRecord]
    variables: tuple[Any, ...]
    watched: tuple[Any, ...]
    moved: Callable[[], bool]
    reset: Callable[[], None]
    release_memory: Callable[[], None]
    lock: threading.RLock = field(default_factory=new_rlock)
    running: bool = False
    runs: int = 0
    access: Access | None = None
    stale: bool = False
    warm: bool = False
    runs_once: bool = False
    has_cells: bool = False
    writes: bool = False
    clock: Clock = field(default_factory=Clock)
    ends: tuple[FetchSlot, ...] = ()
    waits: dict[str, Callable[[], Any]] = field(default_factory=dict)
    in_use: dict[str, Callable[[], int]] = field(default_factory=dict)
    graph_record: GraphRecord | None = None
    sized_in_run: dict[str, tuple[int, int]] = field(default_factory=dict)
    loops: tuple[LoopRecord, ...] = ()
    whose_memory: str = ""
    memory: Any = None
    holder: dict[int, Plan] = field(default_factory=dict)
    has_arena_in: Callable[[Any], bool] = bool
    at_end: Callable[[], object] | None = None
    opening: Any = None
    sizes: OpenSizes | None = None
    reported: dict[str, int] = field(default_factory=dict)
    context: contextvars.Context = field(default_factory=contextvars.Context, init=False)
    loads: tuple[Callable[[Any], Any], ...] = field(default=(), init=False)
    guarded: StepSequence = field(init=False)
    unguarded: StepSequence = field(init=False)
    run_guarded: Run = field(init=False)
    run_unguarded: Run = field(init=False)
    alone: Step | None = field(default=None, init=False)

    @property
    def arena_bytes(self) -> dict[str, int]:
        """The size of each device's arena in bytes."""
        return {device: arena.num_bytes for device, arena in self.arenas.items()}

    def current_reports(self, step_codes: Iterable[tuple[Step, StepCode]]) -> Sequence[PassReport]:
        """Return the reports of the passes. The report of `binder` has additional notes on the code
        that currently runs the steps.
        """
        codes = {step.label: code for step, code in step_codes}
        groups = [step.group for step in all_steps(self.steps) if step.group is not None]
        notes = [note for group in groups for note in group.notes(codes)]
        return [
            report._replace(lines=[*report.lines, *notes]) if report.name == "binder" else report
            for report in self.reports
        ]

    def __post_init__(self) -> None:
        self.context.run(np.seterr, all="ignore")
        self.context.run(RUN_CLOCK.set, self.clock)
        self.clock.access = self.access
        self.loads = tuple(slot.load for slot in self.feeds)
        self.set_steps(self.steps)

    def set_ends(
        self, feeds: tuple[FeedSlot, ...], fetches: tuple[FetchSlot, ...], key: PlanKey
    ) -> None:
        """Set the feeds and fetches of the next runs, and the key with the shapes of the feeds."""
        self.feeds, self.fetches, self.key = feeds, fetches, key
        self.loads = tuple([slot.load for slot in feeds])
        self.graph_record = None

    def set_steps(self, steps: Sequence[Step]) -> None:
        """Set the steps that the next runs execute."""
        self.steps = tuple(steps)
        self.alone = None
        self.guarded = StepSequence(self.steps)
        self.unguarded = StepSequence(self.steps, guarded=False)
        self.run_guarded, self.run_unguarded = self.guarded.run, self.unguarded.run
        if len(self.unguarded.runs) == 1:
            (self.run_unguarded,), (self.alone,) = self.unguarded.runs, self.unguarded.steps

    def release(self) -> None:
        """Release the plan's memory. The plan becomes stale, so no run can use it."""
        self.stale = True
        self.end()
        self.release_memory()

    def end(self) -> None:
        """Call `at_end` unless it has been called already."""
        at_end, self.at_end = self.at_end, None
        if at_end is not None:
            at_end()
