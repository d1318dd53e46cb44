"""`gpugraph memory PROGRAM`: runs a program and prints the memory that each of its plans needs."""

from __future__ import annotations

import argparse
import sys

from gpugraph.cli.program_process import Program, add_program, answer_imports, listen, run_program
from gpugraph.memory import AllocationTrace, Lifetime, comparison_table
from gpugraph.plan import ArenaRecord
from gpugraph.session.direct_session import PLAN_LISTENERS
from gpugraph.session.explanation import Explanation


def add_memory(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `memory` and its arguments to the parser."""
    memory = commands.add_parser(
        "memory", help="run a program and print the memory that each of its plans needs, and where"
    )
    memory.add_argument(
        "--compare",
        action="store_true",
        help="also print the memory that each arena needs with other policies: BFC, size classes",
    )
    add_program(memory)
    memory.set_defaults(command=memory_command)


def policy_table(arena: ArenaRecord) -> str:
    """Return a table of the bytes that each allocation policy would need for the tensors of
    `arena`.
    """
    lives = [Lifetime(buffer.num_bytes, buffer.first, buffer.last) for buffer in arena.buffers]
    table = comparison_table(AllocationTrace.of_lifetimes(lives))
    return f"its {len(lives)} tensors on {arena.device}, by policy:\n{table}"


def memory_command(options: argparse.Namespace) -> int:
    """Run the program and return its exit status.

    The memory that each plan needs is printed on standard error before the first run of the plan.
    """
    count = 0

    def show(explanation: Explanation) -> None:
        nonlocal count
        count += 1
        sys.stdout.flush()  # the program's earlier output comes first
        text = explanation.memory() or "needs no arena"
        if options.compare:
            text = "\n".join([text, *map(policy_table, explanation.arenas.values())])
        print(f"-- plan {count}: {explanation.title}\n{text}\n", file=sys.stderr, flush=True)

    program = Program.of(options)
    with answer_imports(program), listen(PLAN_LISTENERS, show):
        return run_program(program)
