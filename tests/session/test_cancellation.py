"""Time limits, Ctrl-C and `close` from another thread end runs of every kind; the next one works.

Long operations are ended by the clock of their run: the limit is over before it begins, so that no
test waits.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.memory import side_by_side
from gpugraph.plan import check_run


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def blocked() -> Iterator[Callable[[], Any]]:
    """Yield a function that returns when the test is over."""
    over = threading.Event()

    def wait() -> Any:
        over.wait(60)
        return np.float32(1)

    yield wait
    over.set()


def endless(native: bool) -> Any:
    """A loop without an end: numbers alone become native code."""
    if native:
        return tf.while_loop(lambda x: x > 0, lambda x: x + 1, [tf.constant(1.0)])
    return tf.while_loop(
        lambda _, y: tf.reduce_sum(y) > -1,
        lambda x, y: (x + 1, tf.nn.top_k(tf.abs(y), 4)[0]),
        [tf.constant(1.0), tf.placeholder_with_default(np.ones(4, np.float32), [4])],
    )


def config(native: bool) -> Any:
    options = tf.OptimizerOptions
    level = options.ON_1 if native else options.OFF
    return tf.ConfigProto(
        graph_options=tf.GraphOptions(optimizer_options=options(global_jit_level=level))
    )


def until_cancelled(value: Any) -> Any:
    """Returns as if nothing had happened, once the run that calls it is cancelled."""
    while True:
        try:
            check_run("in the test")
        except tf.errors.CancelledError:
            return value
        time.sleep(0.001)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("kind", ["loop", "function", "functions"])
def test_what_never_ends_is_ended_by_its_limit(kind: str, native: bool, blocked: Any) -> None:
    waiting = [tf.py_func(blocked, [], tf.float32) for _ in range(2)]
    fetch = {"loop": endless(native), "function": waiting[0], "functions": waiting}[kind]
    after = tf.constant(1.0) + tf.placeholder(tf.float32, [], name="x")
    with tf.Session(config=config(native)) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out"):
                session.run(fetch, options=tf.RunOptions(timeout_in_ms=50))
            assert session.run(after, {"x:0": 1.0}) == 2


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("kind", ["op", "fused", "stretch", "products"])
def test_what_ends_is_over_before_its_limit_is_told(
    kind: str, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_by_side, "HEAVY", 1)
    monkeypatch.setattr(side_by_side, "blas_threads", lambda: 1)
    monkeypatch.setattr(side_by_side, "processor_count", lambda: 2)
    x = tf.placeholder(tf.float32, [64, 64], name="x")
    v = tf.Variable(0.0)
    fetch = {
        "op": tf.matrix_inverse(x),
        "fused": tf.tanh(tf.exp(x) + x),
        "stretch": tf.reduce_sum(tf.transpose(tf.exp(x))) + tf.matmul(x, tf.exp(x)),
        "products": tf.matmul(x, x) + tf.matmul(x, x + 1),
    }[kind]
    feeds = {x: np.eye(64)}
    with tf.control_dependencies([fetch]):
        late = tf.assign_add(v, 1.0)
    with tf.Session(config=config(native)) as session:
        session.run(v.initializer)
        expected = session.run(fetch, feeds)
        passed = iter([0.0])  # the limit is set, then it is over
        monkeypatch.setattr("gpugraph.plan.run_clock.monotonic", lambda: next(passed, 100.0))
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out"):
            session.run([fetch, late], feeds, options=tf.RunOptions(timeout_in_ms=1000))
        monkeypatch.undo()
        np.testing.assert_array_equal(session.run(fetch, feeds), expected)
        assert session.run(v) == 0


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("kind", ["loop", "functions", "function"])
def test_close_from_another_thread_cancels(kind: str, native: bool, blocked: Any) -> None:
    begun = threading.Event()

    def begin(value: Any) -> Any:
        begun.set()
        return value

    waiting = [tf.py_func(blocked, [], tf.float32) for _ in range(2)]
    start = tf.py_func(begin, [tf.constant(1.0)], tf.float32)
    with tf.control_dependencies([start]):
        loop = endless(native)
    single = tf.py_func(until_cancelled, [start], tf.float32) + 1.0
    starting = tf.py_func(lambda: begun.set() or np.float32(1), [], tf.float32)
    session = tf.Session(config=config(native))
    errors: list[BaseException] = []

    def run() -> None:
        try:
            fetches = {"loop": loop, "functions": [starting, *waiting], "function": single}
            session.run(fetches[kind])
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert begun.wait(60)
    session.close()
    thread.join(60)
    assert not thread.is_alive()
    assert isinstance(errors[0], tf.errors.CancelledError), errors
    assert errors[0].message.startswith("Run call was cancelled")
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(start)
    with tf.Session() as other:
        assert other.run(start) == 1


PRODUCTS = """
import os, signal, threading, time
import numpy as np
import gpugraph as tf
from gpugraph.compile.memory import side_by_side
side_by_side.HEAVY, side_by_side.processor_count = 1, lambda: 2
side_by_side.blas_threads = lambda: 1
x = tf.placeholder(tf.float32, [8, 8])
y = [tf.matmul(x, x), tf.matmul(x, x + 1)]
v = tf.Variable(0)
with tf.control_dependencies(y):
    add = tf.assign_add(v, 1)
with tf.Session() as session:
    session.run(v.initializer)
    feeds = {x: np.ones([8, 8])}
    session.run(y, feeds)
    assert "at the same time" in str(session.explain(y, feeds))
    interrupted, runs = 0, 0
    begin = threading.Thread.start
    def start(thread):
        os.kill(os.getpid(), signal.SIGINT)  # in the midst of the step
        begin(thread)
    for _ in range(5):
        threading.Thread.start = start
        try:
            session.run([*y, add], feeds)
        except KeyboardInterrupt:
            interrupted += 1
        threading.Thread.start = begin
        assert threading.active_count() == 1
        value, = session.run([y[0]], feeds)
        assert value[0, 0] == 8
        session.run(add, feeds)
    print("interrupted", interrupted, session.run(v))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="os.kill sends no SIGINT there")
def test_an_interrupt_waits_for_products_at_the_same_time() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PRODUCTS], capture_output=True, text=True, timeout=50, env=os.environ
    )
    assert ended.stdout == "interrupted 5 10\n", ended.stderr[-2000:]
