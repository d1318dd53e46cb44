"""parallel_stack: tensors of one known shape as rows."""

from __future__ import annotations

import pytest

import gpugraph as tf

from ..function_cases import refuses, same


def test_parallel_stack():
    same(lambda: tf.parallel_stack([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    refuses(lambda: tf.parallel_stack([tf.placeholder(tf.float32, [None])]), ValueError, "known")


def test_the_axis_of_a_single_tensor_is_checked():
    x = tf.constant([[1.0, 2.0]])
    with pytest.raises(ValueError, match="must have rank 0"):
        tf.concat(3, [x, x])  # the order of arguments before TensorFlow 1.0
    with pytest.raises(TypeError):
        tf.concat([x], 0.5)
    assert tf.concat(x, 0).shape.as_list() == [1, 2]


def test_rows_of_a_concat_along_a_negative_axis_need_a_known_rank():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    joined = tf.gather(tf.concat([x, y], -1), [0])
    with pytest.raises(ValueError, match="negative concat_dim when first value rank is statically"):
        tf.gradients(joined, x)


def test_a_gradient_knows_the_sizes_that_are_known_before():
    """A loop keeps nothing for them, as in TensorFlow."""
    types = {}
    for rows in (2, None):
        with tf.Graph().as_default() as graph:
            parts = [tf.placeholder(tf.float32, [rows, width]) for width in (3, 4)]
            gradients = tf.gradients(tf.concat(parts, 1) * 2.0, parts)
            types[rows] = {operation.type for operation in graph.get_operations()}
            with tf.Session() as session:
                feeds = dict(zip(parts, ([[1.0] * 3] * 2, [[1.0] * 4] * 2)))
                values = session.run(gradients, feeds)
        assert [value.tolist() for value in values] == [[[2.0] * 3] * 2, [[2.0] * 4] * 2]
    assert "ShapeN" not in types[2]
    assert "ShapeN" in types[None]
