"""Compare the numbers of ops that public functions add to a graph with TensorFlow 1.15.

    python ci/against_tensorflow/op_counts.py --tensorflow PYTHON [--list]

PYTHON has TensorFlow 1.15, not 2: the seed of a random op without a seed is the number of ops that
its graph has, so that initial values after a function are TensorFlow's only if the function adds
as many ops as in TensorFlow. The calls are those of `form_calls.txt` and `ci/public_calls.txt`.
`--list` prints the calls whose numbers differ, with the op types that are more on one side. The
exit status is 1 if fewer calls than SAME add equal numbers.
"""

from __future__ import annotations

import argparse
import importlib
import pickle
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, python_of_tensorflow, run_side

SAME = 441
"""The number of calls with equal numbers of ops, measured with TensorFlow 1.15.5."""

_FOLDER = Path(__file__).resolve().parent
_LISTS = (_FOLDER.parent / "public_calls.txt", _FOLDER / "form_calls.txt")


def calls() -> list[str]:
    """Return the expressions of both lists."""
    lines = [line for path in _LISTS for line in path.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def values(tf: Any) -> dict[str, Any]:
    """Return the names that the expressions use."""
    shapes = {"x": (4, 6), "y": (4, 6), "img": (2, 8, 8, 3), "seq": (4, 5, 6), "sq": (3, 3)}
    return {
        "tf": tf,
        "np": np,
        "i": tf.constant([0, 1, 2, 1], tf.int32),
        "n": tf.constant([5, 3, 4, 2], tf.int32),
        "cell": tf.nn.rnn_cell.BasicLSTMCell(7),
        "v": tf.get_variable("v", [4, 6]),
        **{name: tf.constant(np.ones(shape, np.float32)) for name, shape in shapes.items()},
    }


def op_types(tf: Any, call: str) -> list[str] | None:
    """Return the types of the ops that a call adds; None if it is refused."""
    with tf.Graph().as_default() as graph:
        names = values(tf)
        before = len(graph.get_operations())
        try:
            eval(call, names)
        except Exception:
            return None
        return [operation.type for operation in graph.get_operations()[before:]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--list", action="store_true", help="print the calls that differ")
    options = parser.parse_args()
    if options.side:
        tf = importlib.import_module(options.side[0])
        found = {call: op_types(tf, call) for call in calls()}
        Path(options.side[1], options.side[0]).write_bytes(pickle.dumps(found, 2))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_side(python_of_tensorflow(options.tensorflow), __file__, "tensorflow", folder)
        run_side(sys.executable, __file__, "gpugraph", folder)
        sides = [pickle.loads((folder / side).read_bytes()) for side in ("gpugraph", "tensorflow")]
    pairs = {
        call: (sides[0][call], sides[1][call])
        for call in sides[0]
        if sides[0][call] is not None and sides[1][call] is not None
    }
    different = {call: pair for call, pair in pairs.items() if len(pair[0]) != len(pair[1])}
    for call, (ours, theirs) in different.items() if options.list else ():
        more, fewer = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
        print(f"{len(ours)} / {len(theirs)} {call}\n    more: {dict(more)} fewer: {dict(fewer)}")
    same = len(pairs) - len(different)
    print(f"{same} of {len(pairs)} calls add as many ops as in TensorFlow")
    return int(same < SAME)


if __name__ == "__main__":
    sys.exit(main())
