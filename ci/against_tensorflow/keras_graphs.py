"""Random graphs of Keras layers, sorted by gpugraph and by TensorFlow.

    python ci/against_tensorflow/keras_graphs.py --tensorflow PYTHON [--count N]

Layers are shared, take several inputs and tensors among their arguments, nested ones too.
Operations lie between them, and losses are added to the model. For each graph: the order of the
model's layers, the depths of all nodes, in order, the names of the outputs, and the values of a
call on other inputs and of the losses; then the same of its copy by its configuration. The script
fails where one differs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side


def random_model(tf: Any, seed: int) -> Any:
    """Return a model of layers that add up their inputs, and tensors among their arguments."""
    keras, choose = tf.keras, random.Random(seed)
    keras.backend.clear_session()
    Total = total_class(tf)
    inputs = [keras.Input((2,), name=f"i{number}") for number in range(choose.randint(1, 3))]
    layers = [Total(name=f"l{number}") for number in range(choose.randint(2, 8))]
    tensors = list(inputs)
    for _ in range(choose.randint(3, 14)):
        taken = [choose.choice(tensors) for _ in range(choose.randint(1, 3))]
        if choose.random() < 0.4:
            tensors.append(choose.choice(operations(tf))(taken[0], taken[-1]))
            continue
        arguments: dict[str, Any] = {}
        if choose.random() < 0.3:
            arguments["other"] = choose.choice(tensors)
        if choose.random() < 0.3:
            arguments["terms"] = {"a": [choose.choice(tensors) for _ in range(2)]}
        layer = choose.choice(layers)
        tensors.append(layer(taken if len(taken) > 1 else taken[0], **arguments))
    model = keras.Model(inputs, choose.sample(tensors[len(inputs) :], choose.randint(1, 2)))
    for _ in range(choose.randint(0, 2)):
        model.add_loss(tf.reduce_sum(choose.choice(model.outputs) * choose.random()))
    return model


def total_class(tf: Any) -> Any:
    """Return a layer that adds up its inputs and the tensors among its arguments."""

    class Total(tf.keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any, other: Any = None, terms: Any = None) -> Any:
            listed = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
            nested = tf.add_n(tf.nest.flatten(terms)) if terms else 0.0
            return tf.add_n(listed) * 0.5 + (0.0 if other is None else other) + nested

    return Total


def operations(tf: Any) -> list[Any]:
    """Operations on two tensors of one shape, that keep it."""
    return [
        lambda x, y: x * 2.0 + 1.0,
        lambda x, y: tf.maximum(x, y),
        lambda x, y: tf.stack(tf.unstack(x, axis=1)[::-1], 1),
        lambda x, y: tf.concat([x[:, 1:], y[:, :1]], -1),
        lambda x, y: x - tf.reduce_mean(y, axis=-1, keepdims=True),
    ]


def facts(tf: Any, seed: int) -> list[Any]:
    """Return the facts of a graph, and of its copy, that must be the same on both sides."""
    model = random_model(tf, seed)
    copy = tf.keras.Model.from_config(model.get_config(), {"Total": total_class(tf)})
    return facts_of(tf, model) + facts_of(tf, copy)


def facts_of(tf: Any, model: Any) -> list[Any]:
    """Return the layers of a model, its calls and outputs by order, and the values of a call."""
    by_depth = getattr(model, "nodes_by_depth", None) or model._nodes_by_depth
    depths = [
        (depth, [(node.outbound_layer.name, index_of(node)) for node in nodes])
        for depth, nodes in sorted(by_depth.items())
    ]
    values = [tf.constant([[1.0, float(number)]]) for number in range(len(model.inputs))]
    outputs = model(values if len(values) > 1 else values[0])
    results = [tf.keras.backend.eval(part).tolist() for part in tf.nest.flatten(outputs)]
    names = [layer.name for layer in model.layers]
    arrays = [np.array([[1.0, number]], np.float32) for number in range(len(model.inputs))]
    losses = model.get_losses_for(model.inputs)
    added = tf.keras.backend.function(model.inputs, losses)(arrays) if losses else []
    return [names, depths, model.output_names, results, np.asarray(added).tolist()]


def index_of(node: Any) -> int:
    """Return the number of a node among those of its layer."""
    index: int = node.outbound_layer._inbound_nodes.index(node)
    return index


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    if options.side:
        side, folder = options.side
        tf = library(side)
        graphs = [facts(tf, seed) for seed in range(options.count)]
        Path(folder, f"{side}.json").write_text(json.dumps(graphs), encoding="utf-8")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pythons = {
            "gpugraph": sys.executable,
            "tensorflow": python_of_tensorflow(options.tensorflow),
        }
        for side, python in pythons.items():
            run_side(python, __file__, side, folder, "--count", str(options.count))
        ours, theirs = (json.loads((folder / f"{side}.json").read_text()) for side in pythons)
    different = [seed for seed, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]]
    for seed in different:
        print(f"graph {seed}:\n  gpugraph   {ours[seed]}\n  TensorFlow {theirs[seed]}")
    print(f"{len(ours) - len(different)} of {len(ours)} graphs of layers are sorted alike")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
