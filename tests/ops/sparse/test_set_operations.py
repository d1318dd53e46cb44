"""Sets along last axes, dense and sparse."""

from __future__ import annotations

import numpy as np

import gpugraph as tf

from ..function_cases import refuses

A, B = np.array([[1, 2, 2], [3, 4, 4]]), np.array([[2, 1], [4, 5]])


def _sparse(array: np.ndarray) -> tf.SparseTensor:
    return tf.SparseTensor(list(np.ndindex(array.shape)), array.reshape(-1), array.shape)


def _rows(sets: tf.SparseTensor) -> list[list[int]]:
    with tf.Session() as session:
        sparse = session.run(sets)
    rows: list[list[int]] = [[] for _ in range(sparse.dense_shape[0])]
    for (row, place), value in zip(sparse.indices.tolist(), sparse.values.tolist(), strict=True):
        assert place == len(rows[row]) < sparse.dense_shape[1]
        rows[row].append(value)
    return rows


def test_operations_of_dense_and_sparse():
    wanted = {
        tf.sets.intersection: [[1, 2], [4]],
        tf.sets.difference: [[], [3]],
        tf.sets.union: [[1, 2], [3, 4, 5]],
    }
    for operation, rows in wanted.items():
        for a in (A, _sparse(A)):
            for b in (B, _sparse(B)):
                assert _rows(operation(a, b)) == rows
    assert _rows(tf.sets.difference(A, B, aminusb=False)) == [[], [5]]
    assert _rows(tf.sets.difference(_sparse(A), B, aminusb=False)) == [[], [5]]


def test_sizes():
    with tf.Session() as session:
        assert session.run(tf.sets.size(_sparse(A))).tolist() == [2, 2]


def test_refusals():
    invalid = tf.errors.InvalidArgumentError
    refuses(lambda: tf.sets.size(A), TypeError, "SparseTensor")
    refuses(lambda: tf.sets.union(A * 1.0, B * 1.0), TypeError, "invalid dtype float64")
    refuses(lambda: tf.sets.union(A, B[:1]), ValueError, "in both shapes must be equal")
    refuses(lambda: tf.sets.union(A[0], B[0]), ValueError, "at least rank 2")
    refuses(lambda: tf.sets.union(A, _sparse(B[:1])).values, invalid, "Mismatched shapes")
    unordered = tf.SparseTensorValue([[1, 0], [0, 0]], [1, 2], [2, 2])
    refuses(lambda: tf.sets.size(unordered), invalid, "out of order")
    twice = tf.SparseTensorValue([[1, 0], [1, 0]], [1, 2], [2, 2])
    refuses(lambda: tf.sets.size(twice), invalid, "repeated")
    outside = tf.SparseTensorValue([[2, 0]], [1], [2, 2])
    refuses(lambda: tf.sets.size(outside), invalid, "out of bounds")


def test_sets_that_are_not_there_are_refused_unchecked_too():
    """TensorFlow calls an index behind the end its own failure."""
    for index in ([-1, 0], [2, 0], [0, 2]):
        outside = tf.SparseTensorValue([index], A[0, :1], [2, 2])
        for build in (tf.sets.size, lambda x, **options: tf.sets.union(A, x, **options).values):
            refuses(
                lambda build=build, x=outside: build(x, validate_indices=False),
                tf.errors.InternalError if 2 in index else tf.errors.InvalidArgumentError,
                "expected < 2, got 2" if 2 in index else "out of bounds",
            )
