"""Separable layers of sequences and backward layers of volumes: variables, values, names."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as opened:
        yield opened


def run(session, *fetches):
    session.run(tf.global_variables_initializer())
    return session.run(list(fetches))


@pytest.mark.parametrize("first", [False, True])
def test_separable_conv1d_is_separable_conv2d_of_flat_images(session, first):
    steps = RANDOM.standard_normal((2, 6, 3)).astype("f")
    inputs = steps.transpose(0, 2, 1) if first else steps
    actual = tf.layers.separable_conv1d(
        inputs, 4, 3, 2, "same", "channels_first" if first else "channels_last",
        depth_multiplier=2, bias_initializer=tf.ones_initializer(), activation=tf.nn.relu,
    )  # fmt: skip
    depthwise, pointwise, bias = tf.trainable_variables()
    shapes = [value.shape.as_list() for value in (depthwise, pointwise, bias)]
    assert shapes == [[3, 3, 2], [1, 6, 4], [4]]
    assert depthwise.name == "separable_conv1d/depthwise_kernel:0"
    assert actual.shape.as_list() == ([2, 4, 3] if first else [2, 3, 4])
    wanted = tf.nn.separable_conv2d(
        steps[:, None], depthwise[None], pointwise[None], [1, 2, 2, 1], "SAME"
    )
    one, other = run(session, actual, tf.nn.relu(wanted[:, 0] + bias))
    np.testing.assert_allclose(one.transpose(0, 2, 1) if first else one, other, 1e-5, 1e-6)


def test_separable_conv1d_with_a_rate_ends_as_tensorflows():
    result = tf.layers.separable_conv1d(np.ones((2, 5, 3), "f"), 4, 3, dilation_rate=2)
    assert (result.name, result.shape.as_list()) == ("separable_conv1d/Squeeze:0", [2, 1, 4])


@pytest.mark.parametrize(
    ("padding", "size"), [("valid", [2, 7, 4, 9, 2]), ("same", [2, 6, 3, 8, 2])]
)
def test_conv3d_transpose_is_conv3d_backwards(session, padding, size):
    volumes = RANDOM.standard_normal((2, 3, 3, 4, 3)).astype("f")
    actual = tf.layers.conv3d_transpose(volumes, 2, (3, 2, 3), (2, 1, 2), padding)
    kernel, bias = tf.trainable_variables()
    assert (kernel.name, kernel.shape.as_list()) == ("conv3d_transpose/kernel:0", [3, 2, 3, 2, 3])
    assert bias.shape.as_list() == [2]
    assert actual.shape.as_list() == size
    source = tf.zeros(size)
    result = tf.nn.conv3d(source, kernel, (2, 1, 2), padding.upper())
    (wanted,) = tf.gradients(result, source, tf.constant(volumes))
    np.testing.assert_allclose(*run(session, actual, wanted), 1e-5, 1e-5)


def test_channels_first_is_the_same_turned(session):
    volumes = RANDOM.standard_normal((2, 3, 3, 4, 3)).astype("f")
    layer = {"kernel_initializer": tf.constant_initializer(0.1)}
    last = tf.layers.conv3d_transpose(volumes, 2, 3, 2, **layer)
    second = tf.layers.conv3d_transpose(
        volumes.transpose(0, 4, 1, 2, 3), 2, 3, 2, data_format="channels_first", **layer
    )
    assert second.shape.as_list() == [2, 2, 7, 7, 9]
    one, other = run(session, last, second)
    np.testing.assert_allclose(one, other.transpose(0, 2, 3, 4, 1), 1e-5)


def test_open_sizes_become_known_in_a_run(session):
    volumes = tf.placeholder(tf.float32, [None, None, 3, 3, 1])
    result = tf.layers.Conv3DTranspose(2, 2, (2, 2, 2))(volumes)
    assert result.shape.as_list() == [None, None, 6, 6, 2]
    session.run(tf.global_variables_initializer())
    assert session.run(result, {volumes: np.ones((2, 4, 3, 3, 1))}).shape == (2, 8, 6, 6, 2)
