"""Runs a program as `python PROGRAM` and `python -m MODULE` do, with gpugraph as `tensorflow`.

For the program, the process is the same as under plain Python: `sys.argv`, `sys.path`, `__main__`,
the exit status, and tracebacks, which contain no frames of this package.
"""

from __future__ import annotations

import argparse
import io
import os
import pkgutil
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, NamedTuple

from gpugraph.config.environment import is_on
from gpugraph.tensorflow_import.child_processes import answer_in_children
from gpugraph.tensorflow_import.dropped_names.dropped_imports import (
    dropped_names,
    install as install_dropped_names,
)
from gpugraph.tensorflow_import.import_switch import as_tensorflow, install
from gpugraph.tensorflow_import.missing_names import MissingNames
from gpugraph.tensorflow_import.python_2.python_2_programs import (
    install as install_translation,
    translated,
)

_PACKAGE = Path(__file__).resolve().parents[1]
_OURS = tuple(f"{_PACKAGE / folder}{os.sep}" for folder in ("cli", "tensorflow_import"))
_FAULTS_OF_PYTHON_2 = (
    "Missing parentheses in call to",
    "leading zeros in decimal integer",
    "multiple exception types must be parenthesized",
    "invalid decimal literal",
)
"""First words of the errors of Python 3 for print statements, octal numbers, `except E, e`, 1L."""


