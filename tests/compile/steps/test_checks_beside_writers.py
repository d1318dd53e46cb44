"""The check of native code while other runs write the variables that it reads or writes.

No plan is accused of computing other numbers than NumPy: the check computes both ways from one
copy of the variables where the numbers first differ.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps.native_node_code import Candidate
from gpugraph.compile.steps.step_tier import StepTier
from gpugraph.compile.unit import jit_settings
from gpugraph.devices.codegen.c_compiler import compiler

SIZE = 1 << 14
PLANS = 40


@pytest.fixture(autouse=True)
def unknown_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check all code in the first run, and turn the warning about rejected code into an error."""
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    if compiler().reason:
        pytest.skip(compiler().reason)
    monkeypatch.setattr(StepTier, "_is_trusted", lambda tier: False)
    monkeypatch.setattr(jit_settings, "_WARNED", set())
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

        owner, name = (
            (StepTier, "_plain_apart") if moment == "between both ways" else (Candidate, "apart")
        )
        monkeypatch.setattr(owner, name, with_write(getattr(owner, name)))
        for fetches in plans:
            session.run(fetches)
        assert count[0] >= len(plans)
        for fetches in plans:
            assert all(", native" in step for step in kinds(session, fetches)), fetches
        assert np.isfinite(session.run(variable)).all()
