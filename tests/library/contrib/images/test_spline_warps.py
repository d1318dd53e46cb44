"""Splines pass through their points and extend linear functions; warps move points."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.library.contrib.images import interpolate_spline, sparse_image_warp

RANDOM = np.random.RandomState(0)
POINTS = RANDOM.rand(2, 6, 2).astype(np.float32) * 10
QUERIES = RANDOM.rand(2, 4, 2).astype(np.float32) * 10
VALUES = RANDOM.randn(2, 6, 3).astype(np.float32)
IMAGE = RANDOM.rand(1, 16, 16, 1).astype(np.float32)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_splines(order: int) -> None:
    slope = np.float32([[1, 2], [3, -1]])
    with tf.Graph().as_default(), tf.Session() as session:
        through, linear = session.run(
            [
                interpolate_spline(POINTS, VALUES, POINTS, order),
                interpolate_spline(POINTS, POINTS @ slope + 5, QUERIES, order),
            ]
        )
    np.testing.assert_allclose(through, VALUES, atol=5e-3)
    np.testing.assert_allclose(linear, QUERIES @ slope + 5, atol=2e-2)


def test_points_of_an_image_move() -> None:
    start = np.float32([[[4, 4], [8, 8], [12, 3]]])
    end = np.float32([[[5, 4], [8, 9], [12, 4]]])
    with tf.Graph().as_default(), tf.Session() as session:
        warped, flow = session.run(sparse_image_warp(IMAGE, start, end, num_boundary_points=1))
        free = session.run(sparse_image_warp(IMAGE, start, start + 1)[1])
    np.testing.assert_allclose(flow[0, 5, 4], [1, 0], atol=1e-3)
    np.testing.assert_allclose(flow[0, [0, 15], [0, 15]], 0, atol=1e-3)
    np.testing.assert_allclose(warped[0, 5, 4], IMAGE[0, 4, 4], atol=1e-3)
    np.testing.assert_allclose(free, 1, atol=1e-2)


def test_unknown_sizes_are_refused() -> None:
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [None, 8, 8, 1])
        with pytest.raises(ValueError, match="must have known sizes"):
            sparse_image_warp(images, POINTS, POINTS)
        with pytest.raises(ValueError, match="must have known sizes"):
            interpolate_spline(tf.placeholder(tf.float32, [1, None, 2]), VALUES, QUERIES, 1)
