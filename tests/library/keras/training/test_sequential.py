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


def test_an_input_may_be_added():
    for model in (Sequential([tf.keras.Input([4]), Affine(2)]), Sequential()):
        if not model.layers:
            model.add(tf.keras.Input([4]))
            model.add(Affine(2))
        assert model.output_shape == (None, 2) and len(model.layers) == 1
        copied = Sequential.from_config(model.get_config())
        assert copied.output_shape == (None, 2)
    with pytest.raises(TypeError, match="The added layer must be an instance of class Layer"):
        model.add(tf.zeros([1, 2]))


def test_a_single_layer_is_a_list_of_one():
    assert len(Sequential(Affine(2)).layers) == 1


def test_layers_come_and_go_after_data_built_it():
    model = Sequential([Affine(2)])
    model.compile("sgd", "mse")
    model.fit(np.ones([4, 3]), np.ones([4, 2]), verbose=0)
    model.add(Affine(5))
    value = np.ones([2, 3], np.float32)
    first, first_bias, second, second_bias = model.get_weights()
    np.testing.assert_allclose(
        model.predict(value), (value @ first + first_bias) @ second + second_bias, rtol=1e-5
    )
    model.pop()
    np.testing.assert_allclose(model.predict(value), value @ first + first_bias, rtol=1e-5)


def test_a_compiled_one_predicts_the_layers_of_now():
    model = Sequential([Affine(2, input_shape=(3,))])
    model.compile("sgd", "mse")
    assert model.predict(np.ones([2, 3])).shape == (2, 2)
    model.add(Affine(5))
    assert model.predict(np.ones([2, 3])).shape == (2, 5)
    model.fit(np.ones([2, 3]), np.ones([2, 5]), verbose=0)


def test_the_shape_of_outputs_builds_nothing():
    model = Sequential([Affine(5), Affine(2)])
    assert model.compute_output_shape(tf.TensorShape([None, 3])).as_list() == [None, 2]
    assert not model.built and tf.get_default_graph().get_operations() == []


def test_a_dict_does_not_build_it():
    model = Sequential([Affine(2)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="Passing a dictionary input to a Sequential Model"):
        model.fit({"affine_input": np.ones([4, 3])}, np.ones([4, 2]), verbose=0)


def test_legacy_layers_are_refused():
    """TensorFlow 1.15 refuses them in a network, and has them in a subclass."""
    words = "The following are legacy tf.layers.Layers"
    with pytest.raises(TypeError, match=words):
        Sequential([tf.layers.Dense(2)])
    inputs = tf.keras.Input([3])
    with pytest.raises(TypeError, match=words):
        tf.keras.Model(inputs, tf.layers.Dense(2)(inputs))
    with pytest.raises(TypeError, match=words):
        tf.keras.Model(inputs, tf.layers.dense(inputs, 2))

    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = tf.layers.Dense(2), tf.layers.BatchNormalization()

        def call(self, inputs, training=False):
            return self.second(self.first(inputs), training=training)

    model = Own()
    model.compile("sgd", "mse")
    model.fit(np.ones([4, 3]), np.ones([4, 2]), verbose=0)
    assert model.predict(np.ones([4, 3])).shape == (4, 2) and len(model.weights) == 6
