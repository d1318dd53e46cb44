"""Loops as steps: shapes that change from iteration to iteration, and when loops end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InvalidArgumentError, UnimplementedError
from gpugraph.ops.framework.op_declaration import raw_ops

from ..raw_loop import RawLoop, times
from ..stages import execute, make_plan, make_target, run

UNKNOWN = tf.TensorShape(None)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def in_use(target: Any) -> list[int]:
    return [device.allocator.get_stats().bytes_in_use for device in target.devices]


# -- shapes that change


def test_a_variable_that_grows():
    x = tf.placeholder_with_default(np.array([1.0]), [1])
    (y,) = times(
        4,
        lambda x: [tf.concat([x, x * 2.0], 0)],
        [x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    assert run([y])[0].shape == (16,)


def test_what_follows_from_a_shape_that_grows_is_no_constant():
    x = tf.placeholder_with_default(np.array([1.0]), [1])
    invariants = [tf.TensorShape([])] + [tf.TensorShape([None])] * 2
    y, ones = times(
        3,
        lambda x, _: [tf.concat([x, x], 0), tf.fill(tf.shape(x), 1.0)],
        [x, tf.constant([5.0])],
        shape_invariants=invariants,
    )
    assert [array.shape for array in run([y, ones])] == [(8,), (4,)]


@pytest.mark.parametrize("size", [1, 2])
def test_an_inner_loop_begins_with_what_grows(size: int):
    """In the first iteration the inner loop begins with a shape that changes later."""

    def body(x: Any) -> Any:
        return times(2, lambda x: [x + 1.0], [tf.concat([x, x], 0)])

    (y,) = times(
        3, body, [tf.ones([size])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])]
    )
    assert run([y])[0].tolist() == [7.0] * 8 * size


def test_another_rank_in_each_iteration():
    x = tf.placeholder_with_default(np.array(1.0), [])
    (y,) = times(
        3, lambda x: [tf.stack([x, x])], [x], shape_invariants=[tf.TensorShape([]), UNKNOWN]
    )
    assert run([y])[0].shape == (2, 2, 2)


def test_cells_of_a_loop_are_freed_when_it_is_over():
    x = tf.placeholder(tf.float32, [None])
    cell = tf.boolean_mask(x, x > 0.0)
    (y,) = times(
        5,
        lambda x: [tf.concat([x, cell], 0)],
        [cell],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    target = make_target()
    plan = make_plan([tf.reduce_sum(y)], {x: (1000,)}, target)
    held = in_use(target)
    for _ in range(3):
        assert execute(plan, [np.ones(1000, np.float32)]) == [6000.0]
        assert in_use(target) == held
    plan.release()
    assert in_use(target) == [0]


def test_a_loop_s_cells_make_room_for_the_next_loop_s():
    x = tf.placeholder(tf.float32, [None])
    y = tf.boolean_mask(x, x > 0.0)
    for _ in range(12):
        with tf.control_dependencies([y]):
            outside = tf.boolean_mask(x, x > 0.0)
        (y,) = times(
            2,
            lambda y, outside=outside: [tf.minimum(y, outside)],
            [y],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )
    target = make_target()
    plan = make_plan([tf.reduce_sum(y)], {x: (100_000,)}, target)
    assert execute(plan, [np.ones(100_000, np.float32)]) == [100_000.0]
    peak = target.devices[0].allocator.get_stats().peak_bytes_in_use
    assert peak < 10 * 400_000  # of 12 loops at most two at once hold their memory


NATIVE = pytest.mark.parametrize("native", ["0", "wait"])
"""By its steps, and as a C function where there is a compiler."""


@NATIVE
def test_a_loop_that_goes_on_while_its_condition_is_false(monkeypatch: Any, native: str):
    monkeypatch.setenv("GPUGRAPH_NATIVE", native)
    loop = RawLoop()
    over = raw_ops.LoopCond(tf.greater(loop.count, loop.constant(5)))
    loop.backs.clear()
    sides = raw_ops.Switch(loop.count, over)
    loop.back(loop.count, sides.output_false + loop.constant(2))
    loop.close()
    assert run([raw_ops.Exit(sides.output_true)]) == [6]


@NATIVE
def test_an_exit_of_what_is_no_variable(monkeypatch: Any, native: str):
    """Cells that the last iteration fills before its condition is known."""
    monkeypatch.setenv("GPUGRAPH_NATIVE", native)
    loop = RawLoop(5)
    last, _ = loop.switch(loop.count * loop.constant(10), loop.goes_on)
    loop.close()
    assert run([last, loop.left]) == [50, 5]


@NATIVE
def test_a_loop_that_does_not_go_on_by_its_loop_cond(monkeypatch: Any, native: str):
    monkeypatch.setenv("GPUGRAPH_NATIVE", native)
    loop = RawLoop(2)
    loop.backs.clear()
    left, going = loop.switch(loop.count, tf.less(loop.count, loop.constant(6)))
    one = loop.constant(1)
    with tf.control_dependencies([loop.goes_on]):
        loop.back(loop.count, going + one)
    loop.close()
    assert run([left]) == [6]


def test_a_variable_that_ends_before_the_others():
    loop = RawLoop(6)
    early = loop.variable(tf.constant(1.0), lambda count: tf.less(count, loop.constant(2)))
    late = loop.variable(tf.constant(1.0))
    loop.close()
    for _ in range(2):
        assert run([early, late, loop.left]) == [4.0, 64.0, 6]


def test_variables_that_end_at_once_or_never_begin_to():
    loop = RawLoop(3)
    none = loop.variable(tf.constant([1.0, 2.0]), lambda count: tf.less(count, loop.constant(0)))
    over = loop.variable(tf.constant(5.0), lambda count: tf.less(count, loop.constant(9)))
    loop.close()
    target = make_target()
    plan = make_plan([none, loop.left], target=target)
    assert [np.asarray(array).tolist() for array in execute(plan, [])] == [[1.0, 2.0], 3]
    with pytest.raises(InvalidArgumentError, match="does not have value"):
        run([over])


def test_what_enters_once_may_be_the_next_value_once():
    """The second value is the last: a value that enters once is dead in the second iteration."""
    loop = RawLoop(4)
    once = loop.enter(tf.constant(2.0))
    value = loop.merge(tf.constant(1.0))
    loop.back(value, once)
    side = raw_ops.Switch(value, tf.equal(value, loop.constant(2.0))).output_true
    left = raw_ops.Exit(side)
    loop.close()
    for _ in range(2):
        assert run([left, loop.left]) == [2.0, 4]


def test_a_loop_without_a_way_back_is_run_once():
    entered = raw_ops.Enter(tf.placeholder_with_default([1.0, 2.0], [2]), frame_name="f")
    left = raw_ops.Exit(tf.exp(entered))
    after = raw_ops.Exit(entered)
    got = run([left, after])
    assert np.allclose(got, [np.exp([1.0, 2.0]), [1.0, 2.0]])


@pytest.mark.parametrize("kind", ["arena", "cell"])
def test_what_enters_dead_is_dead_inside_and_all_else_goes_on(kind: str):
    p = tf.placeholder(tf.bool, [])
    x = tf.placeholder_with_default(np.array([1.0, 2.0]), [2])
    sides = raw_ops.Switch(x if kind == "arena" else tf.boolean_mask(x, x > 0.0), p)
    loop = RawLoop(3)
    if kind == "arena":
        dead = loop.variable(sides.output_true)
    else:  # of a size that is known when it is made
        dead = loop.variable(sides.output_true, step=lambda x: tf.concat([x, x], 0))
    used = loop.variable(tf.constant([1.0, 2.0], tf.float64))
    lost = loop.variable(
        tf.constant(1.0, tf.float64),
        step=lambda x: x + tf.reduce_sum(loop.enter(sides.output_true, True)),
    )
    loop.close()
    for _ in range(2):
        assert [value.tolist() for value in run([used, loop.left], {p: False})] == [[8.0, 16.0], 3]
        for tensor in (dead, lost):
            with pytest.raises(InvalidArgumentError, match="does not have value"):
                run([used, tensor], {p: False})
        assert len(run([dead, lost], {p: True})) == 2


@pytest.mark.parametrize("alive", [None, 0, 1])
def test_a_loop_into_which_nothing_alive_leads_is_not_run(alive: int | None):
    """Inputs have no condition in common; inside, a ControlTrigger waits for nothing."""
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    one = raw_ops.Switch(tf.constant([1.0, 2.0]), p).output_true
    other = raw_ops.Switch(tf.constant([3.0, 4.0]), q).output_true
    entered = [raw_ops.Enter(tensor, frame_name="f", is_constant=True) for tensor in (one, other)]
    with tf.control_dependencies([tensor.op for tensor in entered]):
        trigger = raw_ops.ControlTrigger()
    with tf.control_dependencies([trigger]):
        left = raw_ops.Exit(tf.constant(5.0))
    first = raw_ops.Merge([raw_ops.Exit(entered[0]), raw_ops.Exit(entered[1])]).output
    merged = raw_ops.Merge([left]).output
    feeds = {p: alive == 0, q: alive == 1}
    if alive is None:
        for tensor in (first, merged):
            with pytest.raises(InvalidArgumentError, match="does not have value"):
                run([tensor], feeds)
    else:
        assert [value.tolist() for value in run([first, merged], feeds)] == [
            [1.0 + 2 * alive, 2.0 + 2 * alive], 5.0,
        ]  # fmt: skip


def test_a_variable_has_one_start_and_one_way_back():
    """TensorFlow's graphs have no other loops."""
    loop = RawLoop()
    start = loop.enter(tf.constant(0))
    other = raw_ops.Merge([start, start, loop.enter(tf.constant(1))])
    _, going = loop.switch(other.output, loop.goes_on)
    loop.back(other.output, going)
    loop.close()
    with pytest.raises(UnimplementedError, match="must have two inputs, an Enter and a NextIter"):
        run([loop.left, raw_ops.Exit(other.output)])


