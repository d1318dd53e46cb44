"""Random programs of branches and loops, nested three deep, against plain Python.

A program is a list of statements over three float64 vectors. It is run twice: by Python's own
`if` and `while` over NumPy, which carries a derivative along one direction beside each value, and
as a graph, by `tf.cond`, `tf.case` and `tf.while_loop`, on devices drawn at random. Branches that
are not taken may hold ops that could not run with the fed values: a reshape to another number of
elements, a slice that is outside, a product of shapes that do not fit, a loop over such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

import gpugraph as tf

STATE = 3
SIZE = 2
PREFIXES = ("/cpu:0", "/gpu:0", "/gpu:1", "")

# -- programs

Statement = tuple[Any, ...]
KINDS = ("add", "sub", "mul", "tanh", "sin", "set")
BROKEN = ("reshape", "slice", "matmul", "loop")
"""Ops that can not run with vectors of `SIZE` elements; the last one is in a loop's body."""


def statements(depth: int) -> st.SearchStrategy[list[Statement]]:
    index = st.integers(0, STATE - 1)
    place = st.integers(0, len(PREFIXES) - 1)
    simple = st.tuples(st.just("op"), st.sampled_from(KINDS), index, index, index, place)
    if depth == 0:
        return st.lists(simple, min_size=1, max_size=3)
    inner = statements(depth - 1)
    branch = st.tuples(st.just("cond"), index, st.floats(-1, 1), inner, inner, place)
    choices = st.lists(st.tuples(index, st.floats(-1, 1), inner), min_size=1, max_size=3)
    case = st.tuples(st.just("case"), choices, inner, place)
    broken = st.tuples(st.just("broken"), st.sampled_from(BROKEN), index, st.booleans(), place)
    loop = st.tuples(st.just("while"), index, st.integers(0, 3), inner, place)
    return st.lists(st.one_of(simple, branch, case, broken, loop), min_size=1, max_size=3)


# -- by plain Python: values with their derivatives along one direction

Dual = tuple[np.ndarray, np.ndarray]


def plain_op(kind: str, a: Dual, b: Dual) -> Dual:
    (x, dx), (y, dy) = a, b
    if kind == "add":
        return x + y, dx + dy
    if kind == "sub":
        return x - y, dx - dy
    if kind == "mul":
        return np.sin(x) * y, np.cos(x) * dx * y + np.sin(x) * dy  # which no loop makes overflow
    if kind == "tanh":
        return np.tanh(x), dx * (1 - np.tanh(x) ** 2)
    if kind == "sin":
        return np.sin(x), dx * np.cos(x)
    return a


def plain(program: list[Statement], state: list[Dual]) -> list[Dual]:
    for statement in program:
        state = list(state)
        if statement[0] == "op":
            _, kind, to, a, b, _ = statement
            state[to] = plain_op(kind, state[a], state[b])
        elif statement[0] == "cond":
            _, index, threshold, then, other, _ = statement
            state = plain(then if state[index][0][0] > threshold else other, state)
        elif statement[0] == "case":
            _, choices, default, _ = statement
            state = plain(chosen(choices, default, state), state)
        elif statement[0] == "while":
            _, index, count, body, _ = statement
            done = 0
            while done < count and state[index][0][1] < 3.0:
                state = plain(body, state)
                done += 1
    return state


def chosen(choices: Any, default: list[Statement], state: list[Dual]) -> list[Statement]:
    """Return the program of the first choice whose number is large enough."""
    for index, threshold, program in choices:
        if state[index][0][0] > threshold:
            return list(program)
    return default


# -- by the graph


def graph_op(kind: str, x: Any, y: Any) -> Any:
    if kind == "add":
        return x + y
    if kind == "sub":
        return x - y
    if kind == "mul":
        return tf.sin(x) * y
    if kind == "tanh":
        return tf.tanh(x)
    if kind == "sin":
        return tf.sin(x)
    return tf.identity(x)


def graphed(program: list[Statement], state: list[Any], devices: Callable[[int], Any]) -> list[Any]:
    for statement in program:
        with tf.device(devices(statement[-1])):
            state = graphed_statement(statement, list(state), devices)
    return state


def graphed_statement(
    statement: Statement, state: list[Any], devices: Callable[[int], Any]
) -> list[Any]:
    if statement[0] == "op":
        _, kind, to, a, b, _ = statement
        state[to] = graph_op(kind, state[a], state[b])
        return state
    if statement[0] == "cond":
        _, index, threshold, then, other, _ = statement
        return list(
            tf.cond(
                state[index][0] > threshold,
                lambda: [tf.identity(each) for each in graphed(then, state, devices)],
                lambda: [tf.identity(each) for each in graphed(other, state, devices)],
            )
        )
    if statement[0] == "case":
        _, choices, default, _ = statement
        pairs = [
            (state[index][0] > threshold, branch(program, state, devices))
            for index, threshold, program in choices
        ]
        return list(tf.case(pairs, branch(default, state, devices)))
    if statement[0] == "broken":
        _, kind, index, by_case, _ = statement
        state[index] = unless_broken(kind, state[index], by_case)
        return state
    _, index, count, body, _ = statement
    return list(
        tf.while_loop(
            lambda done, *state: tf.logical_and(done < count, state[index][1] < 3.0),
            lambda done, *state: [done + 1, *graphed(body, list(state), devices)],
            [tf.constant(0), *state],
        )[1:]
    )


