"""Answers `import tensorflow` also in the Python processes that a program starts.

`PYTHONPATH` makes them run `for_child_processes/sitecustomize.py` first. Forked processes inherit
the state of their parent.
"""

from __future__ import annotations

from pathlib import Path

from gpugraph.config.environment import put_first_in_python_path

FOLDER = Path(__file__).resolve().parent / "for_child_processes"


def answer_in_children() -> None:
    """Change the environment of this process so that its children answer `import tensorflow`."""
    put_first_in_python_path(str(FOLDER))
