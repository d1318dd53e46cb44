"""Sizes that vary from run to run: the results equal those of a new session for each shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.session import direct_runner, open_shapes, runner_plans

WIDTH = 4

Step = Callable[[Any], Any]
"""Takes and returns a tensor [batch, length, WIDTH], batch and length open."""


def _weights(x: Any) -> Any:
    weights = tf.constant(np.linspace(-1, 1, WIDTH * WIDTH, dtype="f").reshape(WIDTH, WIDTH))
    return tf.reshape(tf.matmul(tf.reshape(x, [-1, WIDTH]), weights), tf.shape(x))


def _loop(x: Any) -> Any:
    by_time = tf.transpose(x, [1, 0, 2])
    return tf.transpose(tf.map_fn(lambda row: tf.tanh(row) * 2.0, by_time), [1, 0, 2])


def _running(x: Any) -> Any:
    start = tf.zeros([tf.shape(x)[0], WIDTH])
    states = tf.scan(lambda state, row: 0.5 * state + row, tf.transpose(x, [1, 0, 2]), start)
    return tf.transpose(states, [1, 0, 2])


def _branch(x: Any) -> Any:
    return tf.cond(tf.shape(x)[1] > 3, lambda: x * 2.0, lambda: tf.exp(-tf.abs(x)))


def _masked(x: Any) -> Any:
    lengths = tf.range(tf.shape(x)[0]) % tf.shape(x)[1] + 1
    return x * tf.sequence_mask(lengths, tf.shape(x)[1], dtype=tf.float32)[:, :, None]


STEPS: dict[str, Step] = {
    "matmul": _weights,
    "relu": tf.nn.relu,
    "softmax": tf.nn.softmax,
    "over time": lambda x: tf.nn.softmax(x, 1),
    "center": lambda x: x - tf.reduce_mean(x, [0, 1], keepdims=True),
    "normalize": lambda x: x / (1.0 + tf.reduce_sum(tf.square(x), 2, keepdims=True)),
    "shift": lambda x: tf.concat([tf.zeros_like(x[:, :1]), x[:, :-1]], 1),
    "reverse": lambda x: tf.reverse(x, [1]),
    "halves": lambda x: tf.concat(tf.split(x, 2, 2)[::-1], 2),
    "pad": lambda x: tf.pad(x, [[0, 0], [2, 1], [0, 0]])[:, 2:-1],
    "tile": lambda x: tf.tile(x[:, :1], [1, tf.shape(x)[1], 1]) + x,
    "scores": lambda x: tf.matmul(tf.nn.softmax(tf.matmul(x, x, transpose_b=True)), x),
    "cumulative": lambda x: tf.cumsum(x, 1) / tf.cast(tf.shape(x)[1], tf.float32),
    "gather": lambda x: tf.gather(x, tf.range(tf.shape(x)[1] - 1, -1, -1), axis=1),
    "convolution": lambda x: tf.nn.conv1d(x, tf.ones([3, WIDTH, WIDTH]) * 0.1, 1, "SAME"),
    "pooling": lambda x: tf.nn.pool(x, [2], "MAX", "SAME"),
    "flat": lambda x: tf.reshape(tf.reshape(x, [tf.shape(x)[0], -1]) * 0.5, tf.shape(x)),
    "loop": _loop,
    "scan": _running,
    "branch": _branch,
    "mask": _masked,
}

SIZES = st.tuples(st.integers(1, 7), st.integers(1, 9))


def build(names: list[str]) -> tuple[Any, list[Any]]:
    """Build a program of these steps; return the placeholder and the fetches."""
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    y = x
    for name in names:
        y = STEPS[name](y)
    loss = tf.reduce_mean(tf.square(y))
    count = tf.size(tf.where(y > 0.1))
    return x, [y, loss, tf.gradients(loss, x)[0], tf.shape(y), count]


@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5),
    st.lists(SIZES, min_size=3, max_size=6),
)
def test_random_programs_over_varying_sizes(names: list[str], sizes: list[tuple[int, int]]) -> None:
    with tf.Graph().as_default() as graph:
        x, fetches = build(names)
    with tf.Session(graph=graph) as varying:
        for batch, length in sizes:
            value = np.sin(np.arange(batch * length * WIDTH, dtype="f"))
            value = value.reshape(batch, length, WIDTH)
            with tf.Session(graph=graph) as fresh:
                expected = fresh.run(fetches, {x: value})
            for _ in range(2):
                got = varying.run(fetches, {x: value})
                for one, other in zip(got, expected, strict=True):
                    np.testing.assert_allclose(one, other, 1e-5, 1e-6)


def units(session: tf.Session) -> int:
    """Return how many units with open sizes a session has compiled."""
    runners = session._backend.runners.values()  # type: ignore[attr-defined]
    return sum(
        len(units) for runner in runners for units in runner.plans.open_shapes._units.values()
    )


@pytest.mark.parametrize("name", sorted(STEPS))
def test_one_unit_holds_for_all_larger_sizes(name: str) -> None:
    """No step depends on a size beyond whether it is small."""
    with tf.Graph().as_default() as graph:
        x, fetches = build([name])
    with tf.Session(graph=graph) as session:
        for batch, length in [(5, 9), (6, 10), (11, 14), (6, 20), (30, 7)]:
            session.run(fetches, {x: np.ones((batch, length, WIDTH))})
        assert units(session) == 1


def test_sizes_of_zero_and_one_have_their_own_units() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.placeholder(tf.float32, [None, 3])
        z = x * y + tf.reduce_sum(x, 0)
    with tf.Session(graph=graph) as session:
        for one, other in [(4, 4), (5, 5), (1, 6), (6, 1), (0, 0), (0, 1), (1, 1), (7, 7)]:
            got = session.run(z, {x: np.ones((one, 3)), y: np.full((other, 3), 2.0)})
            rows = 0 if 0 in (one, other) else max(one, other)
            np.testing.assert_array_equal(got, np.full((rows, 3), 2.0 + one))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[4,3\] vs. \[5,3\]"):
            session.run(z, {x: np.ones((4, 3)), y: np.ones((5, 3))})
        assert session.run(z, {x: np.ones((9, 3)), y: np.ones((9, 3))}).shape == (9, 3)


def test_errors_of_varying_shapes_are_those_of_exact_ones() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        y = tf.reshape(x, [2, -1])
    with tf.Session(graph=graph) as session:
        for size in (4, 6, 8):
            assert session.run(y, {x: np.zeros(size)}).shape == (2, size // 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="a multiple of 2"):
            session.run(y, {x: np.zeros(5)})
        assert session.run(y, {x: np.zeros(10)}).shape == (2, 5)


def test_plans_that_have_not_run_lately_are_dropped_first() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        y = x + 1.0
    with tf.Session(graph=graph) as session:
        session._backend.plans.most = 4  # type: ignore[attr-defined]
        session.run(y, {x: np.zeros(30)})
        session.run(y, {x: np.zeros(2)})
        (runner,) = session._backend.runners.values()  # type: ignore[attr-defined]
        kept = runner.plans.exact[(2,),]
        for size in range(3, 30):
            session.run(y, {x: np.zeros(size)})
            session.run(y, {x: np.zeros(2)})
        assert runner.plans.exact[(2,),] is kept
        assert len(session._backend.plans) == 4  # type: ignore[attr-defined]


def test_beyond_so_many_units_a_plan_has_dynamic_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_shapes, "MAX_UNITS", 1)
    monkeypatch.setattr(runner_plans, "EXACT_PLANS", 1)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.reduce_sum(x * 2.0, 0)
    with tf.Session(graph=graph) as session:
        for rows in (3, 4, 1, 0, 5):  # one row and no rows are outside of the unit
            got = session.run(y, {x: np.ones((rows, 3))})
            np.testing.assert_array_equal(got, [2 * rows] * 3)
        (runner,) = session._backend.runners.values()  # type: ignore[attr-defined]
        assert runner.plans.open is not None


def test_an_error_with_open_sizes_alone_is_logged_and_shapes_are_compiled_exactly(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise AttributeError("'Size' object has no attribute 'bit_length'")

    monkeypatch.setattr(direct_runner, "OpenUnit", fail)
    monkeypatch.setenv("GPUGRAPH_VERIFY", "0")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        y = x + 1.0
    with tf.Session(graph=graph) as session:
        for size in (2, 3, 4):
            assert session.run(y, {x: np.zeros(size)}).shape == (size,)
    assert [record.message for record in caplog.records] == [
        "Each set of shapes is compiled by itself: AttributeError: 'Size' object has no attribute "
        "'bit_length'"
    ]
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")
    with tf.Session(graph=graph) as session, pytest.raises(AttributeError):
        session.run(y, {x: np.zeros(2)})
        session.run(y, {x: np.zeros(3)})


def test_shapes_that_fail_do_not_count_as_exact_plans() -> None:
    with tf.Graph().as_default() as graph:
        x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
        z = x + y
    with tf.Session(graph=graph) as session:
        for size in range(2, 2 + 2 * runner_plans.EXACT_PLANS):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
                session.run(z, {x: np.zeros(size), y: np.zeros(size + 1)})
        assert session.run(z, {x: np.zeros(4), y: np.zeros(4)}).shape == (4,)
        (runner,) = session._backend.runners.values()  # type: ignore[attr-defined]
        assert runner.plans.open is None


def test_explain_gives_the_arena_of_the_shapes_that_it_explains() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 1024])
        y = tf.matmul(tf.nn.softmax(x), x, transpose_b=True)
    with tf.Session(graph=graph) as session:
        texts = []
        for rows in (2, 3, 300):
            texts.append(session.explain(y, {x: np.zeros((rows, 1024))}).of_pass("memory_planning"))
        assert "KiB" in texts[1] and "MiB" in texts[2]
        report = session.explain(y, {x: np.zeros((300, 1024))}).of_pass("open_sizes")
        assert "compiled for all sizes that meet" in report


def test_strings_of_varying_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array of strings is not in the arena; its shape varies too."""
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    words, rows = tf.placeholder(tf.string, [None, None]), tf.placeholder(tf.int32, [None])
    picked = tf.gather(words, rows)
    with tf.Session() as session:
        for size in (30, 40, 50, 60, 7, 5, 3):
            given = np.array([[b"a%d" % (r * c) for c in range(size)] for r in range(size)], object)
            feeds = {words: given, rows: np.arange(size)[::-1]}
            assert (session.run(picked, feeds) == given[::-1]).all()
