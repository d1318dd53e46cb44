"""Programs of a training's sessions, hooks, summaries and checkpoints, by TensorFlow and gpugraph.

    python ci/against_tensorflow/training_life.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers, errors and events differ. The script fails
where one does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys

from life import hooks, kept_checkpoints, monitored, sessions, summaries
from recorded_programs import Programs, main

PROGRAMS: Programs = {
    **sessions.PROGRAMS,
    **monitored.PROGRAMS,
    **hooks.PROGRAMS,
    **summaries.PROGRAMS,
    **kept_checkpoints.PROGRAMS,
}

PYTHON = "1.15's words, which 2.x has written anew"
OWN = "a line of the log in words of our own"
TYPES = "the same words, with the op's type among them"
EXPLAINED: dict[str, str] = {
    "scaffolds_of_ones_own: several": "TensorFlow's own text is not formatted",
    "monitored: unknown fetch": PYTHON,
    "monitored: closed": "TensorFlow fails on its own None",
    "step_functions: not callable": "Python's words in 2.x",
    "recovery: log of AbortedError": OWN,
    "recovery: log of UnavailableError": OWN,
    "steps_counted: stands still": OWN,
    "global_steps: two": "the line names them",
    "scalars: of bool": TYPES,
    "scalars: string": TYPES,
    "scalars: vector": PYTHON,
    "histograms: of inf": PYTHON,
    "histograms: string": TYPES,
    "histograms: bool": "1.15 refuses it as ours does",
    "file_writers: below a file": "the path that was asked for, where TensorFlow names its parent",
    "files_reopened: steps": "TensorFlow writes over a file of the same second",
    "files_reopened: broken": "the text says what is wrong",
}


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))
