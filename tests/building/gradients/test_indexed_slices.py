"""Gradients of lookups: rows and where they are, on their way through the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

TABLE = np.arange(15, dtype=np.float32).reshape(5, 3)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def table() -> tf.Variable:
    return tf.Variable(TABLE, name="v")


def test_a_lookup_gives_rows(graph):
    actual = tf.gather(table(), [1, 2, 1])
    (grad,) = tf.gradients(tf.reduce_sum(actual * actual), tf.trainable_variables()[0]._ref())
    assert isinstance(grad, tf.IndexedSlices)
    assert grad.op.name == "gradients/GatherV2_grad/Reshape"
    assert grad.indices.op.name == "gradients/GatherV2_grad/Reshape_1"
    assert grad.dense_shape.op.name == "gradients/GatherV2_grad/Shape"
    assert grad.dense_shape.op.colocation_groups() == [b"loc:@v"]
    assert grad.values.shape.as_list() == [3, 3]
    assert grad.shape.as_list() == [5, 3]
    value = run(grad)
    np.testing.assert_array_equal(value.values, 2 * TABLE[[1, 2, 1]])
    np.testing.assert_array_equal(value.indices, [1, 2, 1])
    np.testing.assert_array_equal(value.dense_shape, [5, 3])


def test_of_indices_of_any_shape_and_of_none():
    ids = tf.placeholder(tf.int64, None)
    x = tf.placeholder(tf.float32, [None, 2])
    (grad,) = tf.gradients(tf.gather(x, ids), x)
    assert grad.shape.as_list() == [None, 2]
    for inputs in (np.zeros((2, 0)), 1, [[0, 1], [1, 1]]):
        value = run(grad, {ids: inputs, x: np.zeros((4, 2))})
        np.testing.assert_array_equal(value.indices, np.reshape(inputs, -1))
        np.testing.assert_array_equal(value.values, np.ones((np.size(inputs), 2)))
        np.testing.assert_array_equal(value.dense_shape, [4, 2])


def test_several_lookups_join_their_rows(graph):
    v = table()
    loss = tf.reduce_sum(tf.gather(v, [1, 2])) + tf.reduce_sum(2 * tf.gather(v, [3]))
    (grad,) = tf.gradients(loss, v._ref())
    assert [grad.values.op.name, grad.indices.op.name] == ["gradients/concat", "gradients/concat_1"]
    value = run(grad)
    assert sorted(value.indices) == [1, 2, 3]
    dense = np.zeros_like(TABLE)
    np.add.at(dense, value.indices, value.values)
    np.testing.assert_array_equal(dense[:, 0], [0, 1, 1, 2, 0])


def test_int32_and_int64_indices_join():
    v = table()
    actual = tf.gather(v, [1]) + tf.gather(v, np.array([2], np.int64))
    (grad,) = tf.gradients(actual, v._ref())
    assert grad.indices.dtype is tf.int64
    assert sorted(run(grad).indices) == [1, 2]


def test_with_a_dense_gradient_it_is_dense():
    v = table()
    (grad,) = tf.gradients(tf.reduce_sum(tf.gather(v, [1, 1])) + tf.reduce_sum(v), v._ref())
    assert isinstance(grad, tf.Tensor)
    assert grad.op.name == "gradients/AddN"
    assert "UnsortedSegmentSum" in [tensor.op.type for tensor in grad.op.inputs]
    np.testing.assert_array_equal(run(grad)[:, 0], [1, 3, 1, 1, 1])


def dense_of(grad: Any, feeds: Any = None) -> np.ndarray:
    return run(tf.convert_to_tensor(grad), feeds)


@pytest.mark.parametrize("columns", [1, 2])
def test_of_rows_by_coordinates(columns):
    indices = [[0, 2][:columns], [3, 1][:columns]]
    v = tf.constant(TABLE)
    (grad,) = tf.gradients(tf.gather_nd(v, indices), v)
    assert isinstance(grad, tf.IndexedSlices) == (columns == 1)
    wanted = np.zeros_like(TABLE)
    np.add.at(wanted, tuple(np.transpose(indices)), 1)
    np.testing.assert_array_equal(dense_of(grad), wanted)


THROUGH: dict[str, tuple[Callable[[Any], Any], type]] = {
    "identity": (lambda v: tf.gather(tf.identity(v), [3, 3]), tf.IndexedSlices),
    "cast": (lambda v: tf.gather(tf.cast(v, tf.float64), [3, 3]), tf.IndexedSlices),
    "sum": (lambda v: tf.gather(tf.add_n([v, v]), [3]), tf.IndexedSlices),
    "reshape": (lambda v: tf.gather(tf.reshape(v, [5, 3, 1]), [3, 3]), tf.Tensor),
    "lookup of a lookup": (lambda v: 2.0 * tf.gather(tf.gather(v, [0, 3]), [1]), tf.IndexedSlices),
    "concat": (lambda v: tf.gather(tf.concat([v[:2], v[2:]], 0), [3, 3]), tf.Tensor),
    "product": (lambda v: tf.gather(v * 2.0, [3]), tf.Tensor),
}


@pytest.mark.parametrize(("build", "kind"), THROUGH.values(), ids=THROUGH.keys())
def test_through_other_ops(build, kind):
    v = table()
    (grad,) = tf.gradients(tf.reduce_sum(build(v)), v._ref())
    assert isinstance(grad, kind)
    np.testing.assert_array_equal(dense_of(grad)[:, 0], [0, 0, 0, 2, 0])


@pytest.mark.parametrize("other", ["rows", "zeros", "table"])
@pytest.mark.parametrize("is_first", [True, False])
def test_through_a_branch(other, is_first):
    v, pred = table(), tf.placeholder(tf.bool, [])
    others = {
        "rows": lambda: tf.gather(v, [2, 1, 2]),
        "zeros": lambda: tf.zeros([3, 3]),
        "table": lambda: v[:3] * 2.0,
    }
    actual = tf.cond(pred, lambda: tf.gather(v, [1, 1, 4]), others[other])
    (grad,) = tf.gradients(tf.reduce_sum(actual), v._ref())
    wanted = {"rows": [0, 1, 2, 0, 0], "zeros": [0] * 5, "table": [2, 2, 2, 0, 0]}[other]
    wanted = [0, 2, 0, 0, 1] if is_first else wanted
    np.testing.assert_array_equal(dense_of(grad, {pred: is_first})[:, 0], wanted)
    if other != "table":
        assert isinstance(grad, tf.IndexedSlices)
        assert grad.shape.as_list() == [5, 3]


def test_through_a_loop():
    v, count = table(), tf.placeholder(tf.int32, [])
    ids = tf.constant([1, 2, 1, 4])
    _, total = tf.while_loop(
        lambda i, _: i < count,
        lambda i, a: (i + 1, a * 2.0 + tf.gather(v, ids[i])),
        [0, tf.zeros([3])],
    )
    (grad,) = tf.gradients(tf.reduce_sum(total), v._ref())
    assert isinstance(grad, tf.IndexedSlices)
    value = run(grad, {count: 3})
    np.testing.assert_array_equal(value.indices, [0, 1, 2, 1])  # row 0 is TensorFlow's beginning
    np.testing.assert_array_equal(value.values[:, 0], [0, 1, 2, 4])
    np.testing.assert_array_equal(dense_of(grad, {count: 4})[:, 0], [0, 10, 4, 0, 1])
    np.testing.assert_array_equal(dense_of(grad, {count: 0}), np.zeros_like(TABLE))


def test_through_a_branch_in_a_loop():
    v, ids = table(), tf.constant([1, 2, 1, 4])

    def body(i, a):
        row = tf.cond(i < 2, lambda: tf.gather(v, ids[i]), lambda: tf.ones([3]))
        return i + 1, a + row

    _, total = tf.while_loop(lambda i, _: i < 4, body, [0, tf.zeros([3])])
    (grad,) = tf.gradients(tf.reduce_sum(total), v._ref())
    np.testing.assert_array_equal(dense_of(grad)[:, 0], [0, 1, 1, 0, 0])


def test_behind_a_loop():
    v = table()
    _, doubled = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * 2.0), [0, v.value()])
    (grad,) = tf.gradients(tf.reduce_sum(tf.gather(doubled, [1, 1])), v._ref())
    np.testing.assert_array_equal(dense_of(grad)[:, 0], [0, 16, 0, 0, 0])


def test_a_program_may_give_rows_itself():
    v = table()

    @tf.custom_gradient
    def looked_up(x):
        def grad(dy):
            return tf.IndexedSlices(dy * 3.0, tf.constant([2]), tf.shape(x))

        return tf.gather(x, [1]), grad

    (grad,) = tf.gradients(tf.reduce_sum(looked_up(v.value())), v._ref())
    assert isinstance(grad, tf.IndexedSlices)
    np.testing.assert_array_equal(dense_of(grad)[:, 0], [0, 0, 3, 0, 0])


def test_rows_as_grad_ys():
    v = table()
    start = tf.IndexedSlices(tf.ones([1, 3]), tf.constant([2]), tf.constant([5, 3]))
    (grad,) = tf.gradients(tf.identity(v), v._ref(), grad_ys=start)
    assert run(grad).indices.tolist() == [2]
    with pytest.raises(TypeError, match="must be complex"):
        tf.gradients(tf.cast(v, tf.complex64), v._ref(), grad_ys=start)


def test_second_order():
    x = tf.constant(TABLE)
    first = tf.gradients(tf.reduce_sum(tf.gather(x, [1, 1, 2]) ** 3), x)[0]
    (second,) = tf.gradients(tf.reduce_sum(tf.convert_to_tensor(first)), x)
    wanted = np.zeros_like(TABLE)
    np.add.at(wanted, [1, 1, 2], 6 * TABLE[[1, 1, 2]])
    np.testing.assert_allclose(dense_of(second), wanted)


def test_gated():
    v, w = table(), tf.Variable(np.ones(3, np.float32))
    loss = tf.reduce_sum(tf.gather(v, [1]) * w)
    grads = tf.gradients(loss, [v._ref(), w._ref()], gate_gradients=True)
    rows, plain = tf.tuple(grads)
    assert isinstance(rows, tf.IndexedSlices)
    assert rows.values.op.name == "tuple/control_dependency"
    values = run([rows, plain])
    np.testing.assert_array_equal(values[0].values, [[1, 1, 1]])
    np.testing.assert_array_equal(values[1], TABLE[1])


def test_through_the_parts_of_a_table():
    partitioner = tf.fixed_size_partitioner(3)
    whole = tf.get_variable("w", initializer=tf.constant(TABLE), partitioner=partitioner)
    parts = [value._ref() for value in whole]
    grads = tf.gradients(tf.reduce_sum(tf.gather(whole, [4, 0, 4]) ** 2), parts)
    assert all(isinstance(grad, tf.IndexedSlices) for grad in grads)
    values = run(grads)
    assert [value.indices.tolist() for value in values] == [[0], [], [0, 0]]
    assert [value.dense_shape.tolist() for value in values] == [[2, 3], [2, 3], [1, 3]]
    np.testing.assert_array_equal(values[2].values, 2 * TABLE[[4, 4]])
    side = tf.constant(TABLE)
    (grad,) = tf.gradients(tf.reduce_sum(tf.gather(tf.concat([side, side], 1), [1])), side)
    assert isinstance(grad, tf.Tensor)
    np.testing.assert_array_equal(run(grad)[:, 0], [0, 2, 0, 0, 0])


def test_constant_indices_in_a_branch_of_a_loop():
    v, pred = table(), tf.placeholder(tf.bool, [])

    def body(i, a):
        row = tf.cond(pred, lambda: tf.gather(v, i), lambda: tf.gather(v, [3, 1])[1])
        return i + 1, a + row

    _, total = tf.while_loop(lambda i, _: i < 3, body, [0, tf.zeros([3])])
    (grad,) = tf.gradients(tf.reduce_sum(total), v._ref())
    for is_first, wanted in ((True, [1, 1, 1, 0, 0]), (False, [0, 3, 0, 0, 0])):
        np.testing.assert_array_equal(dense_of(grad, {pred: is_first})[:, 0], wanted)


def test_gather_nd_of_rows() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    (rows,) = tf.gradients(tf.gather_nd(x, [[2], [0], [2]]) * [[1.0], [2.0], [3.0]], x)
    assert isinstance(rows, tf.IndexedSlices)
    (elements,) = tf.gradients(tf.gather_nd(x, [[2, 0], [0, 1]]), x)
    assert isinstance(elements, tf.Tensor)
    with tf.Session() as session:
        assert session.run(rows).indices.tolist() == [2, 0, 2]
        assert session.run(tf.convert_to_tensor(rows)).tolist() == [[2, 2], [0, 0], [4, 4]]
