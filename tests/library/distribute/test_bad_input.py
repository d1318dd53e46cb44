"""Programs of strategies that are wrong: TensorFlow's errors within a time limit, and no hang."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from .test_worker_strategies import ROOT, free_ports

SECONDS = 100


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """Fail a test that hangs; work in a new graph."""

    def end(*_: Any) -> None:
        raise TimeoutError(f"The test has taken {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        with tf.Graph().as_default():
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def mirrored(count: int = 2) -> Any:
    return tf.distribute.MirroredStrategy([f"/cpu:{number}" for number in range(count)])


def session() -> tf.Session:
    config = tf.ConfigProto(device_count={"CPU": 3}, operation_timeout_in_ms=SECONDS * 1000)
    return tf.Session(config=config)


@pytest.mark.parametrize("use", ["train", "update"])
def test_a_variable_made_outside_of_the_scope(use: str) -> None:
    outside = tf.get_variable("outside", [2], initializer=tf.ones_initializer(), use_resource=True)
    strategy = mirrored()
    with strategy.scope():
        if use == "update":
            with pytest.raises(AssertionError, match="was not created in the scope"):
                strategy.extended.update(outside, lambda v: v.assign_add([1.0, 1.0]))
            return
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        with pytest.raises(AssertionError, match="create the variable within"):
            strategy.experimental_run_v2(
                lambda: optimizer.minimize(tf.reduce_sum(outside**2), var_list=[outside])
            )


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub", "scatter_add"])
def test_an_update_in_a_replica_without_aggregation(method: str) -> None:
    strategy = mirrored()
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], name="v")
        value = tf.IndexedSlices([1.0], [0]) if method == "scatter_add" else [1.0, 1.0]
        with pytest.raises(ValueError, match="You must specify an aggregation method to update"):
            strategy.experimental_run_v2(lambda: getattr(v, method)(value))


@pytest.mark.parametrize(("rows", "count"), [(7, 2), (7, 3), (2, 3), (1, 3)])
def test_last_batches_that_do_not_divide(rows: int, count: int) -> None:
    strategy = mirrored(count)
    numbers = np.arange(6 + rows, dtype=np.float32)
    with strategy.scope():
        data = tf.data.Dataset.from_tensor_slices(numbers).batch(6)
        iterator = strategy.make_dataset_iterator(data)
        parts = strategy.experimental_run_v2(tf.identity, (iterator.get_next(),))
        total = strategy.reduce("SUM", strategy.experimental_run_v2(tf.reduce_sum, (parts,)), None)
        mean = strategy.reduce("MEAN", parts, axis=0)
        seen = []
        with session() as running:
            running.run(iterator.initialize())
            with pytest.raises(tf.errors.OutOfRangeError):
                while True:
                    locals_of_run = strategy.experimental_local_results(parts)
                    seen.append(running.run([total, mean, *locals_of_run]))
    for total_of_run, mean_of_run, *own in seen:
        whole = np.concatenate(own)
        assert total_of_run == whole.sum()
        assert mean_of_run == pytest.approx(whole.mean())
    assert np.concatenate([part for run in seen for part in run[2:]]).tolist() == numbers.tolist()


@pytest.mark.parametrize(
    ("first", "second"),
    [([1], [1, 2]), ({"a": 1}, {"b": 1}), ((1, 2), 1), ({"a": 1}, [1]), ([[1], 2], [[1, 2], 2])],
)
def test_replicas_that_disagree_on_the_structure(first: Any, second: Any) -> None:
    strategy = mirrored()
    results = iter([first, second])
    with strategy.scope(), pytest.raises(AssertionError, match="return different structures"):
        strategy.experimental_run_v2(lambda: next(results))


def test_replicas_that_merge_unequally_often() -> None:
    strategy = mirrored()
    turns = iter([1, 2])

    def fn() -> Any:
        context = tf.distribute.get_replica_context()
        for _ in range(next(turns)):
            context.merge_call(lambda strategy: None)

    with strategy.scope(), pytest.raises(RuntimeError, match="different number of replica_context"):
        strategy.experimental_run_v2(fn)


def test_a_worker_that_dies_within_a_collective() -> None:
    pytest.importorskip("grpc")
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    command = [sys.executable, "-m", "tests.library.distribute.worker_program"]
    with ExitStack() as stack:
        workers = []
        for number, steps in enumerate((100_000, 2)):
            config = {"cluster": cluster, "task": {"type": "worker", "index": number}}
            arguments = [*command, json.dumps(config), "MultiWorkerMirroredStrategy", str(steps)]
            worker = stack.enter_context(
                subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True)
            )
            stack.callback(worker.kill)
            workers.append(worker)
        _, errors = workers[0].communicate(timeout=SECONDS)
    assert workers[0].returncode == 1
    classes = ("UnavailableError", "AbortedError", "InternalError", "CancelledError")
    assert any(name in errors for name in classes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{cluster", "TF_CONFIG is no JSON"),
        ("[1]", "must be a JSON object"),
        ('{"cluster": {"worker": ["a:1"]}}', "must also specify"),
        ('{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}', "No `worker`"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 2}}', "maximum id"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "cook", "index": 0}}', "task_type"),
    ],
)
def test_configurations_that_are_malformed(
    monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match=words):
        tf.distribute.experimental.MultiWorkerMirroredStrategy()
