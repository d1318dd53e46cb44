"""Runs at the same time: no update is lost, no read is torn, and none waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.session import direct_session


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def in_threads(*works: Callable[[], Any]) -> None:
    """Run the functions at the same time; re-raise an exception of any."""
    errors: list[BaseException] = []

    def run(work: Callable[[], Any]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "it hangs"
    for error in errors:
        raise error


def repeated(count: int, function: Callable[[], Any]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(count):
            function()

    return run


@pytest.mark.parametrize("rounds", [40, pytest.param(500, marks=pytest.mark.exhaustive)])
def test_no_update_of_a_resource_variable_is_lost_and_no_read_is_torn(rounds: int) -> None:
    variable = tf.get_variable("v", [1 << 18], initializer=tf.zeros_initializer, use_resource=True)
    adds = [variable.assign_add(tf.ones([1 << 18])).op for _ in range(2)]
    value = variable.read_value()
    total, twice = tf.reduce_sum(variable) + 0.0, variable.read_value() * 2.0
    with tf.Session() as session:
        session.run(variable.initializer)

        def read() -> None:
            array, double = session.run([value, twice])
            assert array.min() == array.max()
            assert double.min() == double.max() == 2 * array[0]

        def reduce() -> None:
            assert session.run(total) % (1 << 18) == 0

        in_threads(
            *(repeated(rounds, lambda add=add: session.run(add)) for add in adds),
            repeated(rounds, read),
            repeated(rounds, reduce),
        )
        final = session.run(value)
    assert final.min() == final.max() == 2 * rounds


def test_a_value_that_was_read_before_a_python_function_stays_as_it_was() -> None:
    variable = tf.get_variable("v", [1000], initializer=tf.zeros_initializer, use_resource=True)
    value = variable.read_value()
    add = variable.assign_add(tf.ones([1000]))
    with tf.Session() as session:
        session.run(variable.initializer)

        def change() -> np.float32:
            in_threads(lambda: session.run(add))
            return np.float32(0)

        with tf.control_dependencies([value]):
            changed = tf.py_func(change, [], tf.float32)
            changed.set_shape([])
        result = session.run(value + changed)
        assert result.max() == 0
        assert session.run(variable).max() == 1


def test_plans_that_read_run_at_the_same_time() -> None:
    """One waits inside a Python function for the other."""
    variable = tf.get_variable("v", [], initializer=tf.ones_initializer, use_resource=True)
    reads = [variable + 1.0, variable + 2.0]
    barrier = threading.Barrier(2)

    def meet(value: Any) -> Any:
        barrier.wait(20)
        return value

    met = [tf.py_func(meet, [read], tf.float32) for read in reads]
    with tf.Session() as session:
        session.run(variable.initializer)
        in_threads(*(lambda tensor=tensor: session.run(tensor) for tensor in met))


def test_a_function_that_joins_a_thread_which_runs_the_same_fetch() -> None:
    results: list[Any] = []

    def function(value: Any) -> Any:
        if value > 0:
            in_threads(lambda: results.append(session.run(result, {number: value - 1})))
        return value

    number = tf.placeholder(tf.float32, [])
    result = tf.py_func(function, [number], tf.float32)
    with tf.Session() as session:
        assert session.run(result, {number: 3.0}) == 3
    assert results == [0, 1, 2]


def test_two_functions_that_run_each_others_fetch() -> None:
    barrier = threading.Barrier(2)
    level = threading.local()

    def function(which: int) -> Callable[[], Any]:
        def call() -> Any:
            if getattr(level, "nested", False):
                return np.float32(which)
            level.nested = True
            barrier.wait(20)
            return session.run(fetches[1 - which])

        return call

    fetches = [tf.py_func(function(which), [], tf.float32) for which in range(2)]
    values: dict[int, Any] = {}
    with tf.Session() as session:
        in_threads(
            *(
                lambda which=which: values.update({which: session.run(fetches[which])})
                for which in range(2)
            )
        )
    assert values == {0: 1, 1: 0}


def is_cancelled(session: Any, *args: Any) -> None:
    with pytest.raises(tf.errors.CancelledError):
        session.run(*args)


def test_the_same_fetches_beside_a_loop_that_does_not_end() -> None:
    number = tf.placeholder(tf.float32, [])
    loop = tf.while_loop(lambda x: x > 0, lambda x: x + 1, [number])
    with tf.Session() as session:
        thread = threading.Thread(
            target=is_cancelled, args=(session, loop, {number: 1}), daemon=True
        )
        thread.start()
        time.sleep(0.2)
        assert session.run(loop, {number: -1.0}) == -1
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(loop, {number: 1.0}, options=tf.RunOptions(timeout_in_ms=200))
        session.close()
        thread.join(20)
        assert not thread.is_alive()


def test_a_limit_holds_while_a_run_waits_for_variables() -> None:
    variable = tf.get_variable("v", [], initializer=tf.ones_initializer, use_resource=True)
    loop = tf.while_loop(lambda x: x > 0, lambda x: x + variable, [tf.constant(1.0)])
    add = variable.assign_add(1.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        thread = threading.Thread(target=is_cancelled, args=(session, loop), daemon=True)
        thread.start()
        while not session._backend.resources.access.active:
            pass
        with pytest.raises(tf.errors.DeadlineExceededError, match="variables"):
            session.run(add, options=tf.RunOptions(timeout_in_ms=200))
        waiting = threading.Thread(target=is_cancelled, args=(session, add), daemon=True)
        waiting.start()
        session.close()
        for ended in (thread, waiting):
            ended.join(20)
            assert not ended.is_alive()


@pytest.mark.parametrize("count", [1, 2])
def test_a_limit_holds_while_a_function_of_the_user_goes_on(count: int) -> None:
    go_on, ended = threading.Event(), threading.Semaphore(0)

    def function() -> np.float32:
        if not go_on.wait(20):
            raise AssertionError("the run waited for the function")
        ended.release()
        return np.float32(3)

    results = [tf.py_func(function, [], tf.float32) for _ in range(count)]
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="in the Python function of"):
            session.run(results, options=tf.RunOptions(timeout_in_ms=200))
        go_on.set()
        for _ in range(count):
            assert ended.acquire(timeout=20)
        limit = tf.RunOptions(timeout_in_ms=60000)
        assert session.run(results, options=limit) == [3] * count
        assert session.run(results) == [3] * count


def test_a_limit_holds_while_another_thread_compiles_the_same_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiling, go_on = threading.Event(), threading.Event()
    compile_plan = direct_session.compile_plan

    def slow(*args: Any) -> Any:
        compiling.set()
        go_on.wait(20)
        return compile_plan(*args)

    monkeypatch.setattr(direct_session, "compile_plan", slow)
    result = tf.constant(1.0) + 1.0
    with tf.Session() as session:
        thread = threading.Thread(target=session.run, args=(result,), daemon=True)
        thread.start()
        assert compiling.wait(20)
        with pytest.raises(tf.errors.DeadlineExceededError, match="compiled"):
            session.run(result, options=tf.RunOptions(timeout_in_ms=100))
        go_on.set()
        thread.join(20)
        assert session.run(result, options=tf.RunOptions(timeout_in_ms=20000)) == 2


def test_the_memory_of_spares_is_given_back() -> None:
    size = 1 << 16
    number = tf.placeholder(tf.float32, [])
    barrier = threading.Barrier(3)

    def meet(value: Any) -> Any:
        if value > 0:
            barrier.wait(20)
        return value

    met = tf.reshape(tf.py_func(meet, [number], tf.float32), [])
    result = tf.reduce_sum(tf.random_normal([size]) * met)
    with tf.Session() as session:
        session.run(result, {number: 0.0})
        alone = session._backend.memory_stats()
        in_threads(*[lambda: session.run(result, {number: 1.0})] * 3)
        (runner,) = session._backend.runners.values()
        assert runner.plans.spares
        for _ in range(200):
            session.run(result, {number: 0.0})
        assert not runner.plans.spares
        assert len(session._backend.plans) == 1
        in_use = {device: stats.bytes_in_use for device, stats in alone.items()}
        stats = session._backend.memory_stats()
        assert {device: stat.bytes_in_use for device, stat in stats.items()} == in_use
