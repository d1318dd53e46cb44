"""Python processes that a program starts answer `import tensorflow` too.

They run `for_child_processes/sitecustomize.py` first, which `PYTHONPATH` leads them to. Processes
that are forked have what their parent has.
"""

from __future__ import annotations

from pathlib import Path

from gpugraph.config.environment import put_first_in_python_path

FOLDER = Path(__file__).resolve().parent / "for_child_processes"


def answer_in_children() -> None:
    """Changes the environment of this process, which its children inherit."""
    put_first_in_python_path(str(FOLDER))
