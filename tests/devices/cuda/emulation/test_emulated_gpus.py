"""Whole programs on GPUs whose CUDA kernels the host's C++ compiler compiles."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.emulation import host_matrix_products as host_products
from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler

pytestmark = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as new_graph:
        yield new_graph


def on_gpus(count: int = 1) -> tf.Session:
    return tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=count)))


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def training() -> tuple[Any, Any, dict[Any, Any]]:
    """Return a small network's loss, its training step, and a batch."""
    x, y = tf.placeholder(tf.float32, [None, 12]), tf.placeholder(tf.int32, [None])
    hidden = tf.nn.relu(tf.matmul(x, tf.Variable(numbers(12, 16))) + tf.Variable(tf.zeros([16])))
    logits = tf.matmul(hidden, tf.Variable(numbers(16, 5, seed=1)))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(losses)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    return loss, step, {x: numbers(20, 12, seed=2), y: np.arange(20) % 5}


def test_training_goes_as_on_the_cpu_step_by_step_and_captured() -> None:
    loss, step, batch = training()
    curves = []
    for session in (tf.Session(), on_gpus()):
        with session:
            session.run(tf.global_variables_initializer())
            curves.append([session.run([loss, step], batch)[0] for _ in range(6)])
    assert curves[0][-1] < 0.7 * curves[0][0]
    np.testing.assert_allclose(curves[1], curves[0], rtol=2e-5)


def test_the_second_run_is_captured_and_the_report_says_what_is_on_the_host() -> None:
    x = tf.placeholder(tf.float32, [4, 3])
    y = tf.nn.softmax(tf.tanh(x) @ tf.constant(numbers(3, 5)))
    values, _ = tf.unique(tf.reshape(tf.cast(x, tf.int32), [-1]))
    left, _ = tf.setdiff1d(values, [0, 1])
    with on_gpus() as session:
        report = str(session.explain([y, left], {x: numbers(4, 3)}))
        assert "captured from" in report
        assert "(Unique) waits for /job:localhost/replica:0/task:0/device:GPU:0" in report
        assert "(ListDiff) runs on the host for" in report
        assert "the sizes of its outputs depend on values" in report
        fed = [numbers(4, 3, seed=seed) for seed in range(4)]
        for item in fed:
            mapping = session.run(y, {x: item})
            e = np.exp(np.tanh(item) @ numbers(3, 5))
            np.testing.assert_allclose(mapping, e / e.sum(1, keepdims=True), rtol=1e-5)


def test_a_trace_names_the_steps_also_of_what_is_captured() -> None:
    x = tf.placeholder(tf.float32, [8], name="x")
    y = tf.reduce_sum(tf.matmul(tf.reshape(x, [2, 4]), tf.reshape(x, [4, 2]), name="product"))
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with on_gpus() as session:
        names = []
        for _ in range(3):
            traced = tf.RunMetadata()
            mapping = session.run(y, {x: np.arange(8)}, options=options, run_metadata=traced)
            assert mapping == 236
            steps = traced.step_stats.dev_stats[0].node_stats
            names.append([step.node_name for step in steps])
            session.run(y, {x: np.arange(8)})
        assert names == [[y.op.inputs[0].op.name, y.op.name, y.name]] * 3


@pytest.mark.parametrize("is_traced", [False, True])
def test_a_trace_waits_for_each_step_so_that_the_one_that_fails_is_named(
    is_traced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(product: Any) -> None:
        raise DriverError("an illegal memory access was encountered", 700, fatal=True)

    monkeypatch.setattr(host_products, "compute", fail)
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    product = tf.matmul(x, x, name="product")
    y = tf.tanh(product)
    level = tf.RunOptions.FULL_TRACE if is_traced else tf.RunOptions.NO_TRACE
    with on_gpus() as session, pytest.raises(tf.errors.InternalError, match="illegal") as caught:
        options = tf.RunOptions(trace_level=level)
        session.run(y, {x: np.eye(2)}, options=options, run_metadata=tf.RunMetadata())
    assert (f"[[node {product.op.name} " in str(caught.value)) == is_traced


def test_an_index_out_of_range_fails_the_run_by_name_and_the_next_one_is_right() -> None:
    rows = tf.placeholder(tf.int32, [2])
    rows_taken = tf.gather(tf.Variable([[1.0, 2.0], [3.0, 4.0]]), rows, name="taken")
    with on_gpus() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, 2\)") as caught:
                session.run(rows_taken, {rows: [0, 2]})
            assert "taken" in str(caught.value)
            assert session.run(rows_taken, {rows: [1, 0]}).tolist() == [[3, 4], [1, 2]]


