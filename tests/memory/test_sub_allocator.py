"""Regions: real host bytes, and addresses without any."""

import mmap

import pytest

from gpugraph.base.errors import FailedPreconditionError, InvalidArgumentError
from gpugraph.memory import FakeSubAllocator, HostSubAllocator


def test_host_regions_are_writable_bytes() -> None:
    sub = HostSubAllocator()
    address = sub.alloc(256, 8 << 20)
    assert address is not None
    assert address % mmap.PAGESIZE == 0
    base, buffer = sub.region(address + 12345)
    assert (base, len(buffer)) == (address, 8 << 20)
    view = memoryview(buffer)
    assert bytes(view[12345:12350]) == bytes(5)
    view[12345:12350] = b"hello"
    assert sub.region(address).buffer[12345:12350] == b"hello"


def test_host_region_is_found_by_any_of_its_addresses_only() -> None:
    sub = HostSubAllocator()
    regions = {}
    for pages in (1, 3, 2, 5):
        address = sub.alloc(64, pages * mmap.PAGESIZE)
        assert address is not None
        regions[address] = pages * mmap.PAGESIZE
    for address, size in regions.items():
        assert sub.region(address).base == address
        assert sub.region(address + size - 1).base == address
    with pytest.raises(InvalidArgumentError, match="0x0"):
        sub.region(0)
    with pytest.raises(InvalidArgumentError, match="No host region"):
        sub.region(max(regions) + regions[max(regions)])


def test_a_freed_host_region_lives_as_long_as_its_views() -> None:
    sub = HostSubAllocator()
    address = sub.alloc(64, 1 << 16)
    assert address is not None
    view = memoryview(sub.region(address).buffer)
    sub.free(address, 1 << 16)
    view[0] = 7
    assert view[0] == 7
    with pytest.raises(InvalidArgumentError, match="No host region"):
        sub.region(address)
    with pytest.raises(InvalidArgumentError, match="no region of 65536 bytes"):
        sub.free(address, 1 << 16)


def test_host_regions_that_cannot_be_had() -> None:
    sub = HostSubAllocator()
    assert sub.alloc(64, 1 << 62) is None
    with pytest.raises(InvalidArgumentError, match="alignment"):
        sub.alloc(2 * mmap.PAGESIZE, 1 << 20)


def test_fake_regions_follow_one_another_and_are_counted() -> None:
    seen: list[tuple[str, int, int]] = []
    sub = FakeSubAllocator(
        total=1024,
        base=1000,
        alloc_visitors=[lambda address, size: seen.append(("alloc", address, size))],
        free_visitors=[lambda address, size: seen.append(("free", address, size))],
    )
    assert sub.alloc(256, 512) == 1024
    assert sub.alloc(256, 512) == 1536
    assert sub.alloc(256, 1) is None
    sub.free(1024, 512)
    assert sub.alloc(256, 512) == 2048
    assert seen == [
        ("alloc", 1024, 512),
        ("alloc", 1536, 512),
        ("free", 1024, 512),
        ("alloc", 2048, 512),
    ]
    assert (sub.num_allocs, sub.num_frees, sub.bytes_held) == (3, 1, 1024)
    with pytest.raises(InvalidArgumentError, match="no region"):
        sub.free(1024, 512)
    with pytest.raises(FailedPreconditionError, match="no host memory"):
        sub.region(1536)
