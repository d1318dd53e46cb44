"""`gpugraph memory PROGRAM`: runs a program and prints the memory that each of its plans needs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from gpugraph.cli.program_process import (
    ProgramFile,
    add_program,
    answer_imports,
    listen,
    run_and_write,
)
from gpugraph.cli.results import Results, add_results, hidden_plans
from gpugraph.memory import AllocationTrace, Lifetime, comparison_table
from gpugraph.plan import ArenaRecord
from gpugraph.session.direct_session import PLAN_LISTENERS
from gpugraph.session.explanations.explanation import Explanation
from gpugraph.session.explanations.explanation_record import memory_record


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
    memory.add_argument(
        "--all",
        action="store_true",
        help="also plans that only initialize, check, save or restore variables",
    )
    add_results(memory)
    add_program(memory)
    memory.set_defaults(command=memory_command)


def policy_table(arena: ArenaRecord) -> str:
    """Return a table of allocation policies, with the bytes that each would need for the tensors of
    `arena`.
    """
    lives = [Lifetime(buffer.num_bytes, buffer.first, buffer.last) for buffer in arena.buffers]
    table = comparison_table(AllocationTrace.of_lifetimes(lives))
    return f"its {len(lives)} tensors on {arena.device}, by policy:\n{table}"


def memory_command(options: argparse.Namespace) -> int:
    """Run the program, write the memory that each of its plans needs, and return the program's
    exit status.
    """
    plans: list[Explanation] = []
    program = ProgramFile.of(options)

    def write() -> bool:
        chosen = [
            (number, plan)
            for number, plan in enumerate(plans, 1)
            if options.all or not plan.is_bookkeeping()
        ]
        texts = [*_texts(chosen, options.compare), *hidden_plans(len(plans) - len(chosen))]
        if not plans:
            texts.append("-- no plan: the program had no run")
        return Results.of(options).write(texts, lambda: _record(chosen))

    with answer_imports(program), listen(PLAN_LISTENERS, plans.append):
        return run_and_write(program, write)


def _texts(plans: Sequence[tuple[int, Explanation]], compare: bool) -> Iterator[str]:
    """Yield the text about each plan.

    Args:
      plans: (number, plan) of each plan.
      compare: whether to add a table that compares allocation policies.
    """
    for number, plan in plans:
        parts = [plan.memory() or "needs no arena"]
        if compare:
            parts += map(policy_table, plan.arenas.values())
        yield "\n".join([f"-- plan {number}: {plan.title}", *parts, ""])


def _record(plans: Sequence[tuple[int, Explanation]]) -> list[dict[str, Any]]:
    """Return the memory of each plan as a record for JSON."""
    return [
        {"number": number, "title": plan.title, **memory_record(plan)} for number, plan in plans
    ]
