"""Settings of the process: TF32, which plans are made by."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.config.experimental import watch
from tests.devices.cuda.gpus import needs_cxx

GPU = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]))

enable = tf.config.experimental.enable_tensor_float_32_execution
is_enabled = tf.config.experimental.tensor_float_32_execution_enabled


@pytest.fixture(autouse=True)
def off_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    yield
    enable(False)


def test_it_is_off_until_it_is_switched_on() -> None:
    assert is_enabled() is False
    enable(True)
    assert is_enabled() is True
    for wrong in (None, 1, "yes"):
        with pytest.raises(TypeError, match="enabled must be True or False, but is"):
            enable(wrong)  # type: ignore[arg-type]
    assert is_enabled() is True


class Watcher:
    def settings_changed(self) -> None:
        pass


def test_sessions_of_other_threads_come_and_go_while_it_changes() -> None:
    kept, is_over = [Watcher() for _ in range(200)], threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            for each in [Watcher() for _ in range(50)]:
                watch(each)

    for each in kept:
        watch(each)
    thread, interval = threading.Thread(target=come_and_go), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for times in range(300):
            enable(times % 2 == 0)
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(interval)


X = np.float32([[1 + 2.0**-11, 1], [3, 2.0**-12]])
"""In TF32 the first is 1 + 2^-10."""
ROUNDED = np.float32([[1 + 2.0**-10, 1], [3, 2.0**-12]])


def product(dtype: Any = tf.float32) -> Any:
    x = tf.placeholder(dtype, [2, 2], name="x")
    return x, tf.matmul(x, tf.constant(np.eye(2), dtype), name="product")


@needs_cxx
def test_plans_are_made_anew_when_it_changes() -> None:
    with tf.Graph().as_default(), tf.Session(config=GPU) as session:
        x, y = product()
        run = session.make_callable(y, [x])
        for enabled, wanted in ((False, X), (True, ROUNDED), (True, ROUNDED), (False, X)):
            enable(enabled)
            for _ in range(3):
                np.testing.assert_array_equal(session.run(y, {x: X}), wanted)
                np.testing.assert_array_equal(run(X), wanted)
            text = str(session.explain(y, {x: X}))
            said = [line.strip() for line in text.splitlines() if "TF32" in line]
            assert [line.split("/")[0] for line in said] == ["product (MatMul) on "] * enabled


@needs_cxx
def test_a_run_may_change_it_for_those_after_it() -> None:
    with tf.Graph().as_default(), tf.Session(config=GPU) as session:
        x, y = product()
        switch = tf.py_func(lambda: enable(not is_enabled()), [], [])
        for wanted in (X, ROUNDED, X):
            found, _ = session.run([y, switch], {x: X})
            np.testing.assert_array_equal(found, wanted)


def test_a_cpu_keeps_its_plans_and_its_precision() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = product()
        before = session.explain(y, {x: X}).placed
        enable(True)
        assert session.explain(y, {x: X}).placed is before
        np.testing.assert_array_equal(session.run(y, {x: X}), X)


@needs_cxx
def test_other_types_know_no_tf32() -> None:
    enable(True)
    with tf.Graph().as_default(), tf.Session(config=GPU) as session:
        x, y = product(tf.float64)
        assert "TF32" not in str(session.explain(y, {x: X}))
        np.testing.assert_array_equal(session.run(y, {x: X}), X)


@needs_cxx
def test_what_follows_a_product_is_not_rounded() -> None:
    enable(True)
    with tf.Graph().as_default(), tf.Session(config=GPU) as session:
        x, y = product()
        y = tf.nn.relu(tf.nn.bias_add(y, tf.constant([2.0**-11, 0.0])), name="y")
        np.testing.assert_array_equal(session.run(y, {x: X}), ROUNDED + np.float32([2.0**-11, 0]))
        assert "y (_FusedMatMul) on" in str(session.explain(y, {x: X}))
