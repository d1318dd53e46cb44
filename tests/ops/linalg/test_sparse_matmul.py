"""tf.sparse_matmul: gradients of every pair of transposed operands; the walk holds its values."""

import itertools

import numpy as np
import pytest

import gpugraph as tf


@pytest.mark.parametrize("flags", [*itertools.product((False, True), repeat=2)])
def test_the_gradients_are_those_of_matmul(flags):
    random = np.random.default_rng(3)
    shapes = [(3, 2) if flags[0] else (2, 3), (4, 3) if flags[1] else (3, 4)]
    a, b, dy = (tf.constant(random.normal(size=size), tf.float32) for size in (*shapes, (2, 4)))
    with tf.Session() as session:
        results = [
            session.run([product, *tf.gradients(product, [a, b], dy)])
            for product in (tf.sparse_matmul(a, b, *flags), tf.matmul(a, b, *flags))
        ]
    for ours, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6)
