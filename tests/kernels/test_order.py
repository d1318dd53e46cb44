"""Elements of rows in order, on an emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .emulated import on_gpu

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
