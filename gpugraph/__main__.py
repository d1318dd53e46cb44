"""Runs the command line with `python -m gpugraph`, which also works if the `gpugraph` command is
not installed.
"""

from __future__ import annotations

import sys

from gpugraph.cli import main

if __name__ == "__main__":
    sys.exit(main())
