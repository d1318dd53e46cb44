"""Updates of one variable in one run take effect one after the other, in the order of creation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import gpugraph as tf

RESOURCES = pytest.mark.parametrize("resource", [True, False])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def variable(value: Any, resource: bool, name: str = "v") -> tf.Variable:
    return tf.get_variable(name, initializer=value, use_resource=resource)


def after_run(ops: Any, *variables: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(ops, feeds)
        return session.run(variables if len(variables) > 1 else variables[0])


@RESOURCES
def test_no_update_is_lost(resource: bool) -> None:
    v = variable(10.0, resource)
    ops = [tf.assign_sub(v, (v - 3.0) * 0.1).op for _ in range(30)]
    assert after_run(ops, v) == pytest.approx(3 + 7 * 0.9**30, rel=1e-5)


@RESOURCES
def test_whole_assignments_and_blind_writes_are_in_order(resource: bool) -> None:
    v = variable(2.0, resource)
    ops = [v.assign(v * 3.0).op, v.assign_add(1.0).op, v.assign(v * v).op, v.assign_sub(9.0).op]
    assert after_run(ops, v) == (2 * 3 + 1) ** 2 - 9


@RESOURCES
def test_what_others_read_too_stays_where_it_is(resource: bool) -> None:
    v = variable(10.0, resource)
    seen = v.read_value()
    ops = [tf.assign(v, v + 1.0).op, tf.assign(v, seen * 2.0).op, tf.assign(v, seen * 3.0).op]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([seen, ops])[0] == 10.0
        assert session.run(v) == 30.0
        session.run(ops[1:])
        assert session.run(v) == 90.0


@RESOURCES
def test_the_program_s_own_order_wins(resource: bool) -> None:
    v = variable(1.0, resource)
    gate = tf.no_op()
    first = tf.assign(v, v * 10.0).op
    second = tf.assign(v, v + 1.0).op
    gate._add_control_inputs([second])
    first._add_control_inputs([gate])
    assert after_run([first, second], v) == 20.0


@RESOURCES
@pytest.mark.parametrize("make", [tf.keras.layers.BatchNormalization, tf.layers.BatchNormalization])
def test_batch_normalization_of_several_inputs(make: Callable[..., Any], resource: bool) -> None:
    with tf.variable_scope("scope", use_resource=resource):
        layer = make(momentum=0.5)
        for mean in (10.0, 10.0, 2.0):
            layer(tf.constant([[mean - 1], [mean + 1]]), training=True)
    assert after_run(layer.updates, layer.moving_mean) == pytest.approx([7.5 / 2 + 1])


def test_contrib_batch_norm_applied_often() -> None:
    for index in range(30):
        inputs = tf.constant([[4.0], [6.0]])
        tf.contrib.layers.batch_norm(inputs, 0.9, is_training=True, scope="norm", reuse=index > 0)
    (mean,) = (v for v in tf.global_variables() if v.op.name == "norm/moving_mean")
    value = after_run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), mean)
    assert value == pytest.approx([5 * (1 - 0.9**30)], rel=1e-4)


@RESOURCES
def test_two_optimizers_of_one_variable(resource: bool) -> None:
    v = variable(1.0, resource)
    optimizer = tf.train.GradientDescentOptimizer(0.25)
    steps = [optimizer.minimize(tf.square(v - target)) for target in (3.0, -1.0)]
    assert after_run(steps, v) == 0.5  # 1 to 2 to 0.5


@RESOURCES
def test_rows_of_a_variable(resource: bool) -> None:
    v = variable(np.zeros((3, 2), np.float32), resource)
    ops = [
        tf.scatter_add(v, [row], tf.gather(v, [row]) + 1.0 if row else [[5.0, 5.0]])
        for row in (0, 1, 1, 2, 1)
    ]
    np.testing.assert_equal(after_run([op.op for op in ops], v), [[5, 5], [7, 7], [1, 1]])


@RESOURCES
def test_in_branches(resource: bool) -> None:
    v = variable(1.0, resource)
    p, q = (tf.placeholder(tf.bool, []) for _ in range(2))

    def step(factor: float) -> Callable[[], Any]:
        return lambda: tf.assign(v, v.read_value() * factor + 1.0)

    def none() -> Any:
        return tf.constant(0.0)

    def plain(value: Any) -> Any:
        return value.op if resource else value

    ops = [
        tf.cond(p, lambda: tf.identity(step(2.0)()), none),
        plain(step(3.0)()),
        tf.cond(q, lambda: tf.identity(step(5.0)()), lambda: tf.identity(step(7.0)())),
        tf.cond(p, lambda: tf.identity(step(11.0)()), none),
    ]
    for is_p in (True, False):
        for is_q in (True, False):
            want = 1.0
            for factor in [2.0] * is_p + [3.0] + [5.0 if is_q else 7.0] + [11.0] * is_p:
                want = want * factor + 1
            assert after_run(ops, v, feeds={p: is_p, q: is_q}) == want


@RESOURCES
def test_in_a_loop(resource: bool) -> None:
    v = variable(1.0, resource)

    def body(i: Any) -> Any:
        ops = [tf.assign(v, v.read_value() * 2.0).op, tf.assign(v, v.read_value() - 3.0).op]
        with tf.control_dependencies(ops):
            return i + 1

    want = 1.0
    for _ in range(4):
        want = want * 2 - 3
    assert after_run(tf.while_loop(lambda i: i < 4, body, [0]), v) == want


def test_over_devices() -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))
    v = variable(np.full(3, 10.0, np.float32), True)
    ops = []
    for number in range(12):
        with tf.device(f"/gpu:{number % 2}"):
            delta = (v.read_value() - 3.0) * 0.5
        ops.append(tf.assign_sub(v, delta).op)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(ops)
        np.testing.assert_allclose(session.run(v), 3 + 7 * 0.5**12, 1e-6)


# -- random programs


def drawn(random: Random) -> list[tuple[Any, ...]]:
    """Return updates: the variable, how it is written, a second source, numbers, a condition."""
    return [
        (
            random.randrange(3),
            random.choice(["assign", "assign_add", "assign_sub", "blind"]),
            random.choice(["own", "number", "other", "fetched"]),
            random.uniform(-1, 1),
            random.choice([None, None, True, False]),
        )
        for _ in range(random.randint(2, 12))
    ]


def plain(body: list[tuple[Any, ...]], values: list[float], pred: bool) -> list[float]:
    before, values = list(values), list(values)
    for index, way, source, number, when in body:
        if when is not None and when is not pred:
            continue
        second = before[(index + 1) % 3] if source == "other" else 0.5
        read = before[index] if source == "fetched" else values[index]
        result = number if way == "blind" else read * number + second
        sign = {"assign": 0, "blind": 1, "assign_add": 1, "assign_sub": -1}[way]
        values[index] = values[index] + sign * result if sign else result
    return values


def built(body: list[tuple[Any, ...]], variables: list[Any], pred: Any) -> tuple[list[Any], ...]:
    ops, fetched = [], [v.read_value() for v in variables]
    for index, way, source, number, when in body:
        v = variables[index]

        def update(v=v, index=index, way=way, source=source, number=number) -> Any:
            second = fetched[(index + 1) % 3] if source == "other" else 0.5
            read = fetched[index] if source == "fetched" else v.read_value()
            result = tf.constant(number, tf.float64) if way == "blind" else read * number + second
            return tf.identity(getattr(v, "assign_add" if way == "blind" else way)(result))

        if when is None:
            ops.append(update().op)
        else:
            zero = lambda: tf.constant(0.0, tf.float64)  # noqa: E731
            ops.append(tf.cond(pred, *((update, zero) if when else (zero, update))))
    return ops, fetched


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0, 2]))
@settings(max_examples=60, deadline=None)
def test_random_updates_are_those_of_plain_python(seed: int, resource: bool, gpus: int) -> None:
    random = Random(seed)
    body = drawn(random)
    values = [random.uniform(-2, 2) for _ in range(3)]
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=gpus))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        variables = [tf.Variable(np.float64(value), use_resource=resource) for value in values]
        pred = tf.placeholder(tf.bool, [])
        ops, fetched = built(body, variables, pred)
        session.run(tf.global_variables_initializer())
        for is_true in (True, False):
            session.run([ops, fetched], {pred: is_true})
            values = plain(body, values, is_true)
            np.testing.assert_allclose(session.run(variables), values, 1e-9, 1e-9)
