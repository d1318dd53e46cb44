"""Segments, sorted and unsorted: their elements, ignored elements, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import gpugraph as tf

from ..function_cases import fetched, refuses, same

X = np.float32([[1, 2], [3, -4], [5, 6]])
Invalid = tf.errors.InvalidArgumentError


def test_sorted_segments_leave_gaps_at_their_neutral_value() -> None:
    same(lambda: tf.segment_sum(X, [0, 0, 2]), [[4, -2], [0, 0], [5, 6]])
    same(lambda: tf.segment_mean(X, [0, 0, 2]), [[2, -1], [0, 0], [5, 6]])
    same(lambda: tf.segment_prod(X, [0, 0, 2]), [[3, -8], [1, 1], [5, 6]])
    same(lambda: tf.segment_max(X, [0, 0, 2]), [[3, 2], [0, 0], [5, 6]])
    same(lambda: tf.segment_min(X, [0, 0, 2]), [[1, -4], [0, 0], [5, 6]])


def test_unsorted_segments_drop_negative_ids() -> None:
    lowest, highest = np.finfo(np.float32).min, np.finfo(np.float32).max
    same(lambda: tf.unsorted_segment_sum(X, [1, -1, 1], 2), [[0, 0], [6, 8]])
    same(lambda: tf.unsorted_segment_prod(X, [1, -1, 1], 2), [[1, 1], [5, 12]])
    same(lambda: tf.unsorted_segment_max(X, [1, -1, 1], 2), [[lowest] * 2, [5, 6]])
    same(lambda: tf.unsorted_segment_min(X, [1, -1, 1], 2), [[highest] * 2, [1, 2]])
    same(lambda: tf.unsorted_segment_mean(X, [1, -1, 1], 2), [[0, 0], [3, 4]])
    root = np.sqrt(np.float32(2))
    same(lambda: tf.unsorted_segment_sqrt_n(X, [1, -1, 1], 2), [[0, 0], [6 / root, 8 / root]])


def test_what_segments_refuse() -> None:
    refuses(lambda: tf.segment_sum(X, [1, 0, 2]), Invalid, "not increasing: 0 follows 1")
    refuses(lambda: tf.segment_sum(X, [0, 1, -1]), Invalid, "must be >= 0")
    refuses(
        lambda: tf.segment_sum(X, [0, 2]),
        Invalid,
        "should be the same size as dimension 0 of input. They have 2 and 3",
    )
    refuses(lambda: tf.segment_sum(1.0, [0]), ValueError, "at least rank 1")
    refuses(
        lambda: tf.unsorted_segment_max(X, [0, 0, 4], 4), Invalid, r"= 4 is out of range \[0, 4\)"
    )
    refuses(lambda: tf.unsorted_segment_max(X, [0, 0], 4), ValueError, "Dimensions must be equal")


def slope(make: Callable[[Any], Any], x: np.ndarray) -> Any:
    def gradient() -> Any:
        values = tf.constant(x)
        return tf.convert_to_tensor(tf.gradients(make(values), values)[0])

    return fetched(gradient)


@pytest.mark.parametrize("is_sorted", [False, True])
def test_products_with_two_zeros_have_second_gradients(is_sorted: bool) -> None:
    x, towards = np.float64([2, 3, 0, 0, 5]), np.float64([0.6, 0.8, 0.7, 0.9, 1.1])

    def second() -> Any:
        values = tf.constant(x)
        ids = tf.constant([0, 0, 1, 1, 1])
        products = (
            tf.segment_prod(values, ids) if is_sorted else tf.unsorted_segment_prod(values, ids, 2)
        )
        (first,) = tf.gradients(products, values)
        return tf.convert_to_tensor(tf.gradients(first, values, towards)[0])

    np.testing.assert_allclose(fetched(second), [0.8, 0.6, 0.9 * 5, 0.7 * 5, 0])


def test_extremes_share_the_gradient_and_products_count_zeros() -> None:
    tied = np.float32([2, 2, 1, 5])
    result = slope(lambda x: tf.segment_max(x, [0, 0, 0, 1]), tied)
    assert result.tolist() == [0.5, 0.5, 0, 1]
    result = slope(lambda x: tf.unsorted_segment_min(x, [1, 1, -1, 0], 2), tied)
    assert result.tolist() == [0.5, 0.5, 0, 1]
    one_zero, two_zeros = np.float32([0, 3, 4]), np.float32([0, 0, 4])
    for make in (
        lambda x: tf.segment_prod(x, [0, 0, 0]),
        lambda x: tf.unsorted_segment_prod(x, [0, 0, 0], 1),
    ):
        assert slope(make, one_zero).tolist() == [12, 0, 0]
        assert slope(make, two_zeros).tolist() == [0, 0, 0]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.randoms())
def test_sorted_and_unsorted_agree(ids: list[int], random: Any) -> None:
    numbers = np.array([random.randint(-5, 5) for _ in ids])
    ordered = np.sort(ids)
    count = int(ordered[-1]) + 1
    same(
        lambda: tf.segment_sum(numbers, ordered),
        fetched(lambda: tf.unsorted_segment_sum(numbers, ordered, count)),
    )


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_gpus_sum_segments_too(device: str) -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        with tf.device(device):
            total = tf.segment_sum(tf.constant(X), tf.constant([0, 1, 1]))
        assert session.run(total).tolist() == [[1, 2], [8, 2]]


@pytest.mark.parametrize("count", [0, None])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "mean"])
def test_gradients_of_no_segments(kind: str, count: int | None):
    """Elements of no segment get a zero gradient, whether the number of segments is static or
    not.
    """
    number = tf.placeholder_with_default(0, []) if count is None else count
    data = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    result = getattr(tf, f"unsorted_segment_{kind}")(data, [-1, -1], number)
    (slope,) = tf.gradients(result, data)
    with tf.Session() as session:
        assert session.run(slope).tolist() == [[0, 0], [0, 0]]


def test_gradients_of_some_segments_of_a_number_that_a_run_knows():
    number = tf.placeholder(tf.int32, [])
    data = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    result = tf.unsorted_segment_max(data, [1, -1, 1], number)
    (slope,) = tf.gradients(result, data)
    with tf.Session() as session:
        assert session.run(slope, {number: 2}).tolist() == [[0, 0], [0, 0], [1, 1]]
