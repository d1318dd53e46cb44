"""Losses of examples averaged over the batch."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

LOSSES = np.array([1.0, 2.0, 6.0], np.float32)


def value(make):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


def test_the_sum_is_divided_by_the_batch():
    assert value(lambda: tf.nn.compute_average_loss(LOSSES)) == 3
    assert value(lambda: tf.nn.compute_average_loss(LOSSES, global_batch_size=18)) == 0.5
    weighted = value(lambda: tf.nn.compute_average_loss(LOSSES, [1.0, 0.0, 0.5]))
    np.testing.assert_allclose(weighted, 4 / 3, 1e-6)
    rows = value(lambda: tf.nn.compute_average_loss(np.ones((2, 3)), [[2.0], [0.0]]))
    assert rows == 3 and rows.dtype == np.float64


def test_scalars_are_no_losses_of_examples():
    with pytest.raises(ValueError, match=r"Invalid value passed for `per_example_loss`"):
        tf.nn.compute_average_loss(1.0)


def test_penalties_are_summed():
    assert value(lambda: tf.nn.scale_regularization_loss([1.0, 2.5])) == 3.5
