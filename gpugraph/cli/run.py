"""`gpugraph run PROGRAM`: runs an unchanged TensorFlow 1 program."""

from __future__ import annotations

import argparse
import atexit
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gpugraph.cli.program_process import (
    ProgramFile,
    add_program,
    answer_imports,
    gpu_count,
    run_program,
)
from gpugraph.config.environment import change_setting, value_of
from gpugraph.devices.gpu_devices import COUNT_SETTING
from gpugraph.tensorflow_import.missing_names import MissingNames


def add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `run` and its arguments to the parser."""
    run = commands.add_parser(
        "run", help="run an unchanged TensorFlow program: gpugraph answers `import tensorflow`"
    )
    run.add_argument(
        "--missing",
        action="store_true",
        help="list the TensorFlow names that it used and gpugraph lacks",
    )
    run.add_argument(
        "--virtual-gpus",
        type=gpu_count,
        default=0,
        metavar="N",
        help="give each session of the program N virtual GPUs, whose memory is on the host",
    )
    add_program(run)
    run.set_defaults(command=run_command, own_options=frozenset())


def run_command(options: argparse.Namespace) -> int:
    """Run the program and return its exit status.

    If the program failed, or if `--missing` is set, print the TensorFlow names that it used but
    gpugraph does not provide.
    """
    program = ProgramFile.of(options)
    with _virtual_gpus(options.virtual_gpus), answer_imports(program) as missing:
        report = _Report(missing, options.missing)
        if program.is_process:
            atexit.register(report.show)  # runs after the program's exit handlers and threads
        try:
            return report.note(run_program(program))
        except SystemExit as error:
            report.note(error.code)
            raise
        except BaseException:
            report.note(1)
            raise
        finally:
            if not program.is_process:
                report.show()


@contextmanager
def _virtual_gpus(count: int) -> Iterator[None]:
    """Inside a `with` block, give sessions `count` virtual GPUs, also in child processes. If
    `count` is 0, change nothing.
    """
    if not count:
        yield
        return
    before = value_of(COUNT_SETTING)
    change_setting(COUNT_SETTING, str(count))
    try:
        yield
    finally:
        change_setting(COUNT_SETTING, before or "")


class _Report:
    """The list of missing names. The list is printed on standard error if the program fails or
    `always` is true.
    """

    def __init__(self, missing: MissingNames, always: bool) -> None:
        self._missing, self._is_due = missing, always

    def note(self, status: object) -> int:
        """Record the status passed to `sys.exit`, and return the exit status of the process."""
        self._is_due = self._is_due or status not in (None, 0)
        return status if isinstance(status, int) else 1

    def show(self) -> None:
        if self._is_due and self._missing:
            sys.stdout.flush()
            print("\ngpugraph lacks names that the program used:", file=sys.stderr)
            for name in self._missing:
                print(f"  {name}", file=sys.stderr)
