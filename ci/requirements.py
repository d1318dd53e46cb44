"""Prints gpugraph's requirements from pyproject.toml, one per line.

    python ci/requirements.py [EXTRA ...]

pyproject.toml is that of the working folder. The Dockerfile installs from this list before it has
the package, so that a change of the package alone installs nothing anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tomllib


def main(extras: list[str]) -> int:
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    known = project["optional-dependencies"]
    unknown = [extra for extra in extras if extra not in known]
    if unknown:
        print(f"no extra {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    print(*project["dependencies"], *(line for extra in extras for line in known[extra]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
