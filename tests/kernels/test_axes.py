"""The best element along an axis, and running sums, on an emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .emulated import on_gpu

pytestmark = needs_cxx

draw = np.random.default_rng(7)

SHAPES = [(5,), (3, 70_000), (2, 900, 3), (300, 10, 1), (4, 3, 40), (20_000,)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_the_first_of_the_largest_is_found(shape: tuple[int, ...], dtype: Any) -> None:
    x = draw.integers(-100, 101, shape).astype(dtype)
    for axis in range(len(shape)):
        wanted = np.argmax(x, axis)
        np.testing.assert_array_equal(on_gpu(lambda x, a=axis: tf.argmax(x, a), x), wanted)
    result = on_gpu(lambda x: tf.argmin(x, -1, output_type=tf.int32), x)
    np.testing.assert_array_equal(result, np.argmin(x, -1))
    assert result.dtype == np.int32


def test_nans_are_never_the_largest_unless_there_are_no_others() -> None:
    x = np.array([[np.nan, 1, np.nan, 1], [np.nan] * 4, [-np.inf, np.nan, -np.inf, 0]], np.float16)
    assert on_gpu(lambda x: tf.argmax(x, 1), x).tolist() == [1, 0, 3]
    assert on_gpu(lambda x: tf.argmin(x, 1), x).tolist() == [1, 0, 0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_sums_run_along_any_axis(shape: tuple[int, ...], reverse: bool, exclusive: bool) -> None:
    x = draw.integers(-9, 10, shape)
    for axis in range(len(shape)):
        turned = np.flip(x, axis) if reverse else x
        wanted = np.cumsum(turned, axis)
        if exclusive:
            wanted -= turned
        wanted = np.flip(wanted, axis) if reverse else wanted
        result = on_gpu(lambda x, a=axis: tf.cumsum(x, a, exclusive, reverse), x)
        np.testing.assert_array_equal(result, wanted)


def test_products_of_halves_are_taken_in_float() -> None:
    x = draw.uniform(0.9, 1.1, (3, 500)).astype(np.float16)
    result = on_gpu(lambda x: tf.cumprod(x, 1), x)
    np.testing.assert_allclose(result, np.cumprod(x.astype(np.float32), 1), rtol=1e-3)


def test_bytes_wrap_around() -> None:
    x = np.full((3, 200), 100, np.int8)
    np.testing.assert_array_equal(
        on_gpu(lambda x: tf.cumsum(x, 1), x), np.cumsum(x, 1, dtype=np.int8)
    )
