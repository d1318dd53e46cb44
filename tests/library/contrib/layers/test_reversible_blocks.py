"""Reversible blocks: values, variables, gradients, and inputs from outputs."""

import numpy as np
import pytest

import gpugraph as tf

X = np.random.RandomState(3).uniform(-1, 1, (2, 4, 8)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        yield


def dense(x, side=()):
    return tf.layers.dense(x, 8, tf.tanh) + sum(side, 0.0)


def run(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_each_layer_adds_a_function_of_the_other_half():
    results = tf.contrib.layers.rev_block(*X, dense, dense, num_layers=2)
    names = [variable.name for variable in tf.global_variables()]
    assert names[:3] == [
        "revblock/revlayer_0/f/dense/kernel:0",
        "revblock/revlayer_0/f/dense/bias:0",
        "revblock/revlayer_0/g/dense/kernel:0",
    ]
    weights = tf.global_variables()
    (y1, y2), values = run([results, weights])
    x1, x2 = X
    for layer in range(2):
        f, f_bias, g, g_bias = values[4 * layer : 4 * layer + 4]
        x1 = x1 + np.tanh(x2 @ f + f_bias)
        x2 = x2 + np.tanh(x1 @ g + g_bias)
    np.testing.assert_allclose([y1, y2], [x1, x2], rtol=1e-5)


def test_inputs_follow_from_outputs():
    block = tf.contrib.layers.RevBlock(dense, dense, num_layers=3, f_side_input=[X[0] * 2])
    found = run(block.backward(*block.forward(*X)))
    assert len(tf.global_variables()) == 12
    np.testing.assert_allclose(found, X, atol=1e-5)


def test_it_is_a_layer_with_gradients():
    inputs = tf.constant(X)
    block = tf.contrib.layers.RevBlock([dense, dense], dense, num_layers=2, name="reversible")
    y1, y2 = block([inputs[0], inputs[1]])
    assert tf.global_variables()[0].name.startswith("reversible/revlayer_0/f/")
    assert len(block.trainable_variables) == len(block.weights) == 8
    gradients = run(tf.gradients(y1 * y2, [inputs, *tf.trainable_variables()]))
    assert all(np.abs(gradient).max() > 0 for gradient in gradients)


def test_another_number_of_functions_is_refused():
    with pytest.raises(ValueError, match="f has 1 functions for num_layers=2"):
        tf.contrib.layers.RevBlock([dense], dense, num_layers=2)
