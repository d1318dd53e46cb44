"""Programs on servers of one process, by TensorFlow and gpugraph.

    python ci/against_tensorflow/cluster_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys

from life import clusters
from recorded_programs import main

UNREQUESTED = "TensorFlow's master takes a tensor that is fed for one that it was not asked for"
EXPLAINED: dict[str, str] = {
    "what_is_fed: ended by": UNREQUESTED,
    "what_is_fed: between": UNREQUESTED,
    "what_is_fed: constant": UNREQUESTED,
    "variables_outlive_sessions: after reset": "TensorFlow's master may put a line of = first",
    "synchronous_replicas: threads left": "TensorFlow's runner waits for gradients for ever",
}

if __name__ == "__main__":
    sys.exit(main(clusters.PROGRAMS, EXPLAINED, __file__, __doc__))
