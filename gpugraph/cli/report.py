"""`gpugraph report PROGRAM`: runs a program and writes one page about one of its steps."""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

from gpugraph.cli.program_process import Program, add_program, answered, listening, run_program
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.plan import GraphRecord, Plan
from gpugraph.runtime import StepTrace
from gpugraph.session.direct_session import DirectRunner
from gpugraph.session.traced_execution import RUN_LISTENERS, TracedExecution


def add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command's arguments."""
    report = commands.add_parser(
        "report", help="run a program and write a page (HTML) about one of its steps"
    )
    report.add_argument("-o", "--output", default="report.html", help="the file; report.html")
    report.add_argument(
        "--run",
        type=_number,
        help="the number of the run, from 1; else the last run of the fetches that took longest",
    )
    add_program(report)
    report.set_defaults(command=report_command)


def _number(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"a run's number is 1 or more, but it is {text!r}")


class _Run(NamedTuple):
    """A run to report, its number, and how long the runs of its plan took by then."""

    number: int
    plan: Plan
    times: StepTrace
    record: GraphRecord
    spent_ns: int


class _Choice:
    """Keeps the run that is to be reported, while the runs go by."""

    def __init__(self, wanted: int | None) -> None:
        self.wanted = wanted
        self.count = 0
        self.run: _Run | None = None
        self._spent: dict[tuple[object, ...], int] = {}

    def see(self, runner: DirectRunner, execution: TracedExecution) -> None:
        """Takes a run instead of the one it has, if it is the one that is wanted."""
        plan, times = execution.plan, execution.times
        if plan is None or times is None:
            return
        self.count += 1
        end = max((time.ended for time in times.times), default=0)
        spent = self._spent[plan.key] = self._spent.get(plan.key, 0) + end
        if self._is_wanted(spent):
            self.run = _Run(self.count, plan, times, runner.graph_record(plan), spent)

    def _is_wanted(self, spent_ns: int) -> bool:
        if self.wanted is not None:
            return self.count == self.wanted
        return self.run is None or spent_ns >= self.run.spent_ns


def report_command(options: argparse.Namespace) -> int:
    """Runs the program, all of whose runs are traced; its exit status, or 2 without a page."""
    program = Program.of(options)
    choice = _Choice(options.run)
    written = True
    try:
        with answered(program), listening(RUN_LISTENERS, choice.see):
            status = run_program(program)
    finally:
        written = _write(choice, options.output)
    return status if written else status or 2


def _write(choice: _Choice, output: str) -> bool:
    """Writes the page and says so, or says why there is none."""
    run = choice.run
    if run is None:
        missing = f"run {choice.wanted}, only {choice.count} runs" if choice.wanted else "run"
        print(f"gpugraph: no page: the program had no {missing}", file=sys.stderr)
        return False
    report = StepReport(run.plan, run.times, run.record)
    try:
        report.write(output)
    except OSError as error:
        print(f"gpugraph: can't write {output!r}: {error.strerror}", file=sys.stderr)
        return False
    which = f"run {run.number} of {choice.count}"
    print(f"{output}: {which}, {report.title}", file=sys.stderr)
    return True
