"""Partitioners: the number of parts, and the errors."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

SIZES = st.integers(1, 2000)
DTYPES = st.sampled_from([tf.float32, tf.float64, tf.string, tf.bool])


def row_bytes(columns, dtype):
    return columns * (16 if dtype == tf.string else dtype.size)


@given(SIZES, st.integers(1, 50), DTYPES)
def test_a_fixed_number_or_as_many_as_there_are_rows(rows, parts, dtype):
    partitioner = tf.fixed_size_partitioner(parts)
    assert partitioner(shape=tf.TensorShape([rows, 3]), dtype=dtype) == [min(parts, rows), 1]


def test_along_another_axis():
    shape = tf.TensorShape([2, 100])
    for partitioner in (
        tf.fixed_size_partitioner(4, axis=1),
        tf.variable_axis_size_partitioner(200, axis=1),
        tf.min_max_variable_partitioner(4, axis=1, min_slice_size=8),
    ):
        assert partitioner(shape=shape, dtype=tf.float32) == [1, 4]


@given(SIZES, st.integers(1, 20), DTYPES, st.integers(1, 4096))
def test_no_part_is_larger_than_the_limit_unless_a_row_is(rows, columns, dtype, limit):
    partitioner = tf.variable_axis_size_partitioner(limit)
    parts, one = partitioner(shape=tf.TensorShape([rows, columns]), dtype=dtype)
    assert one == 1
    most = -(-rows // parts)
    assert most * row_bytes(columns, dtype) <= limit or most == 1
    fewer = -(-rows // (parts - 1)) if parts > 1 else rows + 1
    assert fewer * row_bytes(columns, dtype) > limit or parts == 1


@pytest.mark.parametrize(
    ("rows", "dtype", "expected"),
    [
        (1, tf.float32, 1),
        (8, tf.float32, 2),
        (8, tf.float64, 4),
        (8, tf.string, 8),
        (8, tf.bool, 1),
    ],
)
def test_by_the_size_of_a_part(rows, dtype, expected):
    partitioner = tf.variable_axis_size_partitioner(64, bytes_per_string_element=16)
    assert partitioner(shape=tf.TensorShape([rows, 3]), dtype=dtype) == [expected, 1]


def test_by_the_size_of_a_part_but_not_too_many():
    partitioner = tf.variable_axis_size_partitioner(10, max_shards=3)
    assert partitioner(shape=tf.TensorShape([1000, 4]), dtype=tf.float32) == [3, 1]


@given(SIZES, st.integers(1, 20), DTYPES, st.integers(1, 50), st.integers(1, 4096))
def test_as_many_as_keep_parts_large_enough(rows, columns, dtype, most, least):
    partitioner = tf.min_max_variable_partitioner(most, min_slice_size=least)
    parts, one = partitioner(shape=tf.TensorShape([rows, columns]), dtype=dtype)
    size = rows * row_bytes(columns, dtype)
    assert one == 1
    assert 1 <= parts <= min(rows, most)
    assert (parts - 1) * least < size
    assert parts in (rows, most) or parts * least >= size


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_shard_bytes": 0}, "must be positive, but they are 0 and 16"),
        ({"max_shard_bytes": 8, "bytes_per_string_element": 0}, "must be positive"),
        ({"max_shard_bytes": 8, "max_shards": 0}, "max_shards must be positive, but it is 0"),
    ],
)
def test_bad_limits(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.variable_axis_size_partitioner(**arguments)


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ([8, 3], tf.float32, "shape is not a TensorShape"),
        (tf.TensorShape([None, 3]), tf.float32, "not fully defined"),
        (tf.TensorShape([8]), tf.float32, r"along axis 1 when shape is only \(8,\)"),
        (tf.TensorShape([8, None]), tf.float32, "not fully defined"),
        (tf.TensorShape([8, 3]), "float32", "dtype is not a DType"),
    ],
)
def test_what_is_no_variable(shape, dtype, message):
    with pytest.raises(ValueError, match=message):
        tf.min_max_variable_partitioner(8, axis=1)(shape=shape, dtype=dtype)
