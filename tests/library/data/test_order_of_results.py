"""Results of mapped functions: which element each belongs to, in threads and for many elements."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.library.data.saved_iterators import MultiDeviceIterator
from gpugraph.ops.datasets import parallel_elements

D = tf.data.Dataset


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def outcomes(dataset, most):
    """Return the next elements of a dataset; the class of the error where there is one."""
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    found = []
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(most):
            try:
                found.append(np.asarray(session.run(following)).tolist())
            except tf.errors.OpError as error:
                found.append(type(error).__name__)
    return found


@pytest.mark.parametrize("calls", [None, 1, 3, -1])
def test_an_error_of_the_source_has_its_place(calls):
    source = D.range(6).map(lambda x: tf.gather(tf.constant([0, 1, 2], tf.int64), x % 4))
    doubled = source.map(lambda x: x * 2, num_parallel_calls=calls)
    expected = [0, 2, 4, "InvalidArgumentError", 0, 2, "OutOfRangeError"]
    assert outcomes(doubled, 7) == expected


def test_an_error_of_the_source_does_not_take_the_batch_before_it():
    source = D.range(5).map(lambda x: tf.gather(tf.constant([0, 1, 2, 3], tf.int64), x))
    batches = tf.data.experimental.map_and_batch(lambda x: x, 2, num_parallel_calls=4)
    assert outcomes(source.apply(batches), 4)[:3] == [[0, 1], [2, 3], "InvalidArgumentError"]


def test_a_position_behind_an_error_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_elements.Workers, "is_quick", False)  # read ahead by threads
    source = D.range(3).map(lambda x: tf.gather(tf.constant([0, 1], tf.int64), x))
    doubled = source.map(lambda x: tf.cumsum([x])[0] * 2, num_parallel_calls=4)
    iterator = doubled.make_initializable_iterator()
    following = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(following) == 0
        with pytest.raises(tf.errors.InvalidArgumentError, match="indices"):
            saver.save(session, str(tmp_path / "position"))
        assert session.run(following) == 2


def test_a_random_number_for_each_element():
    drawn = D.range(8).map(lambda x: x * 0 + tf.random_uniform([], 0, 1 << 40, tf.int64, seed=3))
    single, batched = outcomes(drawn, 8), outcomes(drawn.batch(8), 1)[0]
    assert len(set(single)) == 8
    assert batched == single


def test_a_variable_is_read_for_each_element():
    v = tf.Variable(np.int64(1), use_resource=True)
    iterator = D.range(5).map(lambda x: x + v).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(iterator.initializer)
        assert session.run(following) == 1
        session.run(v.assign(100))
        assert session.run(following) == 101


def test_shards_of_several_threads_keep_their_turns():
    def slowed(x):
        return tf.py_func(lambda value: (time.sleep(0.001), value)[1], [x], tf.int64)

    iterator = MultiDeviceIterator(D.range(60).map(slowed), ["/cpu:0", "/cpu:0"])
    shards = [iterator._next_of(number) for number in range(2)]
    found = [[], []]
    with tf.Session() as session:
        session.run(iterator.initializer)

        def read(number):
            try:
                while True:
                    found[number].append(int(session.run(shards[number])))
            except tf.errors.OutOfRangeError:
                pass

        threads = [threading.Thread(target=read, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [list(range(0, 60, 2)), list(range(1, 60, 2))]


def test_readers_of_one_shuffled_dataset_see_one_order():
    shuffled = D.range(6).shuffle(6, seed=1)
    squares = shuffled.map(lambda x: x * x).repeat(3)
    pairs = outcomes(D.zip((shuffled.repeat(3), squares)), 18)
    assert all(square == x * x for x, square in pairs)
    assert pairs[:6] != pairs[6:12]


def test_iterators_of_one_run_have_passes_of_their_own():
    shuffled = D.range(6).shuffle(6, seed=1).batch(6)
    iterators = [shuffled.make_initializable_iterator() for _ in range(2)]
    with tf.Session() as session:
        session.run([iterator.initializer for iterator in iterators])
        one, other = session.run([iterator.get_next() for iterator in iterators])
    assert one.tolist() == other.tolist()


def test_an_order_without_a_seed_is_kept_where_it_should_be():
    fixed = D.range(50).shuffle(50, reshuffle_each_iteration=False).batch(50).repeat(2)
    one, other = outcomes(fixed, 2)
    assert one == other
    assert one != sorted(one)
    drawn = tf.data.experimental.RandomDataset().take(4).batch(4).repeat(2)
    one, other = outcomes(drawn, 2)
    assert one == other
    shuffled = D.range(50).shuffle(50)
    pairs = outcomes(D.zip((shuffled, shuffled.map(lambda x: -x))), 50)
    assert all(one == -other for one, other in pairs)


def drawn(calls):
    def function(x):
        weights = tf.random.normal([5, 5], seed=3)
        product = tf.matmul(tf.fill([x % 5 + 1, 5], tf.cast(x, tf.float32)), [[0.5] * 5] * 5)
        return tf.random.shuffle(tf.matmul(product, weights), seed=1), x, product[0]

    iterator = D.range(20).map(function, calls).make_initializable_iterator()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    return iterator, iterator.get_next(), saver


def test_threads_draw_random_numbers_in_the_order_of_elements(tmp_path):
    (one, following, _), (several, others, saver) = drawn(None), drawn(3)
    with tf.Session() as session:
        session.run([one.initializer, several.initializer])
        for number in range(20):
            expected, found = session.run([following, others])
            for pair in zip(expected, found):
                np.testing.assert_array_equal(*pair)
            if number == 9:
                path = saver.save(session, str(tmp_path / "position"))
            if number == 10:
                at_ten = found
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(others)[0], at_ten[0])


def test_an_error_in_a_thread_names_the_line_of_a_function_that_draws():
    def function(text):
        return tf.io.decode_csv(text, [[0.0]])[0] + tf.random.uniform([], seed=2)

    following = D.from_tensors("x").map(function, 2).make_one_shot_iterator().get_next()
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"in function\)"),
    ):
        session.run(following)


def test_each_place_of_a_function_draws_its_own_numbers():
    d = D.range(3).map(lambda x: tf.random.uniform([], 0, 1000, tf.int32, seed=5))
    one = outcomes(d, 3)
    assert outcomes(D.zip((d, d)), 3) == [[number, number] for number in one]
    twice = outcomes(d.concatenate(d).repeat(2), 12)
    assert twice[:6] == one * 2
    assert twice[6:] == outcomes(d.repeat(2), 6)[3:] * 2


def test_ignored_errors_of_a_number_of_elements_end():
    wrong = D.range(3).apply(tf.data.experimental.assert_cardinality(5))
    assert outcomes(wrong.apply(tf.data.experimental.ignore_errors()), 4) == [
        *range(3),
        "OutOfRangeError",
    ]
