"""The basics, the simplest first: if one of these fails, other failures mean little."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from .machine import check, network, numbers, on_gpus

pytestmark = pytest.mark.gpu(or_emulated=True)


@pytest.fixture(autouse=True)
def _nothing_is_told(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail on a warning, which reports a missing part: no cublasLt, no capture."""
    with caplog.at_level(logging.WARNING):
        yield
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    assert [record.getMessage() for record in records if record.name.startswith("gpugraph")] == []


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), on_gpus() as made:
        yield made


def test_there_is_a_gpu(session: Any) -> None:
    (gpu,) = [device for device in session.list_devices() if device.device_type == "GPU"]
    assert gpu.memory_limit_bytes == 256 << 20


@pytest.mark.parametrize("size", [2, 1 << 20])
def test_what_is_fed_comes_back(session: Any, size: int) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/gpu:0"):
        y = tf.identity(x)
    for seed in range(3):
        value = numbers(size, seed=seed)
        assert (session.run(y, {x: value}) == value).all()


def test_a_kernel_computes(session: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 100])
    y = tf.reduce_sum(tf.tanh(x) + 1.0, 1)
    value = numbers(7, 100)
    check(session.run(y, {x: value}), (np.tanh(value) + 1).sum(1), 10)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_matrices_are_multiplied(session: Any, dtype: str) -> None:
    a, b = numbers(24, 40).astype(dtype), numbers(40, 16, seed=1).astype(dtype)
    x, y = tf.placeholder(dtype, a.shape), tf.placeholder(dtype, b.shape)
    wanted = (a.astype("d") @ b.astype("d")).astype(dtype)
    check(session.run(tf.matmul(x, y), {x: a, y: b}), wanted, 8)


def test_steps_are_captured(session: Any) -> None:
    x = tf.placeholder(tf.float32, [8, 8])
    y = tf.reduce_max(tf.matmul(tf.nn.relu(tf.matmul(x, x)), x), 0)
    assert "captured from" in str(session.explain(y, {x: numbers(8, 8)}))
    for seed in range(4):
        value = numbers(8, 8, seed=seed)
        check(session.run(y, {x: value}), (np.maximum(value @ value, 0) @ value).max(0), 20)


def test_random_numbers_go_on(session: Any) -> None:
    with tf.device("/gpu:0"):
        drawn = tf.random.uniform([1000], seed=3)
    runs = [session.run(drawn) for _ in range(4)]
    assert len({run.tobytes() for run in runs}) == 4
    assert all(0.4 < run.mean() < 0.6 for run in runs)


def test_a_network_learns(session: Any) -> None:
    loss, step, batch = network()
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, step], batch)[0] for _ in range(30)]
    assert losses[-1] < 0.7 * losses[0]


def test_what_a_kernel_refuses_is_said(session: Any) -> None:
    rows = tf.placeholder(tf.int32, [2])
    gathered = tf.gather(tf.constant(numbers(4, 3)), rows) * 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, 4\)"):
        session.run(gathered, {rows: [0, 9]})
    check(session.run(gathered, {rows: [3, 1]}), numbers(4, 3)[[3, 1]] * 2)
