"""Counts of the tracking wrapper in TensorFlow's three cases."""

import pytest

from gpugraph.base.errors import FailedPreconditionError, InvalidArgumentError
from gpugraph.memory import (
    Allocator,
    BFCAllocator,
    FakeSubAllocator,
    HostSubAllocator,
    TrackingAllocator,
)


class Plain(Allocator):
    """A malloc of addresses; keeps sizes only if told to."""

    def __init__(self, tracks: bool = False, memory: bool = True) -> None:
        self.tracks = tracks
        self.memory = memory
        self.sizes: dict[int, int] = {}
        self.last = 0

    @property
    def name(self) -> str:
        return "plain"

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        if not self.memory:
            return None
        self.last += 4096
        self.sizes[self.last] = num_bytes
        return self.last

    def deallocate_raw(self, address: int | None) -> None:
        if address is not None:
            del self.sizes[address]

    @property
    def tracks_allocation_sizes(self) -> bool:
        return self.tracks

    def requested_size(self, address: int) -> int:
        return self.sizes[address]


def amounts(tracking: TrackingAllocator) -> list[int]:
    return [record.alloc_bytes for record in tracking.get_records_and_unref()]


def test_without_any_tracking_only_requests_count() -> None:
    tracking = TrackingAllocator(Plain(), track_sizes=False)
    assert not tracking.tracks_allocation_sizes
    tracking.deallocate_raw(tracking.allocate_raw(4))
    last = tracking.allocate_raw(12)
    assert tracking.get_sizes() == (16, 0, 0)
    tracking.deallocate_raw(last)
    assert amounts(tracking) == [4, 12]


def test_local_tracking_knows_sizes_and_numbers() -> None:
    tracking = TrackingAllocator(Plain(), track_sizes=True)
    assert tracking.tracks_allocation_sizes
    first = tracking.allocate_raw(4)
    assert first is not None
    assert tracking.requested_size(first) == 4
    assert tracking.allocated_size(first) == 4
    assert tracking.allocation_id(first) == 1
    tracking.deallocate_raw(first)
    second = tracking.allocate_raw(12)
    assert second is not None
    assert tracking.requested_size(second) == 12
    assert tracking.allocation_id(second) == 2
    assert tracking.get_sizes() == (16, 12, 12)
    for ask in (tracking.requested_size, tracking.allocated_size, tracking.allocation_id):
        with pytest.raises(InvalidArgumentError, match="plain"):
            ask(first)
    with pytest.raises(InvalidArgumentError, match="to free"):
        tracking.deallocate_raw(first)
    tracking.deallocate_raw(second)
    assert amounts(tracking) == [4, -4, 12, -12]


@pytest.mark.parametrize("track_sizes", [False, True])
def test_sizes_of_the_allocator_below_are_used(track_sizes: bool) -> None:
    tracking = TrackingAllocator(Plain(tracks=True), track_sizes)
    tracking.deallocate_raw(tracking.allocate_raw(12))
    last = tracking.allocate_raw(4)
    assert tracking.get_sizes() == (16, 12, 4)
    tracking.deallocate_raw(last)
    assert amounts(tracking) == [12, -12, 4, -4]


def test_over_bfc_allocated_sizes_count() -> None:
    tracking = TrackingAllocator(BFCAllocator(FakeSubAllocator(), 1 << 20, "b"), True)
    address = tracking.allocate_raw(300)
    assert address is not None
    assert tracking.get_sizes() == (512, 512, 512)
    assert tracking.requested_size(address) == 300
    assert tracking.allocation_id(address) == 1
    assert tracking.get_stats().bytes_in_use == 512
    with pytest.raises(InvalidArgumentError, match=r"\(b\)"):
        tracking.deallocate_raw(address + 256)
    assert tracking.get_sizes() == (512, 512, 512)


def test_no_memory_leaves_no_trace() -> None:
    tracking = TrackingAllocator(Plain(tracks=True, memory=False), track_sizes=False)
    assert tracking.allocate_raw(12) is None
    assert tracking.get_sizes() == (0, 0, 0)
    assert amounts(tracking) == []


def test_freeing_nothing_does_nothing() -> None:
    tracking = TrackingAllocator(Plain(tracks=True), track_sizes=False)
    tracking.deallocate_raw(None)
    assert tracking.get_sizes() == (0, 0, 0)
    assert amounts(tracking) == []


def test_the_wrapper_is_spent_with_its_records_and_its_last_allocation() -> None:
    tracking = TrackingAllocator(Plain(), track_sizes=True)
    address = tracking.allocate_raw(8)
    assert [record.alloc_bytes for record in tracking.get_current_records()] == [8]
    assert amounts(tracking) == [8]
    assert not tracking.spent
    tracking.deallocate_raw(address)
    assert tracking.spent
    with pytest.raises(FailedPreconditionError, match="plain"):
        tracking.allocate_raw(8)
    with pytest.raises(FailedPreconditionError, match="plain"):
        tracking.get_records_and_unref()


def test_records_tell_the_time_in_order() -> None:
    tracking = TrackingAllocator(Plain(), track_sizes=True)
    tracking.deallocate_raw(tracking.allocate_raw(8))
    allocated, freed = tracking.get_current_records()
    assert 1_500_000_000_000_000 < allocated.alloc_micros <= freed.alloc_micros


def test_host_memory_shows_through() -> None:
    bfc = BFCAllocator(HostSubAllocator(), 1 << 20, "host")
    tracking = TrackingAllocator(bfc, True)
    address = tracking.allocate_raw(64)
    assert address is not None
    base, buffer = tracking.host_region(address)
    memoryview(buffer)[address - base] = 9
    assert buffer[address - base] == 9
