"""Plans of a session that run alternately share memory; plans that run together do not."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.session import direct_session as direct

MIB = 1 << 20
SIZES = range(2, 10)


def sums(sizes: Any = SIZES, device: str = "/gpu:0") -> tuple[Any, list[Any]]:
    """Return a number, and a fetch for each size in MiB, whose arena is of about twice that
    size.
    """
    number = tf.placeholder(tf.float32, [])
    with tf.device(device):
        waves = [tf.fill([size * MIB // 4], number) for size in sizes]
        return number, [tf.reduce_sum(tf.exp(tf.cumsum(wave) * 0.0)) for wave in waves]


def gpu_session(mebibytes: int = 256) -> Any:
    options = tf.GPUOptions(virtual_gpus=[mebibytes])
    return tf.Session(config=tf.ConfigProto(gpu_options=options, allow_soft_placement=True))


def arena(session: Any, fetch: Any, feeds: Any) -> int:
    return sum(session.explain(fetch, feeds).arena_bytes.values())


def in_use(session: Any) -> int:
    """Return the bytes that plans requested: BFC allocates more."""
    return sum(
        num_bytes
        for use in session.memory_stats().values()
        for owner, num_bytes in use.owners.items()
        if owner.startswith("a run of")
    )


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    keys: list[Any] = []
    compile_plan = direct.compile_plan

    def counted(target: Any, request: Any) -> Any:
        keys.append(request.key)
        return compile_plan(target, request)

    monkeypatch.setattr(direct, "compile_plan", counted)
    return keys


@pytest.mark.parametrize("order", [1, -1])
def test_plans_that_run_in_turns_have_the_largest_arena(compilations: Any, order: int) -> None:
    number, fetches = sums()
    with gpu_session() as session:
        for _ in range(3):
            for size, fetch in list(zip(SIZES, fetches))[::order]:
                assert session.run(fetch, {number: 1.0}) == size * MIB // 4
        most = max(arena(session, fetch, {number: 1.0}) for fetch in fetches)
        assert most > 2 * max(SIZES) * MIB - 4096
        assert most <= in_use(session) < most + most // 8 + MIB
        assert len(compilations) <= (2 if order > 0 else 1) * len(SIZES)
        (owner,) = [
            owner
            for use in session.memory_stats().values()
            for owner in use.owners
            if owner.startswith("a run of") and use.owners[owner] >= MIB
        ]
        assert owner.endswith("7 other plans, alternately")
        assert session.release_memory() >= most
        assert in_use(session) == 0


def program() -> tuple[list[Any], Callable[[Any], list[Any]]]:
    """Return fetches of many kinds, and a function that runs them all twice alternately."""
    tf.set_random_seed(3)
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    y = tf.layers.conv2d(x, 3, 3, activation=tf.nn.relu)
    flat = tf.layers.dense(tf.layers.flatten(y), 4)
    loss = tf.reduce_mean(tf.square(flat))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    loop = tf.while_loop(lambda i, _: i < 4, lambda i, z: (i + 1, tf.tanh(z) * 2), [0, flat])[1]
    branch = tf.cond(loss > 0.1, lambda: tf.nn.softmax(flat), lambda: flat * 2)
    grads = tf.gradients(loop, [x])
    fetches = [[loss, train], loop, branch, [grads, branch], y, tf.reduce_max(x), loss]
    values = np.random.RandomState(1).normal(size=(9, 6, 6, 2)).astype("float32")

    def run(session: Any) -> list[Any]:
        session.run(tf.global_variables_initializer())
        results = []
        for turn in range(3):
            for fetch in fetches[turn:] + fetches[:turn]:
                for rows in (9, 2):
                    results += tf.nest.flatten(session.run(fetch, {x: values[:rows]}))
        return [np.asarray(result).tobytes() for result in results if result is not None]

    return fetches, run


def test_results_are_those_of_memory_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    _, run = program()
    with tf.Session() as session:
        in_turns = run(session)
    compile_plan = direct.compile_plan
    monkeypatch.setattr(
        direct,
        "compile_plan",
        lambda target, *args: compile_plan(target._replace(run_memory=None), *args),
    )
    with tf.Session() as session:
        assert run(session) == in_turns


def test_runs_at_the_same_time_have_memory_of_their_own() -> None:
    number, (first, second) = sums([2, 3], "/cpu:0")
    x = tf.placeholder(tf.float32, [])
    loop = tf.while_loop(lambda y: y > 0, lambda y: y + 1, [x + 0.0 * first])
    with tf.Session() as session, ThreadPoolExecutor(1) as pool:
        for fetch, size in ((first, 2), (second, 3)):
            assert session.run(fetch, {number: 0.0}) == size * MIB // 4
        plan = str(session.explain(second, {number: 0.0}))
        assert "runs of the session time-share this memory" in plan
        options = tf.RunOptions(timeout_in_ms=1000)
        running = pool.submit(session.run, loop, {x: 1.0, number: 0.0}, options)
        while not any(plan.running for plan in session._backend.plans.all()):
            pass
        beside = 0
        while not running.done():
            assert session.run(second, {number: 0.0}) == 3 * MIB // 4
            beside += 1
        assert beside > 3
        with pytest.raises(tf.errors.DeadlineExceededError):
            running.result()
        plan = str(session.explain(second, {number: 0.0}))
        assert "runs of these fetches time-share this memory, since others ran" in plan
        assert session.run(first, {number: 0.0}) == MIB // 2


def test_shapes_of_one_fetch_that_run_at_the_same_time() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.cumsum(tf.exp(x * 0.0)) + x
    with tf.Session() as session, ThreadPoolExecutor(4) as pool:

        def run(index: int) -> bool:
            size = 1000 + 100 * (index % 5)
            got = session.run(y, {x: np.full(size, index)})
            return bool((got == np.arange(1, size + 1) + index).all())

        assert all(pool.map(run, range(400)))


def test_a_run_inside_of_another_has_memory_of_its_own() -> None:
    """A callback of a run (not a Python function's op, which has its own memory in any case)."""
    number, fetches = sums([2, 3], "/cpu:0")
    with tf.Session() as session:
        for fetch in fetches:
            session.run(fetch, {number: 0.0})
        (plan,) = [p for p in session._backend.plans.all() if p.key.fetches == (fetches[1].name,)]
        read = plan.fetches[0].read
        inner: list[Any] = []

        def read_after_another_run() -> Any:
            inner.append(session.run(fetches[0], {number: 0.0}))
            return read()

        plan.fetches = (plan.fetches[0]._replace(read=read_after_another_run),)
        assert session.run(fetches[1], {number: 0.0}) == 3 * MIB // 4
        assert inner == [MIB // 2]


def test_a_step_that_may_wait_keeps_nobody_from_its_memory() -> None:
    queue = tf.FIFOQueue(1, [tf.float32], [[]])
    number, (total,) = sums([2], "/cpu:0")
    taken = queue.dequeue() + total
    with tf.Session() as session, ThreadPoolExecutor(1) as pool:
        session.run(total, {number: 0.0})
        waiting = pool.submit(session.run, taken, {number: 0.0})
        for _ in range(20):
            assert session.run(total, {number: 0.0}) == MIB // 2
        session.run(queue.enqueue(3.0))
        assert waiting.result(20) == MIB // 2 + 3
        assert "only this plan uses this memory, since a run may wait" in str(
            session.explain(taken, {number: 0.0})
        )
        in_turns = str(session.explain(total, {number: 0.0}))
        assert "runs of the session time-share this memory" in in_turns


def test_growing_shapes_compile_a_bounded_number_of_plans(compilations: Any) -> None:
    x = tf.placeholder(tf.float32, [None])
    total = tf.reduce_sum(tf.exp(tf.cumsum(x)))
    with tf.Session() as session:
        for _ in range(2):
            for size in range(MIB, 3 * MIB, MIB // 8):
                assert session.run(total, {x: np.zeros(size)}) == size
    assert len(compilations) <= 2 * 8 + 2


def test_memory_is_given_back_around_a_run() -> None:
    """Memory that a run uses stays until it is over, whatever is released meanwhile."""
    entered, go_on = threading.Event(), threading.Event()
    number, (first, second) = sums([2, 3])

    def wait(value: Any) -> Any:
        entered.set()
        assert go_on.wait(20)
        return value

    with tf.device("/cpu:0"):
        waited = tf.py_func(wait, [number], tf.float32)
    with tf.device("/gpu:0"):
        late = first + tf.reduce_sum(tf.fill([MIB], tf.reshape(waited, [])))
    with gpu_session(64) as session, ThreadPoolExecutor(1) as pool:
        assert session.run(second, {number: 0.0}) == 3 * MIB // 4
        running = pool.submit(session.run, late, {number: 1.0})
        assert entered.wait(20)
        assert session.release_memory() >= 0
        during = in_use(session)
        assert during >= 4 * MIB
        assert session.run(second, {number: 0.0}) == 3 * MIB // 4
        session.release_memory()
        assert in_use(session) == during
        go_on.set()
        assert running.result(20) == MIB // 2 + MIB
        session.release_memory()
        assert in_use(session) == 0
        for device in session._backend.devices:
            device.allocator.check()


def test_a_reset_waits_for_the_run_and_leaves_memory_whole() -> None:
    entered, go_on = threading.Event(), threading.Event()

    def wait(value: Any) -> Any:
        entered.set()
        assert go_on.wait(20)
        return value

    with tf.device("/gpu:0"):
        variable = tf.get_variable("v", [MIB], initializer=tf.ones_initializer())
    with tf.device("/cpu:0"):
        waited = tf.py_func(wait, [tf.constant(1.0)], tf.float32)
    with tf.device("/gpu:0"), tf.control_dependencies([waited]):
        total = tf.reduce_sum(variable * tf.fill([MIB], 2.0))
    with gpu_session(64) as session, ThreadPoolExecutor(2) as pool:
        session.run(variable.initializer)
        running = pool.submit(session.run, total)
        assert entered.wait(20)
        reset = pool.submit(session._backend.reset, [])
        time.sleep(0.05)
        assert not reset.done()
        go_on.set()
        assert running.result(20) == 2 * MIB
        reset.result(20)
        for device in session._backend.devices:
            device.allocator.check()
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            session.run(total)
        session.run(variable.initializer)
        assert session.run(total) == 2 * MIB


def interrupted_at(number: int, run: Callable[[], Any]) -> bool:
    """Run, with Ctrl-C at the n-th call of the run; return whether there are that many calls."""
    calls = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_return")
        if calls == number:
            calls += 1
            signal.raise_signal(signal.SIGINT)

    try:
        sys.setprofile(profile)
        run()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in another thread with a time limit, and return its result."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    thread.join(30)
    return results[0]


def test_ctrl_c_takes_memory_and_locks_from_nobody() -> None:
    number, fetches = sums(range(2, 4), "/cpu:0")
    feeds = {number: 1.0}
    session = tf.Session()
    runs = [session.make_callable(fetch, [number]) for fetch in fetches]
    for _ in range(2):
        expected = [run(1.0) for run in runs]
    count = 1
    while interrupted_at(count, lambda: runs[0](1.0)):
        assert [run(1.0) for run in runs] == expected, count
        assert in_thread(lambda: [run(1.0) for run in runs]) == expected, count
        count += 1
    assert count > 10
    words = [session.explain(fetch, feeds) for fetch in fetches]
    assert all("runs of the session time-share this memory" in str(text) for text in words)
    in_thread(session.close)