class ProgramFile(NamedTuple):
    """The program to run: a file, a folder or zip file with `__main__.py`, or the name of a module.

    Args:
      is_process: whether the process exists only for this program. If so, nothing is restored after
        the program ends, so that its threads and exit handlers still find its modules and
        arguments.
      is_python_2: whether the program is for Python 2, and is translated.
      prints_apart: whether the program's standard output is redirected to standard error, because
        the command prints JSON on standard output.
    """

    name: str
    arguments: Sequence[str]
    is_module: bool = False
    is_process: bool = False
    is_python_2: bool = False
    prints_apart: bool = False

    @staticmethod
    def of(options: argparse.Namespace) -> ProgramFile:
        """Return the program that the parsed arguments of a command name.

        Print a note if an option of the command follows the program's name, since it is then an
        argument of the program.
        """
        words = {word.partition("=")[0] for word in options.arguments}
        if late := sorted(words & options.own_options):
            verb = "are arguments" if len(late) > 1 else "is an argument"
            print(
                f"gpugraph: {', '.join(late)} after {options.program} {verb} of the program; "
                "options of gpugraph stand before the program's name",
                file=sys.stderr,
            )
        return ProgramFile(
            options.program,
            options.arguments,
            options.is_module,
            options.is_process,
            options.is_python_2,
            getattr(options, "is_json", False) and not options.output,
        )


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that all commands with a program have: the program's name, `-m`,
    `--python2`, and the program's arguments. The command's other arguments must be added before.
    """
    parser.add_argument(
        "--python2",
        dest="is_python_2",
        action="store_true",
        help="the program is for Python 2: translate it and its modules when they are imported",
    )
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="the program is a module's name"
    )
    parser.add_argument(
        "program", help="the Python file of the program, or a folder of one; -: standard input"
    )
    rest = parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="the program's arguments"
    )
    # If the program is missing, argparse would otherwise report its arguments as missing too.
    rest.required = False
    option_names = {name for action in parser._actions for name in action.option_strings}
    parser.set_defaults(own_options=frozenset(option_names - {"-h", "--help", "-m"}))


@contextmanager
def listen(listeners: list[Any], listener: Callable[..., Any]) -> Iterator[None]:
    """Append `listener` to `listeners` at the start of a `with` block, and remove it at the end."""
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)


@contextmanager
def answer_imports(program: ProgramFile) -> Iterator[MissingNames]:
    """Make `import tensorflow` import gpugraph inside a `with` block.

    In a process that exists only for the program, the effect lasts until the process ends, and also
    applies to its child processes.
    """
    if program.is_process:
        answer_in_children()
        if is_on("GPUGRAPH_DROPPED_NAMES"):
            install_dropped_names()
        yield install().missing
    else:
        with as_tensorflow() as missing, _dropped_names():
            yield missing


def _dropped_names() -> AbstractContextManager[None]:
    return dropped_names() if is_on("GPUGRAPH_DROPPED_NAMES") else nullcontext()


def run_program(program: ProgramFile) -> int:
    """Run the program and return its exit status.

    If the program raises, its traceback is printed and the status is 1. SystemExit is passed on to
    the caller.
    """
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    try:
        with redirect_stdout(sys.stderr) if program.prints_apart else nullcontext():
            status, error = _status_and_error(program)
        return status if error is None else _end(program, error)
    finally:
        if not program.is_process:
            sys.argv, sys.path[:], sys.modules["__main__"] = before


def positive_number(text: str) -> int:
    """Return the number of a command's argument. Raises ArgumentTypeError unless it is 1 or
    more.
    """
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"it is 1 or more, not {text!r}")


def gpu_count(text: str) -> int:
    """Return the number of virtual GPUs in an argument. Raises ArgumentTypeError unless the
    argument is a number.
    """
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"a number of GPUs is 0 or more, but it is {text!r}")


def run_and_write(program: ProgramFile, write: Callable[[], bool]) -> int:
    """Run the program as `run_program` does, then call `write`, however the program ends.

    Returns the exit status. It is 2 if the program succeeded (or called `sys.exit` with success)
    and `write` returned False. An exception of `run_program` is raised again after `write`.
    """
    try:
        status = run_program(program)
    except BaseException as ended:
        is_success = isinstance(ended, SystemExit) and ended.code in (None, 0)
        if write() or not is_success:
            raise
        return 2
    return status if write() else status or 2


def _status_and_error(program: ProgramFile) -> tuple[int, BaseException | None]:
    """Run the program. Return its exit status, and the error that the program raised, or None.

    The error is returned instead of raised, because `sys.excepthook` must be called while no
    exception is being handled.
    """
    try:
        return _run(program), None
    except SystemExit:
        raise
    except BaseException as error:
        _drop_frames(error)
        return 1, error


def _end(program: ProgramFile, error: BaseException) -> int:
    """Print an error that the program did not catch, and return the exit status.

    A KeyboardInterrupt is raised again, so that the process ends in the same way as under plain
    Python.
    """
    is_interrupt = isinstance(error, KeyboardInterrupt)
    if program.is_process or not is_interrupt:
        _show(error)
    if isinstance(error, SyntaxError) and not program.is_python_2 and _is_of_python_2(error):
        hint = "a program for Python 2 is translated by the option --python2"
        print(f"gpugraph: {hint}", file=sys.stderr)
    if not is_interrupt:
        return 1
    if program.is_process:
        sys.excepthook = lambda *_: None
    raise error  # Python then ends the process as if by SIGINT


def _is_of_python_2(error: SyntaxError) -> bool:
    return isinstance(error, TabError) or str(error.msg).startswith(_FAULTS_OF_PYTHON_2)


def _run(program: ProgramFile) -> int:
    sys.argv = [program.name, *program.arguments]
    if program.is_python_2:
        install_translation(
            os.getcwd() if program.is_module else os.path.dirname(program.name) or "."
        )
    if program.is_module:
        return _run_module(program, os.getcwd(), program.name)
    if program.name == "-":
        _enter(program, "")
        return _run_code(_stdin_code(program.is_python_2), _main_module())
    if pkgutil.get_importer(program.name) is not None:
        return _run_module(program, program.name, "__main__")
    file = os.path.abspath(program.name)
    try:
        code = _code_of(file, program.is_python_2)
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        print(f"{sys.executable}: can't open file {file!r}: {reason}", file=sys.stderr)
        return 2
    _enter(program, os.path.dirname(os.path.realpath(program.name)))
    main = _main_module()
    main.__file__ = file
    is_compiled = file.endswith(".pyc")
    main.__loader__ = (SourcelessFileLoader if is_compiled else SourceFileLoader)("__main__", file)
    return _run_code(code, main)


def _run_code(code: CodeType, main: ModuleType) -> int:
    try:
        exec(code, vars(main))
    finally:
        _flush()
    return 0


def _stdin_code(is_python_2: bool) -> CodeType:
    """Return the code object of the source on standard input."""
    if is_python_2:
        return translated(sys.stdin.buffer.read(), "<stdin>")
    return compile(sys.stdin.read(), "<stdin>", "exec", dont_inherit=True)


def _code_of(file: str, is_python_2: bool) -> CodeType:
    """Return the code object of a `.pyc` file or of a source file."""
    if is_python_2:
        with io.open_code(file) as stream:
            return translated(stream.read(), file)
    with io.open_code(file) as stream:
        code = pkgutil.read_code(stream)
    if code is None:
        with io.open_code(file) as stream:
            code = compile(stream.read(), file, "exec", dont_inherit=True)
    return code


def _run_module(program: ProgramFile, folder: str, name: str) -> int:
    """Run a module, or the `__main__` of a folder, with the function that `python -m` uses.

    Args:
      folder: the folder to put first in `sys.path`.
    """
    _enter(program, os.path.abspath(folder))
    _main_module()
    run_as_main = runpy._run_module_as_main  # type: ignore[attr-defined]
    run_as_main(name, program.is_module)
    return 0


def _enter(program: ProgramFile, folder: str) -> None:
    """Put `folder` first in `sys.path`, where the program's own folder belongs.

    In a process that runs only the program, `folder` replaces the entry that Python added for the
    command `gpugraph`.
    """
    if sys.flags.safe_path if sys.version_info >= (3, 11) else sys.flags.isolated:
        return
    sys.path[: 1 if program.is_process else 0] = [folder]


def _main_module() -> ModuleType:
    main = ModuleType("__main__")
    vars(main).update(__builtins__=sys.modules["builtins"], __cached__=None)
    sys.modules["__main__"] = main
    return main


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


def _show(error: BaseException) -> None:
    """Print an uncaught error through `sys.excepthook`, as Python does.

    If the hook fails, print both the hook's error and the original error.
    """
    trace = error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        sys.excepthook(type(error), error, trace)
    except Exception as fault:
        print("Error in sys.excepthook:", file=sys.stderr)
        _drop_frames(fault)
        traceback.print_exception(type(fault), fault, fault.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, trace)


def _drop_frames(error: BaseException | None) -> None:
    """Remove this package's frames from the tracebacks of an error, so that they start in the
    program.

    The causes of an error may form a cycle.
    """
    known: set[int] = set()
    pending = [error]
    while pending:
        current = pending.pop()
        if current is not None and id(current) not in known:
            known.add(id(current))
            current.__traceback__ = _without_ours(current.__traceback__)
            pending += [current.__cause__, current.__context__]


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_OURS):
            kept.append(trace)
        trace = trace.tb_next
    for entry in reversed(kept):
        trace = TracebackType(trace, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return trace
