"""Normalization: by lengths, by moments, by neighbouring channels, in one op; rare activations."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

DATA = np.random.default_rng(5).normal(0.5, 2, (3, 4)).astype(np.float32)
IMAGES = np.random.default_rng(6).normal(1, 2, (2, 3, 2, 5)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def values(tensors, feeds=None):
    with tf.Session() as session:
        return session.run(tensors, feeds)


def test_l2_normalize():
    rows = tf.nn.l2_normalize(DATA, 1)
    assert rows.name == "l2_normalize:0"
    wanted = DATA / np.sqrt((DATA**2).sum(1, keepdims=True))
    np.testing.assert_allclose(values(rows), wanted, 1e-5)
    np.testing.assert_allclose(values(tf.nn.l2_normalize(DATA, dim=1)), wanted, 1e-5)
    whole = values(tf.nn.l2_normalize(DATA, epsilon=1e6))
    np.testing.assert_allclose(whole, DATA / 1e3, 1e-5)
    with pytest.raises(ValueError, match="both 'dim' and 'axis'"):
        tf.nn.l2_normalize(DATA, axis=0, dim=1)


@pytest.mark.parametrize("shift", [None, 0.7])
@pytest.mark.parametrize("known", [True, False])
def test_moments_of_sufficient_statistics(shift, known):
    x = tf.placeholder(tf.float32, [3, 4] if known else [None, 4])
    count, first, second, shift_out = tf.nn.sufficient_statistics(x, [0], shift)
    results = values([count, *tf.nn.normalize_moments(count, first, second, shift_out)], {x: DATA})
    assert results[0] == 3
    np.testing.assert_allclose(results[1], DATA.mean(0), 1e-4)
    np.testing.assert_allclose(results[2], DATA.var(0), 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_weighted_moments_count_elements_so_often(dtype):
    weights = np.array([[1], [3], [0]], np.float32)
    often = np.repeat(DATA, [1, 3, 0], 0)
    mean, variance = tf.nn.weighted_moments(DATA.astype(dtype), [0], weights)
    assert mean.dtype == variance.dtype == tf.as_dtype(dtype)
    results = values([mean, variance])
    tolerance = 1e-5 if dtype is np.float32 else 5e-3
    np.testing.assert_allclose(results[0], often.mean(0), tolerance, tolerance)
    np.testing.assert_allclose(results[1], often.var(0), tolerance, tolerance)
    kept = tf.nn.weighted_moments(DATA, [0, 1], 2.0, keepdims=True)
    assert [moment.shape.as_list() for moment in kept] == [[1, 1], [1, 1]]


def test_normalization_by_given_moments():
    mean, variance, beta, gamma = (np.full(5, value, np.float32) for value in (1, 2, 3, 4))
    settings = (IMAGES, mean, variance, beta, gamma, 0.1)
    scaled = tf.nn.batch_norm_with_global_normalization(*settings, True)
    plain = tf.nn.batch_norm_with_global_normalization(*settings, False)
    normal = (IMAGES - 1) / np.sqrt(2.1)
    results = values([scaled, plain])
    np.testing.assert_allclose(results[0], normal * 4 + 3, 1e-4, 1e-4)
    np.testing.assert_allclose(results[1], normal + 3, 1e-4, 1e-4)


def test_weighted_cross_entropy():
    labels = (DATA > 0).astype(np.float32)
    chance = 1 / (1 + np.exp(-DATA.astype(np.float64)))
    wanted = -3 * labels * np.log(chance) - (1 - labels) * np.log(1 - chance)
    loss = tf.nn.weighted_cross_entropy_with_logits(labels, DATA, 3.0)
    np.testing.assert_allclose(values(loss), wanted, 1e-4, 1e-5)
    huge = tf.nn.weighted_cross_entropy_with_logits([0.0, 1.0], [1e4, -1e4], 2.0)
    assert values(huge).tolist() == [1e4, 2e4]
    with pytest.raises(ValueError, match="same shape"):
        tf.nn.weighted_cross_entropy_with_logits(labels[:2], DATA, 3.0)


def test_activations():
    x = tf.constant(DATA)
    results = values([tf.nn.swish(x), tf.nn.softsign(x), tf.nn.crelu(x), tf.nn.selu(x)])
    np.testing.assert_allclose(results[0], DATA / (1 + np.exp(-DATA)), 1e-5)
    np.testing.assert_allclose(results[1], DATA / (1 + abs(DATA)), 1e-5)
    both = np.concatenate([np.maximum(DATA, 0), np.maximum(-DATA, 0)], -1)
    np.testing.assert_array_equal(results[2], both)
    below = 1.7580993 * np.expm1(DATA)
    np.testing.assert_allclose(results[3], np.where(DATA < 0, below, 1.0507010 * DATA), 1e-5)


def test_response_normalization_sees_no_further_than_its_radius():
    far = IMAGES.copy()
    far[..., 4] = 100
    one, other = values(
        [tf.nn.lrn(image, depth_radius=1, bias=2, alpha=0.5, beta=1) for image in (IMAGES, far)]
    )
    np.testing.assert_array_equal(one[..., :3], other[..., :3])
    wanted = IMAGES[..., 0] / (2 + 0.5 * (IMAGES[..., 0] ** 2 + IMAGES[..., 1] ** 2))
    np.testing.assert_allclose(one[..., 0], wanted, 1e-5)
    with pytest.raises(ValueError, match="rank 4"):
        tf.nn.lrn(DATA)


# -- in one op


def test_fused_batch_norm():
    x = tf.placeholder(tf.float32, [None, 3, 2, 5])
    scale, offset = np.arange(1, 6, dtype=np.float32), np.ones(5, np.float32)
    y, mean, variance = tf.nn.fused_batch_norm(x, scale, offset, epsilon=0.01)
    assert y.name == "FusedBatchNormV3:0"
    again, kept, _ = tf.nn.fused_batch_norm(
        x, scale, offset, mean, variance, 0.01, is_training=False
    )
    results = values([y, mean, variance, again, kept], {x: IMAGES})
    means, spread = IMAGES.mean((0, 1, 2)), IMAGES.var((0, 1, 2))
    sample = spread * 12 / 11
    wanted = (IMAGES - means) / np.sqrt(spread + 0.01) * scale + 1
    np.testing.assert_allclose(results[0], wanted, 1e-4, 1e-4)
    np.testing.assert_allclose(results[1], means, 1e-5)
    np.testing.assert_allclose(results[2], sample, 1e-4)
    wanted = (IMAGES - means) / np.sqrt(sample + 0.01) * scale + 1
    np.testing.assert_allclose(results[3], wanted, 1e-4, 1e-4)
    np.testing.assert_array_equal(results[4], results[1])


def test_fused_batch_norm_of_float16_and_of_channels_first():
    ones, zeros = np.ones(5, np.float32), np.zeros(5, np.float32)
    half, mean, _ = tf.nn.fused_batch_norm(IMAGES.astype(np.float16), ones, zeros)
    assert (half.dtype, mean.dtype) == (tf.float16, tf.float32)
    whole = tf.nn.fused_batch_norm(IMAGES, ones, zeros)[0]
    turned = tf.nn.fused_batch_norm(IMAGES.transpose(0, 3, 1, 2), ones, zeros, data_format="NCHW")
    results = values([half, whole, turned[0]])
    np.testing.assert_allclose(results[0], results[1], 5e-3, 5e-3)
    np.testing.assert_allclose(results[2].transpose(0, 2, 3, 1), results[1], 1e-4, 1e-5)


def test_small_epsilons_grow():
    y = tf.nn.fused_batch_norm(IMAGES, np.ones(5, np.float32), np.ones(5, np.float32), epsilon=0)[0]
    assert y.op.attrs["epsilon"] == pytest.approx(1.001e-5)


def test_a_gradient_that_mean_and_variance_do_not_get():
    scale = tf.ones([5])
    mean, variance = tf.zeros([5]), tf.ones([5])
    y = tf.nn.fused_batch_norm(IMAGES, scale, scale, mean, variance, is_training=False)[0]
    assert tf.gradients(y, [mean, variance]) == [None, None]


def test_what_fused_batch_norm_refuses():
    x, ones = tf.zeros([2, 3, 2, 5]), tf.ones([5])
    with pytest.raises(ValueError, match="must be None if is_training"):
        tf.nn.fused_batch_norm(x, ones, ones, mean=ones)
    with pytest.raises(ValueError, match="equal, but are 5 and 0"):
        tf.nn.fused_batch_norm(x, ones, ones, is_training=False)
    with pytest.raises(ValueError, match="equal, but are 5 and 4"):
        tf.nn.fused_batch_norm(x, tf.ones([4]), ones)
    with pytest.raises(ValueError, match="rank 4"):
        tf.nn.fused_batch_norm(tf.zeros([2, 5]), ones, ones)
    with pytest.raises(ValueError, match='passed string \'HW\' not in: "NHWC", "NCHW"'):
        tf.nn.fused_batch_norm(x, ones, ones, data_format="HW")
    outputs = tf.raw_ops.FusedBatchNormV3(x, ones, ones, ones, ones)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be empty"):
        values(outputs.y)


# -- convolution of any rank


def test_convolution_by_rank():
    one, two, three = (np.ones((1, *[4] * rank, 2), np.float32) for rank in (1, 2, 3))
    for x in (one, two, three):
        rank = x.ndim - 2
        weights = np.ones((*[2] * rank, 2, 3), np.float32)
        convolved = values(tf.nn.convolution(x, weights, "VALID"))
        assert convolved.shape == (1, *[3] * rank, 3)
        assert (convolved == 2 ** (rank + 1)).all()
        largest = values(tf.nn.pool(x, [2] * rank, "MAX", "VALID", strides=[2] * rank))
        assert largest.shape == (1, *[2] * rank, 2)
        assert (values(tf.nn.pool(x, [2] * rank, "AVG", "SAME")) == 1).all()


def test_elements_of_windows_may_be_apart():
    x = np.random.default_rng(1).normal(size=(1, 6, 7, 2)).astype(np.float32)
    weights = np.random.default_rng(2).normal(size=(2, 3, 2, 3)).astype(np.float32)
    wide = np.zeros((3, 5, 2, 3), np.float32)
    wide[::2, ::2] = weights
    for padding in ("SAME", "VALID"):
        apart = tf.nn.atrous_conv2d(x, weights, 2, padding)
        dilated, wanted = values([apart, tf.nn.conv2d(x, wide, 1, padding)])
        np.testing.assert_allclose(dilated, wanted, 1e-4, 1e-4)


def test_conv1d_of_both_formats():
    x = np.random.default_rng(1).normal(size=(2, 6, 3)).astype(np.float32)
    weights = np.random.default_rng(2).normal(size=(2, 3, 4)).astype(np.float32)
    last = tf.nn.conv1d(x, weights, 2, "VALID")
    first = tf.nn.conv1d(x.transpose(0, 2, 1), weights, 2, "VALID", data_format="NCW")
    result, turned = values([last, first])
    wanted = x[:, :6:2] @ weights[0] + x[:, 1:6:2] @ weights[1]
    np.testing.assert_allclose(result, wanted, 1e-4, 1e-5)
    np.testing.assert_allclose(turned.transpose(0, 2, 1), wanted, 1e-4, 1e-5)


def test_what_convolutions_refuse():
    x, weights = tf.zeros([1, 4, 4, 2]), tf.zeros([2, 2, 2, 3])
    with pytest.raises(ValueError, match="in conjunction with"):
        tf.nn.convolution(x, weights, "SAME", strides=[2, 2], dilation_rate=[2, 2])
    with pytest.raises(ValueError, match="rank 3, 4 or 5"):
        tf.nn.convolution(tf.zeros([4, 2]), weights, "SAME")
    with pytest.raises(ValueError, match="either AVG or MAX"):
        tf.nn.pool(x, [2, 2], "MIN", "SAME")
    with pytest.raises(ValueError, match="data_format"):
        tf.nn.conv1d(tf.zeros([1, 4, 2]), tf.zeros([2, 2, 3]), 1, "SAME", data_format="X")
    with pytest.raises(ValueError, match="larger than the image"):
        tf.nn.conv3d(tf.zeros([1, 1, 2, 2, 1]), tf.zeros([2, 2, 2, 1, 1]), [1] * 5, "VALID")
    with pytest.raises(ValueError, match="length 1, 3 or 5"):
        tf.nn.max_pool3d(tf.zeros([1, 2, 2, 2, 1]), [2, 2], 2, "VALID")
