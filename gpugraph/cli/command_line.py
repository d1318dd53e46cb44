"""The command line: `gpugraph explain PROGRAM`, `gpugraph scopes PROGRAM`, `gpugraph devices`."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpugraph.base.errors import OpError
from gpugraph.config import ConfigProto, GPUOptions, SessionOptions
from gpugraph.devices import list_local_devices, no_gpu_reason, unusable_gpus
from gpugraph.graph.client.client_graph import Graph
from gpugraph.memory import human_readable_bytes
from gpugraph.session.direct_session import PLAN_LISTENERS
from gpugraph.session.explanation import Explanation
from gpugraph.variable_scope import explain_variables
from gpugraph.variables.variable import VARIABLE_LISTENERS, Variable


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status."""
    parser = argparse.ArgumentParser(prog="gpugraph", description=(__doc__ or "").strip())
    commands = parser.add_subparsers(dest="command", required=True)
    explain = commands.add_parser(
        "explain", help="run a program and print how each of its plans runs, and why"
    )
    explain.add_argument("--ops", action="store_true", help="a line for each operation too")
    scopes = commands.add_parser(
        "scopes", help="run a program and print its variables by scope, and which lines share them"
    )
    for command in (explain, scopes):
        command.add_argument("program", help="the Python file of the program")
        command.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's arguments")
    devices = commands.add_parser("devices", help="list the devices that a session would have")
    devices.add_argument("--virtual-gpus", type=_count, default=0, help="GPUs emulated by the host")
    chosen = parser.parse_args(arguments)
    if chosen.command == "devices":
        return _devices(chosen.virtual_gpus)
    try:
        with open(chosen.program, "rb"):
            pass
    except OSError as error:
        what = f"can't open the program {chosen.program!r}: {error.strerror}"
        print(f"gpugraph: {what}", file=sys.stderr)
        return 2
    if chosen.command == "scopes":
        return _scopes(chosen.program, chosen.arguments)
    return _explain(chosen.program, chosen.arguments, chosen.ops)


def _count(text: str) -> int:
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"a number of GPUs is 0 or more, but it is {text!r}")


def _devices(virtual_gpus: int) -> int:
    config = ConfigProto(gpu_options=GPUOptions(virtual_gpus=virtual_gpus))
    try:
        devices = list_local_devices(config)
        why = no_gpu_reason(SessionOptions("", config))
        left_out = () if virtual_gpus else unusable_gpus()
    except OpError as error:  # of a setting in the environment, or of a GPU that can't be opened
        print(f"gpugraph: {error}", file=sys.stderr)
        return 2
    for device in devices:
        limit = human_readable_bytes(device.memory_limit_bytes)
        print(f"{device.name}  {device.device_type}  {limit}  {device.physical_device_desc}")
    for sentence in left_out:
        print(f"left out: {sentence}")
    if why:
        print(f"no GPU: {why}")
    return 0


def _explain(program: str, arguments: Sequence[str], ops: bool) -> int:
    count = 0

    def show(explanation: Explanation) -> None:
        nonlocal count
        count += 1
        text = str(explanation) if ops else f"{explanation.summary()}\n\n{explanation.passes()}"
        sys.stdout.flush()  # what the program printed comes before
        print(f"-- plan {count}: {explanation.title}\n{text}\n", file=sys.stderr, flush=True)

    with _listening(PLAN_LISTENERS, show):
        return _run(program, arguments)


@contextmanager
def _listening(listeners: list[Any], listener: Callable[[Any], None]) -> Iterator[None]:
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)


def _scopes(program: str, arguments: Sequence[str]) -> int:
    graphs: dict[Graph, None] = {}

    def note(variable: Variable) -> None:
        graphs[variable.graph] = None

    try:
        with _listening(VARIABLE_LISTENERS, note):
            return _run(program, arguments)
    finally:
        sys.stdout.flush()
        for count, graph in enumerate(graphs, 1):
            print(f"-- graph {count}: {explain_variables(graph)}\n", file=sys.stderr)
        if not graphs:
            print("the program made no variables", file=sys.stderr, flush=True)


def _run(program: str, arguments: Sequence[str]) -> int:
    """Runs it as `python PROGRAM ARGUMENTS` does: 1, and its traceback, if it raises."""
    before = sys.argv, sys.path[:]
    sys.argv = [program, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.realpath(program)))
    try:
        runpy.run_path(program, run_name="__main__")
    except Exception as error:
        sys.stdout.flush()
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != program:
            trace = trace.tb_next  # ours
        traceback.print_exception(type(error), error, trace)
        return 1
    finally:
        sys.argv, sys.path[:] = before
    return 0


if __name__ == "__main__":
    sys.exit(main())
