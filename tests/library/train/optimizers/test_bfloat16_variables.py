"""Optimizers on variables of bfloat16 go where those of float32 go, as far as it can tell."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gpugraph as tf

BF16 = ml_dtypes.bfloat16
X = np.array([[0.5, -1.25, 3], [2, 0.1, -0.7]], BF16)

OPTIMIZERS = {
    "GradientDescent": (lambda: tf.train.GradientDescentOptimizer(0.1), 2**-6),
    "Momentum": (lambda: tf.train.MomentumOptimizer(0.1, 0.9), 2**-6),
    "Adam": (lambda: tf.train.AdamOptimizer(0.1, beta2=0.9), 2**-5),
    "Adagrad": (lambda: tf.train.AdagradOptimizer(0.1), 2**-6),
    "Adadelta": (lambda: tf.train.AdadeltaOptimizer(0.5, epsilon=1e-2), 2**-6),
    "RMSProp": (lambda: tf.train.RMSPropOptimizer(0.1), 2**-5),
    "Ftrl": (lambda: tf.train.FtrlOptimizer(0.1), 2**-5),
}
"""How each is made, and how far one step may be off."""


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_on_variables_of_it_are_those_of_float32(name):
    make, tolerance = OPTIMIZERS[name]
    actual = []
    for dtype in (tf.bfloat16, tf.float32):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", initializer=tf.constant(X.astype(np.float32), dtype))
            train = make().minimize(tf.reduce_sum(v * v))
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(train)
            actual.append(session.run(v))
    assert actual[0].dtype == BF16
    np.testing.assert_allclose(actual[0].astype(np.float32), actual[1], 0, 4 * tolerance)
    assert np.abs(actual[0].astype(np.float32) - X.astype(np.float32)).max() > 0.001
