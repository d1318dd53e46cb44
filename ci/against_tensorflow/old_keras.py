"""The models of tests/tensorflow_import/old_keras_models.py by TensorFlow's Keras: 20 steps.

    python ci/against_tensorflow/old_keras.py --tensorflow PYTHON [--record]

Prints the first and the last loss of each model, and the largest relative difference from the
values that are kept, which the tests of old Keras hold theirs against; fails where it is above
1e-4. --record keeps these values instead.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sides import ROOT, library, python_of_tensorflow, run_side

FOLDER = ROOT / "tests" / "tensorflow_import"
RECORD = FOLDER / "old_keras_values.json"
LIMIT = 1e-4


def models() -> Any:
    """Return the module of the models."""
    path = FOLDER / "old_keras_models.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def train(folder: Path) -> None:
    """TensorFlow's side: leaves the values in the folder."""
    keras, programs = library("tensorflow").keras, models()
    record = {}
    for name in programs.MODELS:
        keras.backend.clear_session()
        record[name] = programs.values(name, keras)
    (folder / RECORD.name).write_text(json.dumps(record), "utf-8")


def difference(name: str, values: dict[str, list[float]]) -> float:
    """Return the largest relative difference from the values that are kept."""
    kept = json.loads(RECORD.read_text("utf-8"))[name]
    return max(
        float(np.max(np.abs(np.subtract(kept[key], values[key])) / np.abs(kept[key])))
        for key in kept
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tensorflow", metavar="PYTHON", help="a Python that has TensorFlow")
    parser.add_argument("--side", nargs=2, metavar=("SIDE", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--record", action="store_true", help="keep TensorFlow's values")
    options = parser.parse_args()
    if options.side:
        train(Path(options.side[1]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        python = python_of_tensorflow(options.tensorflow)
        run_side(python, __file__, "tensorflow", Path(folder))
        record = json.loads((Path(folder) / RECORD.name).read_text("utf-8"))
    if options.record:
        RECORD.write_text(json.dumps(record, indent=0) + "\n", "utf-8")
    worst = 0.0
    for name, values in record.items():
        worst = max(worst, difference(name, values))
        losses = values["losses"]
        print(f"{name:12} loss {losses[0]:.6f} to {losses[-1]:.6f}; differs {worst:.1e}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
