"""Python processes that a program starts answer `import tensorflow` too.

They run `for_child_processes/sitecustomize.py` first, which `PYTHONPATH` leads them to. Processes
that are forked have what their parent has.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "for_child_processes"


def answer_in_children() -> None:
    """Changes the environment of this process, which its children inherit."""
    before = os.environ.get("PYTHONPATH", "")
    if str(FOLDER) not in before.split(os.pathsep):
        os.environ["PYTHONPATH"] = f"{FOLDER}{os.pathsep}{before}" if before else str(FOLDER)
