"""Ops that serve as control inputs only: which are removed, and which must not be."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.config import RewriterConfig
from gpugraph.ops.framework.op_declaration import raw_ops

from ..stages import compiled, types


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def names(unit):
    return {node.name for node in unit.graph.op_nodes()}


def test_the_gradient_of_what_nobody_asked_for_is_not_computed():
    x, w = tf.placeholder(tf.float32, [2, 3], name="x"), tf.Variable(tf.ones([3, 4]))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.matmul(x, w)))
    unit = compiled([train], {x: (2, 3)}, upto="dependency_optimization")
    assert "gradients/MatMul_grad/MatMul_1" in names(unit)
    assert "gradients/MatMul_grad/MatMul" not in names(unit)
    assert any(
        "MatMul_grad/MatMul (MatMul) has only control outputs" in x for x in unit.reports[-1].lines
    )


def test_chains_of_them_go():
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.exp(tf.tanh(x))]):
        y = x + 1.0
    assert "Tanh" not in types(compiled([y], {x: (2,)}, upto="dependency_optimization"))
    assert "Exp" not in types(compiled([y], {x: (2,)}, upto="dependency_optimization"))


def test_what_they_wait_for_is_still_waited_for():
    v = tf.Variable(1.0, name="v")
    write = v.assign_add(1.0)
    with tf.control_dependencies([write]):
        between = tf.exp(2.0 * tf.ones([3]), name="between")
    with tf.control_dependencies([between]):
        y = v.read_value() * 10.0
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y) == 20.0


def test_what_changes_something_or_may_fail_is_run():
    x = tf.placeholder(tf.float32, [2])
    seen = []
    called = tf.py_func(lambda a: seen.append(a.sum()) or a, [x], tf.float32)
    checked = tf.Assert(x[0] > 0.0, [x])
    with tf.control_dependencies([called, checked]):
        y = x + 1.0
    with tf.Session() as session:
        session.run(y, {x: [1.0, 2.0]})
        assert seen == [3.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            session.run(y, {x: [-1.0, 2.0]})


def test_the_other_branch_is_still_dead():
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    v = tf.Variable(0.0)

    def taken():
        with tf.control_dependencies([tf.exp(x)]):
            return v.assign_add(x)

    y = tf.cond(p, taken, lambda: x * 2.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y, {p: False, x: 3.0}) == 6.0
        assert session.run(v) == 0.0
        assert session.run(y, {p: True, x: 3.0}) == 3.0


def test_what_is_asked_for_stays():
    x = tf.placeholder(tf.float32, [2])
    a = tf.exp(x, name="a")
    with tf.control_dependencies([a]):
        y = x + 1.0
    with tf.Session() as session:
        assert session.run([a.op, y], {x: np.zeros(2)})[1][0] == 1.0
    assert "a" in names(compiled([a.op, y], {x: (2,)}, upto="dependency_optimization"))


def test_it_can_be_switched_off():
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.exp(x)]):
        y = x + 1.0
    off = tf.GraphOptions(
        rewrite_options=RewriterConfig(dependency_optimization=RewriterConfig.OFF)
    )
    with tf.Session(config=tf.ConfigProto(graph_options=off)) as session:
        assert "dependency_optimization is OFF" in str(session.explain(y, {x: np.zeros(2)}))


# -- barriers in loops


def waits(unit):
    """What the pass reports of barriers in loops."""
    [report] = [report for report in unit.reports if report.name == "dependency_optimization"]
    return [line for line in report.lines if "does not wait for" in line]


def pairs(change=None):
    """Return a loop whose body has a tuple of two values of x."""
    x = tf.placeholder(tf.float32, [3], name="x")

    def body(i, y):
        a, b = tf.tuple([tf.tanh(y), tf.exp(-y)], name="pair")
        with tf.control_dependencies([change(b)] if change else []):
            return i + 1, a * b

    return x, tf.while_loop(lambda i, y: i < 4, body, [0, x])[1]


def test_gradients_in_a_loop_do_not_wait_for_each_other():
    x = tf.placeholder(tf.float32, [3], name="x")
    w = tf.Variable([0.5, 1.0, 2.0], name="w")
    y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.tanh(y * w) * y), [0, x])[1]
    fetches = tf.gradients(y, [x, w], gate_gradients=True)
    unit = compiled(fetches, {x: (3,)}, upto="dependency_optimization")
    assert any("tuple/group_deps in a loop" in line for line in waits(unit))
    results = []
    for level in (RewriterConfig.ON, RewriterConfig.OFF):
        options = tf.GraphOptions(rewrite_options=RewriterConfig(dependency_optimization=level))
        with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
            session.run(w.initializer)
            results.append(session.run(fetches, {x: [0.3, -0.2, 0.9]}))
    for one, other in zip(*results):
        np.testing.assert_allclose(one, other, 1e-6)


def test_a_loop_that_writes_keeps_its_barriers():
    v = tf.Variable(0.0, name="v")
    x, y = pairs(lambda b: v.assign_add(tf.reduce_sum(b)).op)
    assert not waits(compiled([y], {x: (3,)}, upto="dependency_optimization"))
    x, y = pairs()
    assert waits(compiled([y], {x: (3,)}, upto="dependency_optimization"))


def test_outside_of_loops_a_variable_is_written_after_all_gradients_have_read_it():
    x, w = tf.placeholder(tf.float32, [2, 3], name="x"), tf.Variable(tf.ones([3, 4]))
    u = tf.Variable(tf.ones([2, 3]))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.matmul(x * u, w)))
    unit = compiled([train], {x: (2, 3)}, upto="dependency_optimization")
    assert not waits(unit)
    assert "gradients/MatMul_grad/tuple/group_deps" in names(unit)


@pytest.mark.parametrize("taken", [False, True])
def test_what_an_untaken_branch_holds_back_stays_dead(taken):
    """The second value of the pair is dead with the first: else the Merge had two values."""
    p, x = tf.placeholder(tf.bool, [], name="p"), tf.placeholder(tf.float32, [], name="x")

    def body(i, y, _):
        sides = raw_ops.Switch(y, p)
        doubled, tripled = tf.tuple([sides.output_true * 2.0, y * 3.0])
        other = sides.output_false + 1.0
        return i + 1, *(raw_ops.Merge([value, other]).output for value in (tripled, doubled))

    fetches = list(tf.while_loop(lambda i, *_: i < 2, body, [0, x, x])[1:])
    with tf.Session() as session:
        found = session.run(fetches, {p: taken, x: 5.0})
    assert found == ([45.0, 30.0] if taken else [7.0, 7.0])
    [line] = waits(compiled(fetches, {p: (), x: ()}, upto="dependency_optimization"))
    assert line.endswith("wait for while/mul_1")
