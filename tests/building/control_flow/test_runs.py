"""Runs of loops and branches: ended from outside, failed, timed, of many threads, of many sizes."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import DeadlineExceededError, FailedPreconditionError, OpError

GOING, OVER = {"goes_on:0": True}, {"goes_on:0": False}
GROWING = [tf.TensorShape([]), tf.TensorShape([None])]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph: Any) -> Any:
    options = tf.GPUOptions(virtual_gpus=2)
    with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
        yield session


def in_use(session: tf.Session) -> list[int]:
    return [each.bytes_in_use for each in session.memory_stats().values()]


def grown(limit: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """Return a loop over cells, nested: x as long as 2 * (i + 1) in iteration i, on a device."""

    def body(i: Any, x: Any) -> Any:
        inner = tf.while_loop(
            lambda j, _: j < 2, lambda j, x: (j + 1, tf.concat([x, [1.0]], 0)), [0, x], GROWING
        )
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(inner[1]), lambda: inner[1])

    return tf.while_loop(lambda i, _: i < limit, body, [0, x], GROWING)[1]


def endless() -> tf.Tensor:
    """Nested, with a branch: never over while the placeholder is true."""
    goes_on = tf.placeholder(tf.bool, [], name="goes_on")

    def body(i: Any, x: Any) -> Any:
        inner = tf.while_loop(lambda j: j < 3, lambda j: j + 1, [0])
        return i + inner, tf.cond(i > 0, lambda: tf.concat([x, x], 0)[:4], lambda: x * 2.0)

    last = tf.while_loop(lambda i, x: goes_on, body, [0, tf.ones([3])], GROWING)[1]
    return tf.reduce_sum(last)


# -- ended from outside


@pytest.mark.parametrize("trace", [False, True])
def test_an_endless_loop_ends_when_its_time_is_over(session: Any, trace: bool) -> None:
    last = endless()
    assert session.run(last, OVER) == 3.0
    held = in_use(session)
    level = tf.RunOptions.FULL_TRACE if trace else tf.RunOptions.NO_TRACE
    options = tf.RunOptions(timeout_in_ms=60, trace_level=level)
    for _ in range(2):
        with pytest.raises(DeadlineExceededError, match="notification: in the loop 'while/"):
            session.run(last, GOING, options=options, run_metadata=tf.RunMetadata())
        assert in_use(session) == held
        assert session.run(last, OVER) == 3.0


def test_a_loop_that_is_over_in_time(session: Any) -> None:
    options = tf.RunOptions(timeout_in_ms=60_000)
    x = tf.placeholder(tf.float32, [None])
    assert session.run(grown(tf.constant(3), x), {x: [1.0]}, options=options).shape == (7,)


def test_ctrl_c_ends_an_endless_loop(session: Any) -> None:
    goes_on = tf.placeholder(tf.bool, [], name="goes_on")
    inner = tf.while_loop(lambda j, _: j < 3, lambda j, x: (j + 1, x * 0.5), [0, tf.ones([3])])[1]
    last = tf.while_loop(lambda i, _: goes_on, lambda i, x: (i + 1, x + inner), [0, inner])[0]
    assert session.run(last, OVER) == 0
    held = in_use(session)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(3):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                session.run(last, GOING)
            assert in_use(session) == held
            assert session.run(last, OVER) == 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_in_a_kernel_leaves_nothing_of_the_run(session: Any) -> None:
    at = tf.placeholder(tf.int32, [])

    def check(i: Any, at: Any) -> Any:
        if i == at:
            raise KeyboardInterrupt
        return i

    def body(i: Any, x: Any) -> Any:
        with tf.control_dependencies([tf.py_func(check, [i, at], tf.int32)]):
            return i + 1, tf.cond(i > 0, lambda: tf.concat([x, x], 0), lambda: x * 2.0)

    last = tf.while_loop(lambda i, _: i < 4, body, [0, tf.ones([3])], GROWING)[1]
    assert session.run(last, {at: -1}).shape == (24,)
    held = in_use(session)
    for step in range(4):
        with pytest.raises(KeyboardInterrupt):
            session.run(last, {at: step})
        assert in_use(session) == held
        assert session.run(last, {at: -1}).shape == (24,)


def test_who_closes_a_session_ends_its_loops() -> None:
    last = endless()
    started = threading.Event()
    with tf.Session() as session:
        assert session.run(last, OVER) == 3.0

        def run() -> Any:
            started.set()
            with pytest.raises(OpError):
                session.run(last, GOING)

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(run)
            started.wait()
            session.close()
            done.result(timeout=20)


# -- failed


def failing(at: tf.Tensor, where: str) -> tf.Tensor:
    """Fail in iteration `at`: in the loop's condition, its body, a branch or an inner loop."""

    def check(i: Any, x: Any) -> Any:
        return tf.gather([1.0], tf.cast(tf.equal(i, at), tf.int32) * 7, name="checked") * x

    def body(i: Any, x: Any) -> Any:
        x = tf.boolean_mask(tf.concat([x, x], 0), [True] * 6)[:3]
        if where == "body":
            x = check(i, x)
        elif where == "branch":
            x = tf.cond(i >= 0, lambda: check(i, x), lambda: x)
        elif where == "inner":
            x = tf.while_loop(lambda j, _: j < 2, lambda j, x: (j + 1, check(i, x)), [0, x])[1]
        return i + 1, tf.reshape(x, [3])

    def goes_on(i: Any, x: Any) -> Any:
        if where == "condition":
            return i < tf.cast(check(i, 5.0), tf.int32)
        return i < 5

    return tf.while_loop(goes_on, body, [0, tf.ones([3])])[1]


