"""Passes: functions that change the unit and return an outcome for the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps

from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.rewrite_switches import why_off

Outcome = tuple[str, Sequence[str]]
"""A report's summary and lines."""


def compile_pass(
    rewrite: str = "",
) -> Callable[[Callable[[Unit], Outcome]], Callable[[Unit], None]]:
    """Make a pass of a function: it is timed, and reported under its module's name.

    rewrite: the rewrite of `RewriterConfig` that the pass implements; if it is off, nothing is
    done.
    """

    def decorate(change: Callable[[Unit], Outcome]) -> Callable[[Unit], None]:
        @wraps(change)
        def run(unit: Unit) -> None:
            with unit.report(change.__module__.rpartition(".")[2]) as set_outcome:
                why = why_off(unit, rewrite) if rewrite else ""
                set_outcome(*((why, ()) if why else change(unit)))

        return run

    return decorate
