"""The programs of boosted trees of `tests/ops/boosted_trees`, by TensorFlow 1.15 and gpugraph.

    python ci/against_tensorflow/boosted_trees.py --tensorflow PYTHON [--write]

PYTHON has TensorFlow 1.15, for which Python 3.7 is needed: later versions have the ops, but no
kernels. The answers must be the same, numbers to 1e-6. --write writes TensorFlow's answers to the
file that the tests compare with.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from sides import ROOT, add_options, library, python_of_tensorflow, run_side

FOLDER = ROOT / "tests" / "ops" / "boosted_trees"
ANSWERS = FOLDER / "tree_answers.json"
TOLERANCE = 1e-6


def difference(expected: Any, actual: Any, path: str = "") -> str:
    """Return the place of the first difference with both values, or an empty string."""
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual))
        found = (difference(*pair, f"{path}[{number}]") for number, pair in pairs)
        return next(filter(None, found), "")
    if isinstance(expected, float) and isinstance(actual, (int, float)):
        is_near = abs(expected - actual) <= TOLERANCE * max(1.0, abs(expected))
        return "" if is_near else f"{path}: {expected} and {actual}"
    return "" if expected == actual else f"{path}: {expected} and {actual}"


def one_side(side: str, folder: Path) -> None:
    """Write the answers of all programs to a file of the folder."""
    tf = library(side)
    sys.path.insert(0, str(FOLDER))
    programs: Any = importlib.import_module("tree_programs").PROGRAMS
    answers = {}
    for program in programs:
        with tf.Graph().as_default():
            answers[program.__name__] = program(tf)
    (folder / f"{side}.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--write", action="store_true", help="write TensorFlow's answers")
    options = parser.parse_args()
    if options.side:
        one_side(options.side[0], Path(options.side[1]))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_side(python_of_tensorflow(options.tensorflow), __file__, "tensorflow", folder)
        run_side(sys.executable, __file__, "gpugraph", folder)
        texts = [(folder / f"{side}.json").read_text() for side in ("tensorflow", "gpugraph")]
    if options.write:
        ANSWERS.write_text(texts[0])
    theirs, ours = map(json.loads, texts)
    failures = 0
    for program, answers in theirs.items():
        found = difference(answers, ours[program])
        print(f"{program:28} {found[:200] or 'same'}")
        failures += bool(found)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
