"""Staging areas: in order, by keys, part by part, bounded, and waits."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gpugraph as tf

MapStagingArea, StagingArea = tf.contrib.staging.MapStagingArea, tf.contrib.staging.StagingArea


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as opened:
        yield opened


def test_tuples_in_their_order(session):
    area = StagingArea([tf.float32, tf.int32], shapes=[[], [2]], names=["a", "b"])
    value = tf.placeholder(tf.float32, [])
    put, get = area.put({"a": value, "b": [1, 2]}), area.get()
    assert get["b"].shape.as_list() == [2]
    for number in range(3):
        session.run(put, {value: number})
    assert session.run(area.size()) == 3
    assert session.run(area.peek(2))["a"] == 2
    assert [session.run(get)["a"] for _ in range(2)] == [0, 1]
    session.run(area.clear())
    assert session.run(area.size()) == 0


def test_bounds_and_waits(session):
    area = StagingArea([tf.float32], capacity=1)
    put, get = area.put([tf.constant(1.0)]), area.get()
    limit = tf.RunOptions(timeout_in_ms=100)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(get, options=limit)
    session.run(put)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(put, options=limit)
    thread = threading.Thread(target=lambda: session.run(put))
    thread.start()
    assert [session.run(get) for _ in range(2)] == [[1.0], [1.0]]
    thread.join(30)
    small = StagingArea([tf.float32], memory_limit=10)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="combined size of '20' bytes"):
        session.run(small.put([np.zeros(5, np.float32)]))
    session.run(small.put([np.zeros(2, np.float32)]))
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(small.put([np.zeros(2, np.float32)]), options=limit)


def test_areas_are_shared_by_name(session):
    first, second = (StagingArea([tf.int32], shared_name="mine") for _ in range(2))
    session.run(first.put([5]))
    assert session.run(second.get()) == [5]


@pytest.mark.parametrize("ordered", [False, True])
def test_tuples_by_keys(session, ordered):
    area = MapStagingArea(
        [tf.float32, tf.int32], shapes=[[], [2]], names=["a", "b"], ordered=ordered
    )
    session.run(area.put(3, {"a": 1.0, "b": [1, 2]}))
    session.run(area.put(1, {"a": 2.0, "b": [3, 4]}))
    assert session.run(area.size()) == 2
    key, values = session.run(area.get())
    assert (key, values["b"].tolist()) == ((1, [3, 4]) if ordered else (3, [1, 2]))
    session.run(area.clear())
    session.run(area.put(5, {"a": 2.0}))
    with pytest.raises(tf.errors.InvalidArgumentError, match="was already initialized"):
        session.run(area.put(5, {"a": 2.0}))
    sizes = [area.size(), area.incomplete_size()]
    assert session.run(sizes) == [0, 1]
    session.run(area.put(5, {"b": [7, 8]}))
    assert session.run(sizes) == [1, 0]
    assert session.run(area.peek(5, indices=["b"]))["b"].tolist() == [7, 8]
    assert session.run(area.get(5, indices=[0])) == (5, {"a": 2.0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="has already been removed"):
        session.run(area.get(5, indices=[0]))
    assert session.run(area.get(5, indices=[1]))[1]["b"].tolist() == [7, 8]
    assert session.run(sizes) == [0, 0]


def test_a_second_tuple_of_a_key_takes_no_memory(session):
    area = MapStagingArea([tf.float32, tf.float32], memory_limit=16)
    for value in (1.0, 2.0, 3.0):  # the first complete tuple stays
        session.run(area.put(5, [value, value], [0, 1]))
    assert session.run(area.get(5))[1] == [1.0, 1.0]
    session.run(area.put(6, [4.0], [0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="was already initialized"):
        session.run(area.put(6, [4.0], [0]))
    session.run(area.put(6, [5.0], [1]))
    session.run(area.put(7, [6.0, 6.0], [0, 1]))  # all 16 bytes are free for these two
    assert session.run(area.size()) == 2


def test_a_get_of_one_key_lets_others_go_on(session):
    area = MapStagingArea([tf.int32])
    key, value = tf.placeholder(tf.int64, []), tf.placeholder(tf.int32, [])
    put, get = area.put(key, [value], [0]), area.get(key)
    taken = {}

    def take(number):
        taken[number] = session.run(get, {key: number})[1]

    threads = [threading.Thread(target=take, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for number in (2, 1):
        session.run(put, {key: number, value: 10 * number})
    for thread in threads:
        thread.join(30)
    assert taken == {1: [10], 2: [20]}


def test_what_is_refused():
    with tf.Graph().as_default():
        area = StagingArea([tf.float32, tf.int32], shapes=[[], [2]])
        for values, words in (
            ([1.0], "Unexpected number of inputs 1 vs 2"),
            ([1.0, [1, 2, 3]], "incompatible"),
            ([tf.constant(1), [1, 2]], "Datatypes do not match"),
            ({"a": 1.0, "b": [1, 2]}, "must have names to enqueue a dictionary"),
        ):
            with pytest.raises(ValueError, match=words):
                area.put(values)
        named = StagingArea([tf.float32], names=["a"])
        with pytest.raises(ValueError, match="You must enqueue a dictionary"):
            named.put([1.0])
        with pytest.raises(ValueError, match="do not match names"):
            named.put({"b": 1.0})
        with pytest.raises(ValueError, match="shapes must be the same length as dtypes"):
            StagingArea([tf.float32], shapes=[[], []])
        with pytest.raises(ValueError, match="Indices must be supplied"):
            MapStagingArea([tf.float32]).put(1, [1.0])
        with pytest.raises(ValueError, match="are not those of 1 values"):
            MapStagingArea([tf.float32]).get(1, indices=[5])
