"""A forked child of a process that runs plans has separate locks."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.session import forks

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # threads and os.fork
]


def in_child(function: Callable[[], Any]) -> None:
    """Run the function in a forked child, which must end well within 20 seconds."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_plan_that_another_thread_runs(use_resource: bool) -> None:
    variable = tf.get_variable(
        "v", [200, 200], initializer=tf.ones_initializer, use_resource=use_resource
    )
    add = variable.assign_add(tf.ones([200, 200]) * 1.0)
    entered = threading.Event()

    def function(value: Any) -> Any:
        entered.set()
        time.sleep(0.001)
        return value

    result = tf.py_func(function, [tf.reduce_sum(variable)], tf.float32)
    ends = threading.Event()
    with tf.Session() as session:
        session.run(variable.initializer)

        def run() -> None:
            while not ends.is_set():
                session.run(result)
                session.run(add)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            entered.wait(20)
            for _ in range(10):

                def child() -> None:
                    assert session.run(result) >= 200 * 200
                    before = session.run(variable)
                    session.run(add)
                    assert (session.run(variable) == before + 1).all()

                in_child(child)
        finally:
            ends.set()
            thread.join()
        assert session.run(result) >= 200 * 200


def test_a_child_of_a_function_that_a_run_calls() -> None:
    value = tf.constant(1.0) * 2.0

    def function() -> float:
        in_child(lambda: session.run(value))
        return 3.0

    result = tf.py_func(function, [], tf.float64)
    with tf.Session() as session:
        assert session.run(result) == 3
        assert session.run(result) == 3


@pytest.mark.parametrize("rounds", [10, pytest.param(100, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("native", ["0", "wait"])
def test_no_child_has_a_variable_half_written(
    monkeypatch: pytest.MonkeyPatch, native: str, rounds: int
) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", native)
    size = 1 << 22
    variables = [
        tf.get_variable(f"v{use}", [size], initializer=tf.zeros_initializer, use_resource=use)
        for use in (False, True)
    ]
    adds = [variable.assign_add(tf.ones([size])).op for variable in variables]
    ends, started = threading.Event(), threading.Event()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        states = [variable_state(session, f"v{use}") for use in (False, True)]

        def run() -> None:
            while not ends.is_set():
                session.run(adds[0])
                session.run(adds[1])
                started.set()

        def child() -> None:
            for state in states:  # the very memory: no run of the child's comes first
                assert state.value.min() == state.value.max()
            session.run(adds)
            for array in session.run(variables):
                assert array.min() == array.max()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            assert started.wait(60)
            for _ in range(rounds):
                in_child(child)
        finally:
            ends.set()
            thread.join()


def variable_state(session: tf.Session, name: str) -> Any:
    """Return the memory of a variable of a session."""
    states = session._backend.resources.variables.values()
    return next(state for state in states if state.name == name)


def test_a_fork_waits_for_no_function_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "MAX_WAIT_S", 30.0)
    variable = tf.get_variable("v", [], initializer=tf.zeros_initializer)
    called, forked = threading.Event(), threading.Event()
    came: list[bool] = []

    def function() -> np.float32:
        called.set()
        came.append(forked.wait(10))
        return np.float32(2)

    add = variable.assign_add(tf.reshape(tf.py_func(function, [], tf.float32), []))
    with tf.Session() as session:
        session.run(variable.initializer)
        thread = threading.Thread(target=session.run, args=(add,))
        thread.start()
        assert called.wait(20)
        in_child(lambda: session.run(variable))
        forked.set()
        thread.join(20)
        assert came == [True]
        assert session.run(variable) == 2


def test_a_fork_goes_on_though_a_run_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "MAX_WAIT_S", 0.2)
    variable = tf.get_variable("v", [], initializer=tf.zeros_initializer)
    with tf.control_dependencies([variable.assign_add(1.0)]):
        start = tf.constant(1.0) * 1.0
    loop = tf.while_loop(lambda x: x > 0, lambda x: x + 1, [start])
    with tf.Session() as session:
        session.run(variable.initializer)

        def run() -> None:
            with pytest.raises(tf.errors.CancelledError):
                session.run(loop)

        thread = threading.Thread(target=run)
        thread.start()
        while not session.run(variable):
            pass
        in_child(lambda: session.run(variable))
        assert session.run(variable) == 1
        session.close()
        thread.join(20)
        assert not thread.is_alive()
