"""Programs of queues, producers, batches, coordinators and runners, by TensorFlow and gpugraph.

    python ci/against_tensorflow/queue_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys

from life import inputs, queues, threads
from recorded_programs import Programs, main

PROGRAMS: Programs = {**queues.PROGRAMS, **inputs.PROGRAMS, **threads.PROGRAMS}

PYTHON = "1.15's words, which 2.x has written anew"
TIME_LIMIT = "the text goes on with what waited, and how long"
EXPLAINED: dict[str, str] = {
    "elements_with_names: too few names": PYTHON,
    "misfits_of_the_graph: dtype": PYTHON,
    "misfits_of_the_graph: tensor's dtype": PYTHON,
    "misfits_of_the_graph: rows' count": "words of shapes, where 2.x speaks of dimensions",
    "misfits_of_the_graph: vector n": "refused by shape inference, as 1.15 does; 2.x by Python",
    "misfits_of_a_run: no rows": "refused when the plan of the fed shapes is made",
    "shuffled_keeps_some: waits": TIME_LIMIT,
    "time_limits: many": TIME_LIMIT,
    "time_limits: room": TIME_LIMIT,
    "time_limits: of the session": TIME_LIMIT,
    "batches_refused: a tensor": "the error of 1.15",
    "batches_refused: lengths": "TensorFlow drops components that another list has not",
    "priorities: no priority": PYTHON,
    "priorities: a float": PYTHON,
    "priorities: an int32": PYTHON,
    "runners: type": "TensorFlow's own text can't be formatted",
    "sparse_batches: mixture": "TensorFlow shows the SparseTensors, ours the components",
    "time_limits: given back": "TensorFlow loses what a run that gives up has taken; ours returns",
    "time_limits: value": "see: given back",
    "waits_of_one_step: closed": "two queues are closed; either error may come first, in both",
    "rest_of_priorities: rest": "see: one of three; the words name another number",
    "rest_of_priorities: one of three": "TensorFlow's PriorityQueue loses it in its last batch",
}


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))
