"""Programs of strategies, by TensorFlow and gpugraph, on CPU devices of one process.

    python ci/against_tensorflow/strategy_programs.py --tensorflow PYTHON [--only NAME] [--words]

The programs `random_...` are random choices of the parts of users' programs. The variables
RANDOM_TRAININGS, RANDOM_MODELS and RANDOM_MISUSES of the environment set their numbers. Without
RANDOM_MODELS there are no random models, because TensorFlow takes minutes to close some of their
sessions.

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys

from life import (
    random_strategies,
    random_strategy_models,
    strategies,
    strategy_keras,
    strategy_loops,
    strategy_methods,
    strategy_models,
    strategy_refusals,
    strategy_trainings,
)
from recorded_programs import Programs, main

PROGRAMS: Programs = {
    **strategies.PROGRAMS,
    **strategy_trainings.PROGRAMS,
    **strategy_refusals.PROGRAMS,
    **strategy_methods.PROGRAMS,
    **strategy_loops.PROGRAMS,
    **strategy_models.PROGRAMS,
    **strategy_keras.PROGRAMS,
    **random_strategies.PROGRAMS,
    **random_strategy_models.PROGRAMS,
}

AGGREGATION = "1.15 refuses it; 2.x accepts a value that is the same in all replicas"
NUMBERED = "2.x confuses the numbers at the end of these variables' names with its own"
IGNORED = "TensorFlow ignores what is no object, and would train alone"
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
EXPLAINED |= {
    **{f"changes_without_aggregation: mirrored {name}": AGGREGATION
       for name in ("assign", "assign_add", "assign_sub")},
    "numbers_that_differ_without_aggregation: function": AGGREGATION,
    "variable_from_outside: trained": "2.x fails at the sum; 1.15 at the update, as ours",
    "contexts_kept_after_the_call: outside": "the text shows the classes of the strategies",
    "configurations_refused: no json": "the text names the variable",
    "configurations_refused: list": IGNORED,
    "configurations_refused: text": IGNORED,
    "configurations_refused: task of text": IGNORED,
    "configurations_refused: empty": "an empty variable of the environment is none",
    "tasks_refused: unknown": "1.15's words",
    "settings_of_variables: collections": EXPLAINED["mirrored_variables: trainable"],
    "devices_that_do_not_exist: none": "1.15 refuses it",
    "devices_that_do_not_exist: name": "1.15's words",
}  # fmt: skip
for _key in ("ended by", "values 1", "step 1", "values 2", "step 2"):
    EXPLAINED[f"checkpoints_of_objects: {_key}"] = "2.x has no handle for a restoring session"
IN_VAIN = "both versions look for a replica's copy of a variable in vain"
for _name, _keys in (
    ("norms_clipped_after_the_sum", ("ended by", "trained")),
    ("moments_of_all_replicas", ("ended by", "losses", "variables")),
):
    EXPLAINED.update({f"{_name}: {_key}": IN_VAIN for _key in _keys})
for _metric in ("recall_at_k", "precision_at_k", "average_precision_at_k"):
    for _key in ("ended by", "values 0", "values 1"):
        EXPLAINED[f"metric_{_metric}: {_key}"] = NUMBERED


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))
