"""The command line as `python -m gpugraph`, for when the `gpugraph` command is not installed."""

from __future__ import annotations

import sys

from gpugraph.cli import main

if __name__ == "__main__":
    sys.exit(main())
