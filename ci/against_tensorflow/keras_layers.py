"""Layers of Keras, by gpugraph and by TensorFlow: outputs, gradients and configurations.

    python ci/against_tensorflow/keras_layers.py --tensorflow PYTHON [--only LSTM]

Each case of `layer_cases` gets equal weights and equal inputs on both sides. For each it prints the
largest difference of outputs and of gradients of the sum of their squares (by inputs and weights),
relative to the largest element, and the keys whose values in `get_config` differ. It fails where a
difference is above 1e-5, where a layer fails, where keys differ that are not in `LATER`, which
TensorFlow has added since 1.15, and where a class of `tf.keras.layers` has no case.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from layer_cases import core_cases, recurrent_cases, window_cases
from sides import add_options, library, python_of_tensorflow, run_side

LIMIT = 1e-5
RANDOM_LIMIT = 0.02
"""For the means and deviations of random numbers."""

CASES = {**core_cases.CASES, **window_cases.CASES, **recurrent_cases.CASES}

WITHOUT_CASE = {
    "DenseFeatures": "gpugraph has no feature columns",
    "CuDNNGRU": "TensorFlow runs it on GPUs alone",
    "CuDNNLSTM": "TensorFlow runs it on GPUs alone",
}
"""Classes of layers that are not compared, with the reason."""

LATER = {
    "registered_name", "module", "build_config", "groups", "synchronized", "force_generator",
    "input_axis_order", "score_mode", "use_scale", "keepdims",
}  # fmt: skip
"""Keys of configurations that 1.15 has not."""

EXPLAINED = {
    "name: 'conv_lst_m2d', not 'conv_lstm2d'": "1.15 makes names of classes by another rule",
    "causal: False, not None": "later an argument of calls",
    "causal: True, not None": "later an argument of calls",
    "dropout: None, not 0.0": "attention of 1.15 has no dropout",
    "seed: None, not 3": "AlphaDropout of 1.15 leaves its seed out",
}
"""Differences of configurations where gpugraph follows 1.15."""


class Recorder:
    """`tf.keras.layers` that records the accessed names."""

    def __init__(self, layers: Any, classes: set[Any]) -> None:
        self._layers, self._classes = layers, classes

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._layers, name)
        self._classes.add(value)
        return value


def classes_without_case(layers: Any, covered: set[Any]) -> list[str]:
    """Return the names of classes of layers without a case, except for those with a reason."""
    return [
        name
        for name, value in vars(layers).items()
        if isinstance(value, type) and issubclass(value, layers.Layer)
        if value not in covered and name not in WITHOUT_CASE
    ]


def run_case(tf: Any, layers: Any, make: Callable[[Any], Any], shapes: Any) -> dict[str, Any]:
    """Return outputs, gradients, names and configuration of one layer, in a separate graph."""
    keras, backend = tf.keras, tf.keras.backend
    random = np.random.RandomState(7)
    listed = shapes if isinstance(shapes, list) else [shapes]
    values = [random.uniform(-1, 1, shape).astype(np.float32) for shape in listed]
    values[0][1, 2:] = 0
    inputs = [keras.Input(batch_shape=shape) for shape in listed]
    layer = make(layers)
    outputs = layer(inputs if len(inputs) > 1 else inputs[0])
    model = keras.Model(inputs, outputs)
    weights = [random.uniform(-0.5, 0.5, w.shape.as_list()) for w in model.weights]
    model.set_weights([weight.astype(np.float32) for weight in weights])
    loss = sum(tf.reduce_sum(tf.square(tensor)) for tensor in model.outputs)
    loss += sum(model.losses) if model.losses else 0.0
    gradients = tf.gradients(loss, [*inputs, *model.trainable_weights])
    fetches = [*model.outputs, *(tf.convert_to_tensor(g) for g in gradients if g is not None)]
    session, feeds = backend.get_session(), dict(zip(inputs, values, strict=True))
    results = session.run(fetches, feeds)
    updates = list(model.updates)
    if updates:
        session.run(updates, feeds)
        results += session.run(list(model.outputs), feeds)
    shape = model.compute_output_shape(shapes)
    return {
        "results": results,
        "missing": [g is None for g in gradients],
        "names": [weight.name for weight in model.weights],
        "config": plain(model.layers[-1].get_config()),
        "shape": str([tuple(s) for s in shape] if isinstance(shape, list) else tuple(shape)),
    }


def plain(value: Any) -> Any:
    """Return a configuration as JSON has it, without fields new in TensorFlow."""
    if isinstance(value, dict):
        if set(value) >= {"module", "class_name", "config"}:
            value = {key: value[key] for key in ("class_name", "config")}
        if value.get("class_name") in ("L1", "L2"):  # one class in 1.15
            config = {"l1": 0.0, "l2": 0.0, **value["config"]}
            value = {"class_name": "L1L2", "config": config}
        if value.get("class_name") == "Policy" or value.get("class_name") == "DTypePolicy":
            return plain(value["config"]["name"])
        return {key: plain(item) for key, item in value.items() if key not in LATER}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return value


def run_cases(side: str, folder: Path, only: str) -> None:
    """Run all cases on one side; write their arrays and a file of the other results."""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # which computes channels first on any CPU
    tf = library(side)
    records: dict[str, Any] = {}
    covered: set[Any] = set()
    layers = Recorder(tf.keras.layers, covered)
    for number, (name, (make, shapes)) in enumerate(CASES.items()):
        if only not in name:
            continue
        tf.keras.backend.clear_session()
        with tf.keras.backend.get_session().graph.as_default():
            try:
                record = run_case(tf, layers, make, shapes)
            except Exception:  # it is reported, with its last words
                records[name] = {"failed": traceback.format_exc()[-600:]}
                continue
        results = record.pop("results")
        np.savez(folder / f"{side}{number}.npz", *map(np.asarray, results))
        records[name] = {**record, "file": number, "is_random": name.startswith("random ")}
    if side == "gpugraph" and not only:
        records["classes without case"] = classes_without_case(tf.keras.layers, covered)
    (folder / f"{side}.json").write_text(json.dumps(records, default=str))


def differing_keys(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return the paths of keys whose values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            text
            for key in sorted({*ours, *theirs})
            for text in differing_keys(ours.get(key), theirs.get(key), f"{path}.{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [t for i, (a, b) in pairs for t in differing_keys(a, b, f"{path}[{i}]")]
    if path.endswith(".dtype") and theirs is None:  # of a layer without its own variables
        return []
    text = f"{path[1:]}: {ours!r}, not {theirs!r}"
    return [] if ours == theirs or any(text.endswith(end) for end in EXPLAINED) else [text]


def compare(folder: Path, ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Return the differences between the records of a layer, "" for none."""
    for side, record in (("gpugraph", ours), ("TensorFlow", theirs)):
        if "failed" in record:
            return f"FAILED in {side}: {record['failed']}"
    arrays = [
        list(np.load(folder / f"{side}{record['file']}.npz").values())
        for side, record in (("gpugraph", ours), ("tensorflow", theirs))
    ]
    faults = []
    if len(arrays[0]) != len(arrays[1]):
        faults.append(f"{len(arrays[0])} arrays, not {len(arrays[1])}")
    if ours["is_random"]:
        arrays = [[np.stack([abs(a).mean(), a.std()]) for a in side] for side in arrays]
    worst = 0.0
    for one, other in zip(*arrays, strict=False):
        if one.shape != other.shape:
            faults.append(f"shape {one.shape}, not {other.shape}")
        elif one.size:
            scale = max(1.0, float(np.abs(other).max()))
            worst = max(worst, float(np.abs(one - other).max()) / scale)
    if not worst <= (RANDOM_LIMIT if ours["is_random"] else LIMIT):
        faults.append(f"difference {worst:.2g}")
    if ours["shape"] != theirs["shape"]:
        faults.append(f"compute_output_shape {ours['shape']}, not {theirs['shape']}")
    if ours["missing"] != theirs["missing"]:
        faults.append(f"missing gradients {ours['missing']}, not {theirs['missing']}")
    faults += differing_keys(ours["config"], theirs["config"])
    return "; ".join(faults)


def main() -> int:
    """Run both sides and print the table, and return the number of layers that differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--only", default="", help="a part of the names of layers")
    options = parser.parse_args()
    if options.side:
        run_cases(options.side[0], Path(options.side[1]), options.only)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = python_of_tensorflow(options.tensorflow)
        run_side(sys.executable, __file__, "gpugraph", folder, "--only", options.only)
        run_side(python, __file__, "tensorflow", folder, "--only", options.only)
        records = [
            json.loads((folder / f"{side}.json").read_text()) for side in ("gpugraph", "tensorflow")
        ]
        uncovered = records[0].pop("classes without case", [])
        print("classes without case:", ", ".join(uncovered) or "none")
        faults = len(uncovered)
        for case_name, ours in records[0].items():
            fault = compare(folder, ours, records[1][case_name])
            faults += bool(fault)
            print(f"{case_name:28} {fault or 'equal'}")
        print(f"{len(records[0])} layers, {faults} faults")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main())
