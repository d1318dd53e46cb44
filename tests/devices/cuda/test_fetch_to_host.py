"""Fetched arrays of a GPU: told together, waited for once, copies of their own."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Geometry
from gpugraph.devices.cuda.emulation.host_driver import HostDriver
from gpugraph.devices.cuda.fetch_to_host import LargeFetch, SmallFetch
from gpugraph.devices.cuda.transfers.memory_regions import PinnedSubAllocator
from gpugraph.devices.cuda.transfers.pinned_staging import LARGE
from gpugraph.memory import BFCAllocator
from tests.devices.cuda.gpus import gpu, needs_cxx, on_gpu

pytestmark = needs_cxx

EMULATED = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=1))


@pytest.mark.parametrize("count, kind", [(5, SmallFetch), (LARGE // 4 + 1, LargeFetch)])
def test_an_array_is_fetched_as_it_was_when_its_copy_was_told(count: int, kind: type) -> None:
    with closing(gpu()) as device:
        array = on_gpu(device, np.arange(count, dtype=np.float32))
        way = device.fetching(array)
        assert type(way) is kind
        result = []
        for times in range(3):
            device.write(array, np.full(count, times, np.float32))
            way.begin()
            device.write(array, np.full(count, -1, np.float32))
            result.append(way.read())
        for times, value in enumerate(result):
            np.testing.assert_array_equal(value, np.full(count, times, np.float32))
        in_use = device.pinned.get_stats().bytes_in_use
        way.begin()
        way.release()  # nobody reads it
        way.release()
        device.staging.finish()
        assert device.pinned.get_stats().bytes_in_use <= in_use


def test_a_copy_that_nobody_read_is_given_up_by_the_next() -> None:
    with closing(gpu()) as device:
        array = on_gpu(device, np.zeros(LARGE, np.float32))
        way = device.fetching(array)
        way.begin()
        device.staging.finish()  # the copies that are under way
        once = device.pinned.get_stats().bytes_in_use
        for _ in range(5):
            way.begin()
            assert device.pinned.get_stats().bytes_in_use == once
        np.testing.assert_array_equal(way.read(), np.zeros(LARGE, np.float32))


def test_large_arrays_for_which_pinned_memory_is_out_come_one_by_one() -> None:
    with closing(gpu()) as device:
        arrays = [on_gpu(device, np.full(LARGE, index, np.float32)) for index in range(3)]
        device.staging.finish()
        device.staging.pinned = BFCAllocator(
            PinnedSubAllocator(device.driver), 4 * LARGE, "small", allow_growth=True
        )
        ways = [device.fetching(array) for array in arrays]
        for way in ways:
            way.begin()
        for index, way in enumerate(ways):
            np.testing.assert_array_equal(way.read(), np.full(LARGE, index, np.float32))


def held_by_others(lock: Any) -> bool:
    """Return whether a new thread would have to wait for the lock."""
    found: list[bool] = []

    def acquire() -> None:
        found.append(not lock.acquire(blocking=False))
        if not found[0]:
            lock.release()

    thread = threading.Thread(target=acquire)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(
    "reader", ["small", "large", "large without pinned memory", "read", "synchronize"]
)
def test_the_device_is_free_for_other_threads_while_a_reader_waits(
    reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []

    def watched(name: str) -> Any:
        wait = getattr(HostDriver, name)

        def call(self: HostDriver, *inputs: Any) -> None:
            held.append(held_by_others(device.lock))
            wait(self, *inputs)

        return call

    def no_memory(num_bytes: int, optional: bool = False) -> None:
        return None

    with closing(gpu()) as device:
        value = np.arange(5 if reader == "small" else LARGE, dtype=np.float32)
        array = on_gpu(device, value)
        device.staging.finish()
        way = device.fetching(array)
        with monkeypatch.context() as patch:
            if reader == "large without pinned memory":
                patch.setattr(device.pinned, "allocate_raw", no_memory)
            way.begin()
        with monkeypatch.context() as patch:
            for name in ("wait_for", "synchronize"):
                patch.setattr(HostDriver, name, watched(name))
            if reader == "synchronize":
                device.synchronize()
            result = device.read(array) if reader == "read" else way.read()
        np.testing.assert_array_equal(result, value)
    assert held and not any(held)


def test_the_device_is_free_for_other_threads_while_a_value_is_copied_to_pinned_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[bool] = []
    copyto = np.copyto

    def watched(*inputs: Any, **options: Any) -> None:
        held.append(held_by_others(device.lock))
        copyto(*inputs, **options)

    with closing(gpu()) as device:
        value = np.arange(LARGE, dtype=np.float32)
        array = on_gpu(device, np.zeros_like(value))
        with monkeypatch.context() as patch:
            patch.setattr(np, "copyto", watched)
            device.write(array, value)
        np.testing.assert_array_equal(device.read(array), value)
        device.staging.finish()
        used = device.pinned.get_stats().bytes_in_use
        with pytest.raises(ValueError, match="broadcast"):
            device.write(array, value[:7])
        assert device.pinned.get_stats().bytes_in_use == used
    assert held == [False]


@pytest.mark.parametrize("count", [1, 3])
def test_the_device_is_free_for_other_threads_while_kernels_are_compiled(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    compile = HostDriver.compile

    def watched(self: HostDriver, source: str, name: str) -> Any:
        time.sleep(0.1)  # until the run waits for this
        held.append(held_by_others(device.lock))
        return compile(self, source, name)

    monkeypatch.setattr(HostDriver, "compile", watched)
    with tf.Graph().as_default(), tf.Session(config=EMULATED) as session:
        (device,) = (device for device in session._backend.devices if device.device_type == "GPU")
        x = tf.placeholder(tf.float32, [3, 4])
        results = [tf.reduce_sum(x), tf.cumsum(x), tf.transpose(x)][:count]
        session.run(results, {x: np.ones((3, 4))})
    assert held and not any(held)


def test_nothing_of_no_elements_or_of_the_host_is_brought_in_two_parts() -> None:
    with closing(gpu()) as device:
        assert device.fetching(on_gpu(device, np.zeros((3, 0), np.float32))) is None
        assert device.fetching(np.array(["text"], object)) is None


def test_what_failed_before_comes_out_when_it_is_read() -> None:
    with closing(gpu()) as device:
        way = device.fetching(on_gpu(device, np.zeros(3, np.float32)))
        module = device.driver.compile('extern "C" __global__ void bad(int* p) { *p = 1; }', "bad")
        one = Geometry((1, 1, 1), (1, 1, 1))
        device.driver.launcher(module, "bad", one, (8,), device.compute)()
        way.begin()
        with pytest.raises(
            DriverError, match=r"raised while waiting for /device:GPU:0.*start anew"
        ):
            way.read()
        way.release()


def many(x: Any) -> list[Any]:
    """Return fetches of all kinds: a number, rows, a large one, one without elements, one on the
    host.
    """
    big = tf.tile(tf.reshape(x, [1, 12]), [LARGE // 16, 1])
    return [
        tf.reduce_sum(x), x * 2, big, x[:0], big + 1, tf.unique(tf.reshape(x, [12]))[0], x[1],
        tf.shape(x), tf.cast(x, tf.float16),
    ]  # fmt: skip


def test_many_fetches_are_those_of_the_cpu_and_stay_as_they_are() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, 4])
        fetches = many(x)
        values = [np.random.default_rng(seed).random((3, 4), np.float32) for seed in range(4)]
        with tf.Session(config=EMULATED) as on, tf.Session() as plain:
            result = [on.run(fetches, {x: value}) for value in values]
            wanted = [plain.run(fetches, {x: value}) for value in values]
    for one, other in zip(result, wanted):
        for value, right in zip(one, other):
            assert type(value) is type(right) and value.dtype == right.dtype
            np.testing.assert_allclose(value, right, rtol=1e-6)


def test_small_fetches_are_captured_and_waited_for_without_a_copy_told_by_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report: list[int] = []
    copy_out = HostDriver.copy_out

    def count(self: HostDriver, *inputs: Any) -> None:
        report.append(inputs[2])
        copy_out(self, *inputs)

    monkeypatch.setattr(HostDriver, "copy_out", count)
    with tf.Graph().as_default(), tf.Session(config=EMULATED) as session:
        x = tf.placeholder(tf.float32, [3, 4])
        fetches = [tf.reduce_sum(x), tf.nn.softmax(x), x * 2]
        counts = []
        for times in range(4):
            report.clear()
            total, _, twice = session.run(fetches, {x: np.full((3, 4), times)})
            assert total == 12 * times and (twice == 2 * times).all()
            counts.append(len(report))
    assert counts == [3, 3, 0, 0]  # one by one, captured, and then part of the graph


def test_a_fetch_of_a_branch_that_is_not_taken_fails_and_the_next_run_does_not() -> None:
    with tf.Graph().as_default(), tf.Session(config=EMULATED) as session:
        x = tf.placeholder(tf.float32, [LARGE])
        is_on = tf.placeholder(tf.bool, [])
        off, on = tf.raw_ops.Switch(data=x * 2, pred=is_on)
        other = x + 1
        feeds = {x: np.arange(LARGE)}
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not taken"):
                session.run([other, on * 3, other * 2], {**feeds, is_on: False})
            result = session.run([other, on * 3], {**feeds, is_on: True})
            np.testing.assert_array_equal(result[0], np.arange(LARGE, dtype=np.float32) + 1)
            np.testing.assert_array_equal(result[1], np.arange(LARGE, dtype=np.float32) * 6)
            off_too = session.run([off + 1, other], {**feeds, is_on: False})
            np.testing.assert_array_equal(off_too[0], np.arange(LARGE, dtype=np.float32) * 2 + 1)


def test_variables_are_fetched_as_they_are_at_the_end_and_checked() -> None:
    with tf.Graph().as_default(), tf.Session(config=EMULATED) as session:
        v = tf.get_variable("v", [3], initializer=tf.ones_initializer())
        add = tf.assign_add(v, [1.0, 2.0, 3.0])
        with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
            session.run(v)
        session.run(tf.global_variables_initializer())
        for times in range(1, 5):
            result, _ = session.run([v, add.op])
            np.testing.assert_array_equal(result, 1 + times * np.array([1, 2, 3], np.float32))


def test_plans_that_are_given_up_while_they_run_leave_no_pinned_memory() -> None:
    enable = tf.config.experimental.enable_tensor_float_32_execution
    is_on = iter([True, False] * 2)

    def change(value: Any) -> Any:
        enable(next(is_on))  # gives up all plans, this one too
        return value

    with tf.Graph().as_default(), tf.Session(config=EMULATED) as session:
        x = tf.placeholder(tf.float32, [100])
        y = tf.gather(x, [1, 2]) * 2
        fetches = [y, tf.py_func(change, [y], tf.float32)]
        used = []
        for _ in range(4):
            session.run(fetches, {x: np.ones(100)})
            (device,) = (
                device for device in session._backend.devices if device.device_type == "GPU"
            )
            used.append(device.pinned.get_stats().bytes_in_use)
        assert used == used[:1] * 4
