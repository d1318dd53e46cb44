"""Programs of AutoGraph, tf.function, Defun and Python functions, by TensorFlow and gpugraph.

    python ci/against_tensorflow/function_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name. gpugraph's side needs the extra `autograph`.
"""

from __future__ import annotations

import sys

from life import called_functions, converted_functions
from recorded_programs import Programs, main

PROGRAMS: Programs = {**converted_functions.PROGRAMS, **called_functions.PROGRAMS}

_OF_1_15 = "the class of 1.15"

EXPLAINED: dict[str, str] = {
    "return_in_loop: to_graph": _OF_1_15,
    "return_in_loop: function": _OF_1_15,
    "effects_without_results: value": "1.15 returns the op of the call, 2.21 nothing to run",
    "effects_without_results: ended by": "1.15 returns the op of the call, 2.21 nothing to run",
    "get_variable_in_a_scope: trainable": "TensorFlow omits the collection of trainable variables",
    **{f"input_signatures: {key}": _OF_1_15 for key in ("scalar", "dtype", "object")},
}


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))
