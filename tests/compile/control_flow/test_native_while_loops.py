"""Loops as one C function: which loops, and that results equal those of the steps bit by bit."""

from __future__ import annotations

import _thread
import shutil
import threading
import time

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import gpugraph as tf
from gpugraph.plan import step_codes

from ..stages import make_plan, make_target

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def native(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")


def told(fetches, feeds=None):
    """Return the report of the bind pass on the loops."""
    plan = make_plan(fetches, feeds or {}, make_target())
    reports = plan.current_reports(step_codes(plan.steps))
    lines = [line for report in reports if report.name == "binder" for line in report.lines]
    return [line for line in lines if line.startswith("loop ")]


def both(monkeypatch, fetches, feeds=None):
    """Return the results by steps and by the function."""
    results = []
    for way in ("0", "wait"):
        monkeypatch.setenv("GPUGRAPH_NATIVE", way)
        with tf.Session() as session:
            results.append(session.run(fetches, feeds))
    return results


@needs_compiler
def test_a_counting_loop(monkeypatch):
    n = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 1.5 + 1.0), [0, 0.5])
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    assert told(list(loop), {n: ()}) == [
        "loop while/while_context: waits to be a native function (for the next run)"
    ]
    for count in (0, 1, 17):
        steps, function = both(monkeypatch, loop, {n: count})
        assert steps == function


@needs_compiler
def test_vectors_and_what_does_not_change(monkeypatch):
    x = tf.placeholder(tf.float32, [5])
    loop = tf.while_loop(
        lambda i, a, b: i < 9, lambda i, a, b: (i + 1, b + x, a * 0.5), [0, x, tf.zeros([5])]
    )
    array = np.linspace(-1, 1, 5)
    for one, other in zip(*both(monkeypatch, loop, {x: array})):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda a: tf.reshape(tf.matmul(tf.reshape(a, [1, 3]), tf.ones([3, 3])), [3]), "Reshape"),
        (lambda a: tf.cond(a[0] > 0, lambda: a, lambda: -a), "StridedSlice"),
        (
            lambda a: tf.while_loop(lambda j: j < 2, lambda j: j + 1.0, [0.0]) * 0.0 + a,
            "a loop in it",
        ),
        (lambda a: tf.cumsum(a), "Cumsum"),
    ],
)
def test_what_stays_steps_and_why(monkeypatch, make, why):
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)

    def body(i, a):
        value = make(a)
        return i + 1, tf.cast(value, tf.float32) if value.dtype != tf.float32 else value

    loop = tf.while_loop(lambda i, a: i < 3, body, [0, tf.ones([3])])
    (line, *_) = [
        entry for entry in told([loop[1]]) if entry.startswith("loop while/while_context:")
    ]
    assert why in line


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    assert told([loop]) == ["loop while/while_context: no native kernels: GPUGRAPH_NATIVE is 0"]


@needs_compiler
def test_inexact_ops_where_the_program_asks_for_it(monkeypatch):
    loop = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, tf.tanh(a) + 0.1), [0, 0.5])
    steps, function = both(monkeypatch, loop)
    np.testing.assert_allclose(steps[1], function[1], rtol=1e-6)


@needs_compiler
def test_a_loop_that_takes_a_while_becomes_a_function_by_itself(monkeypatch):
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    n = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 0.5 + 1.0), [0, 0.0])
    with tf.Session() as session:
        first = session.run(loop, {n: 30_000})
        ends = time.monotonic() + 20
        while time.monotonic() < ends:
            start = time.perf_counter()
            assert session.run(loop, {n: 30_000}) == first
            if time.perf_counter() - start < 0.002:  # steps take ten times as long
                return
    pytest.fail("the loop was never compiled")


@needs_compiler
def test_division_by_zero_names_the_loop(native):
    n = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, 7 // (n - i)), [0, 1], name="w")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"by zero(.|\n)*node w"):
            session.run(loop, {n: 2})
        assert session.run(loop, {n: 4}) == (3, 3)


@needs_compiler
def test_an_endless_loop_ends_by_time_by_close_and_by_interrupt(native, interruptible):
    loop = tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [0])
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(loop, options=tf.RunOptions(timeout_in_ms=100))
        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(loop)
        timer.join()
        timer = threading.Timer(0.3, session.close)
        timer.start()
        with pytest.raises(tf.errors.CancelledError):
            session.run(loop)
        timer.join()


UNARY = [tf.negative, tf.square, tf.abs, tf.nn.relu, tf.sqrt]
BINARY = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum]


@st.composite
def bodies(draw):
    index = st.integers(0, 50)
    return [
        (draw(st.booleans()), draw(index), draw(index), draw(index))
        for _ in range(draw(st.integers(1, 6)))
    ]


@needs_compiler
@given(bodies(), st.sampled_from([(), (1,), (4,)]), st.integers(0, 4))
@settings(max_examples=25, deadline=None)
def test_random_bodies(program, shape, count):
    with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
        x = tf.placeholder(tf.float64, shape)

        def body(i, a, b):
            known = [a, b, x, tf.constant(0.75, tf.float64)]
            for unary, which, one, other in program:
                if unary:
                    value = UNARY[which % len(UNARY)](known[one % len(known)])
                else:
                    value = BINARY[which % len(BINARY)](
                        known[one % len(known)], known[other % len(known)]
                    )
                known.append(value)
            ends = [tensor for tensor in known if tensor.shape.as_list() == list(shape)]
            return i + 1, ends[-1], ends[len(ends) // 2]

        loop = tf.while_loop(lambda i, a, b: i < count, body, [0, x, x * 2.0])
        vector = np.linspace(-1.0, 2.0, int(np.prod(shape))).reshape(shape)
        for one, other in zip(*both(patch, loop, {x: vector})):
            np.testing.assert_array_equal(one, other)
