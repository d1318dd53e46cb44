"""Elements of rows in order, on an emulated GPU."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.cuda.driver.driver_interface import Geometry
from gpugraph.ops.framework import row_update_launches

from ..devices.cuda.gpus import gpu, needs_cxx, on_gpu as on_device
from .emulated import Machine, on_gpu

pytestmark = needs_cxx

draw = np.random.default_rng(7)

SHORT, LONG = 300, 6000
"""Rows that are sorted in shared memory, and longer ones."""


def stable(x: Any, k: int) -> Any:
    """Return the places of the k largest of each row, of equals the first first."""
    size = x.shape[-1]
    return size - 1 - np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1][..., :k]


@pytest.mark.parametrize(
    ("rows", "size", "k"),
    [(3, SHORT, 5), (1, SHORT, SHORT), (1, 1, 1), (17, LONG, 9), (2, LONG, 70), (1, LONG, LONG)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64])
def test_the_largest_come_first_and_of_equals_the_first(
    rows: int, size: int, k: int, dtype: Any
) -> None:
    x = draw.integers(-100, 101, (rows, size)).astype(dtype)
    values, places = on_gpu(lambda x: tf.nn.top_k(x, k), x)
    wanted = stable(x, k)
    np.testing.assert_array_equal(places, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, -1))


def test_infinities_zeros_and_nans_have_their_order() -> None:
    x = np.array([[-np.inf, -0.0, 0.0, np.inf, np.nan, -1, 1, -np.nan]])
    _, places = on_gpu(lambda x: tf.nn.top_k(x, 8), x)
    assert places.tolist() == [[4, 7, 3, 6, 1, 2, 5, 0]]


@pytest.mark.parametrize("shape", [(4, SHORT), (18, LONG), (2, LONG)])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_nth_element_is_that_of_sorted_rows(shape: tuple[int, int], reverse: bool) -> None:
    x = draw.normal(size=shape)
    ordered = np.sort(x, -1)[:, ::-1] if reverse else np.sort(x, -1)
    for n in (0, 77, shape[1] - 1):
        result = on_gpu(lambda x, n=n: tf.raw_ops.NthElement(x, n, reverse=reverse), x)
        np.testing.assert_array_equal(result, ordered[:, n])


@pytest.mark.parametrize("backwards", [True, False])
def test_rows_are_selected_by_threads_in_any_order(machine: Machine, backwards: bool) -> None:
    machine.how = {"backwards": backwards}
    x = draw.integers(-100, 101, (17, LONG)).astype(np.float32)
    _, places = on_gpu(lambda x: tf.nn.top_k(x, 9), x)
    np.testing.assert_array_equal(places, stable(x, 9))
    result = on_gpu(lambda x: tf.raw_ops.NthElement(x, 77), x)
    np.testing.assert_array_equal(result, np.sort(x, -1)[:, 77])
    assert machine.functions == ["gg_select", "gg_nth"]


@pytest.mark.parametrize("few_tiles", [64, 1])
def test_a_sort_of_few_tiles_has_two_launches_for_each_byte(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, few_tiles: int
) -> None:
    machine.how = {"backwards": True}
    monkeypatch.setattr(row_update_launches, "_FEW_TILES", few_tiles)
    x = draw.integers(-100, 101, (1, 3 * LONG)).astype(np.float32)
    _, places = on_gpu(lambda x: tf.nn.top_k(x, 3 * LONG), x)
    np.testing.assert_array_equal(places, stable(x, 3 * LONG))
    a_pass = ["gg_digits", "gg_place"] if few_tiles > 1 else ["gg_digits", "gg_starts", "gg_place"]
    assert machine.functions == ["gg_element_keys", *a_pass * 4, "gg_take"]


def test_each_digit_of_many_tiles_begins_after_the_tiles_before() -> None:
    tiles, digits = 2500, 3
    counts = draw.integers(0, 4096, (digits, tiles)).astype(np.uint32)
    with closing(gpu()) as device:
        array = on_device(device, np.append(counts.ravel(), np.zeros(digits, np.uint32)))
        module = device.driver.compile(
            '#define KEY uint32_t\n#define COUNTED 0\n#include "radix_sort.cu"\n', "radix_sort.cu"
        )
        geometry = Geometry((digits, 1, 1), (1024, 1, 1))
        device.driver.launcher(
            module, "gg_starts", geometry, (array.address, tiles), device.compute
        )()
        result = device.read(array)
    sums = counts.cumsum(1, dtype=np.uint32)
    np.testing.assert_array_equal(result[: digits * tiles].reshape(digits, tiles), sums - counts)
    np.testing.assert_array_equal(result[digits * tiles :], sums[:, -1])


def test_targets_are_among_the_largest_with_ties_counted_in() -> None:
    x = draw.integers(0, 9, (40, 11)).astype(np.float32)
    x[3, 2], x[4, 0] = np.inf, np.nan
    targets = draw.integers(-1, 12, 40).astype(np.int32)
    wanted = [
        bool(0 <= t < 11 and np.isfinite(row).all() and (row > row[t]).sum() < 3)
        for row, t in zip(x, targets, strict=True)
    ]
    assert on_gpu(lambda x, t: tf.nn.in_top_k(x, t, 3), x, targets).tolist() == wanted


@pytest.mark.parametrize("side", ["left", "right"])
def test_values_are_looked_up_in_sorted_rows(side: Any) -> None:
    rows, values = np.sort(draw.integers(0, 50, (2, 33))), draw.integers(-3, 55, (2, 40))
    result = on_gpu(lambda x, y: tf.searchsorted(x, y, side), rows, values)
    wanted = [np.searchsorted(x, y, side) for x, y in zip(rows, values, strict=True)]
    np.testing.assert_array_equal(result, wanted)