def test_loops_run_with_their_condition_on_the_host() -> None:
    x = tf.placeholder(tf.float32, [])
    turns, value = tf.while_loop(
        lambda i, v: v < 100.0, lambda i, v: (i + 1, v * 2.0), [tf.constant(0), x]
    )
    with on_gpus() as session:
        assert session.run([turns, value], {x: 3.0}) == [6, 192.0]
        assert session.run([turns, value], {x: 50.0}) == [1, 100.0]


def test_branches_and_sizes_that_are_known_in_a_run_only() -> None:
    x = tf.placeholder(tf.float32, [None])
    positive = tf.boolean_mask(x, x > 0)
    y = tf.cond(tf.size(positive) > 2, lambda: tf.reduce_max(positive), lambda: tf.zeros([]))
    with on_gpus() as session:
        assert session.run(y, {x: [1, -2, 3, 5]}) == 5
        assert session.run(y, {x: [1, -2]}) == 0


def test_two_gpus_and_the_cpu_pass_tensors_on() -> None:
    x = tf.placeholder(tf.float32, [300, 300])
    with tf.device("/gpu:0"):
        a = x * 2.0
    with tf.device("/gpu:1"):
        b = tf.matmul(a, a)
    with tf.device("/cpu:0"):
        c = b + 1.0
    with tf.device("/gpu:0"):
        d = c - a
    with on_gpus(2) as session:
        for seed in range(3):
            value = numbers(300, 300, seed=seed)
            wanted = (2 * value) @ (2 * value) + 1 - 2 * value
            np.testing.assert_allclose(session.run(d, {x: value}), wanted, rtol=1e-3, atol=1e-3)


def test_a_variable_may_get_another_shape() -> None:
    v = tf.Variable(tf.zeros([2]), validate_shape=False)
    grow = tf.assign(v, tf.concat([v, [1.0]], 0), validate_shape=False)
    with on_gpus() as session:
        session.run(v.initializer)
        for size in range(3, 6):
            assert session.run(grow).shape == (size,)
        assert session.run(v).tolist() == [0, 0, 1, 1, 1]


def test_memory_that_is_out_is_said_and_the_session_stays_usable() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.reshape(x, [-1, 1]) * x + 1.0
    with tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[8]))) as session:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="GPU_0_bfc"):
            session.run(y, {x: np.ones(4000)})
        assert session.run(y, {x: [1, 2]}).tolist() == [[2, 3], [3, 5]]


def test_bfloat16_and_float16_are_computed_in_float() -> None:
    pytest.importorskip("ml_dtypes")
    x = numbers(6, 40)
    for dtype, step in ((tf.bfloat16, 2**-7), (tf.float16, 2**-10)):
        wide = tf.nn.softmax(tf.cast(tf.constant(x), dtype) * tf.cast(2.0, dtype))
        with on_gpus() as session:
            result = session.run(tf.cast(wide, tf.float32))
        e = np.exp(2 * x - (2 * x).max(1, keepdims=True))
        np.testing.assert_allclose(result, e / e.sum(1, keepdims=True), rtol=12 * step)


def test_launches_may_be_waited_for_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    x = tf.placeholder(tf.float32, [4, 4])
    y = tf.reduce_sum(tf.matmul(x, x) + 1.0)
    with on_gpus() as session:
        for _ in range(4):
            assert session.run(y, {x: np.eye(4)}) == 20
        assert "for CUDA_LAUNCH_BLOCKING is set" in str(session.explain(y, {x: np.eye(4)}))


