"""Whole programs through CupyDriver, on fake bindings."""

from __future__ import annotations

import gc
import logging
import threading
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.cuda import device_options as factory
from gpugraph.devices.cuda.detection.gpu_detection import Detection
from gpugraph.devices.cuda.driver.libcuda import Gpu

from ..gpus import needs_cxx
from ..hosted_cupy import HostedCuPy

pytestmark = needs_cxx


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> HostedCuPy:
    made = HostedCuPy()
    made.install(monkeypatch)
    there = Detection((Gpu(0, "Fake H100", (9, 0), 4 << 30, "0000:01:00.0"),))
    monkeypatch.setattr(factory, "detect", lambda: there)
    monkeypatch.setattr(factory, "open_driver", made.driver_of)
    return made


def session_of(*megabytes: int) -> Any:
    parts = tf.GPUOptions.Experimental.VirtualDevices(memory_limit_mb=list(megabytes))
    options = tf.GPUOptions(experimental=tf.GPUOptions.Experimental(virtual_devices=[parts]))
    return tf.Session(config=tf.ConfigProto(gpu_options=options))


def test_a_training_is_captured_and_all_is_given_back(
    cupy: HostedCuPy, caplog: pytest.LogCaptureFixture
) -> None:
    x = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    curves = []
    with tf.Graph().as_default(), caplog.at_level(logging.WARNING):
        inputs = tf.placeholder(tf.float32, [None, 5])
        weights = tf.Variable(np.ones((5, 3), np.float32))
        loss = tf.reduce_mean(tf.square(tf.matmul(inputs, weights) - 1.0))
        step = tf.train.AdamOptimizer(0.1).minimize(loss)
        for session in (tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})), session_of(64)):
            with session:
                session.run(tf.global_variables_initializer())
                curves.append([session.run([loss, step], {inputs: x})[0] for _ in range(6)])
    np.testing.assert_allclose(*curves, rtol=1e-5)
    assert len(cupy.told("graphLaunch")) == 5 and cupy.told("refused") == []
    assert [message for message in caplog.messages if "captured" in message] == []
    del session
    gc.collect()
    functions = {handle for handle, what in cupy.live.items() if callable(what)}
    assert set(cupy.live) == functions  # which go with their modules


def test_parts_of_a_gpu_and_the_host_pass_values_on(cupy: HostedCuPy) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        with tf.device("/gpu:0"):
            a = tf.tanh(x) + 1.0
        with tf.device("/gpu:1"):
            b = a * a
        with tf.device("/cpu:0"):
            c = b - a
        with tf.device("/gpu:0"):
            d = c * 2.0
        with session_of(64, 32) as session:
            for count in (3, 100_000, 3, 100_000):
                value = np.linspace(-1, 1, count, dtype=np.float32)
                y = np.tanh(value) + 1
                np.testing.assert_allclose(session.run(d, {x: value}), 2 * (y * y - y), 1e-5, 1e-5)
    assert cupy.told("memcpyPeerAsync", "refused") == []


def test_a_session_that_nobody_closed_does_not_end_a_capture(
    cupy: HostedCuPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is closed by the collector, at any line: not while a stream is captured."""
    left: list[Any] = []
    begin = cupy._streamBeginCapture

    def forgetting(stream: int, mode: int) -> None:
        begin(stream, mode)
        left.clear()
        gc.set_threshold(1)  # with the next object that is made

    monkeypatch.setattr(cupy, "_streamBeginCapture", forgetting, raising=False)
    before = gc.get_threshold()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 2])
        y = tf.reduce_sum(tf.matmul(tf.tanh(x), x), 0)
        with session_of(64) as session:
            left.append(session_of(64))
            left[0].circle = left[0]
            try:
                for _ in range(3):
                    session.run(y, {x: np.eye(2)})
            finally:
                gc.set_threshold(*before)
                gc.collect()  # at the latest here, while there are bindings
    assert cupy.told("refused") == [] and len(cupy.told("graphLaunch")) == 2


def test_who_waits_for_the_gpu_waits_for_a_capture_too(
    cupy: HostedCuPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a thread does that gives back a plan of the session."""
    waiting: list[threading.Thread] = []
    begin = cupy._streamBeginCapture

    def meanwhile(stream: int, mode: int) -> None:
        begin(stream, mode)
        waiting.append(threading.Thread(target=device.synchronize))
        waiting[0].start()
        waiting[0].join(0.1)

    monkeypatch.setattr(cupy, "_streamBeginCapture", meanwhile, raising=False)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 2])
        y = tf.reduce_sum(tf.matmul(tf.tanh(x), x), 0)
        with session_of(64) as session:
            device = next(device for device in session._backend.devices if "GPU" in device.name)
            for _ in range(2):
                session.run(y, {x: np.eye(2)})
            waiting[0].join()
    assert cupy.told("refused") == [] and len(cupy.told("graphLaunch")) == 1
