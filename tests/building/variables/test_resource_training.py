"""Resource variables in branches and loops, their gradients, and optimizers of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def resource(value: Any, **how: Any) -> Any:
    return tf.Variable(value, use_resource=True, **how)


def run(fetches: Any, feeds: Any = None) -> Any:
    """Initialize all variables, and return the values of one run."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


# -- branches and loops


def test_a_branch_reads_and_writes_where_it_is_taken():
    w, taken = resource([1.0, 2.0]), tf.placeholder(tf.bool, [])
    made = tf.cond(taken, lambda: w.assign_add([1.0, 1.0]), lambda: w.value() * 10.0)
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run(made, {taken: False}).tolist() == [10, 20]
        assert session.run(made, {taken: True}).tolist() == [2, 3]
        assert session.run(w).tolist() == [2, 3]


def test_a_branch_that_is_not_taken_needs_no_value():
    w, taken = resource(3.0), tf.placeholder(tf.bool, [])
    made = tf.cond(taken, lambda: w.value(), lambda: 1.0)
    with tf.Session() as session:
        assert session.run(made, {taken: False}) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(made, {taken: True})


def test_a_variable_first_made_in_a_branch_is_initialized_outside():
    def branch():
        with tf.variable_scope("m", use_resource=True):
            return tf.get_variable("k", initializer=lambda: tf.constant([4.0])) * 2.0

    taken = tf.placeholder(tf.bool, [])
    made = tf.cond(taken, branch, lambda: tf.constant([0.0]))
    assert run(made, {taken: True}).tolist() == [8.0]


def test_each_iteration_sees_what_the_last_one_wrote():
    w = resource(1.0)

    def body(i, read, reread):
        before = w.read_value()
        with tf.control_dependencies([before]):
            written = w.assign(before * 2.0)
        with tf.control_dependencies([written]):
            return i + 1, read + before, reread + w.read_value()

    loop = tf.while_loop(lambda i, *_: i < 4, body, [0, 0.0, 0.0], parallel_iterations=1)
    assert run(loop) == (4, 15, 30)


def test_a_loop_in_a_loop_writes_too():
    w = resource(0.0)

    def inner(j, total):
        with tf.control_dependencies([w.assign_add(1.0)]):
            return j + 1, total + w.read_value()

    def outer(i, total):
        loop = tf.while_loop(lambda j, _: j < 2, inner, [0, total], parallel_iterations=1)
        return i + 1, loop[1]

    loop = tf.while_loop(lambda i, _: i < 3, outer, [0, 0.0], parallel_iterations=1)
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run(loop) == (3, 21)
        assert session.run(w) == 6


# -- gradients


def test_gradients_are_by_the_variable_and_by_its_handle():
    w = resource([2.0, 3.0])
    y = w**3.0
    (first,) = tf.gradients(y, w)
    fetches = [first, tf.gradients(y, w.handle), tf.gradients(first, w), tf.hessians(y, w)]
    found = run(fetches)
    assert [np.asarray(each).tolist() for each in found] == [
        [12, 27],
        [[12, 27]],
        [[12, 18]],
        [[[12, 0], [0, 18]]],
    ]
    assert tf.gradients(y, w.value()) == [None]
    (zero,) = tf.gradients(y, resource([1.0]), unconnected_gradients="zero")
    assert run(zero).tolist() == [0]


def test_the_gradient_of_rows_is_rows():
    v = resource(np.ones([5, 2], np.float32))
    (grad,) = tf.gradients(tf.reduce_sum(tf.gather(v, [3, 0, 3]) * 2.0), v)
    assert isinstance(grad, tf.IndexedSlices)
    found = run(grad)
    assert found.indices.tolist() == [3, 0, 3]
    assert found.values.tolist() == [[2, 2]] * 3
    assert found.dense_shape.tolist() == [5, 2]
    (dense,) = tf.gradients(tf.reduce_sum(tf.gather_nd(v, [[1, 0]])), v)
    assert run(dense).tolist() == [[0, 0], [1, 0], [0, 0], [0, 0], [0, 0]]


def test_gradients_go_through_branches():
    w, v, taken = resource([1.0, 2.0]), resource([3.0, 1.0]), tf.placeholder(tf.bool, [])
    y = tf.cond(taken, lambda: tf.reduce_sum(w * w), lambda: tf.reduce_sum(2.0 * v))
    grads = tf.gradients(y, [w, v])
    assert [each.tolist() for each in run(grads, {taken: True})] == [[2, 4], [0, 0]]
    assert [each.tolist() for each in run(grads, {taken: False})] == [[0, 0], [2, 2]]


