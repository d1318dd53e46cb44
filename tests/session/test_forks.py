"""A forked child of a process that runs plans has locks of its own."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gpugraph as tf

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # threads and os.fork
]


def in_child(function: Callable[[], Any]) -> None:
    """Runs the function in a forked child, which must end well within 20 seconds."""
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
