"""Threads whose values do not all fit in pinned memory at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Thread
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.cuda import cuda_device
from gpugraph.devices.cuda.transfers import pinned_staging
from tests.devices.cuda.gpus import gpu, needs_cxx, on_gpu

pytestmark = needs_cxx

EMULATED = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=1))
SIZE = 5 << 18  # of 5 MiB; there are 8 MiB of pinned memory


@pytest.mark.parametrize("kind", ["feed", "fetch", "variable", "load"])
def test_threads_share_what_there_is(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_device, "PINNED_BYTES", 8 << 20)
    fed = tf.placeholder(tf.float32, [None])
    doubled, total = fed * 2.0, tf.reduce_sum(fed)
    variables = [tf.Variable(np.full(SIZE, number, np.float32)) for number in range(4)]
    with tf.Session(config=EMULATED) as session:
        session.run(tf.global_variables_initializer())

        def run(number: int) -> Any:
            value = np.full(SIZE, number, np.float32)
            if kind == "load":
                variables[number].load(value, session)
            if kind in ("variable", "load"):
                return session.run(variables[number])[-1]
            result = session.run(doubled if kind == "fetch" else total, {fed: value})
            return result[-1] / 2 if kind == "fetch" else result / SIZE

        with ThreadPoolExecutor(4) as pool:
            for number, result in enumerate(pool.map(run, [0, 1, 2, 3] * 6)):
                assert result == number % 4


def test_values_are_copied_without_pinned_memory_if_there_is_none() -> None:
    with closing(gpu()) as device:
        staging = device.staging
        array = on_gpu(device, np.zeros(SIZE, np.float32))
        held = []
        while (address := staging.pinned.allocate_raw(1 << 20, optional=True)) is not None:
            held.append(address)
        value = np.arange(SIZE, dtype=np.float32)
        device.write(array, value)
        np.testing.assert_array_equal(staging.read(array), value)
        for address in held:
            staging.pinned.deallocate_raw(address)


def test_no_other_thread_changes_an_array_between_its_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pinned_staging, "MAX_PIECE_BYTES", 1 << 12)
    with closing(gpu()) as device:
        array = on_gpu(device, np.zeros(1 << 14, np.float32))
        wait_for, threads = device.driver.wait_for, []

        def change_after(event: Any) -> None:
            wait_for(event)
            if not threads:
                threads.append(Thread(target=device.write, args=(array, np.ones(1 << 14))))
                threads[0].start()
                threads[0].join(0.2)

        monkeypatch.setattr(device.driver, "wait_for", change_after)
        assert not device.staging.read(array).any()
        threads[0].join()
        assert device.staging.read(array).all()