def gathering() -> tuple[Any, Any, Any]:
    """Return a gather, the same as a step that nobody fetches, and their indices."""
    rows = tf.placeholder(tf.int32, [2])
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    rows_taken = tf.gather(table, rows, name="taken")
    return rows_taken, tf.group(tf.assign(tf.Variable(tf.zeros([2, 2])), rows_taken)), rows


def test_each_of_several_runs_is_told_what_it_was_refused_and_nothing_else() -> None:
    rows_taken, _, rows = gathering()
    wrong: list[str] = []

    def run(session: tf.Session, number: int) -> None:
        for turn in range(40):
            bad = (number + turn) % 3 == 0
            fed = [0, 2] if bad else [1, 0]
            try:
                session.run(rows_taken if number % 2 else rows_taken + 1.0, {rows: fed})
                refused = False
            except tf.errors.InvalidArgumentError:
                refused = True
            if refused != bad:
                wrong.append(f"thread {number}, turn {turn}: {fed} refused: {refused}")

    with on_gpus() as session:
        session.run(tf.global_variables_initializer())
        threads = [threading.Thread(target=run, args=(session, number)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_what_a_run_without_fetches_was_refused_is_not_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, step, rows = gathering()
    with on_gpus() as session:
        session.run(tf.global_variables_initializer())
        session.run(step, {rows: [0, 2]})
    assert "not in [0, 2)" in caplog.text and "taken" in caplog.text


def test_large_values_of_many_sizes_leave_memory_to_others() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(x)
    with tf.Session(
        config=tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[16]))
    ) as session:
        for size in range(70_000, 170_000, 1_000):
            assert session.run(y, {x: np.ones(size)}) == size
        assert session.run(y, {x: np.ones(1_500_000)}) == 1_500_000


def test_fetches_that_wait_for_nothing_raise_what_their_run_was_refused() -> None:
    """The fetches are empty or made on the host."""
    rows = tf.placeholder(tf.int32, [2])
    table = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    rows_taken = tf.gather(table, rows, name="taken")
    empty, host = rows_taken[:, 3:], tf.py_func(lambda: np.float32(7), [], tf.float32)
    with on_gpus() as session:
        for fetches in (empty, [host, rows_taken.op], [empty, host, rows_taken.op]):
            for _ in range(3):
                session.run(fetches, {rows: [0, 1]})
                with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, 2\)"):
                    session.run(fetches, {rows: [0, 2]})


def test_a_trace_has_no_checks_of_variables_and_says_what_counts_sizes() -> None:
    variable = tf.Variable([1.0, 0.0, 3.0], name="v")
    places = tf.where(variable > 0, name="places")
    options, traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    with on_gpus() as session:
        session.run(variable.initializer)
        result = session.run(places, options=options, run_metadata=traced)
        assert result.tolist() == [[0], [2]]
    steps = traced.step_stats.dev_stats[0].node_stats
    labels = [step.timeline_label for step in steps]
    assert [label.endswith(", its sizes") for label in labels if " = Where(" in label] == [
        True,
        False,
    ]
    assert len(labels) == len({(step.node_name, step.timeline_label) for step in steps})


def test_an_explanation_counts_the_steps_of_graphs_once_they_are_captured() -> None:
    x = tf.placeholder(tf.float32, [4, 4])
    y = tf.reduce_sum(tf.tanh(tf.matmul(x, x)), 1)
    z = tf.matmul(x, x, transpose_b=True) + tf.cast(tf.size(tf.unique(y)[0]), tf.float32)
    with on_gpus() as session:
        feeds, texts = {x: numbers(4, 4)}, []
        for _ in range(3):
            plan = session.explain(z, feeds)
            texts.append(plan.native())
            assert sum(step.state in ("graph", "waiting") for step in plan.codes) > 1
            session.run(z, feeds)
    assert all("captured after a run" in text and "CUDA graphs" not in text for text in texts[:2])
    assert "in CUDA graphs" in texts[2] and "wait" not in texts[2]
