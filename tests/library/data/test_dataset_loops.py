# ruff: noqa: SIM108 -- statements that AutoGraph converts
"""AutoGraph and datasets: converted functions of transformations, loops over datasets."""

from __future__ import annotations

import pytest

import gpugraph as tf

pytest.importorskip("malt")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def elements(dataset):
    following = dataset.make_one_shot_iterator().get_next()
    values = []
    with tf.Session() as session, pytest.raises(tf.errors.OutOfRangeError):
        while True:
            values.append(session.run(following))
    return values


def int64(value):
    return tf.constant(value, tf.int64)


def changed(x):
    if x > 2:
        y = x * 10
    else:
        y = -x
    for _ in tf.range(x):
        y += 1
    return y


def test_functions_of_transformations_are_converted():
    dataset = tf.data.Dataset.range(6).map(changed)
    assert elements(dataset) == [0, 0, 0, 33, 44, 55]
    assert elements(tf.data.Dataset.range(6).filter(lambda x: x > 1 and x < 4)) == [2, 3]
    reduced = tf.data.Dataset.range(6).reduce(int64(0), lambda a, x: a + x if x > 2 else a)
    with tf.Session() as session:
        assert session.run(reduced) == 12


def test_do_not_convert():
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="AutoGraph is disabled"):
        tf.data.Dataset.range(6).map(tf.autograph.experimental.do_not_convert(changed))


def total(dataset, limit):
    result, count = tf.constant(0, tf.int64), 0
    for x in dataset:
        if x > limit:
            break
        if x % 2 > 0:
            result += x
        count += 1
    return result, count


def test_a_loop_ends_at_a_break():
    loop = tf.autograph.to_graph(total)
    finite, endless = tf.data.Dataset.range(10), tf.data.Dataset.range(10).repeat()
    results = [loop(finite, int64(6)), loop(endless, int64(6)), loop(finite, int64(100))]
    with tf.Session() as session:
        assert session.run(results) == [(9, 7), (9, 7), (25, 10)]


def weighted(dataset):
    result = tf.constant(0, tf.int64)
    for index, (x, pair) in enumerate(dataset):
        result += x * index + pair["a"]
    return result


def test_elements_have_their_structure():
    one = tf.data.Dataset.range(4)
    dataset = tf.data.Dataset.zip((one, one.map(lambda x: {"a": x})))
    with tf.Session() as session:
        assert session.run(tf.autograph.to_graph(weighted)(dataset)) == 14 + 6


def test_effects_in_a_loop_of_a_function():
    v = tf.Variable(0, dtype=tf.int64, use_resource=True)

    @tf.function
    def add_all(n):
        for x in tf.data.Dataset.range(n):
            v.assign_add(x)
        return v.read_value()

    result = add_all(int64(5))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(result) == 10
        assert session.run(v) == 10
