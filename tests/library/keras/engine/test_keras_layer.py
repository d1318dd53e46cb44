"""Layers by themselves: names, weights in attributes, options of constructors, deep calls."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .conftest import Affine

K, Layer = tf.keras.backend, tf.keras.layers.Layer


def test_names_count_by_graph():
    assert [Affine(1).name for _ in range(3)] == ["affine", "affine_1", "affine_2"]
    with tf.Graph().as_default():
        assert Affine(1).name == "affine"


def test_each_call_has_a_name_scope():
    layer = Affine(2, name="d")
    first, second = layer(tf.zeros([1, 4])), layer(tf.zeros([1, 4]))
    assert (first.op.name, second.op.name) == ("d/add", "d_1/add")
    assert [weight.name for weight in layer.weights] == ["d/kernel:0", "d/bias:0"]
    by_hand = Affine(2)
    by_hand.build(tf.TensorShape([None, 4]))
    assert [weight.name for weight in by_hand.weights] == ["kernel:0", "bias:0"]


def test_nothing_joins_collections():
    layer = Affine(2)
    layer.add_loss(tf.constant(1.0))
    layer.add_update(tf.no_op())
    layer(tf.zeros([1, 4]))
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == []
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    assert len(layer.losses) == len(layer.updates) == 1


class Outer(Layer):
    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(1.0)
        self.fixed = tf.Variable(2.0, trainable=False)
        self.parts = {"a": [Affine(2)], "b": (Affine(3),)}

    def call(self, inputs):
        return self.parts["b"][0](self.parts["a"][0](inputs)) * self.scale


def test_what_is_in_attributes_is_the_layers():
    layer = Outer()
    layer(tf.zeros([1, 4]))
    (a,), (b,) = layer.parts.values()
    assert layer.trainable_weights == [layer.scale, *a.weights, *b.weights]
    assert layer.non_trainable_weights == [layer.fixed]
    late = Affine(1)
    layer.parts["a"].append(late)
    late(tf.zeros([1, 4]))
    assert late.weights[0] in layer.weights
    a.add_loss(tf.constant(3.0))
    assert K.eval(layer.losses[0]) == 3.0
    layer.trainable = False
    assert not a.trainable and layer.trainable_weights == []


def test_first_values():
    arrays = [np.ones([4, 2], np.float32), np.full(2, 3, np.float32)]
    layer = Affine(2, weights=arrays)
    assert K.eval(layer(tf.ones([1, 4]))).tolist() == [[7.0, 7.0]]
    with pytest.raises(TypeError, match="Keyword argument not understood: nope"):
        Affine(2, nope=1)


@pytest.mark.parametrize(
    "options, shape",
    [
        ({"input_shape": (3,)}, (None, 3)),
        ({"input_shape": (3,), "batch_size": 5}, (5, 3)),
        ({"batch_input_shape": (2, 3)}, (2, 3)),
    ],
)
def test_shapes_of_first_inputs(options, shape):
    assert Affine(2, **options).get_config()["batch_input_shape"] == shape


class Phase(Layer):
    def call(self, inputs, training=None):
        self.seen = training
        return inputs


class Around(Layer):
    def __init__(self):
        super().__init__()
        self.inner = Phase()

    def call(self, inputs, training=None):
        return self.inner(inputs)


def test_training_reaches_inner_layers():
    layer = Around()
    for training in (True, False, None):
        layer(tf.zeros([1]), training=training)
        assert layer.inner.seen is training
    layer.inner(tf.zeros([1]), True)
    assert layer.inner.seen is True
    Phase()(tf.zeros([1]))


def test_an_output_that_is_an_input_is_a_tensor_of_its_own():
    x = tf.keras.Input([3])
    y = Phase()(x)
    assert y is not x and y._keras_history.layer.name == "phase"
    assert tf.keras.Model(x, y).layers[0].name == "input_1"


def test_a_layer_that_returns_its_input_may_drop_the_mask():
    class NonMasking(Layer):
        supports_masking = True

        def compute_mask(self, inputs, mask=None):
            return None

        def call(self, inputs):
            return inputs

    masked = tf.keras.layers.Masking()(tf.keras.Input((4, 3)))
    drop = tf.keras.layers.Lambda(lambda x: x, mask=lambda x, mask: None)
    for layer in (NonMasking(), drop, tf.keras.layers.Lambda(lambda x: x)):
        assert layer(masked)._keras_mask is None
    assert tf.keras.layers.Activation("linear")(masked)._keras_mask is not None
