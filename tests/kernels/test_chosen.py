"""Ops whose output size depends on values, on an emulated GPU: where, unique, parts, stitches,
next to NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .emulated import on_gpu
from .on_both import check

pytestmark = needs_cxx

draw = np.random.default_rng(5)

BORDERS = [1, 31, 33, 511, 513, 4095, 4096, 4097, 9000]
"""Sizes around those of warps, their parts, and tiles."""


# -- where


@pytest.mark.parametrize("size", BORDERS)
def test_what_is_true_is_found_in_order(size: int) -> None:
    for chosen in (draw.random(size) < 0.3, np.ones(size, bool), np.zeros(size, bool)):
        np.testing.assert_array_equal(on_gpu(tf.where, chosen), np.argwhere(chosen))


def test_only_the_last_is_true() -> None:
    chosen = np.arange(8193) == 8192
    np.testing.assert_array_equal(on_gpu(tf.where, chosen), [[8192]])


@pytest.mark.parametrize("shape", [(5, 7), (1, 300, 20), (2, 1, 3, 1, 2, 2, 1, 3), (4, 0, 2), ()])
def test_coordinates_are_those_of_rows(shape: tuple[int, ...]) -> None:
    chosen = np.asarray(draw.random(shape) < 0.5)
    result = on_gpu(tf.where, chosen)
    wanted = np.argwhere(chosen) if shape else np.zeros((int(chosen), 0))
    assert result.shape == wanted.shape and result.dtype == np.int64
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int64", "complex64"])
def test_what_is_not_zero_is_found(dtype: str) -> None:
    x = draw.integers(-1, 2, (60, 5)).astype(dtype)
    if x.dtype.kind == "f":
        x[:4] = [-0.0, np.nan, np.inf, 0, 6e-8]
    if x.dtype.kind == "c":
        x[:4] = [0, 1j, -1j, 2, 0]
    np.testing.assert_array_equal(on_gpu(tf.where, x), np.argwhere(x))


def test_masks_keep_rows_and_their_gradients() -> None:
    x = draw.normal(size=(70, 4))

    def masked(x: Any) -> list[Any]:
        kept = tf.boolean_mask(x, tf.reduce_sum(x, 1) > 0)
        return [kept, tf.convert_to_tensor(tf.gradients(kept * kept, x)[0])]

    check(masked, x)


# -- unique


@pytest.mark.parametrize("size", BORDERS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_different_elements_come_in_order_of_appearance(size: int, dtype: str) -> None:
    index = tf.as_dtype("int64" if dtype == "int32" else "int32")
    for most in (1, 50, 10**9):
        x = draw.integers(-most, most, size).astype(dtype)
        values, at, counts = on_gpu(lambda x: tf.unique_with_counts(x, index), x)
        _, first, often = np.unique(x, return_index=True, return_counts=True)
        order = np.argsort(first)
        np.testing.assert_array_equal(values, x[first[order]])
        np.testing.assert_array_equal(counts, often[order])
        np.testing.assert_array_equal(values[at], x)
        assert at.dtype == counts.dtype == index.as_numpy_dtype


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float32", "float64"])
def test_different_elements_of_all_dtypes(dtype: str) -> None:
    x = draw.integers(0, 2 if dtype == "bool" else 9, 500).astype(dtype)
    if x.dtype.kind == "f":
        x[[3, 40, 41, 77]] = [-0.0, np.nan, np.nan, -np.inf]
    check(lambda x: list(tf.unique(x)), x)


# -- parts


@pytest.mark.parametrize(
    "size, dtype",
    [(1, "float32"), (4096, "float32"), (4097, "float32")]
    + [(300, dtype) for dtype in ("bool", "float16", "int64", "complex128")],
)
def test_rows_in_parts(size: int, dtype: str) -> None:
    parts = draw.integers(0, 4, size).astype(np.int32)
    parts[parts == 2] = 3  # one of them empty
    x = draw.integers(0, 100, (size, 3)).astype(dtype)
    result = on_gpu(lambda x, p: tf.dynamic_partition(x, p, 4), x, parts)
    for number, part in enumerate(result):
        np.testing.assert_array_equal(part, x[parts == number])


def test_parts_of_matrices_of_numbers_and_of_none() -> None:
    x, parts = draw.normal(size=(6, 7, 2)), draw.integers(0, 300, (6, 7)).astype(np.int32)
    result = on_gpu(lambda x, p: tf.dynamic_partition(x, p, 300), x, parts)
    for number, part in enumerate(result):
        np.testing.assert_array_equal(part, x[parts == number])
    result = on_gpu(lambda x, p: tf.dynamic_partition(x, p, 2), x[:0], parts[:0])
    assert [array.shape for array in result] == [(0, 2), (0, 2)]


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_number_of_no_part_ends_the_run(wrong: int) -> None:
    parts = np.int32([0, wrong, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"partitions hold .* in \[0, 3\)"):
        on_gpu(lambda x, p: tf.dynamic_partition(x, p, 3), np.ones((3, 2), np.float32), parts)


# -- stitches


@pytest.mark.parametrize("dtype", ["bool", "float16", "float64", "complex128"])
def test_rows_of_lists_are_put_in_place_and_the_last_stays(dtype: str) -> None:
    shapes = [(40, 50), (), (0,), (700,)]
    named = [draw.integers(0, 3000, shape).astype(np.int32) for shape in shapes]
    data = [draw.integers(0, 99, (*shape, 2)).astype(dtype) for shape in shapes]
    wanted = np.zeros((max(int(array.max(initial=-1)) for array in named) + 1, 2), dtype)
    for where, rows in zip(named, data):
        for index, row in zip(where.reshape(-1), rows.reshape(-1, 2)):
            wanted[index] = row
    result = on_gpu(lambda *x: tf.dynamic_stitch(x[:4], x[4:]), *named, *data)
    np.testing.assert_array_equal(result, wanted)


def test_stitches_of_nothing_and_of_numbers_below_zero() -> None:
    none = np.zeros(0, np.int32)
    assert on_gpu(lambda i, x: tf.dynamic_stitch([i], [x]), none, np.ones((0, 3))).shape == (0, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="indices can't be negative"):
        on_gpu(lambda i, x: tf.dynamic_stitch([i], [x]), np.int32([1, -1]), np.ones((2, 3)))


def test_parts_are_stitched_together_again_and_derived() -> None:
    parts, x = draw.integers(0, 5, 5000).astype(np.int32), draw.normal(size=(5000, 2))

    def back(x: Any, parts: Any) -> list[Any]:
        places = tf.dynamic_partition(tf.range(5000), parts, 5)
        whole = tf.dynamic_stitch(places, tf.dynamic_partition(x, parts, 5))
        return [whole, tf.gradients(whole * whole, x)[0]]

    check(back, x, parts)
