"""Passes: functions that change the unit and return a summary and lines for the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps

from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.rewrite_switches import why_off

Outcome = tuple[str, Sequence[str]]
"""The summary and the lines of a pass's report."""


def compile_pass(
    rewrite: str = "",
) -> Callable[[Callable[[Unit], Outcome]], Callable[[Unit], None]]:
    """Return a decorator that makes a function a pass. The pass is timed, and its report has the
    name of the function's module.

    Args:
      rewrite: the field of `RewriterConfig` that can disable the pass.
    """

    def decorate(change: Callable[[Unit], Outcome]) -> Callable[[Unit], None]:
        @wraps(change)
        def run(unit: Unit) -> None:
            with unit.report(change.__module__.rpartition(".")[2]) as set_outcome:
                why = why_off(unit, rewrite) if rewrite else ""
                set_outcome(*((why, ()) if why else change(unit)))

        return run

    return decorate
