"""`gpugraph explain PROGRAM`: runs a program and prints how each of its plans runs, and why.

A plan is the compiled form of one set of fetches and feeds. The results are printed when the
program ends. The results list the op types that took the most time and, for each plan, its steps,
the reports of the compiler passes, and the steps that became native code. Plans that only
initialize, check, save or restore variables are omitted, and passes that changed nothing share a
line, unless `--all` is set.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gpugraph.cli.program_process import (
    ProgramFile,
    add_program,
    answer_imports,
    listen,
    run_and_write,
)
from gpugraph.cli.results import Results, add_results, hidden_plans
from gpugraph.compile import pass_names
from gpugraph.plan import Placement
from gpugraph.plan.pipeline_spans import WATCH_ALL
from gpugraph.session.direct_session import PLAN_LISTENERS, end_plans
from gpugraph.session.explanations.explanation import Explanation, placement_table
from gpugraph.session.explanations.explanation_record import explanation_record
from gpugraph.session.explanations.fitted_columns import fitted_columns, wrapped
from gpugraph.session.traced_execution import RUN_LISTENERS, TracedExecution

_MAX_OP_TYPES = 12
_MANY_PLANS = 20
"""The number of plans above which a program may compile one for each step."""


def add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `explain` and its arguments to the parser."""
    explain = commands.add_parser(
        "explain", help="run a program and print how each of its plans runs, and why"
    )
    explain.add_argument("--ops", action="store_true", help="a line for each operation too")
    explain.add_argument(
        "--pass",
        dest="pass_name",
        choices=pass_names(),
        metavar="PASS",
        help="print only the report of this pass, such as fusion_groups",
    )
    explain.add_argument(
        "--placement", action="store_true", help="at the end, a line for each op of the program"
    )
    explain.add_argument(
        "--all",
        action="store_true",
        help="also plans that only initialize, check, save or restore variables, and all passes",
    )
    explain.add_argument(
        "--wide", action="store_true", help="shorten and break no line to fit the terminal"
    )
    add_results(explain)
    add_program(explain)
    explain.set_defaults(command=explain_command)


@dataclass
class _OpTime:
    """The steps of one op type, the number of times that they ran, and the nanoseconds that they
    took.
    """

    steps: set[str] = field(default_factory=set)
    runs: int = 0
    nanoseconds: int = 0


@dataclass
class _Program:
    """The plans of a program, in the order of their compilation, and the times of its op types.

    Args:
      ends: for each plan that has ended, by its number, a description of the steps that were native
        code at its end.
    """

    plans: list[Explanation] = field(default_factory=list)
    ends: dict[int, str] = field(default_factory=dict)
    times: dict[str, _OpTime] = field(default_factory=dict)

    def add_plan(self, explanation: Explanation) -> Callable[[Explanation], None]:
        """Add a plan. Return a function to be called when the plan ends. The function records the
        plan's final state.
        """
        self.plans.append(explanation)
        number = len(self.plans)
        return lambda last: self.ends.update({number: last.native()})

    def add_run(self, runner: Any, execution: TracedExecution) -> None:
        """Add the times of a finished run."""
        for time in execution.times.times if execution.times is not None else ():
            entry = self.times.setdefault(time.step.op_type, _OpTime())
            entry.steps.add(time.step.label)
            entry.runs += 1
            entry.nanoseconds += time.ended - time.started

    def slowest(self) -> list[tuple[str, _OpTime]]:
        """Return the op types with their times, slowest first."""
        return sorted(self.times.items(), key=lambda item: (-item[1].nanoseconds, item[0]))

    def chosen(self, options: argparse.Namespace) -> list[tuple[int, Explanation]]:
        """Return pairs (number, explanation) for the plans to print."""
        return [
            (number, plan)
            for number, plan in enumerate(self.plans, 1)
            if options.all or not plan.is_bookkeeping()
        ]


def explain_command(options: argparse.Namespace) -> int:
    """Run the program, write how its plans run, and return the program's exit status."""
    seen, program = _Program(), ProgramFile.of(options)

    def write() -> bool:
        sys.stdout.flush()
        end_plans()
        return Results.of(options).write(_texts(seen, options), lambda: _record(seen, options))

    with (
        WATCH_ALL.on(),
        answer_imports(program),
        listen(PLAN_LISTENERS, seen.add_plan),
        listen(RUN_LISTENERS, seen.add_run),
    ):
        return run_and_write(program, write)


