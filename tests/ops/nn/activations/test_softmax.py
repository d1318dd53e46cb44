"""softmax along an axis that is a tensor."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

LOGITS = np.random.default_rng(2).normal(size=(2, 3, 4))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def value(tensor, feeds=None):
    with tf.Session(graph=tensor.graph) as session:
        return session.run(tensor, feeds)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_an_axis_may_be_a_tensor(axis, dtype):
    powers = np.exp(LOGITS)
    wanted = powers / powers.sum(axis, keepdims=True)
    fed = tf.placeholder(dtype, [])
    np.testing.assert_allclose(value(tf.nn.softmax(LOGITS, axis=fed), {fed: axis}), wanted)
    np.testing.assert_allclose(
        value(tf.nn.log_softmax(LOGITS, axis=tf.constant(axis, dtype))), np.log(wanted)
    )


@pytest.mark.parametrize("axis", [3, -4, 7])
def test_a_wrong_axis_is_refused_in_the_run(axis):
    fed = tf.placeholder(tf.int32, [])
    softmax = tf.nn.softmax(LOGITS, axis=fed)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Transpose"):
        value(softmax, {fed: axis})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in the range \[-3, 3\)"):
        tf.nn.softmax(LOGITS, axis=axis)
