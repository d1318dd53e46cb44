"""Programs on servers of one process, by TensorFlow and gpugraph.

    python ci/against_tensorflow/cluster_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys

from life import clusters
from recorded_programs import Explained, Varying, main

UNREQUESTED = "TensorFlow's master takes a tensor that is fed for one that it was not asked for"
SEVERAL = "====================="
"""Start of the message of TensorFlow's master about the errors of several tasks."""

REPORTED_BY_ANY = (
    "TensorFlow's master names the task whose report comes first: the one that failed, or one that "
    "was to get its tensor; or several. Seen in 100 runs. gpugraph's names the one that failed"
)
EXPLAINED: Explained = {
    "an_error_ends_the_step: error": Varying(
        "From /job:worker/replica:0/task:1:",
        (SEVERAL, "From /job:worker/replica:0/task:1:", "From /job:worker/replica:0/task:0:"),
        REPORTED_BY_ANY,
    ),
    "shared_queues: empty": Varying(
        "From /job:ps/replica:0/task:0:",
        (SEVERAL, "From /job:ps/replica:0/task:0:", "From /job:worker/replica:0/task:0:"),
        REPORTED_BY_ANY,
    ),
    "what_is_fed: ended by": UNREQUESTED,
    "what_is_fed: between": UNREQUESTED,
    "what_is_fed: constant": UNREQUESTED,
    "variables_outlive_sessions: after reset": Varying(
        "From /job:ps/replica:0/task:0:",
        (SEVERAL, "From /job:ps/replica:0/task:0:", "From /job:worker/replica:0/task:0:"),
        REPORTED_BY_ANY,
    ),
    "synchronous_replicas: threads left": "TensorFlow's runner waits for gradients for ever",
}

if __name__ == "__main__":
    sys.exit(main(clusters.PROGRAMS, EXPLAINED, __file__, __doc__))
