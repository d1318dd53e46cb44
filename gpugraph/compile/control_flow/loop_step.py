"""Loops: a frame as one step that runs its body again and again.

entered   whether anything that enters is alive, where it may be that nothing is
start     what enters, to the places of the loop variables
head      what each iteration computes to know whether it is the last
goes_on   whether it isn't
tail      the rest of the iteration; then next values go to the places of the variables
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.compile.steps.kernel_context import Cell
from gpugraph.plan import Clock, Step, blame, runs_of


class Loop:
    """Runs a loop. The parts are steps, so that an error finds the one that raised it."""

    __slots__ = ("clock", "dying", "entered", "goes_on", "head", "name", "parts", "start", "tail")

    def __init__(
        self,
        name: str,
        parts: tuple[Sequence[Step], Sequence[Step], Sequence[Step]],
        goes_on: Callable[[], Any],
        dying: Sequence[Cell],
        clock: Clock,
        entered: Callable[[], bool] | None = None,
        guarded: bool = True,
    ) -> None:
        self.name = name
        self.parts = parts
        self.start, self.head, self.tail = (runs_of(steps, guarded) for steps in parts)
        self.goes_on = goes_on
        self.dying = dying
        self.clock = clock
        self.entered = entered

    def plain(self) -> Loop:
        return Loop(
            self.name, self.parts, self.goes_on, self.dying, self.clock, self.entered, False
        )

    def __call__(self) -> None:
        if self.entered is not None and not self.entered():
            return
        head, tail, goes_on, clock = self.head, self.tail, self.goes_on, self.clock
        current: Callable[[], Any] | None = None
        try:
            for current in self.start:
                current()
            while True:
                for current in head:
                    current()
                current = goes_on
                if not goes_on():
                    break
                for current in tail:
                    current()
                if clock.armed:
                    current = None  # not to blame
                    clock.check(f"in the loop '{self.name}'")
        except Exception as error:
            blame(error, current)
            raise
        for cell in self.dying:
            cell.release()
