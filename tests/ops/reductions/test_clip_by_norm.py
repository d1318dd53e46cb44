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
        result = session.run([clipped, by_element, gradient])
    np.testing.assert_array_equal(result[0], [-1, -1, 0.5, 1])
    np.testing.assert_array_equal(result[1], [-3, 0, 0.5, 1])
    np.testing.assert_array_equal(result[2], [0, 1, 1, 0])
    assert clipped.name == "clip_by_value:0"
    assert clipped.op.inputs[0].name == "clip_by_value/Minimum:0"


def test_limits_of_another_shape_are_refused():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="incompatible"):
            tf.clip_by_value([1.0, 2.0], [[0.0], [1.0]], 3.0)


def test_clip_by_global_norm():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [2], name="x"), tf.placeholder(tf.float32, [3])
        (first, nothing, second), norm = tf.clip_by_global_norm([x, None, y], 6.5)
        assert nothing is None
        clipped = session.run([first, second, norm], {x: [3, 4], y: [0, 0, 12]})
        for result, wanted in zip(clipped, ([1.5, 2], [0, 0, 6], 13)):
            np.testing.assert_allclose(result, wanted, rtol=1e-6)
        left = session.run([first, second, norm], {x: [3, 4], y: [0, 0, 0]})
        for result, wanted in zip(left, ([3, 4], [0, 0, 0], 5)):
            np.testing.assert_allclose(result, wanted, rtol=1e-6)
        nothing_to_clip = session.run([first, norm], {x: [0, 0], y: [0, 0, 0]})
        np.testing.assert_array_equal(nothing_to_clip[0], [0, 0])
        assert nothing_to_clip[1] == 0
    assert first.name == "clip_by_global_norm/clip_by_global_norm/_0:0"
    assert second.name == "clip_by_global_norm/clip_by_global_norm/_2:0"
    assert norm.name == "global_norm/global_norm:0"
    assert first.op.colocation_groups() == [b"loc:@x"]
    types = ["L2Loss", "L2Loss", "Pack", "Const", "Sum", "Const", "Mul", "Sqrt"]
    assert [op.type for op in graph.get_operations()[2:10]] == types


def test_a_norm_that_is_not_finite_is_noticed():
    with tf.Graph().as_default(), tf.Session() as session:
        (clipped, other), norm = tf.clip_by_global_norm([[np.inf, 1.0], [2.0]], 5.0)
        result = session.run([clipped, other, norm])
    assert np.isnan(result[0]).all() and np.isnan(result[1]).all() and np.isinf(result[2])


def test_a_norm_that_is_known_is_not_computed_again():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        clipped, norm = tf.clip_by_global_norm([[3.0, 4.0]], 5.0, use_norm=tf.constant(10.0))
        assert "L2Loss" not in {op.type for op in graph.get_operations()}
        result = session.run([clipped, norm])
    np.testing.assert_allclose(result[0], [[1.5, 2.0]])
    assert result[1] == 10


def test_the_norm_of_nothing_is_zero():
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run([tf.global_norm([]), tf.global_norm([None])]) == [0, 0]
        assert tf.clip_by_global_norm([None], 1.0)[0] == [None]


@pytest.mark.parametrize("no_sequence", [3, "x", None])
def test_what_is_no_sequence_is_refused(no_sequence):
    with tf.Graph().as_default():
        for function in (tf.global_norm, lambda given: tf.clip_by_global_norm(given, 1.0)):
            with pytest.raises(TypeError, match="t_list should be a sequence"):
                function(no_sequence)
            with pytest.raises(TypeError, match="t_list should be a sequence"):
                function(tf.constant([1.0]))


def test_clip_by_norm():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 2])
        whole, by_row = tf.clip_by_norm(x, 2.5), tf.clip_by_norm(x, 2.5, axes=[1])
        (gradient,) = tf.gradients(whole, x)
        result = session.run([whole, by_row], {x: [[3, 4], [0, 0]]})
        for item in result:
            np.testing.assert_allclose(item, [[1.5, 2], [0, 0]], rtol=1e-6)
        small = session.run([whole, by_row], {x: [[1, 0], [2, 1]]})
        for item in small:
            np.testing.assert_allclose(item, [[1, 0], [2, 1]], rtol=1e-6)
        assert np.isfinite(session.run(gradient, {x: np.zeros((2, 2))})).all()
        with pytest.raises(ValueError, match="incompatible"):
            tf.clip_by_norm(x, [[[1.0]]])
    assert whole.name == "clip_by_norm:0"


def test_clip_by_average_norm():
    with tf.Graph().as_default(), tf.Session() as session:
        result = [tf.clip_by_average_norm([3.0, 4.0], norm) for norm in (0.5, 10.0)]
        clipped, left = session.run(result)
    np.testing.assert_allclose(clipped, [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(left, [3, 4], rtol=1e-6)
    assert result[0].name == "clip_by_average_norm:0"
