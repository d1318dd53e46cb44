"""Requests for regions: growth, limits, refusals."""

import numpy as np
import pytest

from gpugraph.memory import BFCAllocator, FakeSubAllocator, Region
from gpugraph.memory.bfc.chunk_store import ChunkStore
from gpugraph.memory.bfc.region_growth import RegionSource

MIB = 1 << 20


def sizes(source: RegionSource, *requests: int) -> list[int | None]:
    regions = [source.obtain(request) for request in requests]
    return [region.size if region else None for region in regions]


def test_regions_double_from_one_mebibyte() -> None:
    source = RegionSource(FakeSubAllocator(), 1 << 40, allow_growth=True)
    assert sizes(source, *[256] * 6) == [MIB << i for i in range(6)]


def test_a_request_that_does_not_fit_doubles_the_size_first_and_not_again() -> None:
    source = RegionSource(FakeSubAllocator(), 1 << 40, allow_growth=True)
    assert sizes(source, 5 * MIB, 5 * MIB, 256) == [8 * MIB, 8 * MIB, 16 * MIB]


def test_the_limit_caps_regions_in_multiples_of_256() -> None:
    source = RegionSource(FakeSubAllocator(), 4 * MIB + 300, allow_growth=True)
    assert sizes(source, 256, 256, 2 * MIB, 256, 256) == [MIB, 2 * MIB, None, MIB + 256, None]
    assert source.held_bytes == 4 * MIB + 256


@pytest.mark.parametrize(("limit", "size"), [(1000, 768), (256, 256), (MIB, MIB)])
def test_small_limits_are_the_first_region(limit: int, size: int) -> None:
    for growth in (False, True):
        assert sizes(RegionSource(FakeSubAllocator(), limit, growth), 256) == [size]


def test_without_growth_the_first_region_is_everything() -> None:
    source = RegionSource(FakeSubAllocator(), 1 << 34, allow_growth=False)
    assert sizes(source, 256, 256) == [1 << 34, None]


class Stingy(FakeSubAllocator):
    """A sub-allocator that records requests, and gives at most `most` bytes at a time."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.asked: list[int] = []

    def alloc(self, alignment: int, num_bytes: int) -> int | None:
        self.asked.append(num_bytes)
        return None if num_bytes > self.most else super().alloc(alignment, num_bytes)


def test_a_refused_region_shrinks_as_single_precision_floats_do() -> None:
    sub = Stingy(1 << 30)
    source = RegionSource(sub, 11_111_111_111, allow_growth=False)
    region = source.obtain(256)
    expected = [11_111_111_111 & -256]
    while expected[-1] > 1 << 30:
        less = int(np.float32(expected[-1]) * np.float32(0.9))
        expected.append(-(-less // 256) * 256)
    assert sub.asked == expected
    assert region == Region(1 << 32, expected[-1])


def test_a_region_shrinks_once_in_a_lifetime() -> None:
    sub = Stingy(5 * MIB)
    source = RegionSource(sub, 1 << 30, allow_growth=False)
    assert source.obtain(256) is not None
    assert len(sub.asked) > 1
    sub.asked.clear()
    assert source.obtain(256) is None
    assert len(sub.asked) == 1


@pytest.mark.parametrize("request_bytes", [256, 2304, 4 * MIB])
def test_a_region_shrinks_no_further_than_the_request(request_bytes: int) -> None:
    sub = Stingy(0)
    source = RegionSource(sub, 8 * MIB, allow_growth=False)
    assert source.obtain(request_bytes) is None
    assert sub.asked[-1] >= request_bytes
    assert len(sub.asked) == len(set(sub.asked)) > 1


def test_regions_given_back_make_room() -> None:
    source = RegionSource(FakeSubAllocator(), MIB, allow_growth=False)
    region = source.obtain(256)
    assert region is not None
    store = ChunkStore()
    store.add_region(region.base, region.size)
    source.give_back(region, store)
    assert not store.regions
    assert source.held_bytes == 0
    assert source.obtain(MIB) is not None


def test_an_allocator_over_little_memory_serves_what_there_is() -> None:
    allocator = BFCAllocator(FakeSubAllocator(total=100 * MIB), 1 << 30, "b")
    assert allocator.allocate_raw(50 * MIB) is not None
    allocator.check()
    assert 90 * MIB <= allocator.regions()[0].size <= 100 * MIB
