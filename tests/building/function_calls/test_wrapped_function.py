"""`tf.wrap_function`: code traced once, with its own variables, and parts of it."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def changing(x, adds):
    v = tf.Variable(5.0, name="v")
    op = v.assign_add(x) if adds else v.assign_sub(x)
    with tf.control_dependencies([op]):
        return v.read_value()


def test_each_function_has_its_variables():
    add = tf.wrap_function(changing, [tf.TensorSpec([], tf.float32), True])
    subtract = tf.wrap_function(changing, [tf.TensorSpec([], tf.float32), False])
    up, down = add(1.0), subtract(1.0)
    assert [v.name for v in add.variables] == ["v:0"]
    assert len(tf.global_variables()) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(up), session.run(up)] == [6.0, 7.0]
        assert [session.run(down), session.run(down)] == [4.0, 3.0]


def test_ops_that_no_result_needs_do_not_run():
    called = []

    def double(x):
        tf.py_func(lambda v: called.append(1) or v, [x], tf.float32)
        return {"twice": x * 2, "nothing": None}

    function = tf.wrap_function(double, [tf.TensorSpec([], tf.float32)], name="mine")
    result = function(3.0)
    assert "wrapped_function_mine" in function.name
    assert result["nothing"] is None
    with tf.Session() as session:
        assert session.run(result["twice"]) == 6.0
    assert called == []


def test_gradients():
    function = tf.wrap_function(
        lambda x: x * tf.get_variable("w", [], initializer=tf.ones_initializer()),
        [tf.TensorSpec([None], tf.float32)],
    )
    x = tf.constant([2.0, 3.0])
    slopes = tf.gradients(function(x), [x, *function.trainable_variables])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run(slopes)
    np.testing.assert_array_equal(values[0], [1, 1])
    assert values[1] == 5.0


def test_parts_of_a_function():
    v = tf.Variable(2.0, use_resource=True)

    def pair(x):
        y = tf.square(x, name="squared")
        return tf.add(y * v, 1.0, name="out")

    function = tf.wrap_function(pair, [tf.TensorSpec([], tf.float32)])
    graph = function.graph
    squared = graph.get_tensor_by_name("squared:0")
    first = function.prune(function.inputs, squared)
    last = function.prune("squared:0", {"result": "out:0"})
    assert last.variables == (v,)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(first(3.0)) == 9.0
        assert session.run(last(10.0)["result"]) == 21.0
    with pytest.raises(ValueError, match="Feeds must be tensors"):
        function.prune(squared.op, "out:0")
    with pytest.raises(ValueError, match="Can only prune function whose feeds and fetches"):
        function.prune(function.inputs[:1], tf.constant(1))
    with pytest.raises(KeyError):
        function.prune("none:0", "out:0")


def test_an_operation_as_a_result_runs():
    v = tf.Variable(1.0, use_resource=True)
    function = tf.wrap_function(
        lambda x: (tf.identity(x), v.assign(x, read_value=False))[0],
        [tf.TensorSpec([], tf.float32)],
    )
    change = next(op for op in function.graph.get_operations() if op.type == "AssignVariableOp")
    assigning = function.prune(function.inputs[:1], change)
    done = assigning(7.0)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(done)
        assert session.run(v) == 7.0


def test_a_change_orders_what_follows_in_functions_of_datasets():
    v = tf.Variable(np.int64(0), use_resource=True)

    def count(x):
        with tf.control_dependencies([v.assign_add(1)]):
            return x + v.read_value()

    iterator = tf.data.Dataset.range(3).map(count).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run([v.initializer, iterator.initializer])
        assert [session.run(following) for _ in range(3)] == [1, 3, 5]
