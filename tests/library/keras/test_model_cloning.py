"""Copies of models: the same calls, other variables."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .engine.conftest import Affine

Input, Model, layers = tf.keras.Input, tf.keras.Model, tf.keras.layers
clone_model = tf.keras.models.clone_model


@pytest.fixture(autouse=True)
def graph():
    tf.keras.backend.clear_session()
    with tf.Graph().as_default(), tf.keras.utils.custom_object_scope({"Affine": Affine}):
        yield


def shared():
    inputs, more = Input((4,)), Input((4,))
    layer = Affine(3, name="shared")
    total = layers.Add()([layer(inputs), layer(more)])
    return Model([inputs, more], layers.Lambda(lambda value: value * 2)(total), name="twice")


def run(model, *arrays):
    return tf.keras.backend.function(model.inputs, model.outputs)(list(arrays))[0]


def test_a_copy_computes_the_same_with_its_own_variables():
    model = shared()
    copy = clone_model(model)
    assert copy.name == "twice" and len(copy.weights) == 2
    assert not {id(weight) for weight in copy.weights} & {id(weight) for weight in model.weights}
    copy.set_weights(model.get_weights())
    arrays = np.ones([2, 4], np.float32), np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(run(copy, *arrays), run(model, *arrays))


def test_inputs_and_layers_of_the_caller():
    model = shared()
    first, second = tf.ones([2, 4]), tf.zeros([2, 4])
    copy = clone_model(model, [first, second], lambda layer: Affine(3) if layer.weights else layer)
    assert [layer.name for layer in copy.layers[2:]] == ["affine", "add", "lambda"]
    with pytest.raises(ValueError, match="Expected 2 input_tensors for twice, got 1"):
        clone_model(model, [first])
    with pytest.raises(ValueError, match="returned None for layer"):
        clone_model(model, clone_function=lambda layer: None)


def test_rows_of_layers():
    built = tf.keras.Sequential([Affine(3, input_shape=(4,)), Affine(2)], name="row")
    copy = clone_model(built)
    assert copy.name == "row" and copy.output_shape == (None, 2)
    later = tf.keras.Sequential([Affine(3), Affine(2)])
    assert not clone_model(later).built
    later.build((None, 4))
    assert len(clone_model(later).weights) == 4


def test_what_is_no_functional_model():
    with pytest.raises(ValueError, match="to be a `Model` instance"):
        clone_model(Affine(2))
    with pytest.raises(ValueError, match="got a subclass model instead"):
        clone_model(Model())
    with pytest.raises(ValueError, match="to be a callable"):
        clone_model(shared(), clone_function=3)
