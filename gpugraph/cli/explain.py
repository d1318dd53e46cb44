"""`gpugraph explain PROGRAM`: runs a program and prints how each of its plans runs, and why."""

from __future__ import annotations

import argparse
import sys

from gpugraph.cli.program_process import Program, add_program, answered, listening, run_program
from gpugraph.session.direct_session import PLAN_LISTENERS
from gpugraph.session.explanation import Explanation


def add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command's arguments."""
    explain = commands.add_parser(
        "explain", help="run a program and print how each of its plans runs, and why"
    )
    explain.add_argument("--ops", action="store_true", help="a line for each operation too")
    add_program(explain)
    explain.set_defaults(command=explain_command)


def explain_command(options: argparse.Namespace) -> int:
    """Runs the program; its exit status. Prints its plans on the standard error."""
    count = 0

    def show(explanation: Explanation) -> None:
        nonlocal count
        count += 1
        text = (
            str(explanation)
            if options.ops
            else f"{explanation.summary()}\n\n{explanation.passes()}"
        )
        sys.stdout.flush()  # what the program printed comes before
        print(f"-- plan {count}: {explanation.title}\n{text}\n", file=sys.stderr, flush=True)

    program = Program.of(options)
    with answered(program), listening(PLAN_LISTENERS, show):
        return run_program(program)
