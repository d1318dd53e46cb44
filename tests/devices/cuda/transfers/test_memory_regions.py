"""Regions of a driver's memory: given, viewed where they can be, taken back once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.cuda.driver.cupy_driver import CupyDriver
from gpugraph.devices.cuda.transfers.memory_regions import DeviceSubAllocator, PinnedSubAllocator
from gpugraph.memory import BFCAllocator

from ..fake_cupy import FakeCuPy


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCuPy:
    return FakeCuPy().install(monkeypatch)


def driver() -> CupyDriver:
    return CupyDriver(0, lambda text, arch, name: b"")


@pytest.mark.parametrize("kind", [DeviceSubAllocator, PinnedSubAllocator])
def test_a_region_is_given_and_taken_back_once(cupy: FakeCuPy, kind: Any) -> None:
    regions = kind(driver())
    address = regions.alloc(256, 1 << 20)
    assert address in cupy.live
    with pytest.raises(tf.errors.InvalidArgumentError, match="no region of 4 bytes"):
        regions.free(address, 4)
    regions.free(address, 1 << 20)
    assert cupy.live == {}
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"no region .* at {address:#x}"):
        regions.free(address, 1 << 20)


@pytest.mark.parametrize("kind", [DeviceSubAllocator, PinnedSubAllocator])
def test_none_where_memory_is_out(cupy: FakeCuPy, kind: Any) -> None:
    cupy.failures = {"malloc": 2, "hostAlloc": 2}
    assert kind(driver()).alloc(256, 1 << 20) is None


@pytest.mark.parametrize("kind", [DeviceSubAllocator, PinnedSubAllocator])
def test_more_alignment_than_cuda_promises_is_refused(cupy: FakeCuPy, kind: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="an alignment of 512"):
        kind(driver()).alloc(512, 1 << 20)


def test_bfc_cuts_pinned_regions_which_arrays_look_at(cupy: FakeCuPy) -> None:
    allocator = BFCAllocator(PinnedSubAllocator(driver()), 1 << 24, "pinned", allow_growth=True)
    addresses = [allocator.allocate_raw(4000) for _ in range(3)]
    for number, address in enumerate(addresses):
        assert address is not None
        region = allocator.host_region(address)
        array = np.ndarray(1000, np.int32, region.buffer, address - region.base)
        array[:] = number
        assert array.ctypes.data == address
    with pytest.raises(tf.errors.InvalidArgumentError, match="No pinned region holds"):
        allocator.host_region(1)


def test_a_gpus_memory_can_not_be_looked_at(cupy: FakeCuPy) -> None:
    allocator = BFCAllocator(DeviceSubAllocator(driver()), 1 << 24, "gpu", allow_growth=True)
    address = allocator.allocate_raw(4000)
    assert address is not None
    with pytest.raises(tf.errors.FailedPreconditionError, match="no host memory"):
        allocator.host_region(address)
