"""Batches of elements by bucket: which elements stand together, and the remainder at the end."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

training = tf.contrib.training


def batches_of(result, limit=50):
    """Return the results of all runs until the input ends."""
    values = []
    with tf.train.MonitoredSession() as session:
        while not session.should_stop() and len(values) < limit:
            try:
                values.append(session.run(result))
            except tf.errors.OutOfRangeError:
                break
    return values


def numbers(count):
    return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


@pytest.mark.parametrize("threads", [1, 3])
def test_each_batch_is_of_one_bucket(threads):
    with tf.Graph().as_default():
        number = numbers(32)
        which, batch = training.bucket(
            [number, tf.as_string(number)], number % 3, 4, 3, num_threads=threads
        )
        assert which.dtype == tf.int32 and which.shape == []
        assert [tensor.shape.as_list() for tensor in batch] == [[4], [4]]
        values = batches_of((which, batch))
    assert len(values) == 6  # of 11, 11 and 10 elements
    for bucket, (ints, texts) in values:
        assert set(ints % 3) == {bucket}
        assert texts.tolist() == [str(n).encode() for n in ints]
    everything = np.concatenate([ints for _, (ints, _) in values])
    assert len(set(everything)) == 24


def test_the_rest_is_a_batch_where_that_is_allowed():
    with tf.Graph().as_default():
        number = numbers(10)
        which, batch = training.bucket(
            number, tf.cast(number >= 7, tf.int32), [4, 2], 2, allow_smaller_final_batch=True
        )
        assert batch.shape.as_list() == [None]
        values = batches_of((which, batch))
    found = {0: [], 1: []}
    for bucket, batch in values:
        found[bucket].append(batch.tolist())
    assert found == {0: [[0, 1, 2, 3], [4, 5, 6]], 1: [[7, 8], [9]]}


def test_sequences_of_similar_length_are_padded_together():
    with tf.Graph().as_default():
        number = numbers(40)
        length = 1 + number % 10
        lengths, batch = training.bucket_by_sequence_length(
            length, {"x": tf.fill([length], number)}, 5, [4, 8], dynamic_pad=True
        )
        assert batch["x"].shape.as_list() == [5, None]
        values = batches_of((lengths, batch))
    assert len(values) >= 6
    for lengths, batch in values:
        assert len({int(np.digitize(n, [4, 8])) for n in lengths}) == 1
        assert batch["x"].shape == (5, lengths.max())
        for row, length in zip(batch["x"], lengths):
            assert (1 + row[0] % 10) == length
            assert row.tolist() == [row[0]] * length + [0] * (lengths.max() - length)


def test_elements_that_are_not_kept_are_in_no_batch():
    with tf.Graph().as_default():
        number = numbers(20)
        result = training.bucket_by_sequence_length(
            number, [number], 2, [10], keep_input=tf.equal(number % 2, 0)
        )
        values = batches_of(result)
    assert sorted(n for lengths, _ in values for n in lengths) == [0, 2, 4, 6, 10, 12, 14, 16]
    assert all(batch.tolist() == lengths.tolist() for lengths, (batch,) in values)


def test_sparse_elements():
    with tf.Graph().as_default():
        number = numbers(8)
        element = tf.SparseTensor([[0]], tf.reshape(number, [1]), [3])
        _, (batch, dense) = training.bucket([element, number], number // 4, 4, 2)
        values = sorted(batches_of((batch, dense)), key=lambda pair: pair[1][0])
    assert [(b.values.tolist(), d.tolist()) for b, d in values] == [
        ([0, 1, 2, 3], [0, 1, 2, 3]),
        ([4, 5, 6, 7], [4, 5, 6, 7]),
    ]
    assert values[0][0].dense_shape.tolist() == [4, 3]


def test_a_bucket_that_there_is_not_fails_the_run():
    with tf.Graph().as_default():
        number = numbers(4)
        result = training.bucket([number], number + 2, 1, 3)
        with pytest.raises(tf.errors.InvalidArgumentError):
            with tf.train.MonitoredSession() as session:
                for _ in range(4):
                    session.run(result)


@pytest.mark.parametrize(
    ("boundaries", "error", "words"),
    [
        (3, TypeError, "bucket_boundaries must be a list or tuple, but received: 3"),
        ([], ValueError, "bucket_boundaries must not be empty"),
        ([1, 2.5], TypeError, "bucket boundaries must be integers, but saw: 1 and 2.5"),
        ([4, 4], ValueError, "Buckets must contain sequential increasing lengths, but saw: 4 be"),
    ],
)
def test_boundaries_that_are_none(boundaries, error, words):
    with tf.Graph().as_default(), pytest.raises(error, match=words):
        training.bucket_by_sequence_length(1, [tf.constant(1)], 2, boundaries)


@pytest.mark.parametrize("lists", [{"batch_size": [1, 2]}, {"bucket_capacities": [1]}])
def test_lists_have_a_value_for_each_bucket(lists):
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=f"The list {next(iter(lists))} .* must have exactly"):
            training.bucket([tf.constant(1)], 0, **{"batch_size": 1, "num_buckets": 3, **lists})
