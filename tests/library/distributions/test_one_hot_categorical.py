"""OneHotCategorical is Categorical with vectors for classes."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

contrib = tf.contrib.distributions
PROBS = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])


def value(fetches):
    with tf.Session() as session:
        return session.run(fetches)


def test_probabilities_and_statistics_are_those_of_the_classes():
    one_hot, classes = (
        contrib.OneHotCategorical(probs=PROBS),
        tf.distributions.Categorical(probs=PROBS),
    )
    numbers = np.array([2, 0])
    assert one_hot.event_shape.as_list() == [3] and one_hot.batch_shape.as_list() == [2]
    assert one_hot.dtype == tf.int32
    for ours, expected in [
        (one_hot.log_prob(np.eye(3)[numbers]), classes.log_prob(numbers)),
        (one_hot.prob(np.eye(3, dtype=np.int32)[numbers]), classes.prob(numbers)),
        (one_hot.entropy(), classes.entropy()),
        (one_hot.mode(), tf.one_hot(classes.mode(), 3)),
    ]:
        np.testing.assert_allclose(*value((ours, expected)))
    covariance = np.stack([np.diag(row) - np.outer(row, row) for row in PROBS])
    mean, variance, covariances = value((one_hot.mean(), one_hot.variance(), one_hot.covariance()))
    np.testing.assert_allclose(mean, PROBS)
    np.testing.assert_allclose(variance, np.diagonal(covariance, axis1=1, axis2=2))
    np.testing.assert_allclose(covariances, covariance)


def test_samples_are_vectors_of_their_frequency():
    samples = value(contrib.OneHotCategorical(probs=PROBS, dtype=tf.float32).sample([2, 4000], 5))
    assert samples.shape == (2, 4000, 2, 3) and samples.dtype == np.float32
    np.testing.assert_array_equal(samples.sum(-1), 1)
    np.testing.assert_allclose(samples.mean((0, 1)), PROBS, atol=0.03)


def test_divergence_is_that_of_the_classes():
    other = PROBS[::-1].copy()
    divergence = contrib.kl_divergence(
        contrib.OneHotCategorical(probs=PROBS), contrib.OneHotCategorical(probs=other)
    )
    expected = (PROBS * np.log(PROBS / other)).sum(1)
    np.testing.assert_allclose(value(divergence), expected)


def test_other_vectors_are_refused():
    checked = contrib.OneHotCategorical(probs=PROBS, validate_args=True)
    value(checked.log_prob([[0, 1, 0], [1, 0, 0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be 1 for one class"):
        value(checked.log_prob([[0, 1, 1], [1, 0, 0]]))
    with pytest.raises(ValueError, match="Must pass probs or logits, but not both"):
        contrib.OneHotCategorical()
