"""Convolutions and pooling of Keras's backend beside plain sums over windows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gpugraph as tf

K, T = tf.keras.backend, tf.constant
RANDOM = np.random.RandomState(3)


def value(tensor):
    result = tf.Session().run(tensor)
    known = tensor.shape.as_list()
    assert all(size is None or size == own for size, own in zip(known, result.shape))
    return result


def array(*shape):
    return RANDOM.rand(*shape).astype(np.float32)


def convolved(x, kernel, strides, dilation):
    """Return the convolution without padding, channels last, of any number of axes."""
    sizes, space = kernel.shape[:-2], x.shape[1:-1]
    spans = [(size - 1) * rate + 1 for size, rate in zip(sizes, dilation)]
    counts = [(size - span) // step + 1 for size, span, step in zip(space, spans, strides)]
    result = np.zeros((x.shape[0], *counts, kernel.shape[-1]))
    for place in product(*map(range, counts)):
        window = tuple(
            slice(index * step, index * step + span, rate)
            for index, step, span, rate in zip(place, strides, spans, dilation)
        )
        part = x[(slice(None), *window)].reshape(len(x), -1)
        result[(slice(None), *place)] = part @ kernel.reshape(-1, kernel.shape[-1])
    return result


def channels_first(x):
    return np.moveaxis(x, -1, 1)


@pytest.mark.parametrize(("strides", "dilation"), [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolutions(rank, strides, dilation):
    x, kernel = array(2, *(6, 7, 5)[:rank], 3), array(*(3, 2, 2)[:rank], 3, 4)
    function = (K.conv1d, K.conv2d, K.conv3d)[rank - 1]
    options = (
        {"strides": strides, "dilation_rate": dilation}
        if rank == 1
        else {"strides": (strides,) * rank, "dilation_rate": (dilation,) * rank}
    )
    expected = convolved(x, kernel, (strides,) * rank, (dilation,) * rank)
    np.testing.assert_allclose(value(function(x, kernel, **options)), expected, rtol=1e-4)
    first = function(channels_first(x), kernel, data_format="channels_first", **options)
    np.testing.assert_allclose(value(first), channels_first(expected), rtol=1e-4)


def test_a_causal_convolution_sees_no_later_step():
    x, kernel = array(2, 7, 3), array(3, 3, 4)
    padded = np.pad(x, [(0, 0), (4, 0), (0, 0)])
    expected = convolved(padded, kernel, (1,), (2,))
    result = K.conv1d(T(x), T(kernel), padding="causal", dilation_rate=2)
    np.testing.assert_allclose(value(result), expected, rtol=1e-4)


def test_a_transposed_convolution_is_the_gradient():
    x, kernel = tf.constant(array(2, 5, 6, 3)), array(3, 3, 2, 3)
    images = tf.zeros([2, 11, 13, 2])
    loss = tf.reduce_sum(K.conv2d(images, kernel, strides=(2, 2)) * x)
    result = K.conv2d_transpose(x, kernel, (2, 11, 13, 2), strides=(2, 2))
    np.testing.assert_allclose(value(result), value(K.gradients(loss, [images])[0]), rtol=1e-5)


def test_depthwise_and_separable():
    x, depth, point = array(2, 5, 6, 3), array(2, 2, 3, 2), array(1, 1, 6, 4)
    each = [
        convolved(x[..., index : index + 1], depth[:, :, index : index + 1], (1, 1), (1, 1))
        for index in range(3)
    ]
    expected = np.concatenate(each, -1)
    np.testing.assert_allclose(value(K.depthwise_conv2d(x, depth)), expected, rtol=1e-5)
    both = convolved(expected, point, (1, 1), (1, 1))
    np.testing.assert_allclose(value(K.separable_conv2d(x, depth, point)), both, rtol=1e-5)


@pytest.mark.parametrize("mode", ["max", "avg"])
def test_pooling(mode):
    images, volumes = array(1, 4, 6, 2), array(1, 4, 4, 2, 1)
    reduce = np.max if mode == "max" else np.mean
    expected = reduce(images.reshape(1, 2, 2, 3, 2, 2), axis=(2, 4))
    pooled = K.pool2d(images, (2, 2), strides=(2, 2), pool_mode=mode)
    np.testing.assert_allclose(value(pooled), expected, rtol=1e-6)
    expected = reduce(volumes.reshape(1, 2, 2, 2, 2, 1, 2, 1), axis=(2, 4, 6))
    pooled = K.pool3d(volumes, (2, 2, 2), strides=(2, 2, 2), pool_mode=mode)
    np.testing.assert_allclose(value(pooled), expected, rtol=1e-6)


def test_local_convolutions():
    x, kernel = array(2, 7, 3), array(3, 9, 2)
    windows = np.stack([x[:, 2 * place : 2 * place + 3].reshape(2, 9) for place in range(3)])
    expected = np.einsum("pnl,plf->npf", windows, kernel)
    np.testing.assert_allclose(
        value(K.local_conv1d(T(x), T(kernel), (3,), (2,))), expected, rtol=1e-5
    )
    first = K.local_conv1d(T(channels_first(x)), T(kernel), (3,), (2,), "channels_first")
    assert first.shape.as_list() == [2, 2, 3]
    images, kernel = array(2, 3, 4, 1), array(6, 4, 2)
    places = list(product(range(2), range(3)))
    windows = np.stack([images[:, i : i + 2, j : j + 2].reshape(2, 4) for i, j in places])
    expected = np.einsum("pnl,plf->npf", windows, kernel).reshape(2, 2, 3, 2)
    result = K.local_conv2d(T(images), T(kernel), (2, 2), (1, 1), (2, 3))
    np.testing.assert_allclose(value(result), expected, rtol=1e-5)


def test_biases():
    x, bias = array(2, 4, 5, 3), array(3)
    np.testing.assert_allclose(value(K.bias_add(T(x), T(bias))), x + bias)
    first = K.bias_add(T(channels_first(x)), T(bias), "channels_first")
    np.testing.assert_allclose(value(first), channels_first(x + bias))
    whole = array(4, 5, 3)
    np.testing.assert_allclose(value(K.bias_add(T(x), T(whole))), x + whole)
    first = K.bias_add(T(channels_first(x)), T(whole), "channels_first")
    np.testing.assert_allclose(value(first), channels_first(x) + whole.reshape(1, 3, 4, 5))
    with pytest.raises(ValueError, match="Unexpected bias dimensions 2, expect to be 1 or 3"):
        K.bias_add(T(x), T(array(4, 5)))


def test_larger_images_and_volumes():
    x = array(1, 2, 3, 1)
    nearest = K.resize_images(T(x), 2, 3, "channels_last")
    np.testing.assert_array_equal(value(nearest), x.repeat(2, 1).repeat(3, 2))
    first = K.resize_images(T(channels_first(x)), 2, 3, "channels_first", "bilinear")
    ramp = np.float32([[0], [1]])[None, :, :, None]
    assert first.shape.as_list() == [1, 1, 4, 9]
    np.testing.assert_allclose(
        value(K.resize_images(T(ramp), 2, 1, "channels_last", "bilinear")).ravel(),
        [0, 0.25, 0.75, 1],
    )
    volume = array(1, 2, 1, 2, 1)
    np.testing.assert_array_equal(
        value(K.resize_volumes(T(volume), 1, 2, 3, "channels_last")),
        volume.repeat(2, 2).repeat(3, 3),
    )
    with pytest.raises(ValueError, match="interpolation should be one of"):
        K.resize_images(T(x), 2, 2, "channels_last", "cubic")


def test_normalization():
    x, scale, offset = array(4, 3, 5), array(3), array(3)
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    by_row = np.s_[None, :, None]
    expected = (x - mean[by_row]) / np.sqrt(variance[by_row] + 0.1)
    expected = expected * scale[by_row] + offset[by_row]
    results = K.normalize_batch_in_training(T(x), T(scale), T(offset), [0, 2], epsilon=0.1)
    for result, wanted in zip(map(value, results), (expected, mean, variance)):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
    vectors = [tf.constant(part) for part in (mean, variance, offset, scale)]
    result = K.batch_normalization(tf.constant(x), *vectors, axis=1, epsilon=0.1)
    np.testing.assert_allclose(value(result), expected, rtol=1e-4, atol=1e-5)


def test_dropout():
    kept = value(K.dropout(tf.ones([1000]), 0.25, seed=1))
    assert set(np.unique(kept)) == {0, np.float32(1 / 0.75)} and 700 < (kept > 0).sum() < 800


def test_what_is_refused():
    x, kernel = array(1, 4, 4, 1), array(2, 2, 1, 1)
    with pytest.raises(ValueError, match="Invalid padding: full"):
        K.conv2d(x, kernel, padding="full")
    with pytest.raises(ValueError, match="Invalid pooling mode: sum"):
        K.pool2d(x, (2, 2), pool_mode="sum")
