"""Pooling on an emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .emulated import on_gpu
from .on_both import check, gradients, numbers

pytestmark = needs_cxx


@pytest.mark.parametrize("pool", [tf.nn.max_pool, tf.nn.avg_pool])
@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
@pytest.mark.parametrize("channels", [4, 3])
def test_windows_that_overlap_and_their_gradients(pool: Any, form: str, channels: int) -> None:
    image = numbers(2, 7, 8, channels)
    sizes, strides = [1, 3, 2, 1], [1, 2, 1, 1]
    if form == "NCHW":
        image = np.ascontiguousarray(image.transpose(0, 3, 1, 2))
        sizes, strides = [1, 1, 3, 2], [1, 1, 2, 1]
    check(gradients(lambda x: pool(x, sizes, strides, "SAME", data_format=form)), image)


@pytest.mark.parametrize("pool", [tf.nn.max_pool3d, tf.nn.avg_pool3d])
def test_volumes(pool: Any) -> None:
    sizes, strides = [1, 2, 3, 2, 1], [1, 2, 2, 1, 1]
    check(gradients(lambda x: pool(x, sizes, strides, "SAME")), numbers(1, 4, 5, 3, 4))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32, np.uint8])
def test_the_largest_of_any_dtype(dtype: Any) -> None:
    image = (9 * numbers(1, 5, 5, 4)).astype(np.int8).astype(dtype)
    check(lambda x: tf.nn.max_pool(x, 2, 2, "SAME"), image)


def test_the_gradient_of_equals_goes_to_the_first() -> None:
    image = np.zeros((1, 3, 3, 1), np.float32)

    def make(x: Any) -> Any:
        return tf.gradients(tf.nn.max_pool(x, 2, 1, "VALID"), x)[0]

    result = on_gpu(make, image)
    np.testing.assert_array_equal(result[0, :, :, 0], [[1, 1, 0], [1, 1, 0], [0, 0, 0]])


def test_windows_of_many_elements_and_of_nans() -> None:
    image = numbers(1, 20, 20, 1)
    image[0, 0, 0] = np.nan
    check(
        lambda x: tf.where(tf.is_nan(y := tf.nn.max_pool(x, 2, 2, "VALID")), 0 * y, y)[0, 1:], image
    )
    image[0, 0, 0] = 0
    check(gradients(lambda x: tf.nn.max_pool(x, 17, 1, "VALID")), image)


def test_gradients_of_gradients() -> None:
    def make(x: Any) -> Any:
        result = tf.nn.max_pool(x, 2, 2, "SAME")
        (dx,) = tf.gradients(result * result, x)
        return [dx, *tf.gradients(dx * dx, x)]

    check(make, numbers(1, 5, 6, 4))
