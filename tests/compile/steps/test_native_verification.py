"""The comparison of native code with NumPy in runs with GPUGRAPH_VERIFY=1, also while other runs
write the variables that it reads or writes.

No plan is accused of computing other numbers than NumPy: both ways are computed from one copy of
the variables where the numbers first differ.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps import native_node_code
from gpugraph.compile.steps.native_node_code import Candidate
from gpugraph.devices.codegen.c_compiler import compiler

SIZE = 1 << 14
PLANS = 40


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compare all code in the first run."""
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    if compiler().reason:
        pytest.skip(compiler().reason)
    with tf.Graph().as_default():
        yield


def writer(kind: str, variable: tf.Variable) -> Callable[[tf.Session], Any]:
    """Return a function that changes the variable's numbers by much."""
    if kind == "assign":
        value = tf.random_uniform([SIZE], 1.0, 1000.0)
        op = variable.assign(value).op
    elif kind == "assign_add":
        op = variable.assign_add(tf.ones([SIZE]) * 3.0).op
    else:
        op = tf.train.AdamOptimizer(5.0).minimize(tf.reduce_sum(tf.square(variable)))
    return lambda session: session.run(op)


def checked_plans(variable: tf.Variable, count: int) -> list[Any]:
    """Fetches of plans that read the variable, and that write it."""
    optimizer = tf.train.MomentumOptimizer(1e-3, 0.5)
    plans: list[Any] = []
    for number in range(count):
        if number % 3 == 0:
            plans.append(tf.sqrt(tf.abs(variable)) * (number + 1.0) + 1.0)
        elif number % 3 == 1:
            plans.append(variable.assign_add(tf.ones([SIZE]) * float(number)).op)
        else:
            gradient = tf.ones([SIZE]) * float(number)
            plans.append(optimizer.apply_gradients([(gradient, variable)]))
    return plans


def kinds(session: tf.Session, fetches: Any) -> list[str]:
    """The op types of a run's steps: "_Fused, native"."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(fetches, options=options, run_metadata=metadata)
    steps = metadata.step_stats.dev_stats[0].node_stats
    return [re.sub(r"\(.*\)| of .*", "", step.timeline_label.partition(" = ")[2]) for step in steps]


@pytest.fixture
def variable() -> tf.Variable:
    return tf.get_variable("v", [SIZE], initializer=tf.ones_initializer, use_resource=False)


WRITERS = ["assign", "assign_add", "optimizer"]


@pytest.mark.parametrize("kind", WRITERS)
def test_plans_are_checked_while_threads_write(variable: tf.Variable, kind: str) -> None:
    write, plans, ends = writer(kind, variable), checked_plans(variable, PLANS), threading.Event()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        write(session)

        def write_on() -> None:
            while not ends.is_set():
                write(session)

        threads = [threading.Thread(target=write_on) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for fetches in plans:
                session.run(fetches)
        finally:
            ends.set()
            for thread in threads:
                thread.join()
        for fetches in plans:
            assert all(", native" in step for step in kinds(session, fetches)), fetches


@pytest.mark.parametrize("moment", ["between both ways", "after each copy"])
@pytest.mark.parametrize("kind", WRITERS)
def test_a_write_in_the_middle_of_a_check(
    monkeypatch: pytest.MonkeyPatch, variable: tf.Variable, kind: str, moment: str
) -> None:
    write, plans, count = writer(kind, variable), checked_plans(variable, 6), [0]
    is_writing = threading.Event()  # its plan, on memory beside that of the run, is checked too
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        write(session)

        def with_write(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                result = function(*args, **kwargs)
                if is_writing.is_set():
                    return result
                is_writing.set()
                count[0] += 1
                thread = threading.Thread(target=write, args=(session,))
                thread.start()
                thread.join()
                is_writing.clear()
                return result

            return call

        name = "run_plain" if moment == "between both ways" else "apart"
        monkeypatch.setattr(Candidate, name, with_write(getattr(Candidate, name)))
        for fetches in plans:
            session.run(fetches)
        assert count[0] >= len(plans)
        for fetches in plans:
            assert all(", native" in step for step in kinds(session, fetches)), fetches
        assert np.isfinite(session.run(variable)).all()


def negate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the native code of expressions so that it negates their results."""
    right = native_node_code.build

    def wrong(builder: Any, texts: Any, signature: Any, inputs: Any) -> list[int]:
        results = right(builder, texts, signature, inputs)
        return [builder.apply("-x", [value], builder.dtype(value)) for value in results]

    monkeypatch.setattr(native_node_code, "build", wrong)


def test_wrong_code_is_an_error_that_names_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    negate(monkeypatch)
    x = tf.placeholder(tf.float32, [3, 4])
    y = tf.tanh(tf.matmul(x, tf.ones([4, 4])) + 3.0, name="wrong")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InternalError, match="other numbers than NumPy") as caught:
            session.run(y, {x: np.ones([3, 4])})
    assert "wrong" in str(caught.value)


def test_wrong_code_that_writes_a_variable_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, variable: tf.Variable
) -> None:
    negate(monkeypatch)
    monkeypatch.setenv("GPUGRAPH_NATIVE", "1")
    update = variable.assign_add(tf.ones([SIZE]) * 2.0).op
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InternalError, match="other numbers than NumPy"):
            for count in range(10_000):
                assert session.run(variable)[0] == 1 + 2 * count
                session.run(update)
        assert session.run(variable)[0] % 2 == 1


def test_without_it_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    negate(monkeypatch)
    monkeypatch.setenv("GPUGRAPH_VERIFY", "0")
    x = tf.placeholder(tf.float32, [3, 4])
    y = tf.tanh(tf.matmul(x, tf.ones([4, 4])) + 3.0)
    with tf.Session() as session:
        assert (session.run(y, {x: np.ones([3, 4])}) < 0).all()
