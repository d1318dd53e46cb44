"""Batches from queues that threads fill, and the producers that feed them."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import numpy as np
import pytest

import gpugraph as tf


@contextmanager
def running():
    """Yield a session of the default graph whose runners run."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        tf.train.start_queue_runners(session, coord)
        try:
            yield session
        finally:
            coord.request_stop()
            coord.join()


def epochs(session, fetch):
    """Return the results of runs until the input is over."""
    results = []
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            results.append(session.run(fetch))
    return results


def test_batches_of_slices_in_order():
    with tf.Graph().as_default():
        row, label = tf.train.slice_input_producer(
            [np.arange(10.0).reshape(5, 2), list("abcde")], num_epochs=2, shuffle=False
        )
        batch = tf.train.batch({"row": row, "label": label}, 4, allow_smaller_final_batch=True)
        assert batch["row"].get_shape().as_list() == [None, 2]
        assert batch["row"].name == "batch:1" and batch["label"].name == "batch:0"
        with running() as session:
            results = epochs(session, batch)
        labels = [label for result in results for label in result["label"]]
        assert labels == [bytes([letter]) for letter in b"abcdeabcde"]
        assert [len(result["row"]) for result in results] == [4, 4, 2]


def test_a_last_batch_that_is_too_small_is_left_out():
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
        batch = tf.train.batch([number], 2)
        with running() as session:
            np.testing.assert_array_equal(epochs(session, batch), [[0, 1], [2, 3]])


def test_shuffled_batches_have_every_element_once():
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(20, num_epochs=1, seed=2).dequeue()
        batch = tf.train.shuffle_batch([number], 4, 12, 6, num_threads=2, seed=1)
        with running() as session:
            numbers = np.ravel(epochs(session, batch))
        assert sorted(numbers) == list(range(20)) and list(numbers) != list(range(20))
        with pytest.raises(ValueError, match="capacity 4 must be bigger than min_after_dequeue 4"):
            tf.train.shuffle_batch([number], 2, 4, 4)


def test_joined_batches_take_from_all():
    with tf.Graph().as_default():
        numbers = [
            [tf.train.range_input_producer(6, num_epochs=1).dequeue() + start] for start in (0, 6)
        ]
        shuffled = tf.train.shuffle_batch_join(numbers, 3, 20, 4)
        with running() as session:
            assert sorted(np.ravel(epochs(session, shuffled))) == list(range(12))
        with pytest.raises(TypeError, match="Expected types to be consistent"):
            tf.train.batch_join([[tf.constant(1)], [tf.constant(1.0)]], 2)


def test_elements_may_be_left_out_and_filled_up():
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
        even = tf.train.maybe_batch([number], tf.equal(number % 2, 0), 2)
        with running() as session:
            np.testing.assert_array_equal(epochs(session, even), [[0, 2], [4, 6]])
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
        padded = tf.train.batch([tf.range(number)], 2, dynamic_pad=True)
        with running() as session:
            first, second = epochs(session, padded)
            np.testing.assert_array_equal(first, [[0], [0]])
            np.testing.assert_array_equal(second, [[0, 1, 0], [0, 1, 2]])
    with tf.Graph().as_default():
        rows = tf.train.limit_epochs(tf.constant([1, 2, 3]), 2)
        kept = tf.train.maybe_batch([rows], [True, False, True], 4, enqueue_many=True)
        with running() as session:
            np.testing.assert_array_equal(epochs(session, kept), [[1, 3, 1, 3]])
        with pytest.raises(ValueError, match="cannot be a vector when"):
            tf.train.maybe_batch([rows], [True], 1)


def test_strings_are_produced(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(name)
    with tf.Graph().as_default():
        paths = tf.train.match_filenames_once(str(tmp_path / "*.txt"))
        path = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False).dequeue()
        with running() as session:
            names = [str(tmp_path / f"{name}.txt").encode() for name in "ab"]
            assert epochs(session, path) == names
        with pytest.raises(ValueError, match="requires a non-null input tensor"):
            tf.train.string_input_producer([])
        with pytest.raises(ValueError, match="num_epochs must be > 0 not 0"):
            tf.train.limit_epochs(1, 0)
        with pytest.raises(ValueError, match="must have a fully defined shape"):
            tf.train.input_producer(tf.placeholder(tf.int32))


