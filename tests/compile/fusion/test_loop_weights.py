"""Weights that stay the same in a loop are transposed before it, once in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from tests.devices.native_programs import needs_compiler

pytestmark = needs_compiler

ON, OFF = tf.OptimizerOptions.ON_1, tf.OptimizerOptions.OFF
ROWS = 64


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")
    with tf.Graph().as_default() as graph:
        yield graph


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(size=shape).astype(np.float32) / 9


def config(level: Any) -> tf.ConfigProto:
    options = tf.OptimizerOptions(global_jit_level=level)
    return tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))


def both(fetches: Any, feeds: Any, between: Any = ()) -> list[str]:
    """Run it three times by native code and by NumPy, with `between` after each; return the
    report.
    """
    results = []
    for level in (ON, OFF):
        with tf.Session(config=config(level)) as session:
            session.run(tf.global_variables_initializer())
            values = []
            for _ in range(3):
                values.append(session.run(fetches, feeds))
                session.run(between)
            reports = session.explain(fetches, feeds).reports
            [lines] = [report.lines for report in reports if report.name == "loop_weights"]
            results.append((values, list(lines)))
    (found, done), (wanted, nothing) = results
    assert not nothing
    for one, other in zip(np.asarray(found), np.asarray(wanted)):
        np.testing.assert_allclose(one, other, 1e-4, 1e-5)
    return done


Body = Callable[[tf.Tensor], tf.Tensor]


def loop(x: Any, body: Body, iterations: Any = 3) -> tf.Tensor:
    step = lambda i, y: (i + 1, body(y))  # noqa: E731
    return tf.while_loop(lambda i, _: i < iterations, step, [0, x], name="loop")[1]


def test_a_product_does_not_turn_them_again() -> None:
    x, w = tf.placeholder(tf.float32, (ROWS, 128)), tf.Variable(numbers(128, 128), name="w")
    y = loop(x, lambda y: tf.tanh(tf.matmul(y, w, transpose_b=True, name="product")))
    done = both(y, {x: numbers(ROWS, 128)}, tf.assign_add(w, w * 0.5).op)
    assert done == ["loop/product: loop/product/Enter is transposed before the loop"]


def test_nor_does_that_of_a_gradient() -> None:
    x, w = tf.placeholder(tf.float32, (ROWS, 128)), tf.Variable(numbers(128, 128), name="w")
    y = loop(x, lambda y: tf.tanh(tf.matmul(y, w)))
    by_x, by_w = tf.gradients(tf.reduce_sum(tf.square(y)), [x, w], gate_gradients=True)
    assert len(both(by_x, {x: numbers(ROWS, 128)}, tf.assign(w, w * 0.5).op)) == 1
    assert len(both(by_w, {x: numbers(ROWS, 128)})) == 1


@pytest.mark.parametrize("iterations", [0, 1, 5])
def test_any_number_of_iterations_is_right(iterations: int) -> None:
    x, count = tf.placeholder(tf.float32, (ROWS, 128)), tf.placeholder(tf.int32, [])
    w = tf.constant(numbers(128, 128))
    y = loop(x, lambda y: tf.matmul(y, w, transpose_b=True), count)
    assert len(both(y, {x: numbers(ROWS, 128), count: iterations})) <= 1


def test_a_variable_that_the_loop_writes_is_as_it_was_before() -> None:
    x, w = tf.placeholder(tf.float32, (ROWS, 128)), tf.Variable(numbers(128, 128), name="w")
    before = tf.identity(w)

    def body(y: tf.Tensor) -> tf.Tensor:
        product = tf.matmul(y, before, transpose_b=True)
        with tf.control_dependencies([w.assign_add(tf.ones([128, 128]) + product[0, 0])]):
            return tf.identity(product)

    assert len(both(loop(x, body), {x: numbers(ROWS, 128)})) == 1


@pytest.mark.parametrize(
    ("rows", "width", "turned"),
    [(ROWS, 128, False), (200, 128, True), (8, 48, True)],
    ids=["as they lie", "many rows pack them", "few numbers are the BLAS's"],
)
def test_other_products_stay_as_they_are(rows: int, width: int, turned: bool) -> None:
    x, w = tf.placeholder(tf.float32, (rows, width)), tf.constant(numbers(width, width))
    y = loop(x, lambda y: tf.matmul(y, w, transpose_b=turned))
    assert both(y, {x: numbers(rows, width)}) == []


def test_what_changes_in_the_loop_is_turned_there() -> None:
    x, start = tf.placeholder(tf.float32, (ROWS, 128)), tf.placeholder(tf.float32, (128, 128))
    y = tf.while_loop(
        lambda i, *_: i < 3,
        lambda i, y, w: (i + 1, tf.matmul(y, w, transpose_b=True), w * 0.5),
        [0, x, start],
    )[1]
    assert both(y, {x: numbers(ROWS, 128), start: numbers(128, 128)}) == []
