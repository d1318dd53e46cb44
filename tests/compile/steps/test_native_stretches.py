"""Runs of native steps: steps become native calls, results stay the same, failures are reported."""

from __future__ import annotations

import re
import sys
import threading
import time

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps import native_node_code as native_steps
from gpugraph.devices.codegen.c_compiler import Compiler, compiler

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

PLAIN = tf.ConfigProto(
    graph_options=tf.GraphOptions(
        optimizer_options=tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.OFF)
    )
)
WAITING = tf.ConfigProto(
    graph_options=tf.GraphOptions(
        optimizer_options=tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
    )
)


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    with tf.Graph().as_default() as graph:
        yield graph


def network(optimizer):
    """Return a training step: fetches and feeds."""
    random = np.random.RandomState(0)
    x, labels = tf.placeholder(tf.float32, [16, 12]), tf.placeholder(tf.int32, [16], name="labels")
    y = dense(x, 20, tf.tanh)
    logits = dense(y, 5, None)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses, name="loss")
    train = optimizer.minimize(loss)
    return [train, loss], {x: random.randn(16, 12), labels: random.randint(0, 5, 16)}


def dense(x, units, activation):
    kernel = tf.Variable(np.random.RandomState(units).randn(int(x.shape[1]), units) * 0.1)
    y = tf.matmul(x, tf.cast(kernel, tf.float32)) + tf.Variable(tf.zeros([units]))
    return y if activation is None else activation(y)


def losses(config, fetches, feeds, steps=20):
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return [session.run(fetches, feeds)[1] for _ in range(steps)]


