"""Tiers of native code: no run takes long for the change, checked code is trusted, and each step
keeps the faster way."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import repeat
from time import monotonic, sleep, thread_time

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps import native_node_code, step_tier, tiered_native_code
from gpugraph.compile.steps.step_tier import StepTier
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import blas_threads as blas, blas_threads_reason, verdicts
from gpugraph.devices.native.verdicts import Findings


class InMemory:
    """A store of findings without a disk."""

    def __init__(self):
        self.contents = {}
        self.load, self.store = self.contents.get, self.contents.__setitem__


class Clock:
    """A clock on which steps take only the time that `slowed` adds.

    So no load of the machine decides between the ways.
    """

    now = 0.0

    def __call__(self):
        self.now += 1e-9
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(step_tier, "perf_counter", clock)
    return clock


@pytest.fixture(autouse=True)
def kept(monkeypatch, clock):
    """Nothing is known of any code yet."""
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    if compiler().reason:
        pytest.skip(compiler().reason)
    disk = InMemory()
    monkeypatch.setattr(verdicts, "compiler", lambda: Disk(disk))
    new_process(monkeypatch)
    with tf.Graph().as_default():
        yield disk


class Disk:
    def __init__(self, disk):
        self.verdicts = disk


def new_process(monkeypatch):
    """Read the findings again from their store, as a new process does."""
    findings = Findings()
    for module in (step_tier, tiered_native_code):
        monkeypatch.setattr(module, "FINDINGS", findings)


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
    monkeypatch.setattr(tiered_native_code, "PORTION_S", 0.0)  # one step a run
    monkeypatch.setattr(tiered_native_code, "WORTHWHILE_S", 0.0)
    translated = counted(monkeypatch, tiered_native_code, "_piece")
    checked = counted(monkeypatch, StepTier, "_check")
    trusted = counted(monkeypatch, StepTier, "_start_trusted")
    settled = counted(monkeypatch, tiered_native_code, "native_step")
    x = tf.placeholder(tf.float32, [4])
    y, feeds, ends = chain(x, 20), {x: [0.1, 0.2, 0.3, 0.4]}, monotonic() + 60
    with tf.Session() as session:
        expected = session.run(y, feeds)
        while monotonic() < ends:
            before = len(translated), len(checked) + len(trusted)
            if before == (20, 10):
                break
            np.testing.assert_allclose(session.run(y, feeds), expected, rtol=1e-5)
            assert len(translated) - before[0] <= 1
            assert len(checked) + len(trusted) - before[1] <= 1
        assert len(translated) == 20
        assert (len(checked), len(trusted)) == (1, 9)  # all of them are one function
        session.run(y, feeds)
        calls = len(settled)
        np.testing.assert_allclose(session.run(y, feeds), expected, rtol=1e-5)
        assert len(settled) == calls


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


def test_code_that_was_checked_before_is_trusted(monkeypatch, kept):
    y, feeds = product()
    run_until_native(y, feeds)[0].close()
    assert any(b"sound" in content for content in kept.contents.values())
    new_process(monkeypatch)
    checked = counted(monkeypatch, StepTier, "_check")
    run_until_native(y, feeds)[0].close()
    assert not checked


def test_large_steps_go_native_in_the_first_run(monkeypatch):
    y, feeds = product(1200)  # 8 MiB and more
    run_until_native(y, feeds)[0].close()
    with tf.Session() as session:
        session.run(y, feeds)
        assert all(", native" in kind for kind in kinds(session, y, feeds))


def test_a_check_computes_the_step_once_more(monkeypatch):
    plain = counted(monkeypatch, StepTier, "_plain_apart")
    y, feeds = product()
    session, _ = run_until_native(y, feeds)
    for _ in range(20):
        session.run(y, feeds)
    session.close()
    assert len(plain) == 2  # of the product, and of the fused step


def slowed(monkeypatch, clock, seconds, times=None):
    """Make native code of fused steps take `seconds` longer, for the first `times` calls if
    given.
    """
    slow_runs = repeat(seconds) if times is None else repeat(seconds, times)
    native_step = step_tier.native_step

    def slow_step(members):
        step = native_step(members)
        if not any(member.op_type == "_Fused" for member, _ in members):
            return step

        def run():
            clock.now += next(slow_runs, 0.0)
            return step.run()

        return step_tier.replace(step, run=run)

    monkeypatch.setattr(step_tier, "native_step", slow_step)
    monkeypatch.setattr(tiered_native_code, "native_step", slow_step)


def test_a_step_that_is_slower_natively_stays_with_numpy(monkeypatch, kept, clock):
    monkeypatch.setattr(tiered_native_code, "MEASURED_AFTER", (1000,))
    slowed(monkeypatch, clock, 0.2)
    y, feeds = product()
    session, _ = run_until_native(y, feeds)
    for _ in range(12):
        session.run(y, feeds)
    assert kinds(session, y, feeds) == ["MatMul, native", "_Fused"]
    [note] = [line for line in str(session.explain(y, feeds)).splitlines() if "by NumPy: " in line]
    assert "_Fused" in note and "native code takes 2" in note
    session.close()
    new_process(monkeypatch)
    trials = counted(monkeypatch, StepTier, "_decide_by_times")
    session, _ = run_until_native(y, feeds)
    assert kinds(session, y, feeds) == ["MatMul, native", "_Fused"]
    assert "whose native code took longer before" in str(session.explain(y, feeds))
    session.close()
    assert not trials


@pytest.mark.parametrize("times", [3, 5])
def test_a_step_that_is_slow_for_a_moment_is_tried_again(monkeypatch, kept, clock, times):
    """In the check and in two runs of a trial, by another program that had a core."""
    monkeypatch.setattr(tiered_native_code, "MEASURED_AFTER", (1000,))
    slowed(monkeypatch, clock, 0.2, times)
    y, feeds = product()
    session, _ = run_until_native(y, feeds)
    for _ in range(12):
        session.run(y, feeds)
    wanted = "_Fused, native" if times == 3 else "_Fused"
    assert kinds(session, y, feeds) == ["MatMul, native", wanted]
    assert any(b"slower" in content for content in kept.contents.values()) is (times > 3)
    session.close()


def test_small_differences_decide_nothing(monkeypatch, clock):
    monkeypatch.setattr(step_tier, "NOISE_S", 10.0)
    slowed(monkeypatch, clock, 0.02)
    y, feeds = product()
    session, _ = run_until_native(y, feeds)
    for _ in range(12):
        session.run(y, feeds)
    assert kinds(session, y, feeds) == ["MatMul, native", "_Fused, native"]
    session.close()


def test_what_was_trusted_is_measured_after_some_runs(monkeypatch, clock):
    y, feeds = product()
    run_until_native(y, feeds)[0].close()
    slowed(monkeypatch, clock, 0.1)  # the code is trusted, but slow for another shape
    y, feeds = product(310)
    session, _ = run_until_native(y, feeds)
    for _ in range(tiered_native_code.MEASURED_AFTER[0] + 12):
        session.run(y, feeds)
    assert kinds(session, y, feeds) == ["MatMul, native", "_Fused"]
    session.close()


def test_a_step_that_seemed_slow_is_measured_again(monkeypatch, clock):
    """A process that shared its cores found native code slower; a later one has them alone."""
    with monkeypatch.context() as loaded:
        slowed(loaded, clock, 0.2)
        loaded.setattr(tiered_native_code, "MEASURED_AFTER", (1000,))
        y, feeds = product()
        session, _ = run_until_native(y, feeds)
        assert kinds(session, y, feeds) == ["MatMul, native", "_Fused"]
        for _ in range(12):
            session.run(y, feeds)
        session.close()
    new_process(monkeypatch)
    plain = counted(monkeypatch, StepTier, "_start_trusted")
    monkeypatch.setattr(step_tier, "NOISE_S", 1e-12)
    session, _ = run_until_native(y, feeds)
    assert plain and kinds(session, y, feeds) == ["MatMul, native", "_Fused"]
    for _ in range(tiered_native_code.MEASURED_AFTER[0] + 12):
        session.run(y, feeds)
    assert kinds(session, y, feeds) == ["MatMul, native", "_Fused, native"]
    assert "by NumPy: " not in str(session.explain(y, feeds))
    session.close()
    new_process(monkeypatch)
    session, _ = run_until_native(y, feeds)
    assert kinds(session, y, feeds) == ["MatMul, native", "_Fused, native"]
    session.close()


def test_repeated_layers_are_translated_and_compiled_once(monkeypatch):
    translated = counted(monkeypatch, native_node_code, "program_of")
    monkeypatch.setattr(step_tier, "MARGIN", 1e9)  # no code is rejected on a busy machine
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


def test_products_have_one_thread_from_when_the_compiler_is_at_work(monkeypatch):
    monkeypatch.setattr(tiered_native_code, "WORTHWHILE_S", 0.0)
    monkeypatch.setattr(tiered_native_code, "runtime_reason", lambda wait: None)  # not yet there
    alone = counted(monkeypatch, tiered_native_code, "one_blas_thread")
    y, feeds = product(20)
    with tf.Session() as session:
        first = session.run(y, feeds)
        assert not alone
        np.testing.assert_array_equal(session.run(y, feeds), first)
        assert len(alone) == 1


def blas_threads():
    """Return the threads that the BLAS has at this moment."""
    ask = blas._asked()
    return ask() if ask is not None else 1


def noting_blas_threads(monkeypatch):
    """Return the threads that the BLAS has in plain steps, as a list that grows."""
    numbers, init = [], StepTier.__init__

    def noting(tier, entry, waits):
        plain = entry.step.run

        def run():
            numbers.append(blas_threads())
            return plain()

        init(tier, entry._replace(step=replace(entry.step, run=run)), waits)

    monkeypatch.setattr(StepTier, "__init__", noting)
    return numbers


def test_numpy_has_one_blas_thread_beside_native_code(monkeypatch, clock):
    """In runs that compare both ways, and in a step that stays with NumPy: threads of a BLAS that
    wait for its next product would keep the cores of native code."""
    if blas_threads_reason():
        pytest.skip(blas_threads_reason())
    before = blas_threads()
    slowed(monkeypatch, clock, 0.2)
    numbers = noting_blas_threads(monkeypatch)
    trials = counted(monkeypatch, StepTier, "_decide_by_times")
    y, feeds = product()
    session, _ = run_until_native(y, feeds)
    while len(trials) < 2:
        session.run(y, feeds)
    assert kinds(session, y, feeds) == ["MatMul, native", "_Fused"]
    del numbers[:]
    for _ in range(tiered_native_code.MEASURED_AFTER[0] + 12):
        session.run(y, feeds)
        assert blas_threads() == before
    session.close()
    assert len(trials) > 2 and len(numbers) > tiered_native_code.MEASURED_AFTER[0]
    assert set(numbers) == {1}


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
