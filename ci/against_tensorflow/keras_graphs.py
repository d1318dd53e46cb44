"""Random graphs of Keras layers, sorted by gpugraph and by TensorFlow.

    python ci/against_tensorflow/keras_graphs.py --tensorflow PYTHON [--count N]

Layers are shared, take several inputs and tensors among their arguments. For each graph: the order
of the model's layers, the depths of all nodes, in order, the names of the outputs, and the values
of a call on other inputs. The script fails where one differs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from sides import add_options, library, python_of_tensorflow, run_side


def random_model(tf: Any, seed: int) -> Any:
    """A model of layers that add up their inputs, and a tensor among their arguments."""
    keras, choose = tf.keras, random.Random(seed)
    keras.backend.clear_session()

    class Total(keras.layers.Layer):
        def call(self, inputs: Any, other: Any = None) -> Any:
            terms = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
            return tf.add_n(terms) * 0.5 + (0.0 if other is None else other)

    inputs = [keras.Input((2,), name=f"i{number}") for number in range(choose.randint(1, 3))]
    layers = [Total(name=f"l{number}") for number in range(choose.randint(2, 8))]
    tensors = list(inputs)
    for _ in range(choose.randint(3, 14)):
        taken = [choose.choice(tensors) for _ in range(choose.randint(1, 3))]
        arguments = {"other": choose.choice(tensors)} if choose.random() < 0.3 else {}
        layer = choose.choice(layers)
        tensors.append(layer(taken if len(taken) > 1 else taken[0], **arguments))
    return keras.Model(inputs, choose.sample(tensors[len(inputs) :], choose.randint(1, 2)))


def facts(tf: Any, seed: int) -> list[Any]:
    """What the two sides have to share of a graph."""
    model = random_model(tf, seed)
    by_depth = getattr(model, "nodes_by_depth", None) or model._nodes_by_depth
    depths = [
        (depth, [(node.outbound_layer.name, index_of(node)) for node in nodes])
        for depth, nodes in sorted(by_depth.items())
    ]
    values = [tf.constant([[1.0, float(number)]]) for number in range(len(model.inputs))]
    outputs = model(values if len(values) > 1 else values[0])
    results = [tf.keras.backend.eval(part).tolist() for part in tf.nest.flatten(outputs)]
    return [[layer.name for layer in model.layers], depths, model.output_names, results]


def index_of(node: Any) -> int:
    """The number of a node among those of its layer."""
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
