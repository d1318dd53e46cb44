"""Layers in a row: built at once, or with the first inputs."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .conftest import Affine

K, Sequential = tf.keras.backend, tf.keras.Sequential


def test_a_first_shape_builds_it():
    model = Sequential([Affine(5, input_shape=(4,)), Affine(2)])
    assert model.built and model.output_shape == (None, 2)
    assert [layer.name for layer in model.layers] == ["affine", "affine_1"]
    assert model.input.op.name == "affine_input"
    value = np.ones([3, 4], np.float32)
    first, first_bias, second, second_bias = model.get_weights()
    np.testing.assert_allclose(
        K.function([model.input], [model.output])([value])[0],
        (value @ first + first_bias) @ second + second_bias,
        rtol=1e-5,
    )


def test_inputs_build_it_later():
    model = Sequential([Affine(5), Affine(2)])
    assert not model.built
    assert model(tf.zeros([3, 4])).shape.as_list() == [3, 2]
    assert len(model.weights) == 4
    with pytest.raises(ValueError, match="must provide an `input_shape`"):
        Sequential([Affine(1)]).build()


def test_an_input_layer_may_come_first():
    model = Sequential()
    model.add(tf.keras.layers.InputLayer([4], name="x"))
    model.add(Affine(2))
    assert [layer.name for layer in model.layers] == ["affine"] and model.input.op.name == "x"


def test_a_layer_is_removed():
    model = Sequential([Affine(5, input_shape=(4,)), Affine(2)])
    model.pop()
    assert model.output_shape == (None, 5)
    model.pop()
    with pytest.raises(TypeError, match="no layers in the model"):
        model.pop()


def test_configurations():
    model = Sequential([Affine(5, input_shape=(4,)), Affine(2)], name="row")
    config = model.get_config()
    assert config["layers"][0]["config"]["batch_input_shape"] == (None, 4)
    copy = Sequential.from_config(config)
    assert copy.get_config() == config and copy.built
    later = Sequential([Affine(2)])
    later.build((None, 4))
    assert len(Sequential.from_config(later.get_config()).weights) == 2


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"must be an instance of class Layer. Found: 3"):
        Sequential([3])
    with pytest.raises(ValueError, match='Name "a" is already the name of a layer'):
        Sequential([Affine(2, name="a"), Affine(2, name="a")])
