"""Shapes, parts and products of Keras's backend beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K = tf.keras.backend
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def value(tensor, feeds=None):
    return K.get_session().run(tensor, feeds)


def agrees(tensor, expected):
    result = value(tensor)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert all(
        size is None or size == own for size, own in zip(tensor.shape.as_list(), result.shape)
    )
    assert tensor.shape.rank == np.ndim(expected)


def test_variables_of_zeros_and_the_like():
    assert isinstance(K.zeros((2, 3)), tf.Variable)
    assert not isinstance(K.ones(tf.placeholder_with_default([2], [1])), tf.Variable)
    agrees(K.zeros((2, 3)), np.zeros((2, 3)))
    agrees(K.ones((2,), dtype="int32"), [1, 1])
    agrees(K.eye(3), np.eye(3))
    agrees(K.zeros_like(K.constant(X)), np.zeros_like(X))
    agrees(K.ones_like(K.constant(X), dtype="int32"), np.ones_like(X))
    uniform = K.get_value(K.random_uniform_variable((500,), 2, 3, seed=1))
    assert 2 <= uniform.min() < 2.1 and 2.9 < uniform.max() < 3
    normal = K.get_value(K.random_normal_variable((2000,), 5, 0.1, seed=1))
    assert abs(normal.mean() - 5) < 0.02 and abs(normal.std() - 0.1) < 0.01


def test_ranges():
    agrees(K.arange(5), np.arange(5))
    agrees(K.arange(2, 8, 3, dtype="float32"), [2.0, 5.0])
    assert value(K.arange(-3)).size == 0


def test_shapes():
    x = K.constant(X)
    agrees(K.shape(x), [2, 3, 4])
    agrees(K.reshape(x, (4, 6)), X.reshape(4, 6))
    agrees(K.flatten(x), X.ravel())
    agrees(K.batch_flatten(x), X.reshape(2, 12))
    agrees(K.expand_dims(x, 1), X[:, None])
    agrees(K.squeeze(K.expand_dims(x, 1), 1), X)
    agrees(K.transpose(x), X.T)
    agrees(K.permute_dimensions(x, (0, 2, 1)), X.transpose(0, 2, 1))
    agrees(K.reverse(x, 1), X[:, ::-1])
    agrees(K.reverse(x, (0, 2)), X[::-1, :, ::-1])
    agrees(K.tile(x, (1, 2, 1)), np.tile(X, (1, 2, 1)))
    agrees(K.repeat(K.constant(X[0]), 5), np.repeat(X[0][:, None], 5, 1))
    agrees(K.repeat_elements(x, 3, -1), np.repeat(X, 3, -1))
    agrees(K.concatenate([x, x]), np.concatenate([X, X], -1))
    agrees(K.stack([x, x], axis=1), np.stack([X, X], 1))
    agrees(K.temporal_padding(x, (2, 1)), np.pad(X, [(0, 0), (2, 1), (0, 0)]))


def test_shapes_that_are_not_known():
    x = K.placeholder((None, None, 4))
    repeated, flat = K.repeat_elements(x, 2, 1), K.batch_flatten(x)
    assert repeated.shape.as_list() == [None, None, 4]
    np.testing.assert_array_equal(value(repeated, {x: X}), np.repeat(X, 2, 1))
    np.testing.assert_array_equal(value(flat, {x: X}), X.reshape(2, 12))


def test_padding_of_images_and_volumes():
    image = np.ones((1, 2, 3, 4), np.float32)
    pairs = ((1, 2), (0, 1))
    agrees(K.spatial_2d_padding(image, pairs), np.pad(image, [(0, 0), *pairs, (0, 0)]))
    agrees(
        K.spatial_2d_padding(image, pairs, "channels_first"),
        np.pad(image, [(0, 0), (0, 0), *pairs]),
    )
    volume = np.ones((1, 2, 2, 2, 1), np.float32)
    agrees(K.spatial_3d_padding(volume), np.pad(volume, [(0, 0), *[(1, 1)] * 3, (0, 0)]))
    with pytest.raises(ValueError, match="Unknown data_format: channels_middle"):
        K.spatial_2d_padding(image, pairs, "channels_middle")


def test_parts(capsys):
    agrees(K.gather(X, [1, 0, 1]), X[[1, 0, 1]])
    agrees(K.one_hot([0, 2], 3), np.eye(3)[[0, 2]])
    agrees(K.in_top_k(X[0], [3, 0, 2], 2), [True, False, True])
    agrees(K.print_tensor(K.constant([1.0, 2.0]), "x = "), [1, 2])
    assert "x =  [1 2]" in capsys.readouterr().out


@pytest.mark.parametrize(("x", "y"), [((2, 3), (3, 4)), ((2, 3, 4), (4, 5)), ((2, 3), (5, 3, 2))])
def test_dot(x, y):
    one, other = np.random.RandomState(0).rand(*x), np.random.RandomState(1).rand(*y)
    agrees(K.dot(K.constant(one, "float64"), K.constant(other, "float64")), np.dot(one, other))


def test_dot_of_a_sparse_matrix():
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 3])
    agrees(K.dot(sparse, K.constant(X[0])), [2 * X[0][1], 3 * X[0][0]])


@pytest.mark.parametrize(
    ("x", "y", "axes", "sum_of"),
    [
        ((2, 3, 4), (2, 4, 5), None, "nij,njk->nik"),
        ((2, 3), (2, 3), 1, "ni,ni->n"),
        ((2, 3, 4), (2, 5, 4), (2, 2), "nij,nkj->nik"),
        ((2, 3, 4), (2, 3, 5), (1, 1), "nji,njk->nik"),
        ((2, 3, 4), (2, 4), (2, 1), "nij,nj->ni"),
        ((2, 3), (2, 3, 5), (1, 1), "nj,njk->nk"),
        ((2, 6, 3, 4), (2, 6, 4, 5), (3, 2), "nmij,nmjk->nmik"),
    ],
)
def test_batch_dot(x, y, axes, sum_of):
    one, other = np.random.RandomState(0).rand(*x), np.random.RandomState(1).rand(*y)
    expected = np.einsum(sum_of, one, other)
    result = K.batch_dot(K.constant(one, "float64"), K.constant(other, "float64"), axes)
    agrees(result, expected[:, None] if expected.ndim == 1 else expected)
