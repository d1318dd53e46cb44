"""A graph for each test, and functions that run a layer."""

from __future__ import annotations

import gpugraph as tf

from ...engine.conftest import graph as graph

K = tf.keras.backend


def run(layer, value, outputs=None, phase=None):
    """Return the outputs of a layer for an array, and a copy by the configuration must have the
    same one.
    """
    x = tf.keras.Input(batch_shape=value.shape)
    outputs = layer(x) if outputs is None else outputs(x)
    model = tf.keras.Model(x, outputs)
    copied = tf.keras.Model.from_config(model.get_config())
    assert copied.layers[-1].get_config() == model.layers[-1].get_config()
    inputs, values = model.inputs, [value]
    if phase is not None:
        inputs, values = [*inputs, K.learning_phase()], [value, phase]
    arrays = K.function(inputs, model.outputs)(values)
    shapes = layer.compute_output_shape(value.shape)
    shapes = shapes if isinstance(shapes, list) else [shapes]
    assert [tuple(shape.as_list()) for shape in shapes] == [array.shape for array in arrays]
    return arrays
