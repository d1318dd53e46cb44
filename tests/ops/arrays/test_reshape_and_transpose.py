"""Reshape: its errors for sizes that do not fit, while a graph is built and in a run."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


def test_sizes_that_do_not_fit() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        y = tf.reshape(x, [3, 7])
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"^Input to reshape is a tensor with 4 values, but the requested shape has 21\n",
        ):
            session.run(y, {x: np.ones((2, 2))})
        with pytest.raises(ValueError, match=r"4 elements to shape \[3,7\] \(21 elements\) for"):
            tf.reshape(tf.ones([2, 2]), [3, 7])
