"""Ops that do not run do not fail: branches and loops whose ops could not run with the fed values.

Random programs of `cond`, `case` and `while_loop` over a fed vector compute the same as plain
Python, and fail with InvalidArgumentError where plain Python reaches an op that can not run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf

pytestmark = pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")


class Refused(Exception):
    """Plain Python reached an op that can not run."""


def reshaped(x: Any, rows: int) -> Any:
    """x as `rows` rows, summed: impossible unless they divide its size."""
    if isinstance(x, np.ndarray):
        if x.size % rows:
            raise Refused
        return x.reshape(rows, -1).sum(0)
    return tf.reduce_sum(tf.reshape(x, [rows, -1]), 0)


def cut(x: Any, size: int) -> Any:
    """Return the first `size` elements: impossible if there are fewer."""
    if isinstance(x, np.ndarray):
        if x.size < size:
            raise Refused
        return x[:size]
    return tf.slice(x, [0], [size])


def gathered(x: Any, index: int) -> Any:
    """x times an element of it: impossible if that is not there."""
    if isinstance(x, np.ndarray):
        if x.size <= index:
            raise Refused
        return x * x[index]
    return x * tf.gather(x, index)


def paired(x: Any, size: int) -> Any:
    """x plus a vector: impossible if neither has one element and they differ."""
    other = np.arange(1.0, size + 1.0)
    if isinstance(x, np.ndarray):
        if x.size != size and 1 not in (x.size, size):
            raise Refused
        return x + other
    return x + tf.constant(other)


OPS = [reshaped, cut, gathered, paired]

programs = st.recursive(
    st.tuples(st.sampled_from(OPS), st.integers(1, 4)),
    lambda inner: st.one_of(
        st.tuples(st.just("then"), inner, inner),
        st.tuples(st.just("cond"), st.integers(0, 1), inner, inner),
        st.tuples(st.just("larger"), st.integers(0, 8), inner, inner),
        st.tuples(st.just("case"), st.integers(0, 8), inner, inner, inner),
        st.tuples(st.just("while"), st.integers(0, 1), inner),
    ),
    max_leaves=6,
)


def python(program: Any, x: Any, flags: list[bool], counts: list[int]) -> Any:
    """Compute the program's result in plain Python."""
    kind, number, *parts = program
    if callable(kind):
        return kind(x, number)
    if kind == "then":
        return python(parts[0], python(number, x, flags, counts), flags, counts)
    if kind == "cond":
        return python(parts[0] if flags[number] else parts[1], x, flags, counts)
    if kind == "larger":
        return python(parts[0] if x.size > number else parts[1], x, flags, counts)
    if kind == "case":
        chosen = 0 if flags[0] else 1 if x.size > number else 2
        return python(parts[chosen], x, flags, counts)
    for _ in range(counts[number]):
        x = python(parts[0], x, flags, counts)
    return x


def graph(program: Any, x: Any, flags: Any, counts: Any) -> Any:
    """Return the program as a graph."""
    kind, number, *parts = program

    def part(index: int) -> Any:
        return lambda: graph(parts[index], x, flags, counts)

    if callable(kind):
        return tf.placeholder_with_default(
            kind(x, number), [None]
        )  # the size is known at run time only
    if kind == "then":
        return graph(parts[0], graph(number, x, flags, counts), flags, counts)
    if kind == "cond":
        return tf.cond(flags[number], part(0), part(1))
    if kind == "larger":
        return tf.cond(tf.size(x) > number, part(0), part(1))
    if kind == "case":
        return tf.case([(flags[0], part(0)), (tf.size(x) > number, part(1))], part(2))
    _, result = tf.while_loop(
        lambda count, _: count < counts[number],
        lambda count, value: (count + 1, graph(parts[0], value, flags, counts)),
        (0, x),
        (tf.TensorShape([]), tf.TensorShape([None])),
    )
    return result


def numeric_gradient(program: Any, x: Any, flags: list[bool], counts: list[int]) -> Any:
    """Return the gradient of the sum of the program's result, by central differences."""
    steps = np.eye(x.size) * 1e-6
    ends = [
        [python(program, x + sign * step, flags, counts).sum() for sign in (1, -1)]
        for step in steps
    ]
    return np.array([(up - down) / 2e-6 for up, down in ends])


