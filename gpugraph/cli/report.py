"""`gpugraph report PROGRAM`: runs a program and writes an HTML page about one `Session.run`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field

from gpugraph.cli.program_process import (
    ProgramFile,
    add_program,
    answer_imports,
    listen,
    positive_number,
    run_and_write,
)
from gpugraph.cli.results import writable_path
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.plan import GraphRecord, Plan, PlanKey
from gpugraph.runtime import StepTrace
from gpugraph.session.direct_runner import DirectRunner
from gpugraph.session.explanations.explanation import Explanation
from gpugraph.session.traced_execution import RUN_LISTENERS, TracedExecution


def add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `report` and its arguments to the parser."""
    report = commands.add_parser(
        "report", help="run a program and write a page (HTML) about one of its steps"
    )
    report.add_argument(
        *("-o", "--output"), type=writable_path, default="report.html", help="the file; report.html"
    )
    report.add_argument(
        "--run",
        type=positive_number,
        help="the number of the run, from 1; by default the last of the fetches that took longest",
    )
    add_program(report)
    report.set_defaults(command=report_command)


@dataclass
class _RunChoice:
    """The choice of the run to report. `number` counts the runs of the program, starting at 1.

    `wanted` is the number that the user requested. If `wanted` is None, the last run of the plan
    with the longest total time is chosen. A plan that only initializes, checks, saves or restores
    variables is chosen only if the program has no other plan.

    Args:
      scores: for each plan, whether it does more than initialize, check, save or restore variables,
        and its total time in nanoseconds.
    """

    wanted: int | None
    count: int = 0
    number: int = 0
    run: tuple[Plan, StepTrace, GraphRecord] | None = None
    scores: dict[PlanKey, tuple[bool, int]] = field(default_factory=dict)

    def consider(self, runner: DirectRunner, execution: TracedExecution) -> None:
        """Count a finished run, and choose it if it matches the request better than the run chosen
        so far.
        """
        plan, times = execution.plan, execution.times
        if plan is None or times is None:
            return
        self.count += 1
        end = max((time.ended for time in times.times), default=0)
        if plan.key not in self.scores:
            self.scores[plan.key] = not Explanation(plan).is_bookkeeping(), 0
        computes, spent_ns = self.scores[plan.key]
        self.scores[plan.key] = computes, spent_ns + end
        if self._is_wanted(plan.key):
            self.run, self.number = (plan, times, runner.graph_record(plan)), self.count

    def _is_wanted(self, key: PlanKey) -> bool:
        if self.wanted is not None:
            return self.count == self.wanted
        return self.run is None or self.scores[key] >= self.scores[self.run[0].key]


def report_command(options: argparse.Namespace) -> int:
    """Trace all runs of the program, and write an HTML page about one of them.

    Returns the program's exit status. If that is 0 but no page was written, return 2.
    """
    program = ProgramFile.of(options)
    choice = _RunChoice(options.run)
    with answer_imports(program), listen(RUN_LISTENERS, choice.consider):
        return run_and_write(program, lambda: _write(choice, options.output))


def _write(choice: _RunChoice, output: str) -> bool:
    """Write the page about the chosen run to `output` and print its path.

    If no run was chosen, print the reason and return False.
    """
    run = choice.run
    if run is None:
        missing = f"run {choice.wanted}, only {choice.count} runs" if choice.wanted else "run"
        print(f"gpugraph: no page: the program had no {missing}", file=sys.stderr)
        return False
    report = StepReport(*run)
    try:
        report.write(output)
    except OSError as error:
        print(f"gpugraph: can't write {output!r}: {error.strerror}", file=sys.stderr)
        return False
    which = f"run {choice.number} of {choice.count}"
    print(f"{output}: {which}, {report.title}", file=sys.stderr)
    return True
