"""Stretches switch to native code when it is there: no run takes long for it, and no measured time
decides."""

from __future__ import annotations

import re
from dataclasses import replace
from time import monotonic, sleep, thread_time

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps import compiled_stretch, native_node_code
from gpugraph.compile.steps.compiled_stretch import CompiledStretch
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import blas_threads as blas, blas_threads_reason


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    if compiler().reason:
        pytest.skip(compiler().reason)
    with tf.Graph().as_default():
        yield


def chain(x, count):
    """`count` steps, half of which have native code."""
    y = tf.reshape(x, [2, 2])
    for _ in range(count // 2):
        y = tf.matrix_band_part(tf.tanh(y), 1, 1)
    return tf.reshape(y, [4])


def counted(monkeypatch, owner, name):
    """Return the calls of a function, as a list that grows."""
    calls, function = [], getattr(owner, name)

    def counting(*arguments):
        calls.append(arguments)
        return function(*arguments)

    monkeypatch.setattr(owner, name, counting)
    return calls


def test_a_run_translates_and_changes_over_a_portion(monkeypatch):
    monkeypatch.setattr(compiled_stretch, "PORTION_S", 0.0)  # one step a run
    monkeypatch.setattr(compiled_stretch, "WORTHWHILE_NS", 0)
    translated = counted(monkeypatch, compiled_stretch, "_piece")
    bound = counted(monkeypatch, compiled_stretch.MemberStep, "_bind")
    joined = counted(monkeypatch, CompiledStretch, "_join")
    x = tf.placeholder(tf.float32, [4])
    y, feeds, ends = chain(x, 20), {x: [0.1, 0.2, 0.3, 0.4]}, monotonic() + 60
    with tf.Session() as session:
        expected = session.run(y, feeds)
        while monotonic() < ends and not joined:
            before = len(translated), len(bound)
            np.testing.assert_allclose(session.run(y, feeds), expected, rtol=1e-5)
            assert len(translated) - before[0] <= 1
            assert len(bound) - before[1] <= 1
        assert (len(translated), len(bound), len(joined)) == (20, 20, 1)
        np.testing.assert_allclose(session.run(y, feeds), expected, rtol=1e-5)
        assert (len(translated), len(bound), len(joined)) == (20, 20, 1)


def kinds(session, fetches, feeds):
    """The op types of a run's steps: "Sum, native"."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(fetches, feeds, options=options, run_metadata=metadata)
    steps = metadata.step_stats.dev_stats[0].node_stats
    return [re.sub(r"\(.*\)| of .*", "", step.timeline_label.partition(" = ")[2]) for step in steps]


def run_until_native(y, feeds, wanted=", native"):
    """Return a session whose runs have come to native code, and the number of its runs."""
    session, ends, count = tf.Session(), monotonic() + 60, 0
    while monotonic() < ends:
        session.run(y, feeds)
        count += 1
        if any(wanted in kind for kind in kinds(session, y, feeds)):
            return session, count
        sleep(0.01)
    raise AssertionError("there is no native code after a minute")


def product(size=300):
    x = tf.placeholder(tf.float32, [size, size])
    feeds = {x: np.random.RandomState(0).rand(size, size)}
    return tf.tanh(tf.matmul(x, x) * 0.01) + 1.0, feeds


def test_large_steps_go_native_in_the_first_run(monkeypatch):
    y, feeds = product(1200)  # 8 MiB and more
    run_until_native(y, feeds)[0].close()
    with tf.Session() as session:
        session.run(y, feeds)
        assert all(", native" in kind for kind in kinds(session, y, feeds))


def test_no_time_that_a_run_measures_decides(monkeypatch):
    """Native code that takes ever so long in a run is used in all further ones."""
    native_step, calls = compiled_stretch.native_step, []

    def slow_step(members):
        step = native_step(members)

        def run():
            calls.append(step.name)
            sleep(0.05)
            return step.run()

        return replace(step, run=run)

    monkeypatch.setattr(compiled_stretch, "native_step", slow_step)
    y, feeds = product()
    session, _ = run_until_native(y, feeds)
    for _ in range(12):
        session.run(y, feeds)
    assert kinds(session, y, feeds) == ["MatMul, native", "_Fused, native"]
    session.close()
    assert len(calls) > 12


@pytest.mark.parametrize(("size", "threads"), [(100, 1), (60_000, 1), (60_000, 2)])
def test_numpy_is_used_where_it_is_known_to_be_faster(monkeypatch, size, threads):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    monkeypatch.setenv("GPUGRAPH_THREADS", str(threads))
    x = tf.placeholder(tf.float32, [size])
    y, feeds = tf.reverse(tf.cumsum(x), [0]), {x: np.ones(size)}
    with tf.Session() as session:
        session.run(y, feeds)
        codes = {code.op_type: code for code in session.explain(y, feeds).codes}
    is_plain = size > 100 and threads == 1
    assert codes["ReverseV2"].state == "native"
    assert codes["Cumsum"].state == ("plain" if is_plain else "native")
    assert codes["Cumsum"].reason == ("NumPy is faster" if is_plain else "")


def test_users_runs_compute_no_step_twice(monkeypatch):
    apart = counted(monkeypatch, native_node_code.Candidate, "apart")
    monkeypatch.setenv("GPUGRAPH_VERIFY", "0")
    y, feeds = product()
    run_until_native(y, feeds)[0].close()
    assert not apart


@pytest.mark.parametrize("runs", [1, 60])
def test_a_tiny_stretch_that_runs_often_is_compiled(runs):
    """After a number of runs that follows from its ops, on any machine."""
    x = tf.placeholder(tf.float32, [2])
    y = tf.matrix_band_part(tf.reshape(tf.tanh(x) * 2.0 + 1.0, [1, 2]), 0, 0)
    for _ in range(100):
        y = tf.matrix_band_part(tf.tanh(y), 0, 0)
    feeds = {x: [0.5, 1.0]}
    with tf.Session() as session:
        for _ in range(runs):
            session.run(y, feeds)
        reasons = {code.reason for code in session.explain(y, feeds).codes}
    is_waiting = "until the steps have taken an estimated 10 ms" in reasons
    assert is_waiting is (runs == 1)
    if runs == 60:
        session, _ = run_until_native(y, feeds)
        session.close()


def test_repeated_layers_are_translated_and_compiled_once(monkeypatch):
    translated = counted(monkeypatch, native_node_code, "program_of")
    x = tf.placeholder(tf.float32, [4, 4])
    y = x
    for _ in range(6):
        y = tf.tanh(tf.matmul(y, y)) * 0.5 - tf.sigmoid(y)
    z = tf.reduce_sum(y, 1)
    feeds = {x: np.eye(4)}
    plain = np.eye(4, dtype=np.float32)
    for _ in range(6):
        plain = np.tanh(plain @ plain) * np.float32(0.5) - 1 / (1 + np.exp(-plain))
    session, _ = run_until_native(z, feeds)
    np.testing.assert_allclose(session.run(z, feeds), plain.sum(1), rtol=1e-4, atol=1e-6)
    note = ": 3 generated kernels for 6 steps"  # both ends are different
    ends = monotonic() + 60
    while note not in str(session.explain(z, feeds)) and monotonic() < ends:
        session.run(z, feeds)
    assert note in str(session.explain(z, feeds)) and len(translated) == 3
    session.close()


def test_products_have_one_thread_in_runs_before_native_code(monkeypatch):
    """Threads of a BLAS spin for 0.1 s after a product, on cores that native code soon needs."""
    if blas_threads_reason():
        pytest.skip(blas_threads_reason())
    numbers = noting_blas_threads(monkeypatch)
    y, feeds = product(20)
    with tf.Session() as session:
        before = blas_threads()
        session.run(y, feeds)
    assert set(numbers) == {1}
    assert blas_threads() == before


def blas_threads():
    """Return the threads that the BLAS has at this moment."""
    ask = blas._asked()
    return ask() if ask is not None else 1


def noting_blas_threads(monkeypatch):
    """Return the threads that the BLAS has in plain steps, as a list that grows."""
    numbers, init = [], CompiledStretch.__init__

    def noting(step):
        def run():
            numbers.append(blas_threads())
            return step.run()

        return replace(step, run=run)

    def noting_init(stretch, entries, *options):
        init(stretch, [entry._replace(step=noting(entry.step)) for entry in entries], *options)

    monkeypatch.setattr(CompiledStretch, "__init__", noting_init)
    return numbers


def test_numpy_has_one_blas_thread_beside_native_code(monkeypatch):
    """In a step that stays with NumPy: threads of a BLAS that wait for its next product would keep
    the cores of native code."""
    if blas_threads_reason():
        pytest.skip(blas_threads_reason())
    before, piece = blas_threads(), compiled_stretch._piece

    def no_products(entry, known):
        return "no products" if entry.step.op_type == "MatMul" else piece(entry, known)

    monkeypatch.setattr(compiled_stretch, "_piece", no_products)
    monkeypatch.setenv("GPUGRAPH_VERIFY", "0")
    numbers = noting_blas_threads(monkeypatch)
    y, feeds = product()
    session, _ = run_until_native(y, feeds)
    session.run(y, feeds)
    assert kinds(session, y, feeds) == ["MatMul", "_Fused, native"]
    del numbers[:]
    for _ in range(20):
        session.run(y, feeds)
        assert blas_threads() == before
    session.close()
    assert numbers == [1] * 20


def later_runs(fetches, feeds):
    """Return CPU seconds of the first run, and of the longest later one until all code is native.

    Other load on the machine does not count."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seconds = []
        for _ in range(60):
            start = thread_time()
            session.run(fetches, feeds)
            seconds.append(thread_time() - start)
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
