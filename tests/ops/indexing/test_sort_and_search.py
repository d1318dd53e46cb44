"""Roll, sort, argsort, searching sorted values."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import gpugraph as tf

from ..function_cases import refuses, same

Invalid = tf.errors.InvalidArgumentError
X = np.float32([[3, 1, 2], [0, -1, 5]])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8])
def test_sort_and_argsort_along_any_axis(axis: int, dtype: type) -> None:
    x = X.astype(dtype)
    same(lambda: tf.sort(x, axis), np.sort(x, axis))
    same(lambda: tf.argsort(x, axis), np.argsort(x, axis, kind="stable"))
    same(lambda: tf.sort(x, axis, "DESCENDING"), np.flip(np.sort(x, axis), axis))
    same(lambda: tf.argsort(x, axis, "DESCENDING"), np.argsort(-x, axis, kind="stable"))


def test_sorting_integers_overflows_nowhere() -> None:
    lowest, highest = -(2**31), 2**31 - 1
    same(lambda: tf.sort([3, highest, lowest, -1]), [lowest, -1, 3, highest])
    same(lambda: tf.sort(np.uint8([3, 255, 0])), [0, 3, 255])


def test_what_sort_refuses() -> None:
    refuses(lambda: tf.sort(X, direction="UP"), ValueError, "ASCENDING or DESCENDING")
    refuses(lambda: tf.sort(X, axis=2), ValueError, "not in the range")
    refuses(lambda: tf.sort(X, axis=tf.placeholder(tf.int32, [])), ValueError, "constant scalar")
    refuses(lambda: tf.sort(tf.placeholder(tf.float32), axis=0), ValueError, "known rank")


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-3, 2)), max_size=4),
)
def test_roll_is_numpys(sizes: list[int], moves: list[tuple[int, int]]) -> None:
    x = np.arange(np.prod(sizes)).reshape(sizes)
    moves = [(by, axis) for by, axis in moves if -x.ndim <= axis < x.ndim]
    by, axes = [np.array([move[index] for move in moves], np.int32) for index in (0, 1)]
    same(lambda: tf.roll(x, by, axes), np.roll(x, tuple(by.tolist()), tuple(axes.tolist())))


def test_what_roll_refuses() -> None:
    refuses(lambda: tf.roll(X, [1, 2], [0]), ValueError, "one shape")
    refuses(lambda: tf.roll(1.0, 1, 0), ValueError, "at least rank 1")
    refuses(lambda: tf.roll(X, 1, 3), Invalid, "not in the range")


def test_searchsorted_finds_the_place_before_or_after_equals() -> None:
    same(lambda: tf.searchsorted([1, 3, 3, 5], [3, 0, 9]), [1, 0, 4])
    same(lambda: tf.searchsorted([1, 3, 3, 5], [3, 0, 9], "right", tf.int64), [3, 0, 4])
    same(lambda: tf.searchsorted([[1.0, 3.0], [2.0, 4.0]], [[3.0], [9.0]]), [[1], [2]])
    refuses(lambda: tf.searchsorted([1], [1], "middle"), ValueError, "'right' or 'left'")


def test_k_is_a_scalar():
    for k in ([1], tf.constant([1])):
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1 for 'TopKV2"):
            tf.nn.top_k(tf.constant([1.0, 2.0]), k=k)