def check(program: Any, feeds: Any, config: Any = None) -> None:
    """Run the program with all feeds in one session."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [None])
        flags = [tf.placeholder(tf.bool, []) for _ in range(2)]
        counts = [tf.placeholder(tf.int32, []) for _ in range(2)]
        result = graph(program, x, flags, counts)
        (grad,) = tf.gradients(result, x)
        grad = tf.zeros_like(x) if grad is None else tf.convert_to_tensor(grad)
        with tf.Session(config=config) as session:
            for size, flag_values, count_values in feeds:
                value = np.arange(1.0, size + 1.0) / 4.0
                fed = {x: value, **dict(zip(flags, flag_values)), **dict(zip(counts, count_values))}
                try:
                    wanted = python(program, value, flag_values, count_values)
                except Refused:
                    for fetch in (result, grad):
                        with pytest.raises(tf.errors.InvalidArgumentError):
                            session.run(fetch, fed)
                    continue
                np.testing.assert_allclose(session.run(result, fed), wanted)
                slopes = numeric_gradient(program, value, flag_values, count_values)
                np.testing.assert_allclose(session.run(grad, fed), slopes, rtol=1e-3, atol=1e-3)


feeds = st.lists(
    st.tuples(
        st.integers(1, 6),
        st.lists(st.booleans(), min_size=2, max_size=2),
        st.lists(st.integers(0, 3), min_size=2, max_size=2),
    ),
    min_size=2,
    max_size=5,
)


@settings(max_examples=60)
@given(programs, feeds)
def test_random_programs(program: Any, feeds: Any) -> None:
    check(program, feeds)


@pytest.mark.exhaustive
@given(programs, feeds)
def test_many_random_programs(program: Any, feeds: Any) -> None:
    check(program, feeds)


@pytest.mark.exhaustive
@settings(max_examples=200)
@given(programs, feeds)
def test_random_programs_on_two_devices(program: Any, feeds: Any) -> None:
    check(program, feeds, tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1)))


# -- by hand


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


def either_shape() -> tuple[Any, Any, Any]:
    x, flag = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.bool, [])
    y = tf.cond(flag, lambda: tf.reshape(x, [2, 3]), lambda: tf.reshape(x, [1, -1]))
    return x, flag, y


def test_a_branch_that_is_not_taken() -> None:
    x, flag, y = either_shape()
    with tf.Session() as session:
        assert session.run(y, {x: [1, 2, 3, 4], flag: False}).shape == (1, 4)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"node cond/Reshape .*test_untaken"
        ):
            session.run(y, {x: [1, 2, 3, 4], flag: True})
        assert session.run(y, {x: [1, 2, 3, 4, 5, 6], flag: True}).shape == (2, 3)
        assert session.run(y, {x: [1, 2, 3, 4], flag: False}).shape == (1, 4)


def test_gradients_of_both_branches() -> None:
    x, flag, y = either_shape()
    (grad,) = tf.gradients(y * y, x)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(grad, {x: [1, 2], flag: False}), [2, 4])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(grad, {x: [1, 2], flag: True})


def test_a_known_predicate() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.cond(tf.constant(False), lambda: tf.reshape(x, [2, 3]), lambda: tf.reshape(x, [1, -1]))
    switched = tf.raw_ops.Switch(data=x, pred=tf.constant(True))
    merged, _ = tf.raw_ops.Merge(inputs=[tf.reshape(switched[0], [7]), switched[1] * 2.0])
    with tf.Session() as session:
        assert session.run(y, {x: [1, 2, 3, 4]}).shape == (1, 4)
        assert session.run(merged, {x: [1, 2]}).tolist() == [2, 4]


def test_an_op_that_always_runs_fails_before_anything_is_written() -> None:
    x = tf.placeholder(tf.float32, [None])
    v = tf.Variable(0.0)
    add = v.assign_add(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Reshape"):
            session.run([add, tf.reshape(x, [2, 3])], {x: [1.0]})
        assert session.run(v) == 0.0
