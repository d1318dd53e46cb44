"""Random tensors: shapes, dtypes, seeds."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K = tf.keras.backend
FUNCTIONS = (K.random_normal, K.random_uniform, K.random_binomial, K.truncated_normal)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_seed_is_taken_or_numpys_next(function):
    argument = {"p": 0.5} if function is K.random_binomial else {}

    def values(seed):
        np.random.seed(7)
        with tf.Graph().as_default(), tf.Session() as session:
            return session.run([function([100], seed=seed, **argument) for _ in range(2)])

    one, other = values(3)
    assert one.dtype == np.float32 and np.array_equal(one, other)
    first, second = values(None)
    assert not np.array_equal(first, second)
    assert np.array_equal(values(None)[0], first)


def test_what_they_are():
    values = tf.Session().run(
        [
            K.random_normal([2000], 3.0, 0.5, "float64", 1),
            K.random_uniform([2000], 2.0, 4.0, seed=1),
            K.random_binomial([2000], 0.25, seed=1),
            K.truncated_normal([2000], 1.0, 0.5, seed=1),
        ]
    )
    np.testing.assert_allclose([v.mean() for v in values], [3, 3, 0.25, 1], atol=0.06)
    assert values[0].dtype == np.float64
    assert 2 <= values[1].min() < values[1].max() < 4
    assert set(values[2]) == {0, 1}
    assert np.abs(values[3] - 1).max() <= 1 and 0.4 < values[3].std() < 0.5