def test_sessions_with_runners_leave_no_thread():
    before = threading.active_count()
    for _ in range(10):
        with tf.Graph().as_default():
            number = tf.train.range_input_producer(5).dequeue()
            batch = tf.train.shuffle_batch([number], 2, 10, 2, num_threads=2)
            with running() as session:
                session.run(batch)
    assert threading.active_count() == before


@pytest.mark.exhaustive
def test_fifty_sessions_with_runners_leave_no_thread():
    for _ in range(5):
        test_sessions_with_runners_leave_no_thread()


def test_queues_of_producers_and_batches_summarize_how_full_they_are():
    elements = [tf.constant([1.0, 2.0])]
    tf.train.batch(elements, 4)
    tf.train.shuffle_batch(elements, 4, capacity=20, min_after_dequeue=3)
    tf.train.range_input_producer(3)
    tf.train.input_producer(elements[0])
    summaries = tf.get_collection(tf.GraphKeys.SUMMARIES)
    names = ["batch/fraction_of_32_full", "shuffle_batch/fraction_over_3_of_17_full"]
    names.append("input_producer/fraction_of_32_full")
    assert [summary.op.name for summary in summaries] == names
    with tf.Session() as session:
        for name, serialized in zip(names, session.run(summaries)):
            assert name.encode() in serialized


def test_elements_that_make_no_batch_are_refused():
    with tf.Graph().as_default():
        number = tf.constant(1)
        for elements, message in (
            ([], "Expected at least one set of tensors"),
            ([[]], r"Expected at least one tensor in batch_join\(\)"),
            ([{"a": number}, {"b": number}], "must have the same keys"),
        ):
            with pytest.raises(ValueError, match=message):
                tf.train.batch_join(elements, 2)
        with pytest.raises(TypeError, match=r"int32 vs\. float32"):
            tf.train.batch_join([[number], [tf.constant(1.0)]], 2)
        with pytest.raises(TypeError, match="iter"):
            tf.train.batch(number, 2)


def _sparse(number):
    """[[0, .., number, ..]] with the number in its own column; [2, 6]."""
    place = tf.cast(number, tf.int64)
    return tf.SparseTensor([[0, place]], [tf.cast(number, tf.float32)], [2, 6])


def test_sparse_tensors_are_batched():
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
        batch = tf.train.batch([_sparse(number), number], 2, allow_smaller_final_batch=True)
        assert batch[0].get_shape().rank == 3
        with running() as session:
            (first, numbers), (last, _) = epochs(session, batch)
        assert first.indices.tolist() == [[0, 0, 0], [1, 0, 1]] and numbers.tolist() == [0, 1]
        assert first.values.tolist() == [0, 1] and first.dense_shape.tolist() == [2, 2, 6]
        assert last.indices.tolist() == [[0, 0, 2]] and last.dense_shape.tolist() == [1, 2, 6]


def test_rows_of_sparse_tensors_are_batched_and_joined():
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(2, num_epochs=1, shuffle=False).dequeue()
        rows = tf.train.batch({"s": _sparse(number)}, 4, enqueue_many=True)["s"]
        joined = tf.train.batch_join([[_sparse(tf.constant(4))], [_sparse(tf.constant(4))]], 2)
        with running() as session:
            both = session.run(joined)
            (four,) = epochs(session, rows)
        assert four.indices.tolist() == [[0, 0], [2, 1]] and four.dense_shape.tolist() == [4, 6]
        assert both.values.tolist() == [4, 4] and both.dense_shape.tolist() == [2, 2, 6]
        with pytest.raises(ValueError, match="Inconsistent SparseTensors list"):
            tf.train.batch_join([[_sparse(number)], [tf.constant(1.0)]], 2)
