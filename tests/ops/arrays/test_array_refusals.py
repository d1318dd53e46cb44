"""Errors of ops on arrays, in TensorFlow's words, and the shapes that they infer."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..refusals import at_build, in_run

ROW = np.zeros(3, np.float32)
MATRIX = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.expand_dims(ROW, [0, 1]), "'dim' input must be a tensor with a single value"),
        (lambda: tf.squeeze(MATRIX, [1]), r"squeeze dim\[1\], expected a dimension of 1, got 3"),
        (lambda: tf.reverse(MATRIX, [2]), r"'axis'\[0\] = 2 is out of valid range \[0, 1"),
        (lambda: tf.reverse(MATRIX, [0, -2]), "axis 0 specified more than once"),
        (lambda: tf.split(MATRIX, 2, 1), r"evenly divisible by 2 but is 3\s.*should evenly divide"),
        (lambda: tf.stack([ROW, ROW], axis=2), r"axis = 2 not in \[-2, 2\)"),
        (lambda: tf.unstack(ROW, axis=2), r"axis = 2 not in \[-1, 1\)"),
        (lambda: tf.reshape(tf.zeros([4, 5]), [17, -1]), "must be evenly divisible by 17 but is"),
        (lambda: tf.reshape(ROW, [3, 7]), r"with 3 elements to shape \[3,7\] \(21 elements\)"),
        (lambda: tf.reshape(ROW, [0, -1]), r"to shape \[0,\?\] \(0 elements\)"),
        (lambda: tf.pad(MATRIX, [[-1, 0], [0, 0]]), "Paddings must be non-negative"),
        (lambda: tf.transpose(MATRIX, [0, 2]), "perm dim 2 is out of range of input rank 2"),
        (lambda: tf.constant([1, 2])[:1].assign([1]), "Sliced assignment is only supported"),
        (lambda: tf.linalg.matrix_transpose(ROW), r"should be a \(batch\) matrix"),
    ],
)
def test_what_building_refuses(make, message):
    at_build(make, message)


@pytest.mark.parametrize(
    ("make", "message", "fed"),
    [
        (lambda dim: tf.expand_dims(ROW, dim), "must be a tensor with a single value", [[0, 1]]),
        (lambda x: tf.squeeze(x, [1]), "expected a dimension of 1, got 3", [MATRIX]),
        (lambda axis: tf.reverse(MATRIX, axis), "is out of valid range", [[2]]),
        (lambda axis: tf.reverse(MATRIX, axis), "axis 0 specified more than once", [[0, -2]]),
        (lambda x: tf.split(x, 2, 1), r"should evenly divide .* 1 \(size = 3\)", [MATRIX]),
        (lambda axis: tf.split(ROW, 3, axis), "must be a scalar but has rank 1", [[0, 0]]),
        (lambda x: tf.reshape(x, [17, -1]), "20 values, .* a multiple of 17", [np.ones(20)]),
        (lambda x: tf.reshape(x, [3, 7]), "is a tensor with 3 values, .* has 21", [ROW]),
        (lambda p: tf.pad(MATRIX, p), "must be non-negative: -1 0", [[[-1, 0], [0, 0]]]),
        (lambda perm: tf.transpose(MATRIX, perm), r"0 is missing from \{1,1\}", [[1, 1]]),
        (lambda perm: tf.transpose(MATRIX, perm), r"2 is out of range \[0 \.\. 2\)", [[0, 2]]),
        (lambda perm: tf.transpose(MATRIX, perm), "expects a vector of size 2", [[0]]),
        (lambda: tf.transpose(MATRIX, [0, 0]), r"1 is missing from \{0,0\}", []),
    ],
)
def test_what_a_run_refuses(make, message, fed):
    in_run(make, message, *fed)


@pytest.mark.parametrize(
    ("axis", "shapes", "message"),
    [
        (4, [[2, 3, 5], [2, 3, 5]], "Concat dim is out of range: 4 vs. 3"),
        (1, [[2, 3, 5], [2, 7]], "input 1 should contain 3 elements, but got 2"),
        (1, [[[2, 3, 5]], [[2, 3, 5]]], r"should be a vector, but got shape \[1,3\]"),
        (1, [[2, 3, 5], [2, 7, 10]], r"All dimensions except 1 must .* \[2 7 10\] .* \[2 3 5\]"),
    ],
)
def test_concat_offset_refuses_in_the_run(axis, shapes, message):
    in_run(lambda: tf.raw_ops.ConcatOffset(concat_dim=axis, shape=shapes), message)


def test_handles_are_no_constants():
    variable = tf.get_variable("v", [2], use_resource=True)
    promised = tf.guarantee_const(variable.handle)
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be a resource variable"):
            session.run(promised)


def test_sizes_that_follow_from_a_list():
    with tf.Graph().as_default():
        known = tf.placeholder(tf.int32, [2])
        shape = tf.concat([known, [37, 42]], 0)
        assert tf.reshape(tf.placeholder(tf.float32), shape).shape.as_list() == [None, None, 37, 42]
        number = tf.placeholder(tf.int32, [])
        for mode in ("CONSTANT", "REFLECT"):
            padded = tf.pad(tf.zeros([5, 3]), [[1, 1], [number, 0]], mode)
            assert padded.shape.as_list() == [7, None]
        assert tf.pad(tf.zeros([5, 3]), [[1, 1], [number, 0]], constant_values=2.0).shape[0] == 7
        assert tf.transpose(tf.placeholder(tf.float32), [0]).shape.rank is None


def test_sizes_of_empty_tensors():
    with tf.Graph().as_default(), tf.Session() as session:
        empty = tf.placeholder(tf.float32)
        reshaped = tf.reshape(empty, [0, -1, 3])
        assert session.run(reshaped, {empty: np.zeros((0, 6))}).shape == (0, 2, 3)
        assert tf.reshape(tf.zeros([4, 0]), [0, -1]).shape.as_list() == [0, 4]
