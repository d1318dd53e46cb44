"""The interface: its rules for an allocator that keeps nothing, and for a bare wrapper."""

import pytest

from gpugraph.base.errors import FailedPreconditionError, InvalidArgumentError
from gpugraph.memory import (
    Allocator,
    AllocatorStats,
    AllocatorWrapper,
    BFCAllocator,
    FakeSubAllocator,
    HostSubAllocator,
)


class Bump(Allocator):
    """Gives ever higher addresses and remembers nothing."""

    def __init__(self) -> None:
        self.next = 64

    @property
    def name(self) -> str:
        return "bump"

    def allocate_raw(
        self, num_bytes: int, *, retry: bool = False, optional: bool = False
    ) -> int | None:
        self.next += 64
        return self.next

    def deallocate_raw(self, address: int | None) -> None:
        return


def test_an_allocator_that_keeps_nothing_says_so() -> None:
    bump = Bump()
    assert not bump.tracks_allocation_sizes
    assert bump.allocation_id(128) == 0
    assert bump.get_stats() == AllocatorStats()
    bump.clear_stats()
    assert bump.live_allocations() == []
    assert bump.largest_free_chunk() is None
    assert "Allocator (bump)" in bump.dump_memory_log(1)
    with pytest.raises(FailedPreconditionError, match=r"bump.*0x80"):
        bump.requested_size(128)
    with pytest.raises(FailedPreconditionError, match=r"bump.*0x80"):
        bump.allocated_size(128)
    with pytest.raises(FailedPreconditionError, match="not host memory"):
        bump.host_region(128)


def test_a_wrapper_passes_everything_through() -> None:
    bfc = BFCAllocator(HostSubAllocator(), 1 << 20, "below")
    wrapper = AllocatorWrapper(bfc)
    address = wrapper.allocate_raw(300)
    assert address is not None
    assert wrapper.inner is bfc
    assert wrapper.name == "below"
    assert wrapper.tracks_allocation_sizes
    assert wrapper.requested_size(address) == 300
    assert wrapper.allocated_size(address) == 512
    assert wrapper.allocation_id(address) == 1
    assert wrapper.get_stats() == bfc.get_stats()
    assert wrapper.host_region(address) == bfc.host_region(address)
    assert wrapper.live_allocations() == [(address, 300, 512, 1)]
    assert wrapper.largest_free_chunk() == (1 << 20) - 512
    assert wrapper.dump_memory_log(1) == bfc.dump_memory_log(1)
    wrapper.deallocate_raw(address)
    wrapper.clear_stats()
    assert bfc.get_stats().num_allocs == 0


def test_sizes_that_cannot_be() -> None:
    bfc = BFCAllocator(FakeSubAllocator(), 1 << 20, "small")
    assert bfc.allocate_raw(0) is None
    assert bfc.allocate_raw(2**63) is None
    assert bfc.allocate_raw(2**80, retry=True) is None
    with pytest.raises(InvalidArgumentError, match=r"\(small\).*-1 bytes"):
        bfc.allocate_raw(-1)
