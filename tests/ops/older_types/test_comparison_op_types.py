"""Shapes that ApproximateEqual takes."""

from __future__ import annotations

import pytest

import gpugraph as tf


def test_approximate_equal_takes_equal_shapes_only():
    def approximate(x, y):
        return tf.raw_ops.ApproximateEqual(tf.placeholder("float32", x), tf.constant(y))

    with tf.Graph().as_default():
        for shape, message in (([1], "Dimension 0 in both shapes must be equal"), ([], "Shapes")):
            with pytest.raises(ValueError, match=f"^{message}.*for 'ApproximateEqual"):
                approximate(shape, [1.0, 2.0])
        assert approximate([None], [1.0, 2.0]).shape.as_list() == [None]  # the first one's
        open_result = approximate(None, [1.0, 2.0])
        assert open_result.shape.rank is None
        with tf.Session() as session:
            x = open_result.op.inputs[0]
            assert session.run(open_result, {x: [1.0, 3.0]}).tolist() == [True, False]
            with pytest.raises(
                tf.errors.InvalidArgumentError,
                match=r"^x and y must be of the same shape. x shape: \[1,1\]. y shape: \[2\]",
            ):
                session.run(open_result, {x: [[1.0]]})