@pytest.mark.parametrize("where", ["condition", "body", "branch", "inner"])
def test_an_error_names_node_and_line_and_leaves_nothing(session: Any, where: str) -> None:
    at = tf.placeholder(tf.int32, [])
    last = failing(at, where)
    for _ in range(2):  # the first runs of a plan check its variables, later ones don't
        assert session.run(last, {at: -1}).tolist() == [1.0] * 3
    held = in_use(session)
    trace = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    for options in (None, None, trace):
        with pytest.raises(OpError) as caught:
            session.run(last, {at: 2}, options=options, run_metadata=tf.RunMetadata())
        assert "checked (defined at" in caught.value.message
        assert "test_runs.py" in caught.value.message
        assert caught.value.op is not None and caught.value.op.name.endswith("checked")
        assert in_use(session) == held
        assert session.run(last, {at: -1}).tolist() == [1.0] * 3


def test_a_variable_is_checked_only_where_it_is_used(session: Any) -> None:
    v = tf.Variable(5.0, name="v")
    p = tf.placeholder(tf.bool, [])
    chosen = tf.cond(p, lambda: v.read_value(), lambda: tf.constant(1.0))
    times = tf.while_loop(
        lambda i, _: i < tf.cast(p, tf.int32), lambda i, x: (i + 1, x + v.read_value()), [0, 0.0]
    )[1]
    for fetched, without in ((chosen, 1.0), (times, 0.0)):
        for _ in range(2):
            assert session.run(fetched, {p: False}) == without
            with pytest.raises(FailedPreconditionError, match="uninitialized value v"):
                session.run(fetched, {p: True})
    session.run(v.initializer)
    assert session.run([chosen, times], {p: True}) == [5.0, 5.0]


def test_a_branch_may_give_a_variable_its_first_value(session: Any) -> None:
    v = tf.Variable(5.0)
    missing = tf.logical_not(tf.is_variable_initialized(v))
    counted = tf.cond(missing, lambda: v.assign(7.0), lambda: v.assign_add(1.0))
    assert [session.run(counted) for _ in range(4)] == [7.0, 8.0, 9.0, 10.0]


# -- many


def test_threads_run_one_loop(session: Any) -> None:
    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [None])
    last = tf.reduce_sum(tf.sign(grown(n, x)))

    def run(count: int) -> Any:
        return [float(session.run(last, {n: count, x: [1.0]})) for _ in range(10)]

    with ThreadPoolExecutor(6) as pool:
        for count, sums in zip(range(6), pool.map(run, range(6))):
            assert sums == [2.0 * count + 1] * 10


def test_one_plan_of_open_sizes(session: Any) -> None:
    """From the ninth set of sizes on; cells at every place, and nothing of a run is left."""
    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [None])
    last = grown(n, x)
    for size in (*range(1, 13), 3, 0):
        feeds = {n: size % 3, x: np.full(size, 0.5)}
        want = np.full(size, 0.5)
        for i in range(size % 3):
            want = np.append(want, [1.0, 1.0])
            want = np.tanh(want) if i % 2 == 0 else want
        np.testing.assert_allclose(session.run(last, feeds), want, rtol=1e-6)
        held = in_use(session)
        session.run(last, feeds)
        assert in_use(session) == held


def test_a_kernel_in_a_loop_may_run_the_session(session: Any) -> None:
    """The plan is in use, so that a run of the same loop gets a separate plan."""
    n = tf.placeholder(tf.int32, [])

    def count(i: Any) -> Any:
        return np.int32(session.run(last, {n: i}) if i else 0)

    def body(i: Any, total: Any) -> Any:
        inner = tf.py_func(count, [i], tf.int32)
        inner.set_shape([])
        return i + 1, total + inner + 1

    last = tf.while_loop(lambda i, _: i < n, body, [0, 0])[1]
    assert session.run(last, {n: 5}) == 2**5 - 1


# -- traced and explained


def test_a_trace_has_the_steps_of_regions_that_were_alive(session: Any) -> None:
    p = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [3])
    chosen = tf.cond(p, lambda: tf.sin(x, name="one"), lambda: tf.cos(x, name="other"))
    last = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.tanh(x)), [0, chosen])[1]
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    for taken, names in ((True, {"cond/one"}), (False, {"cond/other"})):
        metadata = tf.RunMetadata()
        session.run(last, {p: taken, x: np.ones(3)}, options=options, run_metadata=metadata)
        stats = metadata.step_stats
        assert stats is not None
        steps = [step for device in stats.dev_stats for step in device.node_stats]
        assert {step.node_name for step in steps} & {"cond/one", "cond/other"} == names
        (loop,) = [step for step in steps if " = While(" in step.timeline_label]
        assert loop.node_name == "while/while_context"
        assert all(step.all_end_rel_micros >= 0 for step in steps)


def test_it_is_explained_what_runs_where_and_when(session: Any) -> None:
    x = tf.placeholder(tf.float32, [3])
    with tf.device("/gpu:1"):
        chosen = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(x), lambda: tf.cos(x))
    last = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.tanh(x)), [0, chosen])[1]
    explained = session.explain(last, {x: np.ones(3)})
    assert explained.device_of("cond/Sin").endswith("GPU:1")
    assert explained.device_of("while/Less").endswith("CPU:0")
    assert explained.reason_of("while/Less").startswith("counts a loop, which the host decides on")
    text = str(explained)
    for part in ("1 loops", "loop while/while_context", "'Greater' is true", "in place of"):
        assert part in text
    assert "_LoopEnd" not in text
