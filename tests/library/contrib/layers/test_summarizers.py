"""tf.contrib.layers.summarize_*: which summary a tensor gets, and its value."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

layers = tf.contrib.layers


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _names():
    return [tensor.op.name for tensor in tf.get_collection(tf.GraphKeys.SUMMARIES)]


def test_tensors_of_each_kind():
    one = tf.constant(1.0, name="one")
    tensors = [one, tf.ones([2], name="two"), tf.constant("x"), tf.constant(True)]
    assert [None if t is None else t.op.type for t in layers.summarize_tensors(tensors)] == [
        "ScalarSummary", "HistogramSummary", None, None,
    ]  # fmt: skip
    layers.summarize_tensor(one, "tag")
    assert _names() == ["one_summary", "two_summary", "tag"]


def test_activations_and_what_is_cut_off():
    x = tf.constant([[-1.0, 0.0, 3.0, 8.0]])
    for activation in (tf.nn.relu6(x, name="six"), tf.tanh(x, name="tanh")):
        tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, activation)
    assert [t.op.name for t in layers.summarize_activations("six")] == ["six/activation"]
    assert _names() == ["six/zeros", "six/sixes", "six/activation"]
    layers.summarize_activations("tanh")
    assert _names()[3:] == ["tanh/activation"]
    with tf.Session() as session:
        shares = session.run([tf.get_collection(tf.GraphKeys.SUMMARIES)[index].op.inputs[1]
                              for index in (0, 1)])  # fmt: skip
    np.testing.assert_allclose(shares, [0.25, 0.25])


def test_weights_and_biases():
    layers.fully_connected(tf.ones([1, 2]), 3, scope="layer")
    weights, biases = layers.summarize_variables("layer/w"), layers.summarize_variables("layer/b")
    assert [t.op.name for t in weights + biases] == [
        "layer/weights_summary",
        "layer/biases_summary",
    ]
    tf.add_to_collection(tf.GraphKeys.WEIGHTS, tf.get_variable("w", [2]))
    tf.add_to_collection(tf.GraphKeys.BIASES, tf.get_variable("b", [2]))
    names = [t.op.name for t in [*layers.summarize_weights(), *layers.summarize_biases()]]
    assert names == ["w_summary", "b_summary"]
    assert layers.summarize_collection("none") == []
