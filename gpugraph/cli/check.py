"""`gpugraph check PROGRAM...`: lists the names of TensorFlow and Keras that a program uses but
gpugraph does not provide, and the calls with arguments of TensorFlow before 1.0.

The programs are parsed, not run.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from gpugraph.cli.results import Results, add_results
from gpugraph.tensorflow_import.checking.program_check import (
    NameUse,
    OldCallUse,
    ProgramNames,
    check_source,
)
from gpugraph.tensorflow_import.import_switch import as_tensorflow
from gpugraph.tensorflow_import.missing_names import advice, shown
from gpugraph.tensorflow_import.python_2.python_2_programs import python_3_source

_MAX_LINES = 5


def add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `check` and its arguments to the parser."""
    check = commands.add_parser(
        "check", help="read programs, and list the names of TensorFlow that gpugraph lacks"
    )
    check.add_argument("programs", nargs="+", metavar="PROGRAM", help="a Python file, or a folder")
    check.add_argument(
        "--python2", dest="is_python_2", action="store_true", help="the programs are for Python 2"
    )
    add_results(check)
    check.set_defaults(command=check_command)


def check_command(options: argparse.Namespace) -> int:
    """Print the missing names of each program and return the exit status.

    The status is 1 if a name is missing, if arguments have changed, or if a file is not valid
    Python, and 2 if a file can't be opened. After an error, the remaining files are still checked.
    """
    programs: dict[str, ProgramNames] = {}
    unread = []
    for file in (file for program in options.programs for file in _files(Path(program))):
        try:
            source = file.read_bytes()
        except OSError as error:
            unread.append(file)
            print(f"gpugraph: can't open {str(file)!r}: {error.strerror}", file=sys.stderr)
            continue
        try:
            with as_tensorflow():  # names of tensorflow-estimator are looked up in its modules
                programs[file.as_posix()] = _checked(source, str(file), options.is_python_2)
        except ImportError as error:  # the translator is not installed
            print(f"gpugraph: {error}", file=sys.stderr)
            return 2
    hint = "" if options.is_python_2 else "; a program for Python 2 is read with --python2"
    lines = [line for file, program in programs.items() for line in _report(file, program, hint)]
    if len(programs) + len(unread) != 1:
        lines += ["", *_summary(list(programs.values()))]
    if not Results.of(options).write(lines, lambda: _records(programs)):
        return 2
    if unread:
        return 2
    faults = (
        program.fault or program.missing or program.old_calls for program in programs.values()
    )
    return int(any(faults))


def _checked(source: bytes, file: str, is_python_2: bool) -> ProgramNames:
    """Return the names that a program uses. If the program can't be translated, the result contains
    the error.
    """
    if not is_python_2:
        return check_source(source, file)
    try:
        return check_source(python_3_source(source, file).encode(), file)
    except SyntaxError as error:
        return ProgramNames([], error.msg)


def _records(programs: dict[str, ProgramNames]) -> list[dict[str, Any]]:
    """Return the missing names of each program as records for JSON."""
    return [
        {
            "file": file,
            "fault": program.fault,
            "names": [shown(use.path) for use in program.uses],
            "missing": [
                {"name": shown(use.path), "lines": list(use.lines), "advice": _advice(use)}
                for use in program.missing
            ],
            "old_calls": [
                {"name": shown(use.path), "lines": list(use.lines), "advice": use.hint}
                for use in program.old_calls
            ],
        }
        for file, program in programs.items()
    ]


def _files(path: Path) -> list[Path]:
    """Return the Python files in a folder and its subfolders, except hidden ones.

    If the path is a file, return only this path.
    """
    if not path.is_dir():
        return [path]
    return [
        file
        for file in sorted(path.rglob("*.py"))
        if not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]


def _report(file: str, program: ProgramNames, hint: str) -> list[str]:
    if program.fault:
        return [f"{file}: not valid Python 3: {program.fault}{hint}"]
    counts = f"{_counted(len(program.uses), 'name')}, {_missing(len(program.missing))}"
    lines_of_uses = [(use.lines, _line(use)) for use in program.missing]
    lines_of_uses += [(use.lines, _line(use)) for use in program.old_calls]
    if program.old_calls:
        counts += f", {_counted(len(program.old_calls), 'function')} with old arguments"
    return [f"{file}: {counts}", *(f"  {line}" for _, line in sorted(lines_of_uses))]


def _line(use: NameUse | OldCallUse) -> str:
    ellipsis = ", ..." if len(use.lines) > _MAX_LINES else ""
    lines = ", ".join(map(str, use.lines[:_MAX_LINES])) + ellipsis
    word = "line" if len(use.lines) == 1 else "lines"
    return f"{shown(use.path)}  {word} {lines}{_advice(use)}"


def _advice(use: NameUse | OldCallUse) -> str:
    if isinstance(use, OldCallUse):
        return f"; {use.hint[0].lower()}{use.hint[1:].rstrip('.')}"
    return f"; {use.refusal}" if use.refusal else advice(use.path)


def _summary(programs: list[ProgramNames]) -> list[str]:
    readable = [program for program in programs if not program.fault]
    whole = sum(not program.missing for program in readable)
    counts = Counter(use.path for program in readable for use in program.missing)
    uses = {use.path for program in readable for use in program.uses}
    lines = [
        f"{_counted(len(programs), 'program')}, {whole} with all names; "
        f"{_counted(len(uses), 'name')}, {_missing(len(counts))}"
    ]
    return lines + [
        f"  {shown(path)}  in {count} programs" for path, count in counts.most_common() if count > 1
    ]


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _missing(count: int) -> str:
    return f"{count} missing" if count else "all there"