def kinds(session, fetches, feeds):
    """The op types of a run's steps, without guards of variables: "Sum, native"."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(fetches, feeds, options=options, run_metadata=metadata)
    steps = metadata.step_stats.dev_stats[0].node_stats
    labels = [
        re.sub(r"\(.*\)| of .*", "", step.timeline_label.partition(" = ")[2]) for step in steps
    ]
    return [label for label in labels if label != "Identity"]


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: tf.train.GradientDescentOptimizer(0.5),
        lambda: tf.train.AdamOptimizer(0.05),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        lambda: tf.train.RMSPropOptimizer(0.05, centered=True),
    ],
)
def test_training_goes_the_same_way(optimizer):
    fetches, feeds = network(optimizer())
    plain, native = losses(PLAIN, fetches, feeds), losses(WAITING, fetches, feeds)
    assert native[-1] < native[0] * 0.8
    np.testing.assert_allclose(native, plain, rtol=1e-4)


def test_a_whole_step_is_one_call():
    fetches, feeds = network(tf.train.GradientDescentOptimizer(0.5))
    with tf.Session(config=WAITING) as session:
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds)
        results = kinds(session, fetches, feeds)
        assert "MatMul, native" in results
        assert all(kind.endswith(", native") for kind in results)
        report = str(session.explain(fetches, feeds))
    assert re.search(r"from Cast to \S+: native 17 steps", report)


def test_it_is_compiled_in_the_background_once_it_has_taken_a_while():
    x = tf.placeholder(tf.float32, [256, 256])
    y = tf.reduce_sum(tf.tanh(tf.matmul(x, x)) * 2.0)
    feeds = {x: np.random.RandomState(0).randn(256, 256)}
    with tf.Session() as session:
        first = session.run(y, feeds)
        assert kinds(session, y, feeds)[0] in ("MatMul", "MatMul, native")
        ends = time.monotonic() + 60
        native = ["MatMul, native", "_Fused, native"]
        while time.monotonic() < ends and kinds(session, y, feeds) != native:
            np.testing.assert_allclose(session.run(y, feeds), first, rtol=1e-5)
        assert kinds(session, y, feeds) == native


@pytest.mark.parametrize("setting", ["config", "environment"])
def test_it_can_be_switched_off(setting, monkeypatch):
    if setting == "environment":
        monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    fetches, feeds = network(tf.train.GradientDescentOptimizer(0.5))
    with tf.Session(config=PLAIN if setting == "config" else None) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(200):
            session.run(fetches, feeds)
        report = str(session.explain(fetches, feeds))
        assert not any("native" in kind for kind in kinds(session, fetches, feeds))
    why = "global_jit_level is OFF" if setting == "config" else "GPUGRAPH_NATIVE is 0"
    assert why in report


def test_without_a_compiler_the_reason_is_said(monkeypatch):
    monkeypatch.setattr(
        sys.modules["gpugraph.compile.unit.jit_settings"],
        "compiler",
        lambda: Compiler("/nowhere/cc"),
    )
    fetches, feeds = network(tf.train.GradientDescentOptimizer(0.5))
    with tf.Session(config=WAITING) as session:
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds)
        assert "/nowhere/cc" in str(session.explain(fetches, feeds))


def test_a_step_that_refuses_what_it_is_given_says_what_plain_ones_say():
    fetches, feeds = network(tf.train.GradientDescentOptimizer(0.5))
    wrong = {key: np.full(16, 7) if key.name == "labels:0" else v for key, v in feeds.items()}
    messages = []
    for config in (PLAIN, WAITING):
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                before = session.run(fetches, feeds)[1]
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(fetches, wrong)
            messages.append((caught.value.op.name, str(caught.value).partition("\n")[0]))
            assert session.run(fetches, feeds)[1] < before
    assert messages[0] == messages[1]
    assert "7" in messages[0][1]


def test_integers_divided_by_zero():
    x, y = tf.placeholder(tf.int32, [5000]), tf.placeholder(tf.int32, [5000])
    z = tf.floordiv(x, y, name="quotient") + 1
    with tf.Session(config=WAITING) as session:
        assert session.run(z, {x: np.full(5000, 7), y: np.full(5000, -2)})[0] == -3
        with pytest.raises(tf.errors.InvalidArgumentError, match="quotient"):
            session.run(z, {x: np.ones(5000), y: np.arange(5000)})


def test_a_variable_without_a_value_is_an_error_before_anything_is_written():
    one, other = tf.Variable(tf.ones([64])), tf.Variable(tf.ones([64]), name="late")
    steps = [one.assign_add(tf.ones([64]) * 2.0), other.assign_add(tf.ones([64]) * 3.0)]
    with tf.Session(config=WAITING) as session:
        session.run(one.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="late"):
            session.run(steps)
        session.run(other.initializer)
        assert session.run(steps)[1][0] == 4.0


def test_branches_and_loops_have_stretches_of_their_own():
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [40, 40])
    weights = tf.ones([40, 40]) * 0.01

    def body(i, y):
        return i + 1, tf.tanh(tf.matmul(y, weights) + x)

    looped = tf.while_loop(lambda i, y: i < 5, body, [0, x])[1]
    y = tf.cond(p, lambda: tf.nn.softmax(tf.matmul(looped, x)), lambda: tf.matmul(x, x) * 0.5)
    gradient = tf.gradients(tf.reduce_sum(tf.square(y)), [x])[0]
    array = np.random.RandomState(0).randn(40, 40) * 0.1
    for is_taken in (True, False):
        results = []
        for config in (PLAIN, WAITING):
            with tf.Session(config=config) as session:
                for _ in range(2):
                    values = session.run([y, gradient], {p: is_taken, x: array})
                results.append(values)
        for one, two in zip(*results):
            np.testing.assert_allclose(one, two, rtol=2e-4, atol=1e-6)


def test_what_has_no_native_code_stays_a_step_between():
    x = tf.placeholder(tf.float32, [64, 64])
    y = tf.tanh(tf.matmul(x, x)) * 2.0
    z = tf.exp(tf.matrix_inverse(y + 200 * tf.eye(64)) * 0.01) - tf.reduce_sum(y)
    array = np.random.RandomState(0).randn(64, 64)
    with tf.Session(config=PLAIN) as session:
        want = session.run(z, {x: array})
    with tf.Session(config=WAITING) as session:
        np.testing.assert_allclose(session.run(z, {x: array}), want, rtol=1e-4)
        results = kinds(session, z, {x: array})
        assert [kind for kind in results if "native" not in kind] == ["MatrixInverse"]
        assert results[0] == "MatMul, native"
        assert results[-1] == "_Fused, native"
        assert "by NumPy 1: MatrixInverse (MatrixInverse)" in str(session.explain(z, {x: array}))


def test_nothing_that_other_runs_write_is_lost_when_code_is_compared():
    x = tf.placeholder(tf.float32, [None])
    count = tf.Variable(np.zeros(100, np.float32))
    step = [count.assign_add(tf.ones(100)).op, tf.reduce_sum(tf.tanh(x) * 2)]
    with tf.Session(config=WAITING) as session:
        session.run(count.initializer)

        def work(which):
            for turn in range(40):  # new shapes are new plans, with first uses of their own
                session.run(step, {x: np.ones(1000 + (turn + which * 7) % 20)})

        threads = [threading.Thread(target=work, args=(which,)) for which in range(3)]
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        assert session.run(count).tolist() == [120.0] * 100


def test_constant_features_do_not_make_the_compiler_a_suspect():
    x = tf.placeholder(tf.float32, [1000, 50])
    mean, variance = tf.nn.moments(x, [0])
    y = (x - mean) * tf.rsqrt(variance + 1e-12)
    with tf.Session(config=WAITING) as session:
        session.run(y, {x: np.full((1000, 50), 0.1)})
        assert kinds(session, y, {x: np.full((1000, 50), 0.1)})[-1].endswith("native")


def test_native_code_that_can_not_be_made_is_told_of_and_not_needed(monkeypatch):
    def broken(*arguments):
        raise ValueError("no such view")

    monkeypatch.setattr(native_steps, "move", broken)
    x = tf.placeholder(tf.float32, [100, 100])
    y = tf.tanh(tf.transpose(tf.exp(x) * 0.5)) + 1.0
    with tf.Session(config=WAITING) as session:
        with pytest.warns(RuntimeWarning, match="transpose.*no such view"):
            results = session.run(y, {x: np.zeros((100, 100))})
        np.testing.assert_allclose(results, np.tanh(0.5) + 1, rtol=1e-6)
        assert "Transpose" in kinds(session, y, {x: np.zeros((100, 100))})


def test_long_chains_of_long_functions_are_cut():
    x = tf.placeholder(tf.float32, [7])
    y = x
    for _ in range(40):
        y = tf.sin(y) + x * 0.1
    with tf.Session(config=WAITING) as session:
        value = np.linspace(-1, 1, 7)
        session.run(y, {x: value})
        results = kinds(session, y, {x: value})
        assert len(results) >= 3
        assert all(kind.endswith("native") for kind in results)


def test_an_assign_of_a_variable_that_was_read_is_native():
    count = tf.Variable(1.0)
    doubled = tf.assign(count, count * 2.0, use_locking=False)
    with tf.Session(config=WAITING) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            session.run(doubled)
        assert session.run(tf.report_uninitialized_variables()).tolist() == [b"Variable"]
        session.run(count.initializer)
        assert [session.run(doubled) for _ in range(3)] == [2, 4, 8]
        assert "Assign, native" in kinds(session, doubled, {})


def test_a_first_assign_gives_a_variable_its_value_though_a_later_step_reads_it():
    count = tf.Variable(1.0)
    first = tf.assign(count, tf.constant(3.0) * 2.0, use_locking=False)
    with tf.control_dependencies([first]):
        read = tf.identity(count) + 1.0
    with tf.Session(config=WAITING) as session:
        assert session.run(read) == 7
        assert session.run(count) == 6


@pytest.mark.parametrize("form", ["known", "open", "loop"])
def test_numpy_computes_inputs_that_native_code_rejects(form):
    """Native code reads plain decimals only. The steps before and after it are native."""
    texts = np.array([b"12", b"1e2", b"-Inf", b" 2.5"] * 25, object)
    fed = tf.placeholder(tf.string, [100] if form == "known" else [None])

    def numbers():
        joined = tf.string_join([fed, ""])
        first = tf.maximum(tf.string_to_number(joined), -5.0) * 2.0
        return first + tf.string_to_number(tf.substr(joined, 0, 1)[0]) + 1.0

    result = numbers()
    if form == "loop":
        _, result = tf.while_loop(
            lambda i, x: i < 3,
            lambda i, x: (i + 1, x + numbers()),
            [0, tf.zeros([100])],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )
    expected = np.float32([26, 202, -8, 7] * 25) * (3 if form == "loop" else 1)
    for config in (PLAIN, WAITING):
        with tf.Session(config=config) as session:
            for _ in range(4):
                np.testing.assert_array_equal(session.run(result, {fed: texts}), expected)
