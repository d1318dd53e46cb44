"""Values of tensors that shape inference finds before anything runs, and their cost."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework import constant_value as module
from gpugraph.ops.framework.constant_value import constant_value


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def evaluated(monkeypatch):
    """Return the types of the ops that are evaluated, one entry each time."""
    seen = []
    original = module.evaluate

    def counting(op_def, attrs, values):
        seen.append(op_def.name)
        return original(op_def, attrs, values)

    monkeypatch.setattr(module, "evaluate", counting)
    return seen


@pytest.mark.parametrize("steps", [1, 10, 60, 500])
def test_each_tensor_is_evaluated_once_however_often_it_is_used(evaluated, steps):
    count = tf.constant(3)
    for _ in range(steps):
        count = count + count * 0
    assert evaluated == []
    assert tf.range(count).shape.as_list() == [3]
    assert len(evaluated) <= 2 * steps + 10


def test_what_is_not_known_is_found_out_once_too(evaluated):
    count = tf.placeholder(tf.int32, [])
    for _ in range(60):
        count = count + (count - 1) * 0
    assert tf.range(count).shape.as_list() == [None]
    assert constant_value(count) is None
    assert evaluated == []


def test_a_partly_known_shape_is_found_once_however_often_it_is_used(evaluated):
    sizes = tf.shape(tf.placeholder(tf.float32, [None, 3]))
    for _ in range(60):
        sizes = tf.concat([sizes, sizes[0:0]], 0)
    before = len(evaluated)
    shape = tf.reshape(tf.zeros([6]), sizes).shape
    assert shape.as_list() == [2, 3]
    assert len(evaluated) - before <= 4 * 60


def wrapped(vector, times):
    for _ in range(times):
        vector = tf.identity(vector)
    return vector


def joined(vector, times):
    for _ in range(times):
        vector = tf.concat([vector, tf.zeros([0], tf.int32)], 0)
    return vector


def cut(vector, times):
    for _ in range(times):
        vector = vector[0:]
    return vector


def recast(vector, times):
    for _ in range(times // 2):
        vector = tf.cast(tf.cast(vector, tf.int64), tf.int32)
    return vector


@pytest.mark.parametrize("longer", [wrapped, joined, cut, recast])
@pytest.mark.parametrize("known", [True, False])
def test_a_long_way_to_a_shape_is_no_recursion(longer, known):
    x = tf.placeholder(tf.float32, [6])
    start = tf.constant([2, 3]) if known else tf.shape(tf.placeholder(tf.float32, [None, 3]))
    for times, certain in ((8, True), (3000, False)):
        shape = tf.reshape(x, longer(start, times)).shape
        assert shape.is_compatible_with([2, 3])
        if certain:
            assert shape.as_list() == [2, 3]


def test_a_long_way_to_one_size_is_no_recursion():
    x = tf.placeholder(tf.float32, [6])
    one = wrapped(tf.constant(2), 3000)
    assert tf.reshape(x, tf.stack([one, 3])).shape.as_list() == [2, 3]


def test_more_tensors_than_are_looked_at_leave_the_value_unknown(evaluated):
    count = tf.constant(3)
    for _ in range(3000):
        count = count + 1 - 1
    assert tf.range(count).shape.as_list() == [None]
    assert len(evaluated) <= 5000
    with tf.Session() as session:
        assert session.run(tf.range(count)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: tf.constant([1.5, 2.5]), [1.5, 2.5]),
        (lambda x: tf.identity(tf.constant([2, 3])), [2, 3]),
        (lambda x: tf.stack([tf.rank(x), tf.size(tf.zeros([4, 2]))]), [2, 8]),
        (lambda x: tf.concat([[1], tf.shape(tf.zeros([4, 3]))[1:]], 0), [1, 3]),
        (lambda x: tf.maximum(tf.constant([1, 5]), 3) // 2, [1, 2]),
        (lambda x: tf.reduce_prod(tf.shape(tf.zeros([4, 5]))), 20),
        (lambda x: tf.constant(2) < tf.rank(x), False),
        (lambda x: tf.shape(x), None),
        (lambda x: tf.size(x), None),
        (lambda x: tf.stack([tf.rank(x), tf.size(x)]), None),
        (lambda x: tf.constant(1.5) + 1.0, None),
        (lambda x: tf.range(2000), None),
        (lambda x: tf.constant(1) // 0, None),
    ],
)
def test_what_is_known(make, expected):
    tensor = make(tf.placeholder(tf.float32, [None, 3]))
    value = constant_value(tensor)
    if expected is None:
        assert value is None
        return
    assert value.tolist() == expected
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tensor), value)


def test_more_than_integers_is_known():
    assert constant_value(tf.cast(tf.constant([1.5, 2.0]), tf.int32)).tolist() == [1, 2]
    assert constant_value(tf.concat([[1.5], [2.0]], 0)).tolist() == [1.5, 2.0]
    assert constant_value(tf.fill([2, 2], 1.5)).tolist() == [[1.5, 1.5], [1.5, 1.5]]
    assert constant_value(tf.stack([1.5, 2.0])).tolist() == [1.5, 2.0]
    assert constant_value(tf.constant([1.5]) + 2.0) is None


def test_what_is_no_tensor_is_its_own_value():
    array = np.ones(2)
    assert constant_value(array) is array
    assert constant_value("abc") == "abc"


def test_the_shape_of_a_sparse_placeholder_is_known():
    sparse = tf.sparse_placeholder(tf.float32, shape=[7, 9, 2])
    assert constant_value(sparse.dense_shape).tolist() == [7, 9, 2]
    with tf.Session() as session:
        value = tf.SparseTensorValue([[1, 2, 0]], [4.0], [7, 9, 2])
        fetched = session.run(sparse, {sparse: value})
    assert fetched.values.tolist() == [4.0]
    assert fetched.dense_shape.tolist() == [7, 9, 2]
