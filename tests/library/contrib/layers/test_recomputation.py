"""tf.contrib.layers.recompute_grad: the values and gradients of the function, in less memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.config import OptimizerOptions, RewriterConfig

ROWS, WIDTH = 64, 256


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def session_with(mode: int = 0) -> tf.Session:
    options = tf.GraphOptions(
        rewrite_options=RewriterConfig(memory_optimization=mode),
        optimizer_options=OptimizerOptions(global_jit_level=OptimizerOptions.OFF),
    )
    return tf.Session(config=tf.ConfigProto(graph_options=options))


def block(x: Any) -> Any:
    """Return a layer that needs several values for its gradient, one of them random."""
    y = tf.layers.dense(x, WIDTH, tf.tanh, name="dense")
    for _ in range(4):
        y = tf.sin(y) * tf.sigmoid(y) + tf.cos(y)
    return y * tf.cast(tf.random_uniform([ROWS, WIDTH], seed=3) < 0.7, tf.float32) + x


def trained(wrap: Any, count: int = 3, **options: Any) -> tuple[list[bytes], int, str]:
    """Return loss and gradients of some blocks, the bytes of the arena, and the recomputed ops."""
    with tf.Graph().as_default(), tf.variable_scope("net", use_resource=True):
        tf.set_random_seed(1)
        x = y = tf.placeholder(tf.float32, [ROWS, WIDTH])
        for index in range(count):
            with tf.variable_scope(f"block{index}"):
                y = wrap(block, **options)(y)
        loss = tf.reduce_mean(tf.square(y))
        fetches = [loss, *tf.gradients(loss, [x, *tf.trainable_variables()])]
        with session_with() as session:
            for index, variable in enumerate(tf.global_variables()):
                start = np.random.RandomState(index).normal(size=variable.shape.as_list()) / 16
                variable.load(start, session)
            feeds = {x: np.random.RandomState(9).normal(size=(ROWS, WIDTH))}
            plan = session.explain(fetches, feeds)
            (size,) = plan.arena_bytes.values()
            values = [value.tobytes() for value in session.run(fetches, feeds)]
            return values, size, plan.of_pass("activation_recomputation")


def plain(function: Any) -> Any:
    return function


@pytest.mark.parametrize("tupleize_grads", [False, True])
def test_the_same_bits_in_less_memory(tupleize_grads: bool) -> None:
    values, size, said = trained(plain)
    assert "not requested" in said
    again, less, said = trained(tf.contrib.layers.recompute_grad, tupleize_grads=tupleize_grads)
    assert values == again
    assert less < 0.7 * size
    assert "are computed again: by recompute_grad" in said
    assert "MatMul net/block0/dense/MatMul/recomputed" in said
    assert "RandomUniform" not in said


def test_the_function_is_called_once_and_told_so() -> None:
    calls = []

    @tf.contrib.layers.recompute_grad
    def doubled(x: Any, is_recomputing: bool = True) -> Any:
        calls.append(is_recomputing)
        return 2 * tf.tanh(x)

    x = tf.placeholder(tf.float32, [3])
    slope = tf.gradients(doubled(x), x)[0]
    with session_with() as session:
        value = session.run(slope, {x: [0, 1, 2]})
    assert calls == [False]
    np.testing.assert_allclose(value, 2 - 2 * np.tanh([0, 1, 2]) ** 2, rtol=1e-5)


def test_in_a_loop_it_is_called_again() -> None:
    calls = []

    @tf.contrib.layers.recompute_grad
    def step(x: Any, **keywords: Any) -> Any:
        calls.append(keywords["is_recomputing"])
        return tf.sin(tf.tanh(x))

    def slope_of(function: Any) -> Any:
        loop = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, function(y)), [0, x])
        return tf.gradients(loop[1], x)[0]

    x = tf.placeholder(tf.float32, [3])
    slopes = [slope_of(step), slope_of(lambda y: tf.sin(tf.tanh(y)))]
    with session_with() as session:
        again, expected = session.run(slopes, {x: [0, 1, 2]})
    np.testing.assert_array_equal(again, expected)
    assert calls == [False, True]


def test_one_in_another_and_in_a_branch() -> None:
    def inner(x: Any) -> Any:
        return tf.sin(tf.tanh(x)) * x

    def outer(x: Any, wrap: Any) -> Any:
        return wrap(inner)(wrap(lambda y: tf.cos(wrap(inner)(y)) + y)(x))

    x = tf.placeholder(tf.float32, [32])
    p = tf.placeholder(tf.bool, [])
    slopes = []
    for wrap in (plain, tf.contrib.layers.recompute_grad):
        y = tf.cond(p, lambda: wrap(lambda z: outer(z, wrap))(x), lambda: outer(x, wrap) * 2)  # noqa: B023
        slopes.append(tf.gradients(tf.sin(y), x)[0])
    with session_with() as session:
        for chosen in (False, True):
            feeds = {x: np.linspace(-1, 1, 32), p: chosen}
            expected, again = session.run(slopes, feeds)
            np.testing.assert_allclose(expected, again, rtol=1e-5)  # other sums of gradients


def test_bad_input() -> None:
    with pytest.raises(TypeError, match="'block' creates 'dense/kernel:0', which is none"):
        tf.contrib.layers.recompute_grad(block)(tf.ones([ROWS, WIDTH]))
    x = tf.placeholder(tf.float32, [3])
    with pytest.raises(ValueError, match="All inputs to function must be Tensors"):
        tf.contrib.layers.recompute_grad(tf.tanh)(1.0)
    with pytest.raises(ValueError, match="closes over Tensor Placeholder:0"):
        tf.contrib.layers.recompute_grad(lambda y: x * y)


@pytest.mark.parametrize("mode", [RewriterConfig.MANUAL, RewriterConfig.HEURISTICS])
def test_hints_name_what_is_computed_again(mode: int, graph: tf.Graph) -> None:
    x = y = tf.placeholder(tf.float32, [ROWS, WIDTH])
    weights = tf.constant(np.random.RandomState(0).normal(size=(WIDTH, WIDTH)) / 16, tf.float32)
    for _ in range(4):
        with graph._attr_scope({"_recompute_hint": 1}):
            hidden = tf.tanh(tf.matmul(y, weights, name="hinted"))
            gate, more = tf.sigmoid(hidden), tf.cos(hidden)
        y = y + tf.sin(hidden) * gate * more
    slope = tf.gradients(tf.reduce_mean(tf.square(y)), x)[0]
    feeds = {x: np.random.RandomState(9).normal(size=(ROWS, WIDTH))}
    results = []
    for setting in (RewriterConfig.NO_MEM_OPT, mode):
        with session_with(setting) as session:
            plan = session.explain(slope, feeds)
            (size,) = plan.arena_bytes.values()
            results.append((session.run(slope, feeds).tobytes(), size))
    (value, size), (again, less) = results
    assert value == again and less < size
    said = plan.of_pass("activation_recomputation")
    assert "MatMul hinted/recomputed" in said
    if mode == RewriterConfig.MANUAL:
        assert "what hints name" in said and "Sin " not in said
