"""The shapes that UniqueV2 and UniqueWithCountsV2 infer."""

from __future__ import annotations

import pytest

import gpugraph as tf


@pytest.mark.parametrize("op_type", ["UniqueV2", "UniqueWithCountsV2"])
@pytest.mark.parametrize(
    ("shape", "axis", "slices", "index"),
    [
        ([4, 3], [0], [None, 3], [4]),
        ([4, 3], [-1], [4, None], [3]),
        ([None, 3], [0], [None, 3], [None]),
        ([6], [], [None], [6]),
        (None, [0], None, [None]),
    ],
)
def test_the_index_has_the_size_of_the_axis(op_type, shape, axis, slices, index):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, shape)
        outputs = getattr(tf.raw_ops, op_type)(x=x, axis=tf.constant(axis, tf.int64))
    known = [None if y.shape.rank is None else y.shape.as_list() for y in outputs]
    assert known == [slices, index, [None]][: len(outputs)]


@pytest.mark.parametrize("op_type", ["UniqueV2", "UniqueWithCountsV2"])
def test_of_an_axis_that_a_run_says_the_index_is_open(op_type):
    with tf.Graph().as_default(), tf.Session() as session:
        axis = tf.placeholder(tf.int64, [1])
        outputs = getattr(tf.raw_ops, op_type)(x=[[1, 2], [1, 2], [3, 4]], axis=axis)
        assert outputs[1].shape.as_list() == [None]
        rows, index = session.run(outputs[:2], {axis: [0]})
    assert rows.tolist() == [[1, 2], [3, 4]]
    assert index.tolist() == [0, 0, 1]
