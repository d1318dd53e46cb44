"""Crosses of features: text, TensorFlow's hash numbers, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def sparse(values):
    return tf.SparseTensor([[0, 0], [1, 0], [1, 1]], values, [2, 2])


def run(tensor):
    with tf.Session() as session:
        return session.run(tensor)


def test_features_are_joined_row_by_row():
    crossed = run(tf.sparse.cross([tf.constant([[3], [-4]]), sparse(["a", "b", "c"])]))
    assert crossed.values.tolist() == [b"a_X_3", b"b_X_-4", b"c_X_-4"]
    assert crossed.indices.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert crossed.dense_shape.tolist() == [2, 2]


def test_hash_numbers_are_tensorflows():
    texts, numbers = sparse(["a", "b", "c"]), sparse(tf.constant([3, -4, 500], tf.int64))
    assert run(tf.sparse.cross_hashed([texts, numbers])).values.tolist() == [
        9216350530976061679,
        8761444458487549663,
        3251136468043339035,
        1081993872874431407,
        349494961286532043,
    ]
    dense = tf.constant([["x", "y"], ["z", ""]])
    few = run(tf.sparse.cross_hashed([texts, dense], num_buckets=100, hash_key=12345))
    assert few.values.tolist() == [49, 56, 36, 46, 92, 59]


def test_a_row_without_a_feature_has_none():
    empty = tf.SparseTensor(np.zeros((0, 2), np.int64), tf.constant([], tf.string), [2, 1])
    crossed = run(tf.sparse.cross([sparse(["a", "b", "c"]), empty]))
    assert crossed.values.tolist() == [] and crossed.dense_shape.tolist() == [2, 0]


def test_wrong_inputs_are_refused():
    with pytest.raises(TypeError, match="Inputs must be a list"):
        tf.sparse.cross(sparse(["a", "b", "c"]))
    with pytest.raises(TypeError, match="All inputs must be SparseTensors"):
        tf.sparse.cross([sparse(["a", "b", "c"]), [["x"], ["y"]]])
    crossed = tf.sparse.cross([sparse(["a", "b", "c"]), tf.constant([["x"]])])
    with pytest.raises(tf.errors.InvalidArgumentError, match="same batch size"):
        run(crossed)
