"""Counts, bands, reversals, checks and views of bits, on an emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .emulated import on_gpu

pytestmark = needs_cxx

draw = np.random.default_rng(7)


@pytest.mark.parametrize("bins", [7, 5000])
def test_numbers_are_counted_or_their_weights_added(bins: int) -> None:
    x = draw.integers(0, 9, 3000).astype(np.int32)
    weights = draw.integers(-9, 9, 3000).astype(np.float32)
    for weight in (np.zeros(0, np.int64), weights):
        result = on_gpu(lambda x, w: tf.raw_ops.Bincount(x, bins, w), x, weight)
        kept = x < bins
        wanted = np.bincount(x[kept], weights[kept] if weight.size else None, bins)
        np.testing.assert_array_equal(result, wanted[:bins])
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        on_gpu(lambda x: tf.raw_ops.Bincount(x, bins, np.zeros(0, np.int32)), x - 1)


def test_histograms_put_what_is_outside_at_the_ends() -> None:
    x, limits = draw.normal(size=2000).astype(np.float32), np.array([-1, 1], np.float32)
    result = on_gpu(lambda x, r: tf.histogram_fixed_width(x, r, 10), x, limits)
    assert result.sum() == 2000
    np.testing.assert_array_equal(
        result, np.histogram(np.clip(x, -1, np.float32(0.9999)), 10, (-1, 1))[0]
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="value_range"):
        on_gpu(lambda x, r: tf.histogram_fixed_width(x, r, 10), x, limits[::-1].copy())


def test_buckets_are_found_among_boundaries() -> None:
    x = draw.integers(-3, 30, (5, 7)).astype(np.int64)
    result = on_gpu(lambda x: tf.raw_ops.Bucketize(x, boundaries=[0.0, 9.5, 20.0]), x)
    np.testing.assert_array_equal(result, np.searchsorted([0.0, 9.5, 20.0], x, "right"))


@pytest.mark.parametrize(("axis", "batch"), [(1, 0), (0, 1), (2, 0), (0, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.complex128])
def test_sequences_are_turned_around(axis: int, batch: int, dtype: Any) -> None:
    x = draw.integers(0, 2, (3, 4, 5)).astype(dtype)
    lengths = draw.integers(0, x.shape[axis] + 1, x.shape[batch])
    result = on_gpu(lambda x, n: tf.reverse_sequence(x, n, axis, batch), x, lengths)
    wanted = x.copy()
    for entry, length in enumerate(lengths):
        part = np.moveaxis(wanted, (batch, axis), (0, 1))[entry, :length]
        part[...] = part[::-1].copy()
    np.testing.assert_array_equal(result, wanted)


def test_bands_keep_what_is_near_the_diagonal() -> None:
    x = draw.normal(size=(2, 70, 40))
    for lower, upper in ((0, 0), (3, -1), (-1, 5), (70, 2)):
        result = on_gpu(lambda x, a=lower, b=upper: tf.linalg.band_part(x, a, b), x)
        above = np.arange(40) - np.arange(70)[:, None]
        kept = (above >= (-lower if lower >= 0 else -99)) & (above <= (upper if upper >= 0 else 99))
        np.testing.assert_array_equal(result, x * kept)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_one_is_hot_along_any_axis(axis: int) -> None:
    x = draw.integers(-1, 6, (4, 3)).astype(np.int32)
    result = on_gpu(lambda x: tf.one_hot(x, 5, axis=axis), x)
    np.testing.assert_array_equal(result, np.stack([x == place for place in range(5)], axis))


def test_what_is_not_finite_ends_the_run() -> None:
    x = draw.normal(size=900).astype(np.float16)
    np.testing.assert_array_equal(on_gpu(lambda x: tf.check_numerics(x, "here") + 0, x), x)
    for bad, what in ((np.inf, "Inf"), (np.nan, "NaN")):
        x[600] = bad
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"here : Tensor had {what}"):
            on_gpu(lambda x: tf.check_numerics(x, "here"), x)


def test_bits_are_seen_as_another_type() -> None:
    x = draw.normal(size=(3, 5)).astype(np.float32)
    result = on_gpu(lambda x: tf.bitcast(x, tf.uint8), x)
    np.testing.assert_array_equal(result, x.view(np.uint8).reshape(3, 5, 4))
    np.testing.assert_array_equal(on_gpu(lambda x: tf.bitcast(x, tf.float32), result), x)


def test_sparse_parts_are_put_into_what_is_dense() -> None:
    where = np.array([[0, 1], [2, 0], [2, 3]])

    def make(i: Any, v: Any) -> Any:
        return tf.sparse_to_dense(i, (3, 4), v, tf.constant(7.0))

    wanted = np.full((3, 4), 7, np.float32)
    wanted[tuple(where.T)] = [1, 2, 3]
    values = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(on_gpu(make, where, values), wanted)
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of order"):
        on_gpu(make, where[::-1].copy(), values)


def test_vectors_are_multiplied_to_what_is_orthogonal() -> None:
    a, b = draw.normal(size=(2, 40, 3))
    result = on_gpu(tf.linalg.cross, a, b)
    np.testing.assert_allclose(result, np.cross(a, b), rtol=1e-12)
