"""tf.contrib.layers.recompute_grad: the gradients of the function itself."""

from __future__ import annotations

import numpy as np

import gpugraph as tf


def test_gradients_are_those_of_the_function():
    @tf.contrib.layers.recompute_grad
    def block(x):
        return tf.layers.dense(tf.tanh(x), 3, name="dense")

    with tf.Graph().as_default(), tf.variable_scope("net", use_resource=True):
        x = tf.constant(np.random.default_rng(0).normal(size=(4, 2)), tf.float32)
        total = tf.reduce_sum(block(x) ** 2)
        variables = tf.trainable_variables()
        plain = tf.layers.dense(tf.tanh(x), 3, name="dense", reuse=True)
        grads = [tf.gradients(y, [x, *variables]) for y in (total, tf.reduce_sum(plain**2))]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            recomputed, expected = session.run(grads)
    for one, other in zip(recomputed, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
