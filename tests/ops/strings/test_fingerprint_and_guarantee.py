"""Ops that stand apart, counters, and functions of other ops that have no family."""

from __future__ import annotations

import time

import numpy as np
import pytest

import gpugraph as tf

from ..function_cases import refuses, same


@pytest.mark.parametrize("use_resource", [False, True])
def test_counts_up_to_a_limit(use_resource: bool):
    counter = tf.Variable(1, use_resource=use_resource)
    step = tf.count_up_to(counter, 3)
    with tf.Session() as session:
        session.run(counter.initializer)
        assert [session.run(step) for _ in range(2)] == [1, 2]
        with pytest.raises(tf.errors.OutOfRangeError, match="limit of 3"):
            session.run(step)
        assert session.run(counter) == 3


def test_timestamp_is_of_each_run():
    now = tf.timestamp()
    with tf.Session() as session:
        before = time.time()
        first, second = session.run(now), session.run(now)
    assert before <= first <= second <= time.time()


def test_fingerprints_of_strings_are_those_of_their_buckets():
    words = np.array(["a", "bc", ""])
    with tf.Session() as session:
        found, buckets = session.run(
            [tf.fingerprint(words), tf.string_to_hash_bucket_fast(words, 2**31)]
        )
    whole = found.view("<u8")[:, 0]
    assert (whole % 2**31).tolist() == buckets.tolist()
    refuses(lambda: tf.fingerprint(words, "other"), tf.errors.InvalidArgumentError, "other")
    refuses(lambda: tf.fingerprint(3), ValueError, "rank at least 1")


def test_parallel_stack():
    same(lambda: tf.parallel_stack([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    refuses(lambda: tf.parallel_stack([tf.placeholder(tf.float32, [None])]), ValueError, "known")


def test_paddings_for_blocks():
    wanted = [[1, 0], [0, 2]], [[0, 0], [0, 1]]
    same(lambda: tf.required_space_to_batch_paddings([3, 5], [2, 7], [[1, 0], [0, 1]]), wanted)
    shape = tf.placeholder_with_default([3, 5], [2])
    made = tf.required_space_to_batch_paddings(shape, [2, 7], [[1, 0], [0, 1]])
    with tf.Session() as session:
        assert [each.tolist() for each in session.run(made)] == list(wanted)
    same(lambda: tf.required_space_to_batch_paddings([3], [2]), ([[0, 1]], [[0, 1]]))


def test_what_is_a_tensor():
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    tensors = [tf.constant(1), tf.Variable(1), tf.SparseTensor([[0]], [1], [2]), slices]
    assert all(tf.is_tensor(each) for each in tensors)
    assert not any(tf.is_tensor(each) for each in (1, np.ones(2), "a", None, tf.no_op()))
    assert tf.convert_to_tensor_or_indexed_slices(slices) is slices
    assert tf.convert_to_tensor_or_indexed_slices([1.0]).dtype == tf.float32
    with pytest.raises(ValueError, match="dtype"):
        tf.convert_to_tensor_or_indexed_slices(slices, tf.int32)


def test_tables_are_initialized_by_what_the_collection_has():
    assert tf.tables_initializer().name == "init_all_tables"
    made = tf.no_op(name="fill")
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, made)
    assert tf.initialize_all_tables(name="all").control_inputs == [made]
