"""A limit over an allocator: requests that it refuses, counts and passes on."""

import logging
import threading

import pytest

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.memory import BFCAllocator, FakeSubAllocator, HostSubAllocator, LimitingAllocator


def limited(limit: int, total: int = 1 << 20) -> tuple[LimitingAllocator, BFCAllocator]:
    bfc = BFCAllocator(FakeSubAllocator(), total, "below")
    return LimitingAllocator(bfc, limit), bfc


def test_what_would_exceed_the_limit_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    allocator, bfc = limited(1024)
    first = allocator.allocate_raw(512)
    second = allocator.allocate_raw(512)
    assert first is not None
    assert second is not None
    with caplog.at_level(logging.WARNING):
        assert allocator.allocate_raw(1, retry=True) is None
    assert "1B from allocator (below) would exceed its limit of 1.0KiB" in caplog.text
    allocator.deallocate_raw(first)
    assert allocator.allocate_raw(1) == first
    bfc.check()


def test_rounding_counts(caplog: pytest.LogCaptureFixture) -> None:
    allocator, bfc = limited(300)
    assert allocator.allocate_raw(290, optional=True) is None
    assert not caplog.records
    assert bfc.get_stats().bytes_in_use == 0
    assert allocator.allocate_raw(256) is not None


def test_its_statistics_are_its_own() -> None:
    allocator, bfc = limited(4096)
    other = bfc.allocate_raw(256)
    block = allocator.allocate_raw(300)
    assert block is not None
    stats = allocator.get_stats()
    assert (stats.num_allocs, stats.bytes_in_use, stats.bytes_limit) == (1, 512, 4096)
    assert allocator.live_allocations() == [(block, 300, 512, 2)]
    assert allocator.largest_free_chunk() == 4096 - 512
    with pytest.raises(InvalidArgumentError, match="below"):
        allocator.deallocate_raw(other)
    allocator.deallocate_raw(None)
    allocator.deallocate_raw(block)
    allocator.clear_stats()
    assert allocator.get_stats().peak_bytes_in_use == 0


def test_out_of_memory_below_takes_nothing_from_the_limit() -> None:
    allocator, _ = limited(1 << 20, total=1024)
    assert allocator.allocate_raw(0) is None
    assert allocator.allocate_raw(2048, optional=True) is None
    assert allocator.allocate_raw(1024) is not None
    assert allocator.get_stats().num_allocs == 1


def test_negative_limits_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="below"):
        limited(-1)


def test_host_memory_shows_through() -> None:
    allocator = LimitingAllocator(BFCAllocator(HostSubAllocator(), 1 << 20, "host"), 1 << 19)
    address = allocator.allocate_raw(64)
    assert address is not None
    assert allocator.host_region(address).base <= address


def test_threads_together_never_exceed_the_limit() -> None:
    allocator, bfc = limited(8 * 256)
    over = []

    def work() -> None:
        for _ in range(300):
            address = allocator.allocate_raw(256, optional=True)
            if bfc.get_stats().bytes_in_use > 8 * 256:
                over.append(True)
            allocator.deallocate_raw(address)

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not over
    assert allocator.get_stats().bytes_in_use == 0
    assert allocator.largest_free_chunk() == 8 * 256
    bfc.check()
