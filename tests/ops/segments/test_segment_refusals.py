"""Errors of sums by segment in a run, in TensorFlow's words and order."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..refusals import at_build, in_run

ROWS = np.ones(3, np.float32)
UNSORTED = r"Segment id {} out of range \[0, {}\), possibly because 'segment_ids' input is not sort"


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([0, 1, 0], "segment ids are not increasing: 0 follows 1 at 2"),
        ([0, -1, 1], "segment ids are not increasing"),
        ([1, 2, 0], UNSORTED.format(1, 1)),
        ([-1, 0, 1], UNSORTED.format(-1, 2)),
        ([0, 1, -1], "segment ids must be >= 0"),
    ],
)
@pytest.mark.parametrize("kind", ["sum", "mean", "prod", "max", "min"])
def test_numbers_that_are_not_sorted(ids, message, kind):
    in_run(lambda x: getattr(tf, f"segment_{kind}")(ROWS, x), message, ids)
    if kind in ("sum", "mean"):
        sparse = getattr(tf, f"sparse_segment_{kind}")
        in_run(lambda x: sparse(ROWS, [0, 1, 2], x), message, ids)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.segment_sum(ROWS, [0, 1]), "segment_ids should be the same size as dimension"),
        (
            lambda: tf.sparse_segment_sum(ROWS, [0, -1], [0, 1]),
            r"indices\[1\] == -1 out of range \[0, 3\)",
        ),
        (
            lambda: tf.sparse_segment_mean(ROWS, [0, 1], [0, 5], num_segments=3),
            "segment ids must be < num_segments",
        ),
        (
            lambda: tf.sparse_segment_sum(ROWS, [0, 1], [-1, 0], num_segments=3),
            UNSORTED.format(-1, 3),
        ),
        (
            lambda: tf.sparse_segment_sum(ROWS, [0, 1], [0, -1], num_segments=3),
            "segment ids are not increasing: -1 follows 0 at 1",
        ),
        (
            lambda: tf.unsorted_segment_sum(ROWS[None], [[2, 0, 0]], 2),
            r"segment_ids\[0,0\] = 2 is out of range \[0, 2\)",
        ),
    ],
)
def test_what_a_run_refuses(make, message):
    in_run(make, message)


@pytest.mark.parametrize("kind", ["Mean", "SqrtN"])
@pytest.mark.parametrize(
    ("count", "indices", "ids", "message"),
    [
        (2, [0, 10], [0, 1], r"Index 10 out of range \[0, 10\)\."),
        (1, [0, 1], [0, 1], "Invalid number of segments"),
        (2, [0, 1], [-1, 1], r"Segment id -1 out of range \[0, 2\)"),
    ],
)
def test_what_gradients_refuse(kind, count, indices, ids, message):
    gradient = getattr(tf.raw_ops, f"SparseSegment{kind}Grad")
    in_run(lambda grad: gradient(grad, indices, ids, 10), message, np.ones(count))


def test_what_is_no_vector_or_of_another_size():
    in_run(lambda ids: tf.segment_mean(ROWS, ids), r"segment_ids should be a vector\.", [[0]])
    for name in ("indices", "segment_ids"):
        numbers = {"indices": [0], "segment_ids": [0], name: [[0]]}

        def sums(wrong, name=name, numbers=numbers):
            return tf.sparse_segment_sum(ROWS, **{**numbers, name: wrong})

        in_run(sums, rf"{name} should be a vector\.", numbers[name])
    words = "segment_ids and indices should have same size. They have 2 and 1"
    in_run(lambda ids: tf.sparse_segment_sum(ROWS, [0], ids), words, [0, 1])
    words = (
        r"Dimension 0 in both shapes must be equal, but are 1 and 2\. Shapes are \[1\] and \[2\]"
    )
    at_build(lambda: tf.sparse_segment_sum(ROWS, [0], [0, 1]), words)


def test_negative_counts():
    counted = tf.raw_ops.SparseSegmentSumWithNumSegments
    at_build(
        lambda: counted(ROWS, [0], [0], -3), "Cannot specify a negative value for num_segments"
    )
    at_build(lambda: tf.unsorted_segment_sum(ROWS, [0, 1, 1], -3), "must be non-negative but is -3")
    in_run(lambda n: tf.unsorted_segment_sum(ROWS, [0, 1, 1], n), "num_segments == -3 must not", -3)


def test_empty_lists_are_int32():
    with tf.Graph().as_default(), tf.Session() as session:
        total = tf.raw_ops.SparseSegmentSumWithNumSegments(
            data=ROWS, indices=[], segment_ids=[], num_segments=5
        )
        assert total.op.inputs[1].dtype == tf.int32
        np.testing.assert_array_equal(session.run(total), np.zeros(5))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_means_of_integers_divide_truly(dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        mean = tf.unsorted_segment_mean(np.array([1, 2, 5], dtype), [1, 1, 0], 3)
        assert mean.dtype == tf.float64
        np.testing.assert_array_equal(session.run(mean), [5, 1.5, 0])


def test_the_number_of_segments_is_open():
    assert tf.segment_sum(ROWS, [0, 1, 1]).shape.as_list() == [None]
    assert tf.sparse_segment_sum(ROWS, [0, 1, 1], [0, 1, 1]).shape.as_list() == [None]
