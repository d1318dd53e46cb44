"""The largest of several channels: values, gradients, and the windows that are refused."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

IMAGES = np.random.default_rng(8).normal(size=(2, 3, 5, 6))


def pool(images, ksize=3, strides=3, **others):
    return tf.nn.max_pool(images, [1, 1, 1, ksize], [1, 1, 1, strides], "SAME", **others)


def value(tensor):
    with tf.Session(graph=tensor.graph) as session:
        return session.run(tensor)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_values_and_shapes():
    pooled = pool(IMAGES)
    assert pooled.shape.as_list() == [2, 3, 5, 2]
    np.testing.assert_array_equal(value(pooled), IMAGES.reshape(2, 3, 5, 2, 3).max(-1))
    open_shape = pool(tf.placeholder(tf.float32, [None, 4, 4, None]))
    assert open_shape.shape.as_list() == [None, 4, 4, None]
    apart = tf.nn.max_pool(IMAGES, [1, 1, 1, 2], [1, 2, 3, 2], "VALID")
    wanted = IMAGES[:, ::2, ::3].reshape(2, 2, 2, 3, 2).max(-1)
    np.testing.assert_array_equal(value(apart), wanted)


@pytest.mark.parametrize("strides", [[1, 1, 1, 3], [1, 2, 2, 3]])
def test_gradients_go_to_the_largest_channel(strides):
    x = tf.constant(IMAGES)
    y = tf.nn.max_pool(x, [1, 1, 1, 3], strides, "SAME")
    with tf.Session():
        error = tf.test.compute_gradient_error(x, IMAGES.shape, y, y.shape.as_list(), IMAGES)
    assert error < 1e-6
    slopes = tf.placeholder_with_default(np.ones(y.shape.as_list()), y.shape)
    (dx,) = tf.gradients(y, x, slopes)
    (again,) = tf.gradients(dx, slopes, tf.constant(IMAGES))
    np.testing.assert_array_equal(value(again), value(y))


def test_of_equal_channels_the_first_has_the_gradient():
    x = tf.zeros([1, 1, 1, 4])
    (dx,) = tf.gradients(pool(x, 2, 2), x)
    np.testing.assert_array_equal(value(dx).ravel(), [1, 0, 1, 0])


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        (([1, 2, 1, 3], [1, 1, 1, 3]), "exactly one of pooling across depth"),
        (([1, 1, 1, 3], [1, 1, 1, 2]), "depth window to equal the depth stride, .* 3 and 2"),
        (([1, 1, 1, 4], [1, 1, 1, 4]), "window to evenly divide the input depth, .* 4 and 6"),
        (([2, 1, 1, 3], [1, 1, 1, 3]), "not yet supported on the batch dimension"),
    ],
)
def test_windows_that_a_run_refuses(windows, message):
    pooled = tf.nn.max_pool(IMAGES, *windows, "SAME")
    with pytest.raises(tf.errors.UnimplementedError, match=message):
        value(pooled)


def test_channels_come_last():
    pooled = tf.nn.max_pool(IMAGES, [1, 3, 1, 1], [1, 3, 1, 1], "SAME", data_format="NCHW")
    with pytest.raises(tf.errors.UnimplementedError, match="not yet supported for NCHW"):
        value(pooled)