def branch(program: list[Statement], state: list[Any], devices: Callable[[int], Any]) -> Any:
    return lambda: [tf.identity(value) for value in graphed(program, state, devices)]


def unless_broken(kind: str, x: Any, by_case: bool) -> Any:
    """x, by a branch that is always taken beside one that could not run."""
    is_infinite = tf.reduce_sum(tf.abs(x)) < 0.0
    taken = lambda: tf.identity(x)  # noqa: E731
    if by_case:
        result = tf.case([(is_infinite, lambda: broken(kind, x))], taken)
    else:
        result = tf.cond(is_infinite, lambda: broken(kind, x), taken)
    return tf.reshape(
        result, [SIZE]
    )  # a static shape would refuse the gradient of the other branch


def broken(kind: str, x: Any) -> Any:
    """Return an op that refuses vectors of `SIZE` elements; the sizes are not static."""
    x = tf.placeholder_with_default(x, [None])
    more, one = (tf.placeholder_with_default(number, []) for number in (SIZE + 1, 1))
    if kind == "reshape":
        return tf.reshape(tf.reshape(x, tf.stack([more, 2])), [-1])
    if kind == "slice":
        return tf.slice(x, [more], [SIZE])
    if kind == "matmul":
        column = tf.reshape(x, tf.stack([-1, one]))
        return tf.reshape(tf.matmul(column, column), [-1])
    return tf.while_loop(
        lambda i, y: i < 2,
        lambda i, y: [i + 1, tf.reshape(tf.reshape(y, tf.stack([more, 2])), [-1])],
        [tf.constant(0), x],
        [tf.TensorShape([]), tf.TensorShape([None])],
    )[1]


def session(gpus: int) -> tf.Session:
    options = tf.GPUOptions(virtual_gpus=gpus)
    # tensors that a gradient keeps of nested branches are colocated with ops of several devices
    return tf.Session(config=tf.ConfigProto(gpu_options=options, allow_soft_placement=True))


@given(statements(3), st.integers(0, 1000), st.sampled_from([0, 2]))
@settings(max_examples=30, deadline=None)
def test_values_are_those_of_plain_python(program: list[Statement], seed: int, gpus: int) -> None:
    given, want = expected(program, seed)
    with tf.Graph().as_default(), session(gpus) as sess:
        inputs = [tf.placeholder(tf.float64, [SIZE]) for _ in range(STATE)]
        outputs = graphed(program, inputs, placing(gpus))
        for _ in range(2):  # loops may be native from the second run on
            got = sess.run(outputs, dict(zip(inputs, given)))
            for value, (wanted, _) in zip(got, want):
                np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-12)


@given(statements(3), st.integers(0, 1000), st.sampled_from([0, 2]))
@settings(max_examples=30, deadline=None)
def test_gradients_are_those_of_plain_python(
    program: list[Statement], seed: int, gpus: int
) -> None:
    given, want = expected(program, seed)
    with tf.Graph().as_default(), session(gpus) as sess:
        inputs = [tf.placeholder(tf.float64, [SIZE]) for _ in range(STATE)]
        outputs = graphed(program, inputs, placing(gpus))
        grads = tf.gradients(outputs, inputs, unconnected_gradients="zero")
        for _ in range(2):
            got = sess.run(grads, dict(zip(inputs, given)))
            along = sum(float(np.sum(x * direction)) for x, direction in zip(got, directions(seed)))
            np.testing.assert_allclose(along, sum(np.sum(d) for _, d in want), rtol=1e-9, atol=1e-9)


@given(statements(3), st.integers(0, 1000), st.booleans())
@settings(max_examples=15, deadline=None)
def test_an_imported_program_runs_in_a_branch(
    program: list[Statement], seed: int, nested: bool
) -> None:
    given, want = expected(program, seed)
    with tf.Graph().as_default() as graph:
        inputs = [tf.placeholder(tf.float64, [SIZE], name=f"x{i}") for i in range(STATE)]
        for number, value in enumerate(graphed(program, inputs, placing(0))):
            tf.identity(value, name=f"y{number}")
    names = [f"y{number}:0" for number in range(STATE)]
    with tf.Graph().as_default(), session(0) as sess:
        inputs = [tf.placeholder(tf.float64, [SIZE]) for _ in range(STATE)]
        taken = tf.placeholder(tf.bool, [])
        feeds = dict(zip(inputs, given))

        def branch() -> Any:
            mapped = {f"x{number}:0": tensor for number, tensor in enumerate(inputs)}
            return tf.import_graph_def(graph.as_graph_def(), mapped, names)

        def other() -> Any:
            return [-tensor for tensor in inputs]

        whole = (lambda: tf.cond(tf.logical_not(taken), other, branch)) if nested else branch
        outputs = tf.cond(taken, whole, other)
        for value, (wanted, _) in zip(sess.run(outputs, {**feeds, taken: True}), want):
            np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-12)
        for value, tensor in zip(sess.run(outputs, {**feeds, taken: False}), inputs):
            np.testing.assert_array_equal(value, -feeds[tensor])


def placing(gpus: int) -> Callable[[int], Any]:
    return lambda place: PREFIXES[place] if gpus else None


def directions(seed: int) -> list[np.ndarray]:
    return list(np.random.RandomState(seed + 1).uniform(-1, 1, (STATE, SIZE)))


def expected(program: list[Statement], seed: int) -> tuple[list[np.ndarray], list[Dual]]:
    given = list(np.random.RandomState(seed).uniform(-2, 2, (STATE, SIZE)))
    return given, plain(program, list(zip(given, directions(seed))))
