"""Initial values of large variables: in the variable's memory, once, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.memory.initial_values import LARGE
from gpugraph.devices import Resources

from ..stages import compiled, make_target, node

SIZE = LARGE // 4


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph


def numbers(name, mean=0.5):
    return tf.random_normal([SIZE], mean=mean, stddev=2.0, seed=3, name=name)


def in_place(unit):
    """Return the ops whose results are in the memory of a variable."""
    return sorted(
        node.type
        for node in unit.order
        if unit.modes.get(node.id, "").endswith(" of v") and node.type not in ("Assign", "Identity")
    )


def test_random_numbers_are_scaled_in_the_memory_of_the_variable():
    v = tf.Variable(numbers("x"), name="v")
    unit = compiled([v.initializer])
    assert in_place(unit) == ["RandomStandardNormal", "_Fused"]
    assert not any(unit.arena_sizes.values())
    assert unit.runs_once


@pytest.mark.parametrize("mean", [0.0, 0.5])
def test_the_values_are_those_of_a_run_without_it(mean):
    variables = [tf.Variable(numbers("x", mean), use_resource=kind) for kind in (False, True)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run(variables)
        session.run(tf.global_variables_initializer())
        later = session.run(variables)
    with tf.Session() as session:
        expected = session.run(numbers("y", mean))
    for value in values:
        np.testing.assert_array_equal(value, expected)
    assert all((value != other).any() for value, other in zip(values, later))


def test_memory_is_given_back_after_the_first_run():
    v = tf.Variable(numbers("x"))
    with tf.Session() as session:
        session.run(v.initializer)
        [stats] = session.memory_stats().values()
        assert stats.bytes_in_use < 1.01 * 4 * SIZE
        assert stats.peak_bytes_in_use < 1.01 * 4 * SIZE


def test_a_variable_with_a_value_keeps_it_where_a_later_run_fails():
    """The failing step comes after the random numbers and before the assignment."""
    ok = tf.placeholder_with_default(1.0, [])
    checked = tf.py_func(lambda x: 1 / np.float32(x) if x else fail(), [ok], tf.float32)
    v = tf.Variable(numbers("x") * 2.0 * checked, validate_shape=False)
    v.set_shape([SIZE])
    with tf.Session() as session:
        session.run(v.initializer)
        value = session.run(v)
        for _ in range(2):
            with pytest.raises(tf.errors.OpError):
                session.run(v.initializer, {ok: 0.0})
            np.testing.assert_array_equal(session.run(v), value)


def fail():
    raise ValueError("as asked")


def test_a_run_that_fails_leaves_the_variable_without_a_value():
    ok = tf.placeholder(tf.bool, [])
    with tf.control_dependencies([tf.Assert(ok, ["as asked"])]):
        v = tf.Variable(tf.identity(numbers("x")))
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(v.initializer, {ok: False})
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(v)
        session.run(v.initializer, {ok: True})
        assert abs(session.run(v).mean() - 0.5) < 0.1


def test_what_others_read_stays_apart():
    x = numbers("x")
    v = tf.Variable(x, name="v")
    assert in_place(compiled([v.initializer, x])) == []


def test_a_variable_that_is_read_before_stays_apart():
    v = tf.Variable(numbers("x"), name="v", use_resource=False)
    before = tf.reduce_sum(v)
    with tf.control_dependencies([before]):
        assign = tf.assign(v, numbers("y"))
    assert in_place(compiled([assign.op, before])) == []


def test_small_variables_stay_apart():
    v = tf.Variable(tf.random_normal([SIZE - 1]), name="v")
    unit = compiled([v.initializer])
    assert in_place(unit) == [] and not unit.runs_once


def test_a_variable_with_a_value_stays_apart():
    v = tf.Variable(numbers("x"), name="v", use_resource=False)
    resources = Resources()
    target = make_target(resources=resources)
    unit = compiled([v.initializer], target=target)
    assert unit.runs_once
    variable = node(unit, "v")
    resources.variable("", "v", target.devices[0], variable.attrs["dtype"]).initialized = True
    unit = compiled([v.initializer], target=target)
    assert in_place(unit) == [] and not unit.runs_once


def test_two_variables_of_one_value_stay_apart():
    x = numbers("x")
    first, second = tf.Variable(x), tf.Variable(x)
    with tf.Session() as session:
        session.run([first.initializer, second.initializer])
        np.testing.assert_array_equal(*session.run([first, second]))


def test_an_initial_value_of_another_variable():
    first = tf.Variable(numbers("x"), use_resource=True)
    second = tf.Variable(first.initialized_value() * 2.0, use_resource=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run([first, second])
    np.testing.assert_array_equal(values[0] * 2, values[1])
