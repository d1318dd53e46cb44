"""Tiers of native code: no later run of a large plan takes long for translating and checking."""

from __future__ import annotations

from time import monotonic

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps import tiered_native_code
from gpugraph.devices.codegen.c_compiler import compiler


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    if compiler().reason:
        pytest.skip(compiler().reason)
    with tf.Graph().as_default() as graph:
        yield graph


def chain(x, count):
    """`count` steps, half of which have native code."""
    y = x
    for _ in range(count // 2):
        y = tf.cumsum(tf.tanh(y))
    return y


def counted(monkeypatch, name):
    """The calls of a function of the module, as a list that grows."""
    calls, function = [], getattr(tiered_native_code, name)

    def counting(*arguments):
        calls.append(arguments)
        return function(*arguments)

    monkeypatch.setattr(tiered_native_code, name, counting)
    return calls


def test_a_run_translates_and_checks_a_portion(monkeypatch):
    monkeypatch.setattr(tiered_native_code, "PORTION_S", 0.0)  # one step a run
    monkeypatch.setattr(tiered_native_code, "WORTHWHILE_S", 0.0)
    translated, checked = counted(monkeypatch, "_piece"), counted(monkeypatch, "_sound_calls")
    settled = counted(monkeypatch, "_native_call")
    x = tf.placeholder(tf.float32, [4])
    y, feeds, ends = chain(x, 20), {x: [0.1, 0.2, 0.3, 0.4]}, monotonic() + 60
    with tf.Session() as session:
        expected, num_checked = session.run(y, feeds), 0
        while len(checked) < 10 and monotonic() < ends:
            before = len(translated), len(checked)
            np.testing.assert_allclose(session.run(y, feeds), expected, rtol=1e-5)
            assert len(translated) - before[0] <= 1
            assert len(checked) - before[1] <= 1
            num_checked += len(checked) > before[1]
        assert (len(translated), num_checked) == (20, 10)
        session.run(y, feeds)  # the last step is no native one
        calls = len(settled)
        np.testing.assert_allclose(session.run(y, feeds), expected, rtol=1e-5)
        assert len(settled) == calls


def later_runs(fetches, feeds):
    """Seconds of the first run, and of the longest later one until all code is native."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seconds = []
        for _ in range(60):
            start = monotonic()
            session.run(fetches, feeds)
            seconds.append(monotonic() - start)
    return seconds[0], max(seconds[1:])


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["chain", "products", "variables", "sums"])
def test_no_later_run_of_200000_ops_is_longer_than_the_first(kind):
    x = tf.placeholder(tf.float32, [4])
    if kind == "chain":
        y = chain(x, 200_000)
    elif kind == "products":
        y = tf.reshape(x, [2, 2])
        for _ in range(100_000):
            y = tf.tanh(tf.matmul(y, y))
    elif kind == "variables":
        variables = [tf.Variable(1.0) for _ in range(25_000)]
        y = tf.group(*[variable.assign_add(x[0]) for variable in variables])
    else:
        terms = [tf.sin(x + float(number)) for number in range(100_000)]
        y = tf.add_n([tf.add_n(terms[first : first + 100]) for first in range(0, 100_000, 100)])
    first, longest = later_runs(y, {x: [0.1, 0.2, 0.3, 0.4]})
    assert longest < max(5.0, first / 4)
