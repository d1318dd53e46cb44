"""tf.app, which runs a program's `main` with the command-line arguments that are not flags.

if __name__ == "__main__":
    tf.app.run()
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.platform import flags as flags

_HELP = {"--help", "-help", "-h", "--helpshort", "--helpfull"}


def run(main: Callable[[Any], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Parse the flags in `argv` (by default the program's command line), call `main`, and exit.

    `--help` prints the flags and exits instead. An invalid flag ends the program with status 1.

    Args:
      main: a function that receives a list with the program's name and the arguments that are not
        defined flags. By default, it is `main` in the program's module. Its return value becomes
        the exit status.
    """
    entry = sys.modules["__main__"].main if main is None else main
    sys.exit(entry(_without_flags(list(sys.argv if argv is None else argv))))


def _without_flags(argv: list[str]) -> list[str]:
    if _HELP.intersection(argv[1:]) and "help" not in flags.FLAGS:
        doc = getattr(sys.modules["__main__"], "__doc__", None) or ""
        sys.stdout.write(f"{doc}{flags.FLAGS.main_module_help()}\n")
        sys.exit(1)
    try:
        return flags.FLAGS(argv, known_only=True)
    except flags.Error as error:
        sys.stderr.write(
            f"FATAL Flags parsing error: {error}\n"
            "Pass --helpshort or --helpfull to see help on flags.\n"
        )
        sys.exit(1)
