"""Layers of Keras, by gpugraph and by TensorFlow: outputs, gradients and configurations.

    python ci/against_tensorflow/keras_layers.py --tensorflow PYTHON [--only LSTM]

Each layer of `RECURRENT` gets equal weights and equal inputs on both sides. For each it prints the
largest difference of outputs and of gradients of the sum of their squares (by inputs and weights),
relative to the largest element, and the keys whose values in `get_config` differ. It fails where a
difference is above 1e-5, where a layer fails, and where keys differ that are not in `LATER`, which
TensorFlow has added since 1.15.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

LIMIT = 1e-5
Case = tuple[Callable[[Any], Any], Any]
"""A function of `tf.keras.layers` that gives the layer, and the shape of its inputs, or shapes."""

LATER = {
    "registered_name", "module", "build_config", "groups", "synchronized", "force_generator",
    "input_axis_order", "score_mode", "use_scale",
}  # fmt: skip
"""Keys of configurations that 1.15 has not."""

RENAMED = {("conv_lst_m2d", "conv_lstm2d")}
"""Values of 1.15, with those of later TensorFlows."""

SEQUENCE = (3, 5, 4)
IMAGES = (2, 4, 6, 7, 3)

RECURRENT: dict[str, Case] = {}


def _add_variants() -> None:
    """Layers of one cell, with the arguments that change what they compute."""
    variants: dict[str, dict[str, Any]] = {
        "": {},
        "sequences": {"return_sequences": True, "return_state": True},
        "backwards": {"go_backwards": True, "return_sequences": True},
        "unrolled": {"unroll": True, "return_state": True},
        "relu, no bias": {"activation": "relu", "use_bias": False},
        "time major": {"time_major": True, "return_sequences": True},
        "stateful": {"stateful": True, "return_sequences": True},
        "penalties": {
            "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.25}},
            "bias_constraint": "NonNeg",
            "dropout": 0.5,
            "activity_regularizer": {"class_name": "L1L2", "config": {"l1": 0.25, "l2": 0.5}},
        },
    }
    own: dict[str, dict[str, dict[str, Any]]] = {
        "SimpleRNN": {},
        "GRU": {
            "after": {"reset_after": True},
            "second": {"implementation": 2},
            "both": {"reset_after": True, "implementation": 2, "recurrent_activation": "sigmoid"},
        },
        "LSTM": {
            "second": {"implementation": 2, "unit_forget_bias": False},
            "sigmoid": {"recurrent_activation": "sigmoid"},
        },
    }
    for name, further in own.items():
        for text, options in {**variants, **further}.items():
            RECURRENT[f"{name} {text}".strip()] = (
                lambda L, name=name, options=options: getattr(L, name)(3, **options),
                SEQUENCE,
            )


_add_variants()


def masked(layers: Any, layer: Any) -> Callable[[Any], Any]:
    """A layer behind one that masks what is 0."""
    return lambda x: layer(layers.Masking()(x))


SINGLE: dict[str, Callable[[Any], Any]] = {
    "RNN of a cell": lambda L: L.RNN(L.GRUCell(3), return_sequences=True),
    "RNN of cells": lambda L: L.RNN(
        [L.LSTMCell(3), L.GRUCell(2), L.SimpleRNNCell(4)], return_state=True
    ),
    "StackedRNNCells": lambda L: L.RNN(L.StackedRNNCells([L.LSTMCell(3), L.LSTMCell(2)])),
    "LSTM masked": lambda L: masked(L, L.LSTM(3)),
    "GRU masked, sequences": lambda L: masked(
        L, L.GRU(3, return_sequences=True, go_backwards=True)
    ),
    "LSTM masked, zero": lambda L: masked(
        L, L.LSTM(3, return_sequences=True, zero_output_for_mask=True)
    ),
    "LSTM masked, unrolled": lambda L: masked(L, L.LSTM(3, unroll=True, return_sequences=True)),
    "Bidirectional masked": lambda L: masked(L, L.Bidirectional(L.LSTM(3, return_sequences=True))),
    **{
        f"Bidirectional {mode}": lambda L, mode=mode: L.Bidirectional(
            L.GRU(3, return_sequences=True), merge_mode=mode
        )
        for mode in ("concat", "sum", "ave", "mul", None)
    },
    "Bidirectional, states": lambda L: L.Bidirectional(L.LSTM(3, return_state=True)),
    "Bidirectional, other": lambda L: L.Bidirectional(
        L.LSTM(3), backward_layer=L.GRU(3, go_backwards=True)
    ),
    "Bidirectional RNN": lambda L: L.Bidirectional(L.RNN([L.GRUCell(3), L.LSTMCell(2)])),
    "TimeDistributed": lambda L: L.TimeDistributed(L.Dense(3, activation="tanh")),
}
RECURRENT |= {name: (make, SEQUENCE) for name, make in SINGLE.items()}
RECURRENT |= {
    "TimeDistributed Conv2D": (lambda L: L.TimeDistributed(L.Conv2D(2, 3)), IMAGES),
    "TimeDistributed LSTM": (lambda L: L.TimeDistributed(L.LSTM(2)), (2, 3, 4, 5)),
    "LSTM from states": (lambda L: L.LSTM(3), [SEQUENCE, (3, 3), (3, 3)]),
    "Bidirectional from states": (lambda L: L.Bidirectional(L.GRU(3)), [SEQUENCE, (3, 3), (3, 3)]),
    "ConvLSTM2D": (lambda L: L.ConvLSTM2D(2, 3), IMAGES),
    "ConvLSTM2D, all": (
        lambda L: L.ConvLSTM2D(
            2, (2, 3), padding="same", return_sequences=True, return_state=True, strides=(2, 1)
        ),
        IMAGES,
    ),
    "ConvLSTM2D dilated": (
        lambda L: L.ConvLSTM2D(2, 2, dilation_rate=2, go_backwards=True, unit_forget_bias=False),
        IMAGES,
    ),
    "ConvLSTM2D stateful": (lambda L: L.ConvLSTM2D(2, 3, stateful=True), IMAGES),
}
CASES = RECURRENT


def run_case(tf: Any, make: Callable[[Any], Any], shapes: Any) -> dict[str, Any]:
    """Outputs, gradients, names and configuration of one layer, in a graph of its own."""
    keras, backend = tf.keras, tf.keras.backend
    random = np.random.RandomState(7)
    listed = shapes if isinstance(shapes, list) else [shapes]
    values = [random.uniform(-1, 1, shape).astype(np.float32) for shape in listed]
    values[0][1, 2:] = 0
    inputs = [keras.Input(batch_shape=shape) for shape in listed]
    layer = make(keras.layers)
    outputs = layer(inputs if len(inputs) > 1 else inputs[0])
    model = keras.Model(inputs, outputs)
    weights = [random.uniform(-0.5, 0.5, w.shape.as_list()) for w in model.weights]
    model.set_weights([weight.astype(np.float32) for weight in weights])
    loss = sum(tf.reduce_sum(tf.square(tensor)) for tensor in model.outputs)
    loss += sum(model.losses) if model.losses else 0.0
    gradients = tf.gradients(loss, [*inputs, *model.trainable_weights])
    fetches = [*model.outputs, *(g for g in gradients if g is not None)]
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
    """A configuration as JSON has it, without what is new in TensorFlow."""
    if isinstance(value, dict):
        if set(value) >= {"module", "class_name", "config"}:
            value = {key: value[key] for key in ("class_name", "config")}
        if value.get("class_name") == "Policy" or value.get("class_name") == "DTypePolicy":
            return plain(value["config"]["name"])
        return {key: plain(item) for key, item in value.items() if key not in LATER}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.floating, np.integer)):
        return value.item()
    return value


def run_cases(side: str, folder: Path, only: str) -> None:
    """One side: all cases, their arrays and a file of what is not an array."""
    tf = library(side)
    records: dict[str, Any] = {}
    for number, (name, (make, shapes)) in enumerate(CASES.items()):
        if only not in name:
            continue
        tf.keras.backend.clear_session()
        with tf.keras.backend.get_session().graph.as_default():
            try:
                record = run_case(tf, make, shapes)
            except Exception:  # it is reported, with its last words
                records[name] = {"failed": traceback.format_exc()[-600:]}
                continue
        results = record.pop("results")
        np.savez(folder / f"{side}{number}.npz", *map(np.asarray, results))
        records[name] = {**record, "file": number}
    (folder / f"{side}.json").write_text(json.dumps(records, default=str))


def differing_keys(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """The paths of keys whose values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            text
            for key in sorted({*ours, *theirs})
            for text in differing_keys(ours.get(key), theirs.get(key), f"{path}.{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [t for i, (a, b) in pairs for t in differing_keys(a, b, f"{path}[{i}]")]
    if path.endswith(".dtype") and theirs is None:  # of a layer without variables of its own
        return []
    if (ours, theirs) in RENAMED:
        return []
    return [] if ours == theirs else [f"{path[1:]}: {ours!r}, not {theirs!r}"]


def compare(folder: Path, ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """What differs between the records of a layer, "" for nothing."""
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
    worst = 0.0
    for one, other in zip(*arrays, strict=False):
        if one.shape != other.shape:
            faults.append(f"shape {one.shape}, not {other.shape}")
        elif one.size:
            scale = max(1.0, float(np.abs(other).max()))
            worst = max(worst, float(np.abs(one - other).max()) / scale)
    if not worst <= LIMIT:
        faults.append(f"difference {worst:.2g}")
    if ours["shape"] != theirs["shape"]:
        faults.append(f"compute_output_shape {ours['shape']}, not {theirs['shape']}")
    if ours["missing"] != theirs["missing"]:
        faults.append(f"missing gradients {ours['missing']}, not {theirs['missing']}")
    faults += differing_keys(ours["config"], theirs["config"])
    return "; ".join(faults)


def main() -> int:
    """Runs both sides and prints the table; the number of layers that differ."""
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
        faults = 0
        for case_name, ours in records[0].items():
            fault = compare(folder, ours, records[1][case_name])
            faults += bool(fault)
            print(f"{case_name:28} {fault or 'equal'}")
        print(f"{len(records[0])} layers, {faults} faults")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main())
