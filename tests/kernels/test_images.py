"""Normalization of images, their sizes, patches and borders, on an emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .emulated import on_gpu
from .on_both import check, gradients, numbers

pytestmark = needs_cxx

# -- batch normalization


def _images(form: str, channels: int, dtype: Any = np.float32) -> Any:
    image = 3 + 2 * numbers(3, 7, 8, channels, dtype=dtype)
    return np.ascontiguousarray(image.transpose(0, 3, 1, 2)) if form == "NCHW" else image


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
@pytest.mark.parametrize("channels", [4, 37])
def test_images_are_normalized_by_their_own_moments(form: str, channels: int) -> None:
    def make(x: Any, scale: Any, offset: Any) -> Any:
        y, mean, variance = tf.nn.fused_batch_norm(x, scale, offset, data_format=form)
        return [y, mean, variance, *tf.gradients(y * y * y, [x, scale, offset])]

    check(make, _images(form, channels), numbers(channels), numbers(channels), within=1e-4)


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_images_are_normalized_by_given_moments(form: str) -> None:
    def make(x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
        y, *_ = tf.nn.fused_batch_norm(
            x, scale, offset, mean, variance, is_training=False, data_format=form
        )
        return [y, *tf.gradients(y * y, [x, scale, offset])]

    vectors = [numbers(6), numbers(6), numbers(6), numbers(6) ** 2]
    check(make, _images(form, 6), *vectors, within=1e-4)


def test_variance_is_not_lost_beside_a_large_mean() -> None:
    image = numbers(4, 16, 16, 2).astype(np.float64)

    def make(x: Any) -> Any:
        ones = tf.ones(2)
        return tf.nn.fused_batch_norm(x, ones, ones)[2]

    result = on_gpu(make, (image + 1000).astype(np.float32))
    np.testing.assert_allclose(result, image.var((0, 1, 2), ddof=1), rtol=1e-3)


def test_half_images_have_moments_in_float() -> None:
    def make(x: Any, scale: Any, offset: Any) -> Any:
        return tf.nn.fused_batch_norm(x, scale, offset)[0]

    check(make, _images("NHWC", 4, np.float16), numbers(4), numbers(4), within=4e-3)


# -- normalization by the channels near


@pytest.mark.parametrize("radius", [1, 2, 9])
def test_channels_near(radius: int) -> None:
    def make(x: Any) -> Any:
        return tf.nn.lrn(x, depth_radius=radius, bias=1.5, alpha=0.3, beta=0.75)

    check(gradients(make), numbers(1, 2, 3, 7))


# -- sizes


@pytest.mark.parametrize("size", [(3, 11), (14, 4)])
@pytest.mark.parametrize("mode", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
@pytest.mark.parametrize("kind", ["Bilinear", "Bicubic", "NearestNeighbor"])
def test_images_of_another_size(kind: str, mode: Any, size: Any) -> None:
    resize = getattr(tf.raw_ops, f"Resize{kind}")
    check(gradients(lambda x: resize(x, list(size), **mode)), numbers(2, 7, 6, 3))


def test_the_nearest_pixels_of_bytes() -> None:
    image = np.arange(60, dtype=np.uint8).reshape(1, 5, 4, 3)
    check(lambda x: tf.image.resize_nearest_neighbor(x, [7, 9]), image)


# -- patches, borders, blocks


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_patches(padding: str) -> None:
    def make(x: Any) -> Any:
        return tf.image.extract_image_patches(x, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 2, 1], padding)

    check(make, numbers(2, 7, 8, 3))


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize(
    "widths", [[[2, 2], [0, 0], [1, 2], [0, 0]], [[0, 0], [3, 0], [0, 3], [1, 1]]]
)
def test_borders_that_mirror(mode: str, widths: Any) -> None:
    check(gradients(lambda x: tf.pad(x, widths, mode)), numbers(3, 4, 5, 2))


def test_blocks_of_space_as_batches() -> None:
    def make(x: Any) -> Any:
        result = tf.space_to_batch_nd(x, [2, 3], [[1, 2], [0, 1]])
        return [result, tf.batch_to_space_nd(result, [2, 3], [[0, 1], [2, 1]])]

    check(make, numbers(2, 5, 8, 3))
