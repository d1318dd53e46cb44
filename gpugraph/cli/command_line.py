"""The command line: `gpugraph run PROGRAM`, `check`, `explain`, `memory`, `plan`, `trace`,
`report`, `scopes`, `devices`, `show`, `convert`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

import numpy as np

from gpugraph.base.version import TENSORFLOW_VERSION, VERSION
from gpugraph.cli.check import add_check
from gpugraph.cli.convert import add_convert
from gpugraph.cli.devices import add_devices
from gpugraph.cli.explain import add_explain
from gpugraph.cli.memory import add_memory
from gpugraph.cli.plan import add_plan
from gpugraph.cli.report import add_report
from gpugraph.cli.run import add_run
from gpugraph.cli.scopes import add_scopes
from gpugraph.cli.show import add_show
from gpugraph.cli.trace import add_trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
      arguments: the arguments after `gpugraph` on the command line, by default the arguments of
        this process.
    """
    parser = argparse.ArgumentParser(prog="gpugraph", description=(__doc__ or "").strip())
    parser.set_defaults(is_process=arguments is None)
    parser.add_argument("--version", action="version", version=_versions())
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    first = (add_run, add_check, add_explain, add_memory, add_plan, add_trace, add_report)
    for add in (*first, add_scopes, add_devices, add_show, add_convert):
        add(commands)
    options = parser.parse_args(arguments)
    try:
        status = options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:
        return _end_of_pipe()
    return status


def _versions() -> str:
    python = sys.version.partition(" ")[0]
    api = TENSORFLOW_VERSION.rpartition(".")[0]
    return f"gpugraph {VERSION} (API of TensorFlow {api}), Python {python}, NumPy {np.__version__}"


def _end_of_pipe() -> int:
    """Return the exit status of a process whose output is no longer read, as in `gpugraph show PATH
    | head`.
    """
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())  # the interpreter flushes this stream at exit
    os.close(null)
    return 128 + signal.SIGPIPE


if __name__ == "__main__":
    sys.exit(main())
