"""Automatic control dependencies: the order of stateful ops in a block."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.building.control_flow.automatic_control_dependencies import (
    AutomaticControlDependencies,
)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def value_of(build):
    """Return the values of a variable, initially 1, and of the block's result after a run."""
    v = tf.Variable(1.0, use_resource=True)
    with AutomaticControlDependencies() as order:
        result = order.mark_as_return(build(v))
    with tf.Session() as session:
        session.run(v.initializer)
        returned = session.run(result)
        return session.run(v), returned


def test_writes_and_reads_run_in_program_order():
    def build(v):
        v.assign(v * 10.0)
        before = v.read_value()
        v.assign_add(1.0)
        v.assign(v * 2.0)
        return before

    assert value_of(build) == (22.0, 10.0)


def test_branches_and_loops_count_as_one_op():
    def build(v):
        v.assign_add(1.0)
        tf.cond(tf.constant(True), lambda: v.assign(v * 3.0), lambda: v.assign(v * 5.0))
        v.assign_add(1.0)

        def body(i):
            v.assign(v * 2.0)
            return i + 1

        tf.while_loop(lambda i: i < 3, body, [0])
        v.assign_add(0.5)
        return v.read_value()

    assert value_of(build) == (56.5, 56.5)


def test_an_untaken_branch_has_no_effect():
    def build(v):
        def nested():
            tf.cond(v > 100.0, lambda: v.assign(0.0), lambda: v.assign(v + 1.0))
            return v.assign(v * 2.0)

        tf.cond(v > 0.0, nested, lambda: v.assign(-1.0))
        return v.read_value()

    assert value_of(build) == (4.0, 4.0)


def test_other_effects_run_in_program_order():
    calls = []
    x = tf.constant(1.0)
    with AutomaticControlDependencies() as order:
        for number in range(4):
            tf.py_func(lambda number=number: calls.append(number), [], [])
        result = order.mark_as_return(x)
    with tf.Session() as session:
        session.run(result)
    assert calls == [0, 1, 2, 3]


def test_reads_do_not_wait_for_each_other():
    v = tf.Variable(1.0, use_resource=True)
    with AutomaticControlDependencies() as order:
        one, two = v.read_value().op.inputs[0].op, v.read_value().op.inputs[0].op
        change = v.assign_add(1.0)
    assert one.control_inputs == two.control_inputs == []
    assert order.ops_which_must_run == {change.op}
    assert set(change.op.control_inputs) == {one, two}


def test_a_block_ends_in_its_own_graph():
    with pytest.raises(RuntimeError, match="Graph changed while trying to add control"):
        order = AutomaticControlDependencies()
        order.__enter__()
        with tf.Graph().as_default():
            order.__exit__(None, None, None)
