"""Run a program of TensorFlow 1 by TensorFlow 2's v1 API.

    python ci/against_tensorflow/version_1.py PROGRAM

`import tensorflow` is `tensorflow.compat.v1` without version 2's behaviour, with the few names of
`tf.contrib` that the programs of `data_trainings` use, in terms of their successors.
"""

from __future__ import annotations

import importlib
import runpy
import sys
import types
from typing import Any

from sides import library


def contrib(tf: Any) -> Any:
    """Return a stand-in for `tf.contrib`."""

    data = types.ModuleType("tensorflow.contrib.data")
    vars(data).update(vars(tf.data.experimental))
    data.batch_and_drop_remainder = (  # type: ignore[attr-defined]
        lambda size: lambda dataset: dataset.batch(size, drop_remainder=True)
    )
    lookup = types.ModuleType("tensorflow.contrib.lookup")
    lookup_ops = sys.modules["tensorflow.python.ops.lookup_ops"]
    lookup.index_table_from_file = lookup_ops.index_table_from_file  # type: ignore[attr-defined]
    layers = types.ModuleType("tensorflow.contrib.layers")
    layers.layer_norm = layer_norm(tf)  # type: ignore[attr-defined]
    module = types.ModuleType("tensorflow.contrib")
    vars(module).update(data=data, lookup=lookup, layers=layers)
    for name, part in {"": module, ".data": data, ".layers": layers, ".lookup": lookup}.items():
        sys.modules[f"tensorflow.contrib{name}"] = part
    return module


def layer_norm(tf: Any) -> Any:
    """Return `tf.contrib.layers.layer_norm` over the last axis, with its variables' names."""

    def normalized(inputs: Any, scope: str | None = None, **_: Any) -> Any:
        with tf.variable_scope(scope, "LayerNorm"):
            size = inputs.shape[-1:]
            beta = tf.get_variable("beta", size, initializer=tf.zeros_initializer())
            gamma = tf.get_variable("gamma", size, initializer=tf.ones_initializer())
            mean, variance = tf.nn.moments(inputs, [-1], keepdims=True)
            return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)

    return normalized


def main() -> int:
    tf = library("tensorflow")
    tf.contrib = contrib(tf)
    del sys.modules["gpugraph"]
    tf.python = importlib.import_module("tensorflow.python")
    sys.modules["tensorflow"] = tf
    tf.compat.v1 = tf
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
