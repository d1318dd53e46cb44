"""Values kept within limits."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


def test_clip_by_value():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([-3.0, -1.0, 0.5, 2.0])
        clipped = tf.clip_by_value(x, -1.0, tf.constant(1.0))
        by_element = tf.clip_by_value(x, [-4.0, 0.0, 0.0, 0.0], 1.0)
        (gradient,) = tf.gradients(clipped, x)
        found = session.run([clipped, by_element, gradient])
    np.testing.assert_array_equal(found[0], [-1, -1, 0.5, 1])
    np.testing.assert_array_equal(found[1], [-3, 0, 0.5, 1])
    np.testing.assert_array_equal(found[2], [0, 1, 1, 0])
    assert clipped.name == "clip_by_value:0"
    assert clipped.op.inputs[0].name == "clip_by_value/Minimum:0"


def test_limits_of_another_shape_are_refused():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="incompatible"):
            tf.clip_by_value([1.0, 2.0], [[0.0], [1.0]], 3.0)