def test_gradients_go_through_loops_and_branches_in_them():
    w = resource([2.0, 3.0])

    def body(i, x):
        return i + 1, tf.cond(i < 2, lambda: x * w, lambda: x + 1.0)

    last = tf.while_loop(lambda i, _: i < 4, body, [0, tf.constant([1.0, 1.0])])[1]
    found = run([last, tf.gradients(last, w)[0]])
    assert [each.tolist() for each in found] == [[6, 11], [4, 6]]


def test_a_function_with_a_gradient_of_its_own_is_told_of_the_variable():
    w = resource(3.0)

    @tf.custom_gradient
    def times(x):
        return x * w, lambda dy, variables: (dy * 10.0, [dy * 100.0 for _ in variables])

    x = tf.constant(2.0)
    assert run(tf.gradients(times(x), [x, w])) == [10, 100]


# -- optimizers


OPTIMIZERS: dict[str, Callable[[], tf.train.Optimizer]] = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Adam": lambda: tf.train.AdamOptimizer(0.1),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.1),
    "Ftrl": lambda: tf.train.FtrlOptimizer(0.1),
}


def trained(use_resource: bool, make: Callable[[], tf.train.Optimizer]) -> list[Any]:
    """Return the losses of five steps of a small net with an embedding, and all variables then."""
    random = np.random.RandomState(0)

    def normal(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float32)

    with tf.Graph().as_default(), tf.variable_scope("", use_resource=use_resource):
        x, y = tf.constant(normal(8, 5)), tf.constant(normal(8, 1))
        hidden = tf.tanh(tf.matmul(x, tf.Variable(normal(5, 4))) + tf.Variable(normal(4)))
        rows = tf.gather(tf.Variable(normal(6, 1)), [0, 1, 1, 2, 0, 5, 3, 3])
        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, tf.Variable(normal(4, 1))) + rows - y))
        step = tf.Variable(0, trainable=False)
        train = make().minimize(loss, global_step=step)
        kinds = {each.op.type for each in tf.global_variables()}
        assert kinds == {"VarHandleOp" if use_resource else "VariableV2"}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train])[0] for _ in range(5)]
            return [losses, *session.run(tf.global_variables())]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_both_kinds_train_alike_to_the_bit(name):
    both = [trained(use_resource, OPTIMIZERS[name]) for use_resource in (False, True)]
    for reference, found in zip(*both, strict=True):
        np.testing.assert_array_equal(found, reference)
    assert both[1][0][-1] < both[1][0][0]


def test_updates_and_slots_are_by_handles(graph):
    w = resource([1.0, 2.0], name="w")
    optimizer = tf.train.AdamOptimizer(0.1)
    optimizer.minimize(tf.reduce_sum(w * w))
    update = graph.get_operation_by_name("Adam/update_w/ResourceApplyAdam")
    assert [each.name.removesuffix(":0") for each in update.inputs[:5]] == [
        "w",
        "w/Adam",
        "w/Adam_1",
        "Adam/update_w/ResourceApplyAdam/ReadVariableOp",
        "Adam/update_w/ResourceApplyAdam/ReadVariableOp_1",
    ]
    assert optimizer.get_slot(w, "m").op.type == "VarHandleOp"


def test_a_constraint_holds_after_each_step():
    w = resource([1.0, -2.0], constraint=lambda value: tf.maximum(value, 0.25))
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(w * w))
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(step)
        assert session.run(w).tolist() == [0.25, 2]


def test_a_programs_own_optimizer_may_tell_them_apart():
    class Own(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Own")

        def _resource_apply_dense(self, grad, handle):
            return handle.assign_sub(grad, read_value=False)

        def _resource_apply_sparse(self, grad, handle, indices):
            return handle.scatter_sub(tf.IndexedSlices(grad * 2.0, indices))

    w, v = resource([1.0, 2.0]), resource([1.0, 1.0])
    step = Own().minimize(tf.reduce_sum(w * w) + tf.reduce_sum(tf.gather(v, [1, 1])))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert [each.tolist() for each in session.run([w, v])] == [[-1, -2], [1, -3]]


def test_the_average_of_a_resource_variable_is_one():
    w = resource([1.0, 2.0])
    averages = tf.train.ExponentialMovingAverage(0.5)
    update = averages.apply([w])
    kept = averages.average(w)
    assert kept.op.type == "VarHandleOp"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(w.assign([5.0, 5.0]))
        session.run(update)
        assert session.run(kept).tolist() == [3, 3.5]
