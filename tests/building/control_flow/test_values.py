"""Results of branches and loops, against plain Python."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

X = np.array([0.5, 1.5, -2.0])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def flag() -> tf.Tensor:
    return tf.placeholder(tf.bool, [])


def number() -> tf.Tensor:
    return tf.placeholder(tf.int32, [])


def vector(size: int | None = 3) -> tf.Tensor:
    return tf.placeholder(tf.float64, [size])


# -- cond


def test_the_branch_that_the_predicate_says() -> None:
    p, x = flag(), vector()
    y = tf.cond(p, lambda: x * 2.0, lambda: x - 1.0)
    np.testing.assert_array_equal(run(y, {p: True, x: X}), X * 2)
    np.testing.assert_array_equal(run(y, {p: False, x: X}), X - 1)


def test_branches_in_branches() -> None:
    p, q, x = flag(), flag(), vector(None)
    y = tf.cond(
        p,
        lambda: tf.cond(q, lambda: x + 1.0, lambda: x + 2.0),
        lambda: tf.cond(q, lambda: x + 3.0, lambda: x + 4.0),
    )
    for (a, b), added in {(1, 1): 1, (1, 0): 2, (0, 1): 3, (0, 0): 4}.items():
        np.testing.assert_array_equal(run(y, {p: bool(a), q: bool(b), x: X}), X + added)


def test_only_the_branch_taken_runs() -> None:
    p = flag()
    v = tf.Variable(1.0)
    w = tf.Variable(1.0)
    y = tf.cond(p, lambda: tf.assign_add(v, 1.0), lambda: tf.assign_add(w, 10.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y, {p: True}) == 2.0
        assert session.run(y, {p: False}) == 11.0
        assert session.run([v, w]) == [2.0, 11.0]


def test_an_operation_as_a_branch() -> None:
    p = flag()
    v = tf.Variable(1.0)
    done = tf.cond(p, lambda: tf.group(v.assign(5.0)), lambda: tf.no_op())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(done, {p: False}) is not None
        assert session.run(v) == 1.0
        session.run(done, {p: True})
        assert session.run(v) == 5.0


Pair = namedtuple("Pair", "first second")


def test_branches_of_structures() -> None:
    p, x = flag(), vector()
    y = tf.cond(p, lambda: Pair({"a": x}, [x, 1]), lambda: Pair({"a": -x}, [x + 1.0, 2]))
    found = run(y, {p: False, x: X})
    assert isinstance(found, Pair)
    np.testing.assert_array_equal(found.first["a"], -X)
    np.testing.assert_array_equal(found.second[0], X + 1)
    assert found.second[1] == 2


def test_branches_of_different_shapes() -> None:
    p, x = flag(), vector()
    y = tf.cond(p, lambda: x, lambda: x[:1])
    assert y.shape.as_list() == [None]
    assert run(y, {p: True, x: X}).shape == (3,)
    assert run(y, {p: False, x: X}).shape == (1,)


def test_a_lone_result_is_unpacked_unless_strict() -> None:
    p = flag()
    assert isinstance(tf.cond(p, lambda: [1], lambda: [2]), tf.Tensor)
    assert isinstance(tf.cond(p, lambda: [1], lambda: [2], strict=True), list)
    assert isinstance(tf.cond(p, fn1=lambda: 1, fn2=lambda: 2), tf.Tensor)


def test_a_computed_predicate() -> None:
    x = tf.placeholder(tf.float64, [])
    y = tf.cond(x > 0.0, lambda: tf.sqrt(x), lambda: x * 0.0)
    assert run(y, {x: 4.0}) == 2.0
    assert run(y, {x: -4.0}) == 0.0


def test_a_numpy_predicate() -> None:
    assert run(tf.cond(np.array(True), lambda: 1, lambda: 2)) == 1


def test_control_inputs_hold_for_branches() -> None:
    p = flag()
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(7.0)]):
        y = tf.cond(p, lambda: v.read_value() + 1.0, lambda: v.read_value() - 1.0)
    assert run(y, {p: True}) == 8.0


# -- while_loop


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


@given(n=st.integers(1, 100))
def test_collatz(n: int) -> None:
    with tf.Graph().as_default():
        start = number()

        def body(k: Any, steps: Any) -> Any:
            k = tf.cond(tf.equal(k % 2, 0), lambda: k // 2, lambda: 3 * k + 1)
            return k, steps + 1

        found = tf.while_loop(lambda k, steps: tf.not_equal(k, 1), body, (start, 0))
        assert run(found[1], {start: n}) == collatz(n)


@pytest.mark.parametrize("times", [0, 1, 2, 17])
@pytest.mark.parametrize("parallel", [1, 2, 10])
def test_as_often_as_the_condition_holds(times: int, parallel: int) -> None:
    n, x = number(), vector()
    i, y = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, a * 0.5 + x), (0, x), parallel_iterations=parallel
    )
    wanted = X
    for _ in range(times):
        wanted = wanted * 0.5 + X
    found = run([i, y], {n: times, x: X})
    assert found[0] == times
    np.testing.assert_allclose(found[1], wanted)


def test_loops_in_loops() -> None:
    n = number()

    def body(i: Any, total: Any) -> Any:
        inner = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), (0, total))
        return i + 1, inner[1]

    _, total = tf.while_loop(lambda i, t: i < n, body, (0, 0))
    for times in (0, 1, 5):
        assert run(total, {n: times}) == sum(i * j for i in range(times) for j in range(i))


def test_a_loop_in_a_branch() -> None:
    p, n = flag(), number()
    y = tf.cond(
        p,
        lambda: tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 3), (0, 1))[1],
        lambda: n,
    )
    assert run(y, {p: True, n: 4}) == 81
    assert run(y, {p: False, n: 4}) == 4


def test_a_loop_in_a_branch_in_a_loop() -> None:
    n = number()

    def body(i: Any, a: Any) -> Any:
        inner = lambda: tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b + j), (0, a))[1]  # noqa: E731
        return i + 1, tf.cond(tf.equal(i % 2, 1), inner, lambda: a * 2)

    found = tf.while_loop(lambda i, a: i < n, body, (0, 1))[1]
    wanted = 1
    for i in range(6):
        wanted = wanted + sum(range(i)) if i % 2 else wanted * 2
    assert run(found, {n: 6}) == wanted


def test_variables_that_change_places() -> None:
    n = number()
    a, b, _ = tf.while_loop(
        lambda a, b, i: i < n, lambda a, b, i: (b, a + b, i + 1), (0, 1, tf.constant(0))
    )
    assert run([a, b], {n: 10}) == [55, 89]


def test_a_loop_that_reads_what_it_writes() -> None:
    n = number()
    v = tf.Variable(1.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([v.assign_add(2.0)]):
            return i + 1

    done = tf.while_loop(lambda i: i < n, body, [0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(done, {n: 5})
        assert session.run(v) == 11.0


def test_growing_shapes() -> None:
    x, n = vector(), number()
    y = tf.while_loop(
        lambda i, a: i < n,
        lambda i, a: (i + 1, tf.concat([a, a[:1] * 2.0], 0)),
        (0, x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )[1]
    assert y.shape.as_list() == [None]
    np.testing.assert_array_equal(run(y, {x: X, n: 2}), [*X, 1.0, 1.0])
    np.testing.assert_array_equal(run(y, {x: X, n: 0}), X)


def test_shapes_that_grow_as_a_spec_says() -> None:
    spec = tf.TensorSpec([None], tf.float32)
    y = tf.while_loop(
        lambda a: tf.size(a) < 5,
        lambda a: tf.concat([a, a], 0),
        [tf.constant([1.0])],
        shape_invariants=[spec],
    )
    assert y.shape.as_list() == [None] and run(y).shape == (8,)


@pytest.mark.parametrize(("is_constant", "shape"), [(True, [2]), (False, None)])
def test_what_a_raw_enter_knows_of_its_shape(is_constant: bool, shape: list[int] | None) -> None:
    entered = tf.raw_ops.Enter(
        data=tf.constant([1.0, 2.0]), frame_name="f", is_constant=is_constant
    )
    assert (entered.shape.as_list() if shape else entered.shape.rank) == shape


def test_at_most_so_many_iterations() -> None:
    most = number()
    y = tf.while_loop(lambda a: a < 100.0, lambda a: a * 2.0, [1.0], maximum_iterations=most)
    assert run(y, {most: 3}) == 8.0
    assert run(y, {most: 50}) == 128.0
    assert run(y, {most: 0}) == 1.0


def test_open_shapes_with_a_maximum() -> None:
    y = tf.while_loop(
        lambda a: True,
        lambda a: tf.concat([a, a], 0),
        [tf.constant([1.0])],
        shape_invariants=[tf.TensorShape([None])],
        maximum_iterations=3,
    )
    assert run(y).shape == (8,)


def test_structures_go_round() -> None:
    n = number()
    out = tf.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, {"p": Pair(s["p"].second, s["p"].first + s["p"].second)}),
        (0, {"p": Pair(0, 1)}),
    )
    assert run(out, {n: 6}) == (6, {"p": Pair(8, 13)})


def test_a_list_of_one() -> None:
    i = tf.constant(0)
    assert isinstance(tf.while_loop(lambda i: i < 3, lambda i: i + 1, [i]), tf.Tensor)
    same = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [i], return_same_structure=True)
    assert isinstance(same, list)
    assert run(same) == [3]


def test_arrays_go_through_loops_and_branches() -> None:
    p, x = flag(), tf.placeholder(tf.float64, [4, 2])
    given = tf.TensorArray(tf.float64, 4).unstack(x)

    def body(i: Any, out: Any) -> Any:
        value = given.read(i)
        return i + 1, out.write(i, tf.cond(p, lambda: value * 2.0, lambda: -value))

    out = tf.while_loop(lambda i, out: i < 4, body, (0, tf.TensorArray(tf.float64, 4)))[1]
    assert isinstance(out, tf.TensorArray)
    rows = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(run(out.stack(), {p: True, x: rows}), rows * 2)
    np.testing.assert_array_equal(run(out.stack(), {p: False, x: rows}), -rows)

    array = tf.TensorArray(tf.float64, 1)
    chosen = tf.cond(p, lambda: array.write(0, [1.0]), lambda: array.write(0, [2.0]))
    assert isinstance(chosen, tf.TensorArray)
    assert run(chosen.stack(), {p: False}).tolist() == [[2.0]]


def test_raw_switches_and_merges_need_no_context() -> None:
    p, x = flag(), vector()
    sides = tf.raw_ops.Switch(x, p)
    merged = tf.raw_ops.Merge([sides.output_false - 1.0, sides.output_true * 2.0])
    for taken, wanted in ((True, X * 2), (False, X - 1)):
        value, index = run([merged.output, merged.value_index], {p: taken, x: X})
        np.testing.assert_array_equal(value, wanted)
        assert index == int(taken)


def test_a_raw_loop_needs_no_context() -> None:
    n = number()
    limit = tf.raw_ops.Enter(n, frame_name="loop", is_constant=True)
    entered = tf.raw_ops.Enter(tf.constant(0), frame_name="loop")
    merged = tf.raw_ops.Merge([entered, entered]).output
    goes_on = tf.raw_ops.LoopCond(tf.less(merged, limit))
    sides = tf.raw_ops.Switch(merged, goes_on)
    with tf.control_dependencies([sides.output_true.op]):
        one = tf.identity(sides.output_true) * 0 + 1
    again = tf.raw_ops.NextIteration(sides.output_true + one)
    merged.op._update_input(1, again)
    left = tf.raw_ops.Exit(sides.output_false)
    assert run(left, {n: 5}) == 5
    assert run(left, {n: 0}) == 0


def test_one_nested_variable_stays_in_its_list() -> None:
    found = tf.while_loop(
        lambda q: q[0] < 3, lambda q: [(q[0] + 1, q[1])], [(tf.constant(0), tf.constant(1))]
    )
    assert run(found, {}) == [(3, 1)]
    lone = tf.while_loop(lambda q: q[0] < 3, lambda q: [[q[0] + 1]], [[tf.constant(0)]])
    assert run(lone, {}) == [3]
