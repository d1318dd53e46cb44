"""Rows picked and changed by their numbers, on an emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .emulated import on_gpu

pytestmark = needs_cxx

draw = np.random.default_rng(7)


def changed(target: Any, where: Any, updates: Any, how: Any) -> Any:
    """Row by row, in order, in the target's dtype."""
    wanted = target.copy()
    for row, update in zip(where, updates, strict=True):
        wanted[row] = how(wanted[row], update)
    return wanted


def whole(dtype: Any, *shape: int) -> Any:
    """Small whole numbers: their sums are exact in any order."""
    return draw.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("count", [1, 37, 5000])
@pytest.mark.parametrize("width", [1, 3, 70])
def test_rows_are_added_in_any_number(count: int, width: int) -> None:
    if count * width > 20_000:
        width = 2
    start, updates = whole(np.float32, 40, width), whole(np.float32, count, width)
    where = draw.integers(0, 40, count)
    result = on_gpu(lambda ref, i, x: tf.scatter_add(ref, i, x), where, updates, start=start)
    np.testing.assert_array_equal(result, changed(start, where, updates, np.add))


def test_many_changes_of_one_row_are_joined_across_pieces() -> None:
    where = np.zeros(6000, np.int32)
    where[4000:] = draw.integers(1, 100_000, 2000)
    data = whole(np.int64, 6000)
    result = on_gpu(lambda x, i: tf.unsorted_segment_sum(x, i, 100_000), data, where)
    wanted = np.zeros(100_000, np.int64)
    np.add.at(wanted, where, data)
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    ("function", "how"),
    [
        (tf.scatter_update, lambda _, new: new),
        (tf.scatter_sub, np.subtract),
        (tf.scatter_div, np.divide),
        (tf.scatter_min, np.minimum),
    ],
)
def test_changes_of_one_row_come_in_order(function: Any, how: Any) -> None:
    start, updates = whole(np.float64, 5, 9) * 8, 2.0 ** whole(np.float64, 300, 9)
    where = draw.integers(0, 5, 300).astype(np.int32)
    result = on_gpu(lambda ref, i, x: function(ref, i, x), where, updates, start=start)
    np.testing.assert_allclose(result, changed(start, where, updates, how), rtol=1e-12)


def test_integers_are_divided_towards_zero_and_not_by_zero() -> None:
    start, where = np.array([-7, 7, 9], np.int32), np.array([0, 1, 1], np.int32)
    result = on_gpu(tf.scatter_div, where, np.array([2, 2, -2], np.int32), start=start)
    assert result.tolist() == [-3, -1, 9]
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        on_gpu(tf.scatter_div, where, np.array([2, 0, -2], np.int32), start=start)


def test_a_number_for_all_rows_is_spread() -> None:
    start, where = whole(np.float32, 4, 3), np.array([3, 1, 3], np.int64)
    result = on_gpu(tf.scatter_add, where, np.float32(2), start=start)
    np.testing.assert_array_equal(result, changed(start, where, [2] * 3, np.add))


@pytest.mark.parametrize("bad", [-1, 4])
def test_numbers_outside_fail_and_write_nothing_outside(bad: int) -> None:
    start, where = whole(np.float16, 4, 3), np.array([3, bad], np.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[0, 4\)"):
        on_gpu(tf.scatter_add, where, np.ones((2, 3), np.float16), start=start)


def test_segments_drop_negative_numbers_and_keep_what_is_neutral() -> None:
    data, where = whole(np.int32, 6, 2), np.array([1, -1, 1, 3, 3, -5], np.int32)
    for make, neutral, how in (
        (tf.unsorted_segment_max, np.iinfo(np.int32).min, np.maximum),
        (tf.unsorted_segment_prod, 1, np.multiply),
    ):
        result = on_gpu(lambda x, i, make=make: make(x, i, 4), data, where)
        start = np.full((4, 2), neutral, np.int32)
        kept = where >= 0
        np.testing.assert_array_equal(result, changed(start, where[kept], data[kept], how))


def test_places_are_found_by_coordinates() -> None:
    params = whole(np.float64, 4, 5, 6)
    where = np.stack([draw.integers(0, size, (3, 2)) for size in (4, 5)], -1).astype(np.int32)
    result = on_gpu(tf.gather_nd, params, where)
    np.testing.assert_array_equal(result, params[where[..., 0], where[..., 1]])
    updates = whole(np.float64, 3, 2, 6)
    result = on_gpu(lambda x, i, y: tf.tensor_scatter_add(x + 0, i, y), params, where, updates)
    wanted = params.copy()
    np.add.at(wanted, (where[..., 0], where[..., 1]), updates)
    np.testing.assert_array_equal(result, wanted)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shape \[4, 5\]"):
        on_gpu(tf.gather_nd, params, where + 3)
