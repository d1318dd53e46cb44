"""`gpugraph explain PROGRAM`: runs a program and prints how each of its plans runs, and why.

A plan is the compiled form of one set of fetches and feeds. It is printed after its compilation,
before its first run. When the program ends, one line for each plan lists the steps that became
native.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable

from gpugraph.cli.program_process import Program, add_program, answer_imports, listen, run_program
from gpugraph.plan import Placement
from gpugraph.session.direct_session import PLAN_LISTENERS, end_plans
from gpugraph.session.explanation import Explanation, placement_table
from gpugraph.session.fitted_columns import wrapped


def add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `explain` and its arguments to the parser."""
    explain = commands.add_parser(
        "explain", help="run a program and print how each of its plans runs, and why"
    )
    explain.add_argument("--ops", action="store_true", help="a line for each operation too")
    explain.add_argument(
        "--pass", dest="pass_name", help="print only the report of this pass, such as fusion_groups"
    )
    explain.add_argument(
        "--placement", action="store_true", help="at the end, a line for each op of the program"
    )
    explain.add_argument(
        "--wide", action="store_true", help="shorten and break no line to fit the terminal"
    )
    add_program(explain)
    explain.set_defaults(command=explain_command)


def explain_command(options: argparse.Namespace) -> int:
    """Run the program, print its plans on standard error, and return the program's exit status."""
    count = 0
    placed: dict[str, Placement] = {}
    ends: dict[int, str] = {}

    def show(explanation: Explanation) -> Callable[[Explanation], None]:
        nonlocal count
        count += 1
        number = count

        def at_end(last: Explanation) -> None:
            ends[number] = last.native()

        for op in explanation.placed:
            placed.setdefault(op.name, op)
        text = _text(explanation, options)
        sys.stdout.flush()  # the program's earlier output comes first
        print(f"-- plan {count}: {explanation.title}\n{text}\n", file=sys.stderr, flush=True)
        return at_end

    program = Program.of(options)
    try:
        with answer_imports(program), listen(PLAN_LISTENERS, show):
            return run_program(program)
    finally:
        sys.stdout.flush()
        end_plans()
        if not options.pass_name:
            _print_ends(ends, options)
        if options.placement:
            print(f"-- placement of {len(placed)} operations in {count} plans", file=sys.stderr)
            print(placement_table(placed.values(), _width(options)), file=sys.stderr, flush=True)


def _print_ends(ends: dict[int, str], options: argparse.Namespace) -> None:
    """Print, for each plan that has ended, how many of its steps were native code.

    ends: the texts to print, by plan number.
    """
    if ends:
        print("-- native code when each plan ended", file=sys.stderr)
    for number, text in sorted(ends.items()):
        print(wrapped(f"plan {number}: {text}", _width(options)), file=sys.stderr, flush=True)


def _width(options: argparse.Namespace) -> int | None:
    """Return the width, in columns, to which printed lines are fitted.

    Returns None, for lines of any length, if `--wide` is set or standard error is not a terminal.
    """
    if options.wide or not sys.stderr.isatty():
        return None
    return shutil.get_terminal_size().columns


def _text(explanation: Explanation, options: argparse.Namespace) -> str:
    """Return the text to print about one plan, as the options request."""
    width = _width(options)
    if options.pass_name:
        try:
            return explanation.of_pass(options.pass_name, width)
        except ValueError as error:
            return str(error)
    if options.ops:
        return explanation.text(width)
    return f"{explanation.summary()}\n\n{explanation.passes(width)}"
