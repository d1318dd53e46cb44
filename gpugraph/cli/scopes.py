"""`gpugraph scopes PROGRAM`: runs a program and prints its variables by variable scope."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from gpugraph.building.variable_scope import explain_variables
from gpugraph.building.variable_scope.explain_variables import VariablesExplanation
from gpugraph.building.variables.variable import VARIABLE_LISTENERS, Variable
from gpugraph.cli.program_process import (
    ProgramFile,
    add_program,
    answer_imports,
    listen,
    run_and_write,
)
from gpugraph.cli.results import Results, add_results
from gpugraph.graph.client.client_graph import Graph


def add_scopes(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `scopes` and its arguments to the parser."""
    scopes = commands.add_parser(
        "scopes", help="run a program and print its variables by scope, and which lines share them"
    )
    add_results(scopes)
    add_program(scopes)
    scopes.set_defaults(command=scopes_command)


def scopes_command(options: argparse.Namespace) -> int:
    """Run the program, write its variables, and return the program's exit status."""
    graphs: dict[Graph, None] = {}

    def note(variable: Variable) -> None:
        graphs[variable.graph] = None

    def write() -> bool:
        explained = [explain_variables(graph) for graph in graphs]
        return Results.of(options).write(_texts(explained), lambda: [*map(_record, explained)])

    program = ProgramFile.of(options)
    with answer_imports(program), listen(VARIABLE_LISTENERS, note):
        return run_and_write(program, write)


def _texts(explained: Sequence[VariablesExplanation]) -> Iterator[str]:
    """Yield the text about the variables of each graph."""
    for count, variables in enumerate(explained, 1):
        yield f"-- graph {count}: {variables}\n"
    if not explained:
        yield "the program made no variables"


def _record(explained: VariablesExplanation) -> list[dict[str, Any]]:
    """Return the variables of each graph as records for JSON."""
    return [
        {**vars(variable), "shape": variable.shape.sizes, "sites": list(map(str, variable.sites))}
        for variable in explained.variables
    ]
