"""Sizes that a run computes as integers: fed sizes, the largest of several lengths, and sizes
computed in floating point. One program runs all of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.sizes import SizeTrace, has_open_sizes
from gpugraph.ops.framework.op_evaluation import evaluate

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

WIDTH = 4

Program = tuple[list[Any], Callable[[Random], dict[Any, Any]]]


@pytest.fixture(autouse=True)
def _native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")


def _uniform(*shape: int) -> Any:
    return np.random.rand(*shape).astype(np.float32)


def _fed_batch() -> Program:
    x, batch = tf.placeholder(tf.float32, [None, None, WIDTH]), tf.placeholder(tf.int32, [])
    cell = tf.nn.rnn_cell.GRUCell(WIDTH, kernel_initializer=tf.constant_initializer(0.2))
    outputs, _ = tf.nn.dynamic_rnn(cell, x, initial_state=cell.zero_state(batch, tf.float32))
    loss = tf.reduce_mean(tf.square(outputs))

    def draw(random: Random) -> dict[Any, Any]:
        rows = random.randint(2, 30)
        return {x: _uniform(rows, random.randint(2, 6), WIDTH), batch: rows}

    return [loss, *tf.gradients(loss, [x])], draw


def _longest() -> Program:
    x, lengths = tf.placeholder(tf.float32, [None, None, WIDTH]), tf.placeholder(tf.int32, [None])
    used = tf.layers.dense(x[:, : tf.reduce_max(lengths)], 3, kernel_initializer="ones")
    result = used * tf.sequence_mask(lengths, dtype=tf.float32)[..., None]

    def draw(random: Random) -> dict[Any, Any]:
        rows, steps = random.randint(2, 6), random.randint(4, 9)
        return {x: _uniform(rows, steps, WIDTH), lengths: np.random.randint(2, steps + 1, rows)}

    return [result], draw


def _halved() -> Program:
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    half = tf.cast(tf.ceil(tf.cast(tf.shape(x)[1], tf.float32) * 0.5), tf.int32)
    places = tf.cast(tf.range(half), tf.float32)
    result = tf.tanh(x[:, :half]) * places[None, :, None]
    return [result], lambda random: {x: _uniform(random.randint(2, 6), random.randint(3, 9), WIDTH)}


def _rows_by_sign() -> Program:
    x, number = tf.placeholder(tf.float32, [None, WIDTH]), tf.placeholder(tf.int32, [])
    results = [tf.exp(x[:number]), tf.tanh(x[number:] * 2.0)]

    def draw(random: Random) -> dict[Any, Any]:
        rows = random.randint(3, 9)
        return {x: _uniform(rows, WIDTH), number: random.choice([1, 2, 3, rows, -1, -2, 0])}

    return results, draw


def _equal_reports() -> Program:
    x, ids = tf.placeholder(tf.float32, [None, WIDTH]), tf.placeholder(tf.int32, [None])
    means = tf.segment_mean(tf.tanh(x), ids)  # its gradient counts the segments again
    loss = tf.reduce_mean(tf.square(means - np.ones((3, WIDTH), np.float32)))

    def draw(random: Random) -> dict[Any, Any]:
        counts = [random.randint(1, 6) for _ in range(3)]
        return {x: _uniform(sum(counts), WIDTH), ids: np.repeat(np.arange(3), counts)}

    return [loss, *tf.gradients(loss, [x])], draw


PROGRAMS: dict[str, tuple[Callable[[], Program], int]] = {
    "fed batch": (_fed_batch, 12),
    "longest": (_longest, 8),
    "halved": (_halved, 8),
    "rows by sign": (_rows_by_sign, 0),
    "equal reports": (_equal_reports, 8),
}
"""Programs, and the number of sets of shapes, of those of 40 runs, that must share a program."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_a_new_session_and_one_program_computes_them(name: str) -> None:
    build, shared = PROGRAMS[name]
    np.random.seed(3)
    with tf.Graph().as_default() as graph:
        fetches, draw = build()
        start = tf.global_variables_initializer()
    random = Random(2)
    with tf.Session(graph=graph) as session:
        session.run(start)
        runs = [(feeds, session.run(fetches, feeds)) for feeds in map(draw, [random] * 40)]
        values = session.run(_variables(graph))
        plans = _plans(session, fetches)
    for feeds, results in runs[22::6]:
        with tf.Session(graph=graph) as session:
            session.run(start)
            for variable, value in zip(_variables(graph), values):
                variable.load(value, session)
            for result, expected in zip(results, session.run(fetches, feeds)):
                np.testing.assert_allclose(result, expected, 1e-4, 1e-5)
    assert sum(plan.sizes is not None for plan in plans) >= shared


def _variables(graph: Any) -> list[Any]:
    return graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)


def _plans(session: Any, fetches: Any) -> list[Any]:
    """Return the plans that a session has for its fetches, one for each set of shapes."""
    found = []
    for runner in session._backend.runners.values():
        if [tensor.name for tensor in runner.fetches] == [tensor.name for tensor in fetches]:
            found += [cached.plan for cached in runner.plans.exact.values()]
    return found


# -- arithmetic on open sizes

SIZES: dict[str, Callable[[Any], Any]] = {
    "gather": lambda s: tf.gather(s, [0, 1]),
    "mask": lambda s: tf.boolean_mask(s, [True, False, True]),
    "stitch": lambda s: tf.dynamic_stitch([[0], [1, 2]], [s[:1], s[1:]]),
    "product": lambda s: tf.stack([tf.reduce_prod(tf.gather(s, [0, 1])), s[2]]),
    "concat": lambda s: tf.concat([tf.gather(s, [0]), [7]], 0),
    "scatter": lambda s: tf.scatter_nd([[0], [2]], s[:2], [3]),
    "pad": lambda s: tf.pad(s, [[1, 0]], constant_values=1),
    "round up": lambda s: -(-s // 2),
    "reverse": lambda s: s[::-1],
}


def _values(tensor: Any, sizes: Any) -> Any:
    """Return a tensor's value. The value of a Shape op is `sizes`."""
    op = tensor.op
    if op.type == "Shape":
        return sizes
    if op.type == "Const":
        return np.array(tf.contrib.util.constant_value(tensor))
    inputs = [_values(input, sizes) for input in op.inputs]
    types = [input.dtype.base_dtype for input in op.inputs]
    outputs = evaluate(op._op_def, op._attrs, inputs, types)
    assert outputs is not None, f"{op.type} of open sizes"
    return outputs[tensor.value_index]


@pytest.mark.parametrize("name", SIZES)
def test_arithmetic_on_open_sizes_is_folded(name: str) -> None:
    x = tf.placeholder(tf.float32, [None, None, None])
    y = SIZES[name](tf.shape(x))
    trace = SizeTrace([6, 7, 8])
    found = _values(y, np.array(trace.sizes, object))
    assert has_open_sizes(found)
    for sizes in ([6, 7, 8], [9, 2, 5]):
        values = trace.values(sizes)
        assert values is not None
        expected = _values(y, np.array(sizes, np.int32))
        assert [values.of(size) for size in found.flat] == expected.reshape(-1).tolist()
