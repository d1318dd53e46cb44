"""Loops whose iterations are one native call: results and errors are those of the steps."""

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

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def waiting(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")


def native_loops(session, fetches, feeds=None):
    """Return the native calls of loops that the runs so far have assembled, one line each."""
    lines = str(session.explain(fetches, feeds or {})).splitlines()
    return [line.strip() for line in lines if "one native call of the loop" in line]


def runs(fetches, feeds=None, times=3):
    """The results of some runs, of which the first goes by steps; how many loops are native."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        results = [session.run(fetches, feeds) for _ in range(times)]
        return results, len(native_loops(session, fetches, feeds))


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def tanh_loop(x, w, steps=20):
    return tf.while_loop(lambda i, y: i < steps, lambda i, y: (i + 1, tf.tanh(y * w) + x), [0, x])[
        1
    ]


@needs_compiler
def test_a_gradient_with_its_stacks(waiting):
    x, w = tf.placeholder(tf.float32, [64]), tf.constant(np.linspace(-1, 1, 64), tf.float32)
    y = tanh_loop(x, w)
    fetches = [y, tf.gradients(tf.reduce_sum(y), x)[0]]
    (first, *later), count = runs(fetches, {x: np.linspace(-2, 2, 64)})
    assert count == 2
    for result in later:
        assert_same(first, result)


@needs_compiler
def test_a_recurrent_network_trains_as_by_steps(waiting):
    x = tf.placeholder(tf.float32, [4, 6, 5])
    cell = tf.nn.rnn_cell.BasicLSTMCell(8)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs - 0.3))
    gradients = tf.gradients(loss, tf.trainable_variables())
    values = np.random.RandomState(0).randn(4, 6, 5)
    (first, *later), count = runs([outputs, loss, *gradients], {x: values}, times=4)
    assert count == 2
    for result in later:
        assert_same(first, result)


@needs_compiler
def test_what_has_no_native_code_runs_by_python_between_native_parts(waiting):
    calls = []

    def double(value):
        calls.append(value.shape)
        return value * np.float32(2)

    def body(i, y):
        z = tf.py_func(double, [tf.tanh(y) + 1.0], tf.float32)
        z.set_shape([5])
        return i + 1, tf.exp(-z) * y + 1.0

    x = tf.placeholder(tf.float32, [5])
    y = tf.while_loop(lambda i, y: i < 7, body, [0, x])[1]
    with tf.Session() as session:
        feeds = {x: np.arange(5.0)}
        first = session.run(y, feeds)
        for _ in range(2):
            np.testing.assert_array_equal(session.run(y, feeds), first)
        assert len(calls) == 21
        (line,) = native_loops(session, y, feeds)
        assert "(PyFunc)" in line


def nested(x, w):
    """Return a loop with a loop and a branch in it."""

    def body(i, y):
        z = tf.while_loop(
            lambda j, z: j < i, lambda j, z: (j + 1, tf.matmul(z, w) + tf.tanh(z)), [0, y]
        )[1]
        odd = tf.equal(i % 2, 1)
        return i + 1, tf.cond(odd, lambda: tf.sin(z) + y, lambda: tf.cos(z) * 0.5)

    return tf.while_loop(lambda i, y: i < 5, body, [0, x])[1]


@needs_compiler
def test_loops_in_loops_and_branches_in_them_are_part_of_the_call(waiting):
    x, w = tf.placeholder(tf.float32, [3, 3]), np.random.RandomState(1).randn(3, 3) * 0.3
    y = nested(x, tf.constant(w, tf.float32))
    feeds = {x: np.eye(3)}
    with tf.Session() as session:
        fetches = [y, tf.gradients(tf.reduce_sum(y), x)[0]]
        first = session.run(fetches, feeds)
        for _ in range(3):
            assert_same(first, session.run(fetches, feeds))
        session.run(y, feeds)
        session.run(y, feeds)
        lines = native_loops(session, y, feeds)
        assert any("while/while_context" in line and "by Python" not in line for line in lines)


@needs_compiler
def test_a_branch_that_is_taken_late_becomes_part_of_the_call_then(waiting):
    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [2, 2])
    matrix = np.array([[0.5, 0.1], [0.2, 0.5]])
    m = tf.constant(matrix, tf.float32)

    def body(i, y):
        return i + 1, tf.cond(i < n, lambda: tf.matmul(y, m), lambda: tf.exp(-y) + x)

    y = tf.while_loop(lambda i, y: i < 6, body, [0, x])[1]
    with tf.Session() as session:
        for count, times in ((6, 3), (0, 1), (3, 3)):
            results = [session.run(y, {n: count, x: np.eye(2)}) for _ in range(times)]
            value = np.eye(2)
            for i in range(6):
                value = (
                    value @ [[0.5, 0.1], [0.2, 0.5]] if i < count else np.exp(-value) + np.eye(2)
                )
            for result in results:
                np.testing.assert_allclose(result, value, rtol=1e-5)
        (line,) = native_loops(session, y, {n: 3, x: np.eye(2)})
        assert "by Python" not in line


@needs_compiler
def test_branches_in_time_steps_of_a_recurrent_network(waiting):
    x, n = tf.placeholder(tf.float32, [3, 5, 4]), tf.placeholder(tf.int32, [3])
    cell = tf.nn.rnn_cell.GRUCell(4)
    outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=n, dtype=tf.float32)
    total = tf.reduce_sum(tf.square(outputs)) + tf.reduce_sum(state)
    gradients = tf.gradients(total, tf.trainable_variables())
    values = np.random.RandomState(0).randn(3, 5, 4)
    (first, *later), count = runs([total, *gradients], {x: values, n: [5, 2, 0]}, times=4)
    assert count == 2
    for result in later:
        assert_same(first, result)


@needs_compiler
def test_the_number_of_iterations_may_change_from_run_to_run(waiting):
    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float64, [3])
    matrix = np.array([[0.5, 0.1, 0.0], [0.0, 0.5, 0.2], [0.1, 0.0, 0.5]])
    w = tf.constant(matrix)
    body = lambda i, y: (i + 1, tf.tanh(tf.reshape(tf.matmul(y[None], w), [3])) + x)  # noqa: E731
    y = tf.while_loop(lambda i, y: i < n, body, [0, x])[1]
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as session:
        array = np.array([0.1, -0.2, 0.3])
        for count in (3, 3, 0, 1, 40, 2, 0, 7):
            value, slope = session.run([y, gradient], {n: count, x: array})
            wanted = array
            total = np.eye(3)
            for _ in range(count):
                wanted = np.tanh(wanted @ matrix)
                total = total @ matrix * (1 - wanted**2) + np.eye(3)
                wanted = wanted + array
            np.testing.assert_allclose(value, wanted, rtol=1e-12)
            np.testing.assert_allclose(slope, total.sum(1), rtol=1e-10)


@needs_compiler
@pytest.mark.parametrize("size", [3, 6])
def test_an_index_outside_of_an_array_is_the_error_of_its_step(monkeypatch, size):
    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [4])

    def body(i, y, array):
        y = tf.tanh(y) + x
        return i + 1, y, array.write(i, y, name="put")

    array = tf.TensorArray(tf.float32, size)
    ended = tf.while_loop(lambda i, *_: i < n, body, [0, x, array])
    fetch = [ended[1], ended[2].stack()]
    messages = []
    for way in ("0", "wait"):
        monkeypatch.setenv("GPUGRAPH_NATIVE", way)
        with tf.Session() as session:
            for _ in range(3):
                session.run(fetch, {n: size, x: np.ones(4)})
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                session.run(fetch, {n: size + 1, x: np.ones(4)})
            messages.append(raised.value.message)
            assert raised.value.op.name == "while/put/put"
            value, rows = session.run(fetch, {n: size, x: np.ones(4)})  # the session is usable
            np.testing.assert_array_equal(value, rows[-1])
    assert messages[0] == messages[1]
    assert f"Tried to write to index {size}" in messages[0]


@needs_compiler
def test_what_a_native_step_refuses_is_the_error_of_its_step(monkeypatch):
    d = tf.placeholder(tf.int32, [2])
    m = tf.constant(np.eye(2), tf.float32)

    def body(i, a, b):
        b = tf.matmul(b, m) + 1.0
        return i + 1, a + 100 // (d - i), b

    loop = tf.while_loop(lambda i, *_: i < 5, body, [0, d, tf.ones([2, 2])])
    messages = []
    for way in ("0", "wait"):
        monkeypatch.setenv("GPUGRAPH_NATIVE", way)
        with tf.Session() as session:
            for _ in range(3):
                session.run(loop, {d: [7, 9]})
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                session.run(loop, {d: [7, 3]})
            messages.append((raised.value.message, raised.value.op.name))
            session.run(loop, {d: [7, 9]})
            assert way == "0" or len(native_loops(session, loop, {d: [7, 9]})) == 1
    assert messages[0] == messages[1]


def endless(session):
    """Return a loop that never ends once it is fed 1, and its feed; it is native by now."""
    step, m = tf.placeholder(tf.int32, []), tf.constant(np.eye(4) * 0.5, tf.float32)
    loop = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + step, tf.tanh(tf.matmul(y, m))), [0, tf.ones([4, 4])]
    )[1]
    for _ in range(3):
        session.run(loop, {step: 1})
    assert len(native_loops(session, loop, {step: 1})) == 1
    return loop, step


@needs_compiler
def test_ctrl_c_ends_it(waiting):
    with tf.Session() as session:
        loop, step = endless(session)
        threading.Timer(0.3, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            session.run(loop, {step: 0})
        session.run(loop, {step: 1})


@needs_compiler
def test_a_session_that_closes_ends_it(waiting):
    session = tf.Session()
    loop, step = endless(session)
    threading.Timer(0.3, session.close).start()
    with pytest.raises(tf.errors.CancelledError):
        session.run(loop, {step: 0})


@needs_compiler
def test_a_time_limit_ends_it(waiting):
    with tf.Session() as session:
        loop, step = endless(session)
        options = tf.RunOptions(timeout_in_ms=200)
        begun = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError, match="in the loop"):
            session.run(loop, {step: 0}, options=options)
        assert time.monotonic() - begun < 60
        session.run(loop, {step: 1})


@needs_compiler
def test_other_threads_run_python_meanwhile(waiting):
    with tf.Session() as session:
        loop, step = endless(session)
        turns = []
        thread = threading.Timer(0.2, lambda: turns.extend(range(1000)))
        thread.start()
        threading.Timer(0.6, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            session.run(loop, {step: 0})
        thread.join()
        assert len(turns) == 1000


@pytest.mark.exhaustive
@needs_compiler
@settings(max_examples=40, deadline=None)
@given(
    kinds=st.lists(
        st.sampled_from(["tanh", "matmul", "concat", "gather", "cond", "write", "swap"]),
        min_size=1,
        max_size=5,
    ),
    counts=st.lists(st.integers(0, 9), min_size=2, max_size=4),
)
def test_random_bodies_give_the_same_numbers_in_each_run(kinds, counts):
    with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
        n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [3, 3])
        m = tf.constant(np.random.RandomState(0).randn(3, 3) * 0.4, tf.float32)

        def body(i, a, b, array):
            for kind in kinds:
                if kind == "tanh":
                    a = tf.tanh(a * 1.5 + b)
                elif kind == "matmul":
                    a = tf.matmul(a, m) + b * 0.1
                elif kind == "concat":
                    a = tf.concat([a[:1], b[1:]], 0)
                elif kind == "gather":
                    a = tf.gather(a, tf.stack([i % 3, 0, 2]))
                elif kind == "cond":
                    a = tf.cond(a[0, 0] > 0.2, lambda a=a: a - m, lambda a=a: tf.sin(a))
                elif kind == "swap":
                    a, b = b, a
            return i + 1, a, b, array.write(i, a)

        array = tf.TensorArray(tf.float32, n)
        _, a, b, array = tf.while_loop(lambda i, *_: i < n, body, [0, x, x * 0.5, array])
        total = tf.reduce_sum(a) + tf.reduce_sum(tf.sin(b)) + tf.reduce_sum(array.concat() ** 2)
        slope = tf.gradients(total, x)[0]
        fetches = [a, b, total, slope]
        patch.setenv("GPUGRAPH_NATIVE", "wait")
        feeds = [{n: max(count, 1), x: np.arange(1.0, 10).reshape(3, 3) / 9} for count in counts]
        with tf.Session() as native:
            first = [native.run(fetches, feed) for feed in feeds]
            again = [native.run(fetches, feed) for feed in feeds]
        patch.setenv("GPUGRAPH_NATIVE", "0")
        with tf.Session() as plain:
            wanted = [plain.run(fetches, feed) for feed in feeds]
        for one, other, steps in zip(first, again, wanted):
            assert_same(one, other)
            for value, expected in zip(one, steps):
                np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-4)
