"""Layers of space, global pooling, embeddings, activations, normalization, attention, by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

L = tf.keras.layers
RANDOM = np.random.RandomState(5)
SEQUENCE = RANDOM.randn(2, 6, 3).astype(np.float32)
IMAGE = RANDOM.randn(2, 5, 6, 3).astype(np.float32)
VOLUME = RANDOM.randn(1, 4, 4, 5, 2).astype(np.float32)


@pytest.fixture(autouse=True)
def graph():
    tf.keras.backend.clear_session()
    with tf.Graph().as_default():
        yield


def run(layer, array, weights=None, **options):
    tensor = tf.constant(array)
    outputs = layer(tensor, **options)
    assert outputs.shape.as_list() == layer.compute_output_shape(tensor.shape).as_list()
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    if weights is not None:
        layer.set_weights(weights)
    return tf.keras.backend.get_session([outputs]).run(outputs)


def first(array):
    return np.moveaxis(array, -1, 1)


LAYERS = {
    "padding 1": (L.ZeroPadding1D((1, 2)), SEQUENCE, lambda x: np.pad(x, [(0, 0), (1, 2), (0, 0)])),
    "padding 2": (
        L.ZeroPadding2D(((1, 0), (2, 3))),
        IMAGE,
        lambda x: np.pad(x, [(0, 0), (1, 0), (2, 3), (0, 0)]),
    ),
    "padding 2 first": (
        L.ZeroPadding2D((1, 2), data_format="channels_first"),
        first(IMAGE),
        lambda x: np.pad(x, [(0, 0), (0, 0), (1, 1), (2, 2)]),
    ),
    "padding 3": (L.ZeroPadding3D(1), VOLUME, lambda x: np.pad(x, [(0, 0), *[(1, 1)] * 3, (0, 0)])),
    "cropping 1": (L.Cropping1D((1, 2)), SEQUENCE, lambda x: x[:, 1:-2]),
    "cropping 2": (L.Cropping2D(((1, 0), (0, 2))), IMAGE, lambda x: x[:, 1:, :-2]),
    "cropping 3": (L.Cropping3D(), VOLUME, lambda x: x[:, 1:-1, 1:-1, 1:-1]),
    "upsampling 1": (L.UpSampling1D(3), SEQUENCE, lambda x: x.repeat(3, 1)),
    "upsampling 2": (L.UpSampling2D((2, 3)), IMAGE, lambda x: x.repeat(2, 1).repeat(3, 2)),
    "upsampling 3": (
        L.UpSampling3D((1, 2, 2)), VOLUME, lambda x: x.repeat(2, 2).repeat(2, 3),
    ),
    "global max": (L.GlobalMaxPooling2D(), IMAGE, lambda x: x.max((1, 2))),
    "global mean first": (
        L.GlobalAveragePooling2D("channels_first"), first(IMAGE), lambda x: x.mean((2, 3)),
    ),
    "global max 3": (L.GlobalMaxPooling3D(), VOLUME, lambda x: x.max((1, 2, 3))),
    "leaky": (L.LeakyReLU(), IMAGE, lambda x: np.where(x > 0, x, 0.3 * x)),
    "elu": (L.ELU(0.5), IMAGE, lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    "threshold": (L.ThresholdedReLU(0.3), IMAGE, lambda x: np.where(x > 0.3, x, 0)),
    "relu": (
        L.ReLU(1.0, 0.1, 0.2), IMAGE,
        lambda x: np.where(x > 0.2, np.minimum(x, 1), 0.1 * (x - 0.2)),
    ),
    "softmax": (L.Softmax(1), IMAGE, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_without_variables(name):
    layer, array, expected = LAYERS[name]
    layer = type(layer).from_config({**layer.get_config(), "name": "own"})
    np.testing.assert_allclose(run(layer, array), expected(array), rtol=1e-5, atol=1e-6)


def test_embeddings():
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    layer = L.Embedding(5, 2, mask_zero=True, input_length=3)
    inputs = np.array([[0, 4, 1]])
    np.testing.assert_array_equal(run(layer, inputs, [rows]), rows[inputs])
    mask = layer.compute_mask(tf.constant(inputs))
    assert tf.Session().run(mask).tolist() == [[False, True, True]]
    with pytest.raises(ValueError, match='"input_length" is 3, but received input has shape'):
        layer.compute_output_shape((None, 4))


def test_prelu():
    alpha = RANDOM.rand(1, 3).astype(np.float32)
    result = run(L.PReLU(shared_axes=[1]), SEQUENCE, [alpha])
    np.testing.assert_allclose(result, np.where(SEQUENCE > 0, SEQUENCE, alpha * SEQUENCE), 1e-5)
    with pytest.raises(ValueError, match="negative_slope of Relu layer cannot be negative"):
        L.ReLU(negative_slope=-1)


def test_layer_normalization():
    gamma, beta = RANDOM.rand(2, 3).astype(np.float32)
    mean, variance = SEQUENCE.mean(-1, keepdims=True), SEQUENCE.var(-1, keepdims=True)
    expected = (SEQUENCE - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    result = run(L.LayerNormalization(), SEQUENCE, [gamma, beta])
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="Duplicate axis"):
        L.LayerNormalization(axis=[2, -1])(tf.constant(SEQUENCE))


def test_a_mask_leaves_steps_out_of_the_mean():
    mask = np.array([[1, 1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]], bool)
    layer = L.GlobalAveragePooling1D()
    result = tf.Session().run(layer(tf.constant(SEQUENCE), mask=tf.constant(mask)))
    for row, kept, own in zip(SEQUENCE, mask, result):
        np.testing.assert_allclose(own, row[kept].mean(0), rtol=1e-5)


def attended(scores, value):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value


def test_attention():
    query, value = RANDOM.randn(2, 4, 3), RANDOM.randn(2, 4, 3)
    tensors = [tf.constant(query), tf.constant(value)]
    masks = [np.array([[1, 1, 0, 1]] * 2, bool), np.array([[1, 0, 1, 1]] * 2, bool)]
    scores = query @ value.transpose(0, 2, 1)
    session = tf.Session()
    result = session.run(L.Attention()(tensors))
    np.testing.assert_allclose(result, attended(scores, value), rtol=1e-6)
    later = np.triu(np.ones((4, 4)), 1) * 1e9 + ~masks[1][:, None] * 1e9
    layer = L.Attention(causal=True)
    result = session.run(layer(tensors, mask=[tf.constant(mask) for mask in masks]))
    expected = attended(scores - later, value) * masks[0][..., None]
    np.testing.assert_allclose(result[:, [0, 2, 3]], expected[:, [0, 2, 3]], atol=1e-6)
    additive = np.tanh(query[:, :, None] + value[:, None]).sum(-1)
    result = session.run(L.AdditiveAttention(use_scale=False)(tensors))
    np.testing.assert_allclose(result, attended(additive, value), rtol=1e-6)
    with pytest.raises(ValueError, match="must be called on a list of inputs"):
        L.Attention()(tensors[0])


def test_locally_connected():
    kernel, bias = RANDOM.rand(2, 9, 4), RANDOM.rand(2, 4)
    windows = np.stack([SEQUENCE[:, 2 * place : 2 * place + 3].reshape(2, 9) for place in range(2)])
    expected = np.einsum("pnl,plf->npf", windows, kernel) + bias
    layer = L.LocallyConnected1D(4, 3, strides=2)
    np.testing.assert_allclose(run(layer, SEQUENCE, [kernel, bias]), expected, rtol=1e-5)
    assert L.LocallyConnected2D(2, 3)(tf.constant(IMAGE)).shape.as_list() == [2, 3, 4, 2]
    with pytest.raises(ValueError, match="only 'valid' is supported"):
        L.LocallyConnected1D(4, 3, padding="same")
    with pytest.raises(ValueError, match="Unrecognized implementation mode: 4"):
        L.LocallyConnected1D(4, 3, implementation=4)


def test_locally_connected_by_matrices():
    options = {"strides": 2, "padding": "same", "use_bias": False}
    kernel = RANDOM.rand(6, 3, 3, 4)
    windows = [(0, 2), (1, 4), (3, 6)]  # the steps that each of three outputs sees
    seen = np.zeros((6, 3, 3, 4), bool)
    for place, (start, end) in enumerate(windows):
        seen[start:end, :, place] = True
    expected = np.einsum("nic,icpf->npf", SEQUENCE, kernel * seen)
    dense = L.LocallyConnected1D(4, 3, implementation=2, **options)
    np.testing.assert_allclose(run(dense, SEQUENCE, [kernel]), expected, rtol=1e-5)
    by_output = kernel.reshape(18, 12).T[seen.reshape(18, 12).T]
    sparse = L.LocallyConnected1D(4, 3, implementation=3, **options)
    np.testing.assert_allclose(run(sparse, SEQUENCE, [by_output]), expected, rtol=1e-5)
    first_channels = L.LocallyConnected2D(2, 2, data_format="channels_first", implementation=3)
    assert first_channels(tf.constant(first(IMAGE))).shape.as_list() == [2, 2, 4, 5]


def test_separable_of_what_was_before():
    layer = L.SeparableConv1D(1, 3, padding="causal", use_bias=False, dilation_rate=2)
    ones = [np.ones((3, 3, 1)), np.ones((1, 3, 1))]
    padded = np.pad(SEQUENCE.sum(-1), [(0, 0), (4, 0)])
    expected = padded[:, :6] + padded[:, 2:8] + padded[:, 4:]
    np.testing.assert_allclose(run(layer, SEQUENCE, ones)[..., 0], expected, rtol=1e-5, atol=1e-6)


def test_numbers_are_rounded_to_the_default_dtype():
    assert L.LeakyReLU(0.1).get_config()["alpha"] == float(np.float32(0.1))
    assert L.ReLU(6.1).get_config()["max_value"] == float(np.float32(6.1))


def test_depthwise():
    kernel = RANDOM.rand(3, 3, 3, 2).astype(np.float32)
    layer = L.DepthwiseConv2D(3, depth_multiplier=2, use_bias=False)
    expected = tf.nn.depthwise_conv2d(IMAGE, kernel, [1, 1, 1, 1], "VALID")
    np.testing.assert_allclose(run(layer, IMAGE, [kernel]), tf.Session().run(expected), rtol=1e-5)


def test_alpha_dropout_keeps_mean_and_variance():
    normal = RANDOM.randn(200, 200).astype(np.float32)
    layer = L.AlphaDropout(0.3, seed=1)
    outputs = tf.Session().run(layer(tf.constant(normal), training=True))
    assert abs(outputs.mean()) < 0.03 and abs(outputs.std() - 1) < 0.03
    assert layer(tf.constant(normal), training=False) is not None
