"""The CPU device: its memory, arrays and copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices import CPUDevice
from gpugraph.memory import (
    Allocator,
    AllocatorRegistry,
    AllocatorWrapper,
    BFCAllocator,
    HostSubAllocator,
)


@pytest.fixture
def cpu() -> CPUDevice:
    return CPUDevice("/device:CPU:0")


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (4, 5)])
@pytest.mark.parametrize("dtype", [tf.float32, tf.bool, tf.int64, tf.complex64])
def test_an_array_comes_from_the_allocator_and_goes_back_once(
    cpu: CPUDevice, shape: tuple[int, ...], dtype: tf.DType
) -> None:
    block = cpu.allocate(shape, dtype, "owner")
    assert block.array.shape == shape
    assert block.array.dtype == dtype.as_numpy_dtype
    assert block.array.flags.c_contiguous
    in_use = cpu.allocator.get_stats().bytes_in_use
    assert in_use >= block.array.nbytes
    assert cpu.owns(block.array)
    value = np.ones(shape, dtype.as_numpy_dtype)
    cpu.write(block.array, value)
    np.testing.assert_array_equal(cpu.read(block.array), value)
    block.release()
    block.release()
    assert cpu.allocator.get_stats().bytes_in_use == 0
    assert block.array is None


def test_strings_need_no_bytes(cpu: CPUDevice) -> None:
    block = cpu.allocate((2,), tf.string, "owner")
    cpu.write(block.array, np.array([b"a", b"b"], object))
    assert cpu.read(block.array).tolist() == [b"a", b"b"]
    assert cpu.allocator.get_stats().num_allocs == 0


def test_what_is_read_is_a_copy(cpu: CPUDevice) -> None:
    block = cpu.allocate((2,), tf.float32, "owner")
    cpu.write(block.array, np.ones(2, np.float32))
    cpu.read(block.array)[:] = 5
    np.testing.assert_array_equal(block.array, [1, 1])


def test_a_constant_is_read_where_it_is_if_it_is_in_order(cpu: CPUDevice) -> None:
    value = np.arange(6.0).reshape(2, 3)
    assert cpu.constant(value) is value
    assert cpu.constant(value.T) is None


def test_devices_do_not_share_memory_but_copy(cpu: CPUDevice) -> None:
    other = CPUDevice("/device:CPU:1")
    blocks = [cpu.allocate((3,), tf.float32, "source"), other.allocate((3,), tf.float32, "target")]
    source, target = (block.array for block in blocks)
    assert cpu.owns(source) and not other.owns(source)
    assert other.owns(target) and not cpu.owns(target)
    copy = other.copy_from(cpu, source, target)
    for value in (1.0, 2.0):
        source[:] = value
        copy()
        np.testing.assert_array_equal(target, [value] * 3)


def test_attributes_are_the_device_s_own(cpu: CPUDevice) -> None:
    other = CPUDevice("/device:CPU:1")
    assert cpu.attributes.device_type == "CPU"
    assert cpu.attributes.memory_limit_bytes == 256 << 20
    assert cpu.attributes.incarnation != other.attributes.incarnation
    assert repr(other) == "<CPUDevice /device:CPU:1>"


def test_config_says_how_many_there_are() -> None:
    with (
        tf.Graph().as_default(),
        tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session,
    ):
        assert [device.name[-5:] for device in session.list_devices()] == [
            "CPU:0",
            "CPU:1",
            "CPU:2",
        ]
        with tf.device("/cpu:2"):
            there = tf.random_uniform([2], name="there")
        assert session.explain(there).device_of(there.op.name).endswith("CPU:2")
        assert session.run(there).shape == (2,)


class Counting(Allocator):
    """A minimal allocator: addresses, and no bytes behind them."""

    name = "counting"

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        return 64 if num_bytes else None

    def deallocate_raw(self, address: int | None) -> None:
        pass


@pytest.mark.parametrize("make", [Counting, lambda: AllocatorWrapper(Counting())])
def test_an_allocator_of_no_host_memory_is_refused_with_the_way_out(make: Any) -> None:
    AllocatorRegistry.register("Counting", 400, make)
    try:
        with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf.Session()
    finally:
        AllocatorRegistry.unregister("Counting", 400)
    for part in ("host_region", "(counting)", "Counting", "AllocatorWrapper", "HostSubAllocator()"):
        assert part in caught.value.message


def test_the_way_out_leads_out() -> None:
    def make() -> Allocator:
        return AllocatorWrapper(BFCAllocator(HostSubAllocator(), 1 << 20, "mine"))

    AllocatorRegistry.register("Mine", 400, make)
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            assert session.run(tf.random_uniform([2])).shape == (2,)
            (stats,) = session.memory_stats().values()
    finally:
        AllocatorRegistry.unregister("Mine", 400)
    assert stats.bytes_limit == 1 << 20