def _texts(seen: _Program, options: argparse.Namespace) -> Iterator[str]:
    """Yield the sections of the printed text."""
    chosen = seen.chosen(options)
    if len(seen.plans) > _MANY_PLANS:
        yield wrapped(_many_plans(len(seen.plans), len(chosen)), _width(options)) + "\n"
    if not options.pass_name and seen.times:
        yield f"-- time by op type, measured step by step\n{_time_table(seen, options)}\n"
    for number, plan in chosen:
        yield f"-- plan {number}: {plan.title}\n{_text(plan, options)}\n"
    yield from hidden_plans(len(seen.plans) - len(chosen))
    if not seen.plans:
        yield "-- no plan: the program had no run"
    if not options.pass_name:
        yield from _ends(seen, chosen, options)
        read = [watch for watch in WATCH_ALL.watches if watch.times]
        yield from ["-- pipelines of data", *(watch.text() for watch in read)] if read else []
    if options.placement:
        placed: dict[str, Placement] = {}
        for plan in seen.plans:
            for op in plan.placed:
                placed.setdefault(op.name, op)
        yield f"-- placement of {len(placed)} operations in {len(seen.plans)} plans"
        yield placement_table(placed.values(), _width(options))


def _many_plans(count: int, shown: int) -> str:
    """Return a sentence about the number of plans, with the mistakes that cause many."""
    return (
        f"-- {count} plans, of which {shown} are shown. Each was compiled. If their number grows "
        "with the steps of the program, its graph grows in the loop, or each run has other "
        "fetches: call tf.get_default_graph().finalize() before the loop to find the line "
        "(docs/slow.md)"
    )


def _ends(
    seen: _Program, chosen: list[tuple[int, Explanation]], options: argparse.Namespace
) -> Iterator[str]:
    """Yield a line for each plan that has ended, with the number of its native steps."""
    ended = [number for number, _ in chosen if number in seen.ends]
    if ended:
        yield "-- native code when each plan ended"
    for number in ended:
        yield wrapped(f"plan {number}: {seen.ends[number]}", _width(options))


def _time_table(seen: _Program, options: argparse.Namespace) -> str:
    """Return a table with a line for each of the slowest op types, and one line for all other op
    types.
    """
    total = sum(time.nanoseconds for time in seen.times.values()) or 1
    rows = [("op type", "steps", "runs", "ms", "share")]
    slowest = seen.slowest()
    for op_type, time in slowest[:_MAX_OP_TYPES]:
        rows.append(_time_row(op_type, len(time.steps), time.runs, time.nanoseconds, total))
    rest = [time for _, time in slowest[_MAX_OP_TYPES:]]
    if rest:
        counts = sum(len(time.steps) for time in rest), sum(time.runs for time in rest)
        spent = sum(time.nanoseconds for time in rest)
        rows.append(_time_row(f"{len(rest)} others", *counts, spent, total))
    return fitted_columns(rows, _width(options))


def _time_row(
    name: str, steps: int, runs: int, nanoseconds: int, total: int
) -> tuple[str, str, str, str, str]:
    share = f"{100 * nanoseconds / total:.1f} %"
    return name, f"{steps:>5}", f"{runs:>4}", f"{nanoseconds / 1e6:.3f}", share


def _record(seen: _Program, options: argparse.Namespace) -> dict[str, Any]:
    """Return the results as a record for JSON."""
    return {
        "op_types": [
            {
                "op_type": op_type,
                "steps": len(time.steps),
                "runs": time.runs,
                "seconds": time.nanoseconds / 1e9,
            }
            for op_type, time in seen.slowest()
        ],
        "plans": [
            {"number": number, **explanation_record(plan), "at_end": seen.ends.get(number)}
            for number, plan in seen.chosen(options)
        ],
    }


def _width(options: argparse.Namespace) -> int | None:
    """Return the width, in columns, to which printed lines are fitted.

    Returns None, which means no limit, if `--wide` is set or the results do not go to a terminal.
    """
    if options.wide or options.output or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def _text(explanation: Explanation, options: argparse.Namespace) -> str:
    """Return the text to print about one plan, as the command's options select it."""
    width = _width(options)
    if options.pass_name:
        return explanation.of_pass(options.pass_name, width)
    if options.ops:
        return explanation.text(width)
    parts = explanation.summary(), explanation.devices(), explanation.passes(width, not options.all)
    return "\n\n".join(part for part in parts if part)
