"""`gpugraph trace PROGRAM`: runs a program and writes the times of its steps as a Chrome trace."""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Iterable

from gpugraph.cli.program_process import (
    ProgramFile,
    add_program,
    answer_imports,
    listen,
    positive_number,
    run_and_write,
)
from gpugraph.cli.results import writable_path, write_file
from gpugraph.inspection.chrome_trace import TraceEvents
from gpugraph.inspection.step_statistics import step_statistics
from gpugraph.plan import GraphRecord
from gpugraph.plan.pipeline_spans import WATCH_ALL, Span
from gpugraph.runtime import StepTrace
from gpugraph.session.direct_runner import DirectRunner
from gpugraph.session.traced_execution import RUN_LISTENERS, TracedExecution

_MAX_RUNS = 20


def add_trace(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `trace` and its arguments to the parser."""
    trace = commands.add_parser(
        "trace", help="run a program and write when its steps ran, for Chrome and Perfetto"
    )
    trace.add_argument(
        *("-o", "--output"), type=writable_path, default="trace.json", help="the file; trace.json"
    )
    trace.add_argument(
        "--runs",
        type=positive_number,
        default=_MAX_RUNS,
        help=f"how many runs, the last; {_MAX_RUNS}",
    )
    add_program(trace)
    trace.set_defaults(command=trace_command)


def trace_command(options: argparse.Namespace) -> int:
    """Trace the program's runs, write the most recent ones, and return the program's exit
    status.
    """
    program = ProgramFile.of(options)
    runs: deque[tuple[StepTrace, GraphRecord, list[Span]]] = deque(maxlen=options.runs)

    def keep(runner: DirectRunner, execution: TracedExecution) -> None:
        if execution.times is not None and execution.plan is not None:
            runs.append((execution.times, runner.graph_record(execution.plan), execution.spans))

    with WATCH_ALL.on(), answer_imports(program), listen(RUN_LISTENERS, keep):
        return run_and_write(program, lambda: _write(runs, options.output))


def _write(runs: Iterable[tuple[StepTrace, GraphRecord, list[Span]]], output: str) -> bool:
    """Write the trace of the runs, print its path, and return True. If the trace can't be written,
    print the reason and return False.
    """
    events, count = TraceEvents(), 0
    for times, record, spans in runs:
        events.add(step_statistics(times, record, spans))
        count += 1
    if not count:
        print("gpugraph: no trace: the program had no run", file=sys.stderr)
        return False
    if not write_file(output, events.as_json()):
        return False
    print(f"{output}: the last {count} runs", file=sys.stderr)
    return True