def one_or_all(x: tf.Tensor, is_one: tf.Tensor) -> tf.Tensor:
    """Return a predicate whose rank is known only at run time: true, or [true]."""
    sizes = tf.boolean_mask([1], tf.reshape(is_one, [1]))
    return tf.reshape(x > 0.0, sizes)


def test_a_condition_must_be_a_scalar():
    """The condition is read where the loop goes on or ends, and its error names it."""
    x, is_one = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    loop = RawLoop(3)
    asked = raw_ops.LoopCond(loop.constant(one_or_all(x, is_one)), name="asked")
    left, going = loop.switch(loop.count, asked)
    loop.backs.clear()
    loop.back(loop.count, going + loop.constant(1))
    loop.close()
    assert run([left], {x: -1.0, is_one: False}) == [0]
    target = make_target()
    plan = make_plan([left], {x: (), is_one: ()}, target)
    with pytest.raises(InvalidArgumentError) as caught:
        execute(plan, [np.float32(-1.0), np.bool_(True)])
    assert "The second input must be a scalar, but it has shape [1]" in caught.value.message
    assert "[[node asked (defined at" in caught.value.message
    assert execute(plan, [np.float32(-1.0), np.bool_(False)]) == [0]


def test_a_branch_s_predicate_must_be_a_scalar():
    x, is_one = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    no, yes = raw_ops.Switch(x, one_or_all(x, is_one))
    merged = raw_ops.Merge([no - 1.0, yes + 1.0]).output
    assert run([merged], {x: 2.0, is_one: False}) == [3.0]
    with pytest.raises(InvalidArgumentError, match="The second input must be a scalar, but it has"):
        run([merged], {x: 2.0, is_one: True})
