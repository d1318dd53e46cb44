"""The output of commands, as text or JSON, on standard output or in a file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple


class Results(NamedTuple):
    """The destination and the format of a command's results.

    Args:
      output: the path of the file to write. If the path is empty, write to standard output.
      is_json: whether to write one line of JSON instead of text.
    """

    output: str
    is_json: bool

    @staticmethod
    def of(options: argparse.Namespace) -> Results:
        """Return the destination and the format that the parsed arguments select."""
        return Results(options.output, options.is_json)

    def write(self, texts: Iterable[str], record: Callable[[], Any]) -> bool:
        """Write the texts. For JSON, write the result of `record` instead.

        Returns whether writing succeeded. If a file can't be written, print the reason.
        """
        content = json.dumps(record()) if self.is_json else "\n".join(texts)
        if not self.output:
            print(content, flush=True)
            return True
        return write_file(self.output, f"{content}\n")


def hidden_plans(count: int) -> Iterator[str]:
    """Yield a line about plans that a command does not show, if there are any."""
    if count:
        what = "1 plan only initializes, checks, saves or restores"
        if count > 1:
            what = f"{count} plans only initialize, check, save or restore"
        yield f"-- {what} variables: see --all"


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that print results: `-o FILE` and `--json`."""
    parser.add_argument(
        *("-o", "--output"),
        type=writable_path,
        default="",
        metavar="FILE",
        help="write the results to this file instead of standard output",
    )
    parser.add_argument(
        "--json", dest="is_json", action="store_true", help="write the results as one line of JSON"
    )


def writable_path(path: str) -> str:
    """Return `path`, an argument of the command line. Raises ArgumentTypeError if a file can't be
    created at this path.
    """
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        reason = "Is a directory"
    elif not os.path.isdir(folder):
        reason = "No such file or directory"
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        reason = "Permission denied"
    else:
        return path
    raise argparse.ArgumentTypeError(f"can't write {path!r}: {reason}")


def write_file(path: str, content: str) -> bool:
    """Write a text file and return True. If that fails, print the reason and return False."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    except OSError as error:
        print(f"gpugraph: can't write {path!r}: {error.strerror}", file=sys.stderr)
        return False
    return True
