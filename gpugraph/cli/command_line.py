"""The command line: `gpugraph run PROGRAM`, `check`, `explain`, `memory`, `trace`, `report`,
`scopes`, `devices`, `show`, `convert`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gpugraph.cli.check import add_check
from gpugraph.cli.convert import add_convert
from gpugraph.cli.devices import add_devices
from gpugraph.cli.explain import add_explain
from gpugraph.cli.memory import add_memory
from gpugraph.cli.report import add_report
from gpugraph.cli.run import add_run
from gpugraph.cli.scopes import add_scopes
from gpugraph.cli.show import add_show
from gpugraph.cli.trace import add_trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    arguments: the arguments after `gpugraph` on the command line; by default those of this process.
    """
    parser = argparse.ArgumentParser(prog="gpugraph", description=(__doc__ or "").strip())
    parser.set_defaults(is_process=arguments is None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    first = (add_run, add_check, add_explain, add_memory, add_trace, add_report)
    for add in (*first, add_scopes, add_devices, add_show, add_convert):
        add(commands)
    options = parser.parse_args(arguments)
    return options.command(options)


if __name__ == "__main__":
    sys.exit(main())
