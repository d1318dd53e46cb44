"""Programs of strategies, by TensorFlow and gpugraph, on CPU devices of one process.

    python ci/against_tensorflow/strategy_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys

from life import strategies, strategy_trainings
from recorded_programs import Programs, main

PROGRAMS: Programs = strategies.PROGRAMS | strategy_trainings.PROGRAMS

AGGREGATION = "1.15 refuses it; 2.x accepts a value that is the same in all replicas"
NUMBERED = "2.x confuses the numbers at the end of these variables' names with its own"
EXPLAINED: dict[str, str] = {
    "scopes_in_each_other: another": "the text shows the class of the strategy",
    "mirrored_variables: trainable": "2.x leaves copies in the collection, which 1.15 removes",
    "no_aggregation: refused": AGGREGATION,
    "modes_refused: trainable": "the error of 1.15",
    "methods_of_variables: count": "2.x cannot count by a mirrored variable",
    "loads: ended by": "2.x loads only the copy of a fixed number",
    "loads: values": "see: ended by",
    "trained_by_ProximalAdagradOptimizer: ended by": "2.x has broken it",
    "trained_by_ProximalAdagradOptimizer: losses": "see: ended by",
    "trained_by_ProximalAdagradOptimizer: variables": "see: ended by",
    "trained_by_ProximalAdagradOptimizer: slots": "see: ended by",
}
for _metric in ("recall_at_k", "precision_at_k", "average_precision_at_k"):
    for _key in ("ended by", "values 0", "values 1"):
        EXPLAINED[f"metric_{_metric}: {_key}"] = NUMBERED


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))
