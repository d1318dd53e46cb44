"""Rows of tables by number, of one part or several; and dynamic_partition, which sorts them out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

TABLE = np.arange(22, dtype=np.float32).reshape(11, 2)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def value_of(tensor, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor, feeds)


def in_parts(parts, strategy):
    """Return the table in parts: by remainder, or in blocks."""
    if strategy == "mod":
        return [TABLE[first::parts] for first in range(parts)]
    return np.array_split(TABLE, parts)


@pytest.mark.parametrize("make", [tf.constant, tf.Variable, lambda table: [table]])
def test_one_part(make):
    result = value_of(tf.nn.embedding_lookup(make(TABLE), [[0, 3], [10, 0]]))
    np.testing.assert_array_equal(result, TABLE[[[0, 3], [10, 0]]])


@given(
    st.integers(1, 11),
    st.sampled_from(["mod", "div"]),
    st.lists(st.integers(0, 10), max_size=8),
    st.booleans(),
)
def test_any_number_of_parts(parts, strategy, ids, is_open):
    with tf.Graph().as_default():
        tables = [tf.constant(part) for part in in_parts(parts, strategy)]
        feeds = {}
        if is_open:
            for number, part in enumerate(in_parts(parts, strategy)):
                tables[number] = tf.placeholder(tf.float32, [None, None])
                feeds[tables[number]] = part
        where = tf.constant(np.array(ids, np.int64).reshape(-1, 1))
        result = tf.nn.embedding_lookup(tables, where, partition_strategy=strategy)
        expected = TABLE[np.array(ids, np.int64).reshape(-1, 1)]
        assert result.shape.is_compatible_with(expected.shape)
        np.testing.assert_array_equal(value_of(result, feeds), expected)


def test_a_partitioned_variable():
    partitioner = tf.fixed_size_partitioner(3)
    table = tf.get_variable("w", initializer=tf.constant(TABLE), partitioner=partitioner)
    ids = tf.placeholder(tf.int32, [None])
    result = tf.nn.embedding_lookup(table, ids, partition_strategy="div")
    assert result.op.name == "embedding_lookup/Reshape_1"
    assert result.shape.as_list() == [None, 2]
    loss = tf.reduce_sum(tf.square(result))
    gradients = tf.gradients(loss, tf.trainable_variables())
    assert all(isinstance(gradient, tf.IndexedSlices) for gradient in gradients)
    gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    places = [10, 1, 4, 1]
    rows, by_part = value_of([result, gradients], {ids: places})
    np.testing.assert_array_equal(rows, TABLE[places])
    expected = np.zeros_like(TABLE)
    np.add.at(expected, places, 2 * TABLE[places])
    np.testing.assert_array_equal(np.concatenate(by_part), expected)


def test_each_part_is_looked_up_where_it_is(graph):
    tables = []
    for number, part in enumerate(in_parts(2, "mod")):
        with tf.device(f"/cpu:{number}"):
            tables.append(tf.Variable(part, name=f"part_{number}"))
    tf.nn.embedding_lookup(tables, [1, 2])
    gathers = [op for op in graph.get_operations() if op.type == "GatherV2"]
    assert [op.colocation_groups() for op in gathers] == [[b"loc:@part_0"], [b"loc:@part_1"]]


@pytest.mark.parametrize("parts", [1, 2])
def test_norms_are_limited(parts):
    result = value_of(tf.nn.embedding_lookup(in_parts(parts, "mod"), [0, 10, 1], max_norm=2.0))
    np.testing.assert_allclose(np.linalg.norm(result, axis=1), [1, 2, 2], rtol=1e-6)


@pytest.mark.parametrize(
    ("params", "strategy", "message"),
    [
        (None, "mod", "params must be specified"),
        ([], "mod", "at least one params"),
        (TABLE, "even", "Unrecognized partition strategy: even"),
        ([TABLE, TABLE[:, :1]], "mod", "in both shapes must be equal"),
    ],
)
def test_bad_arguments(params, strategy, message):
    with pytest.raises(ValueError, match=message):
        tf.nn.embedding_lookup(params, [0], partition_strategy=strategy)


def test_rows_that_are_not_there():
    looked_up = tf.nn.embedding_lookup(in_parts(2, "mod"), [12])
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
        value_of(looked_up)


# -- dynamic_partition


@given(st.lists(st.integers(0, 3), max_size=8))
def test_parts_are_put_together_again(numbers):
    with tf.Graph().as_default():
        data = np.arange(2 * len(numbers), dtype=np.float32).reshape(-1, 2)
        parts = tf.dynamic_partition(data, np.array(numbers, np.int32), 4)
        places = tf.dynamic_partition(np.arange(len(numbers)), np.array(numbers, np.int32), 4)
        assert [part.shape.as_list() for part in parts] == [[None, 2]] * 4
        whole = tf.dynamic_stitch([tf.to_int32(array) for array in places], parts)
        result, again = value_of([parts, whole])
    for number, part in enumerate(result):
        np.testing.assert_array_equal(part, data[np.array(numbers) == number].reshape(-1, 2))
    np.testing.assert_array_equal(again, data)


def test_partitions_that_do_not_fit():
    with pytest.raises(ValueError, match=r"Dimensions must be equal, but are 2 and 3"):
        tf.dynamic_partition(tf.zeros([2, 2]), [0, 1, 0], 2)
    parts = tf.dynamic_partition([1.0, 2.0], tf.placeholder_with_default([0, 2], [2]), 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"partitions\[1\] = 2 is not"):
        value_of(parts)
