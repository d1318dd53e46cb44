"""Transforms of images by eight numbers, and values between pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

IMAGES = np.random.RandomState(0).rand(2, 5, 7, 3).astype(np.float32)
SKEWED = [1.1, 0.2, -0.7, -0.3, 0.9, 1.2, 0.01, 0.02]


@pytest.fixture(autouse=True)
def own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def value(tensor: Any) -> Any:
    with tf.Session() as session:
        return session.run(tensor)


def pixel(image: Any, y: int, x: int) -> Any:
    height, width = image.shape[:2]
    return image[y, x] if 0 <= y < height and 0 <= x < width else 0.0 * image[0, 0]


def expected(images: Any, transforms: Any, bilinear: bool, size: Any) -> Any:
    """Return the transformed images, pixel by pixel."""
    result = np.zeros((len(images), *size, images.shape[-1]))
    rows = np.broadcast_to(transforms, (len(images), 8))
    for batch, y, x in np.ndindex(len(images), *size):
        a0, a1, a2, b0, b1, b2, c0, c1 = rows[batch]
        k = c0 * x + c1 * y + 1
        at_x, at_y = (a0 * x + a1 * y + a2) / k, (b0 * x + b1 * y + b2) / k
        image = images[batch]
        if not bilinear:
            nearest = [
                int(math.copysign(math.floor(abs(each) + 0.5), each)) for each in (at_y, at_x)
            ]
            result[batch, y, x] = pixel(image, *nearest)
            continue
        left, top = math.floor(at_x), math.floor(at_y)
        for dy, dx in np.ndindex(2, 2):
            weight = (1 - abs(at_y - top - dy)) * (1 - abs(at_x - left - dx))
            result[batch, y, x] += weight * pixel(image, top + dy, left + dx)
    return result


@pytest.mark.parametrize("kind", ["NEAREST", "BILINEAR"])
@pytest.mark.parametrize("size", [None, (4, 9)])
def test_transforms(kind: str, size: Any) -> None:
    transforms = np.array([SKEWED, [0.9, 0, 1.3, 0, 1, -0.6, 0, 0]], np.float32)
    result = tf.contrib.image.transform(IMAGES, transforms, kind, output_shape=size)
    assert result.shape.as_list() == [2, *(size or (5, 7)), 3]
    wanted = expected(IMAGES, transforms, kind == "BILINEAR", size or (5, 7))
    np.testing.assert_allclose(value(result), wanted, atol=2e-5)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_quarter_turns_of_images_of_each_rank(rank: int) -> None:
    square = (IMAGES[:, :, :5] * 255).astype(np.uint8)
    image = {2: square[0, :, :, 0], 3: square[0], 4: square}[rank]
    turned = tf.contrib.image.rotate(image, math.pi / 2)
    axes = (1, 2) if rank == 4 else (0, 1)
    np.testing.assert_array_equal(value(turned), np.rot90(image, axes=axes))


def test_translations_and_compositions() -> None:
    contrib = tf.contrib.image
    moved = value(contrib.translate(IMAGES, [[2, 0], [0, -1]]))
    np.testing.assert_array_equal(moved[0, :, 2:], IMAGES[0, :, :-2])
    np.testing.assert_array_equal(moved[1, :-1], IMAGES[1, 1:])
    assert not moved[0, :, :2].any()
    turn = contrib.angles_to_projective_transforms(0.3, 5, 7)
    back = contrib.angles_to_projective_transforms(-0.3, 5, 7)
    none = value(contrib.compose_transforms(turn, back))
    np.testing.assert_allclose(none, [[1, 0, 0, 0, 1, 0, 0, 0]], atol=1e-5)


def test_gradients_of_bilinear_transforms_are_the_weights() -> None:
    images = tf.constant(IMAGES)
    result = tf.contrib.image.transform(images, SKEWED, "BILINEAR")
    slope = value(tf.gradients(result, images)[0])
    probe = np.zeros_like(IMAGES)
    probe[0, 2, 3, 1] = 1.0
    changed = expected(probe, np.array(SKEWED), True, (5, 7)).sum()
    np.testing.assert_allclose(slope[0, 2, 3, 1], changed, rtol=1e-4)


def test_refusals() -> None:
    with pytest.raises(TypeError, match="Invalid dtype"):
        tf.contrib.image.rotate(tf.constant([[True]]), 0.1)
    with pytest.raises(TypeError, match="images should have rank between 2 and 4"):
        tf.contrib.image.rotate(tf.zeros([1, 1, 1, 1, 1]), 0.1)
    with pytest.raises(TypeError, match="rank must be statically known"):
        tf.contrib.image.rotate(tf.placeholder(tf.float32), 0.1)
    with pytest.raises(ValueError, match="interpolation must be one of"):
        tf.contrib.image.rotate(IMAGES, 0.1, "CUBIC")


def test_resampling() -> None:
    places = np.array([[[[0.5, 1.25], [6.0, 4.0]]], [[[-0.5, 0.0], [9.0, 9.0]]]], np.float32)
    data, warp = tf.constant(IMAGES), tf.constant(places)
    result = tf.contrib.resampler.resampler(data, warp)
    assert result.shape.as_list() == [2, 1, 2, 3]
    found, slope = value([result, tf.gradients(result, warp)[0]])
    rows = IMAGES[0, :, 0:2].mean(axis=1)
    np.testing.assert_allclose(found[0, 0, 0], 0.75 * rows[1] + 0.25 * rows[2], rtol=1e-5)
    np.testing.assert_allclose(found[0, 0, 1], IMAGES[0, 4, 6], rtol=1e-5)
    np.testing.assert_allclose(found[1, 0], [0.5 * IMAGES[1, 0, 0], [0, 0, 0]], rtol=1e-5)
    np.testing.assert_allclose(slope[0, 0, 0, 1], (rows[2] - rows[1]).sum(), rtol=1e-4)


def test_warps_by_a_flow() -> None:
    flow = np.zeros((2, 5, 7, 2), np.float32)
    flow[..., 0], flow[..., 1] = 1.0, -2.5
    found = value(tf.contrib.image.dense_image_warp(IMAGES, flow))
    middle = 0.5 * (IMAGES[:, :-1, 2:-1] + IMAGES[:, :-1, 3:])
    np.testing.assert_allclose(found[:, 1:, :4], middle[:, :, :4], rtol=1e-5)
    np.testing.assert_allclose(found[:, 0, 6], IMAGES[:, 0, 6], rtol=1e-5)
