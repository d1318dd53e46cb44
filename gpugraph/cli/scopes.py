"""`gpugraph scopes PROGRAM`: runs a program and prints its variables by variable scope."""

from __future__ import annotations

import argparse
import sys

from gpugraph.building.variable_scope import explain_variables
from gpugraph.building.variables.variable import VARIABLE_LISTENERS, Variable
from gpugraph.cli.program_process import Program, add_program, answer_imports, listen, run_program
from gpugraph.graph.client.client_graph import Graph


def add_scopes(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `scopes` and its arguments to the parser."""
    scopes = commands.add_parser(
        "scopes", help="run a program and print its variables by scope, and which lines share them"
    )
    add_program(scopes)
    scopes.set_defaults(command=scopes_command)


def scopes_command(options: argparse.Namespace) -> int:
    """Run the program, print its variables on standard error, and return the exit status."""
    graphs: dict[Graph, None] = {}

    def note(variable: Variable) -> None:
        graphs[variable.graph] = None

    program = Program.of(options)
    with answer_imports(program), listen(VARIABLE_LISTENERS, note):
        try:
            return run_program(program)
        finally:
            _show(list(graphs))


def _show(graphs: list[Graph]) -> None:
    sys.stdout.flush()
    for count, graph in enumerate(graphs, 1):
        print(f"-- graph {count}: {explain_variables(graph)}\n", file=sys.stderr)
    if not graphs:
        print("the program made no variables", file=sys.stderr, flush=True)
