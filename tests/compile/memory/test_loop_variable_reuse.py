"""Loop variables: where the next value is made in the place of the last one, and where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops

from ..raw_loop import RawLoop, times
from ..stages import compiled, node, run


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def mode(fetch: tf.Tensor, name: str, feeds: Any = None) -> str:
    unit = compiled([fetch], feeds)
    return unit.modes.get(node(unit, name).id, "")


def test_the_next_value_is_made_where_the_last_one_is():
    x = tf.placeholder(tf.float32, [3])
    (y,) = times(4, lambda x: [tf.tanh(x, name="next")], [x])
    assert mode(y, "while/next", {x: (3,)}) == "in place of while/Merge_1"
    assert run([y], {x: [0.5, 1.0, 2.0]})[0] == pytest.approx(four_times(np.tanh))


def four_times(function: Any) -> Any:
    value = np.array([0.5, 1.0, 2.0], np.float32)
    for _ in range(4):
        value = function(value)
    return value


def test_not_where_the_last_one_is_read_later():
    x = tf.placeholder(tf.float32, [3])

    def body(x: Any, log: Any) -> Any:
        after = tf.tanh(x, name="next")
        with tf.control_dependencies([after]):
            return [after, log + x]

    y, log = times(4, body, [x, tf.zeros([3])])
    assert mode(log, "while/next", {x: (3,)}) == ""
    values = [0.5]
    for _ in range(4):
        values.append(float(np.tanh(np.float32(values[-1]))))
    got = run([y, log], {x: [0.5] * 3})
    np.testing.assert_allclose(got, [[values[4]] * 3, [sum(values[:4])] * 3], rtol=1e-6)


def test_not_where_another_variable_begins_with_it():
    """Fibonacci: the next `a` is `b`, whose place is another's."""
    x = tf.placeholder_with_default(np.array([1.0, 2.0]), [2])
    a, b = times(5, lambda a, b: [b, a + b], [x, x])
    assert [array.tolist() for array in run([a, b])] == [[8.0, 16.0], [13.0, 26.0]]


def test_not_where_an_inner_loop_gives_it_on():
    """The inner loop's Exit is the outer variable's own bytes, and is read after the next value."""
    x = tf.placeholder_with_default(np.array([1.0, 2.0]), [2])
    outer = RawLoop(3, "outer")
    value = outer.merge(x)
    total = outer.merge(tf.zeros([2], tf.float64))
    left, going = outer.switch(value, outer.goes_on)
    summed, sum_going = outer.switch(total, outer.goes_on)
    inner = RawLoop(2, "inner", outer)
    same, _ = inner.switch(inner.enter(going, True), inner.goes_on)
    inner.close()
    following = tf.tanh(same)
    with tf.control_dependencies([following]):
        outer.back(total, sum_going + same)
    outer.back(value, following)
    outer.close()
    values = [np.array([1.0, 2.0])]
    for _ in range(3):
        values.append(np.tanh(values[-1]))
    got = run([left, summed])
    np.testing.assert_allclose(got, [values[3], values[0] + values[1] + values[2]])


def test_not_where_an_exit_may_be_alive_while_the_loop_goes_on():
    """The Exit is read after the next value is made, in the one iteration in which it lives."""
    loop = RawLoop(4)
    value = loop.merge(tf.placeholder_with_default(np.array([1.0, 2.0]), [2]))
    second = tf.equal(loop.pivot, loop.constant(1))
    seen = raw_ops.Switch(value, second).output_true
    going, ten = raw_ops.Switch(value, loop.goes_on).output_true, loop.constant(np.float64(10.0))
    with tf.control_dependencies([seen.op]):
        following = going * ten
    loop.back(value, following)
    with tf.control_dependencies([following]):
        left = raw_ops.Exit(seen)
    loop.close()
    got, last = run([left, loop.left])
    assert (got.tolist(), last) == ([10.0, 20.0], 4)


def test_not_where_it_is_made_though_the_loop_may_be_over():
    loop = RawLoop(3)
    value = loop.merge(tf.placeholder_with_default(np.array([1.0, 2.0]), [2]))
    sides = raw_ops.Switch(value, loop.goes_on)
    left, ten = raw_ops.Exit(sides.output_false), loop.constant(np.float64(10.0))
    with tf.control_dependencies([sides.output_true.op]):
        result = value * ten
    loop.back(value, raw_ops.Switch(result, loop.goes_on).output_true)
    loop.close()
    assert run([left])[0].tolist() == [1000.0, 2000.0]


def test_what_is_done_before_the_first_iteration_comes_first():
    """The initial value has its place until the loop begins, whatever it depends on there."""
    x = tf.placeholder_with_default(np.array([1.0, 2.0]), [2])
    loop = RawLoop(3)
    once = loop.enter(tf.tanh(x))
    early = loop.variable(tf.sin(x), lambda count: tf.less(count, loop.constant(1)))
    used = raw_ops.Exit(once + loop.constant(np.array([1.0, 1.0])))
    loop.close()
    unit = compiled([used, early, loop.left])
    kinds = [node.type for node in unit.order if unit.flow.frames.at(node).name == "loop"]
    enters, merges = kinds.count("Enter"), kinds.count("Merge")
    assert kinds[: enters + merges] == ["Enter"] * enters + ["Merge"] * merges
