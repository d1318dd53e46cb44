"""A setup for the Python processes that a program starts. In these processes, `import tensorflow`
also imports gpugraph.

These processes run `for_child_processes/sitecustomize.py` first, because it is on their
`PYTHONPATH`. Forked processes need no preparation, because they inherit the state of their parent.
"""

from __future__ import annotations

from pathlib import Path

from gpugraph.config.environment import put_first_in_python_path

FOLDER = Path(__file__).resolve().parent / "for_child_processes"


def answer_in_children() -> None:
    """Set `PYTHONPATH` of this process so that its children import gpugraph as `tensorflow`."""
    put_first_in_python_path(str(FOLDER))
