"""BFC's figures: TensorFlow's own test values, and each rule by a small case."""

import gc
import logging
import random
from itertools import count, pairwise

import pytest

from gpugraph.base.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from gpugraph.memory import (
    Allocator,
    AllocatorStats,
    BFCAllocator,
    FakeSubAllocator,
    HostSubAllocator,
    LimitingAllocator,
    TrackingAllocator,
)
from gpugraph.memory.bfc import out_of_memory_log

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
BASE = 1 << 32


def make(total: int = GIB, growth: bool = False, *, held: int | None = None) -> BFCAllocator:
    """Return an allocator over addresses from BASE on; `held` is the memory of the
    sub-allocator.
    """
    return BFCAllocator(FakeSubAllocator(held, BASE), total, "GPU_0_bfc", growth)


def get(allocator: BFCAllocator, num_bytes: int) -> int:
    address = allocator.allocate_raw(num_bytes)
    allocator.check()
    assert address is not None
    return address


def free(allocator: BFCAllocator, address: int | None) -> None:
    allocator.deallocate_raw(address)
    allocator.check()


def counts(allocator: BFCAllocator) -> tuple[int, int, int, int]:
    stats = allocator.get_stats()
    return (stats.num_allocs, stats.bytes_in_use, stats.peak_bytes_in_use, stats.largest_alloc_size)


def test_every_size_up_to_1023_without_duplicates_or_overlap() -> None:
    allocator = make()
    assert counts(allocator) == (0, 0, 0, 0)
    addresses = sorted(get(allocator, size) for size in range(1, 1024))
    assert counts(allocator) == (1023, 654336, 654336, 1024)
    for low, high in pairwise(addresses):
        assert high - low >= allocator.requested_size(low) > 0
    for address in addresses:
        allocator.deallocate_raw(address)
    assert counts(allocator) == (1023, 0, 654336, 1024)
    allocator.check()


@pytest.mark.parametrize("growth", [False, True])
def test_random_sizes_up_to_a_mebibyte_do_not_overlap(growth: bool) -> None:
    rng = random.Random(123)
    allocator = make(growth=growth)
    addresses = [get(allocator, rng.randrange(100, MIB)) for _ in range(255)]
    for address in addresses[1::2]:
        free(allocator, address)
    live = addresses[::2] + [get(allocator, rng.randrange(100, MIB)) for _ in range(255)]
    live.sort()
    for low, high in pairwise(live):
        assert high - low >= allocator.requested_size(low)
    for address in live:
        free(allocator, address)
    assert len(allocator.regions()) == sum(
        i.total_chunks_in_bin for i in allocator.bin_debug_info()
    )


def test_coalescing_lets_the_same_work_repeat_for_ever() -> None:
    allocator = make()
    sizes = [1024 * 4, 1048576 * 8, 2048 * 8, 10485760 * 4]
    first = get(allocator, sizes[0])
    free(allocator, first)
    assert counts(allocator) == (1, 0, 4096, 4096)
    for _ in range(1024):
        addresses = [allocator.allocate_raw(size) for size in sizes]
        for address in addresses:
            allocator.deallocate_raw(address)
    allocator.check()
    assert counts(allocator) == (4097, 0, sum(sizes), sizes[-1])
    assert get(allocator, sizes[0]) == first


def test_sizes_and_ids_of_an_allocation() -> None:
    allocator = make()
    assert allocator.tracks_allocation_sizes
    first, second = get(allocator, 4), get(allocator, 257)
    assert (allocator.requested_size(first), allocator.allocated_size(first)) == (4, 256)
    assert (allocator.requested_size(second), allocator.allocated_size(second)) == (257, 512)
    assert (allocator.allocation_id(first), allocator.allocation_id(second)) == (1, 2)
    assert allocator.live_allocations() == [(first, 4, 256, 1), (second, 257, 512, 2)]
    free(allocator, first)
    assert allocator.allocation_id(first) == -1
    assert get(allocator, 1) == first
    assert allocator.allocation_id(first) == 3


def test_a_limit_of_one_mebibyte() -> None:
    allocator = make(MIB)
    assert allocator.get_stats().bytes_limit == MIB
    first = get(allocator, 4 << 6)
    assert allocator.allocate_raw(4 << 20) is None
    assert allocator.largest_free_chunk() == MIB - 256
    free(allocator, first)


def test_bins_count_chunks_in_use_and_free() -> None:
    allocator = make()
    addresses = [get(allocator, 256 << i) for i in range(5) for _ in range(2)]
    for index, info in enumerate(allocator.bin_debug_info()):
        twice = 2 * (256 << index) if index < 5 else 0
        assert info.total_bytes_in_use == info.total_requested_bytes_in_use == twice
        assert info.total_chunks_in_use == (2 if index < 5 else 0)
        if index < 20:
            assert info.total_chunks_in_bin == info.total_chunks_in_use
            assert info.total_bytes_in_bin == twice
    last = allocator.bin_debug_info()[20]
    assert (last.total_chunks_in_bin, last.total_chunks_in_use) == (1, 0)
    assert last.total_bytes_in_bin == GIB - 2 * 256 * 31
    for address in addresses[1::2]:
        free(allocator, address)
    for index, info in enumerate(allocator.bin_debug_info()):
        once = 256 << index if index < 5 else 0
        assert info.total_bytes_in_use == info.total_requested_bytes_in_use == once
        assert info.total_bytes_in_bin >= once


def test_regions_without_chunks_in_use_are_given_back(caplog: pytest.LogCaptureFixture) -> None:
    sub = FakeSubAllocator()
    allocator = BFCAllocator(sub, 2 * GIB, "GPU_0_bfc", allow_growth=True)
    addresses = [get(allocator, 4 * MIB) for _ in range(128)]
    assert [region.size // MIB for region in allocator.regions()] == [4, 4, 8, 16, 32, 64, 128, 256]
    for address in addresses[:-1]:
        free(allocator, address)
    with caplog.at_level(logging.WARNING):
        assert allocator.deallocate_free_regions(0)
    assert not caplog.text  # memory is not short
    allocator.check()
    assert len(allocator.regions()) == 1
    infos = allocator.bin_debug_info()
    assert sum(i.total_chunks_in_bin - i.total_chunks_in_use for i in infos) == 1
    assert sub.num_frees == 7
    assert sub.bytes_held == allocator.get_stats().bytes_reserved == 256 * MIB
    assert not allocator.deallocate_free_regions(0)


def test_growth_begins_anew_when_regions_were_given_back() -> None:
    def sizes() -> list[int]:
        return [region.size // MIB for region in allocator.regions()]

    allocator = make(2 * GIB, growth=True)
    for _ in range(20):
        addresses = [get(allocator, MIB) for _ in range(7)]
        assert sizes() == [1, 2, 4]
        for address in addresses:
            free(allocator, address)
        assert allocator.deallocate_free_regions() and not sizes()
        allocator.check()
    addresses = [get(allocator, MIB) for _ in range(15)]
    for address in [*addresses[:1], *addresses[3:]]:
        free(allocator, address)
    assert allocator.deallocate_free_regions() and sizes() == [2]
    get(allocator, 3 * MIB)
    assert sizes() == [2, 4]


@pytest.mark.parametrize("limit", [0, 100, MIB // 2, MIB, 3 * MIB])
@pytest.mark.parametrize("growth", [False, True])
def test_growth_of_small_limits_after_regions_were_given_back(limit: int, growth: bool) -> None:
    allocator = make(limit, growth=growth)
    before = None
    for _ in range(3):
        address = allocator.allocate_raw(limit // 2)
        sizes = [region.size for region in allocator.regions()]
        assert before in (None, sizes)
        before = sizes
        allocator.deallocate_raw(address)
        assert allocator.deallocate_free_regions() is bool(sizes)


@pytest.mark.parametrize(
    ("hole", "need", "handed_out"),
    [
        (1024, 512, 512),  # twice the need: split
        (1024, 768, 1024),  # less than twice: whole
        (300 * MIB, 172 * MIB, 172 * MIB),  # 128 MiB would be lost: split
        (300 * MIB, 172 * MIB + 256, 300 * MIB),  # a little less would: whole
    ],
)
def test_when_a_chunk_is_split(hole: int, need: int, handed_out: int) -> None:
    allocator = make(hole)
    assert allocator.allocated_size(get(allocator, need)) == handed_out


def test_best_fit_takes_the_smallest_then_the_lowest() -> None:
    allocator = make()
    sizes = [1024, 256, 768, 256, 1024, 256, 768, 256]
    addresses = [get(allocator, size) for size in sizes]
    for address in addresses[::2]:
        free(allocator, address)
    assert get(allocator, 700) == addresses[2]
    assert get(allocator, 700) == addresses[6]
    assert get(allocator, 700) == addresses[0]


def test_freed_chunks_join_both_neighbours() -> None:
    allocator = make(4096)
    first, second, third, fourth = (get(allocator, 256) for _ in range(4))
    free(allocator, first)
    free(allocator, third)
    free(allocator, second)
    assert allocator.largest_free_chunk() == 4096 - 1024
    assert get(allocator, 768) == first
    free(allocator, fourth)
    assert allocator.largest_free_chunk() == 4096 - 768


def test_chunks_never_span_regions_that_touch() -> None:
    allocator = make(2 * MIB, growth=True)
    first, second = get(allocator, MIB), get(allocator, MIB)
    assert second == first + MIB
    free(allocator, first)
    free(allocator, second)
    assert allocator.largest_free_chunk() == MIB
    assert [info.total_chunks_in_bin for info in allocator.bin_debug_info()][12] == 2


def test_what_the_limit_leaves_when_garbage_is_collected(caplog: pytest.LogCaptureFixture) -> None:
    allocator = make(8 * MIB, growth=True)
    held = get(allocator, MIB)
    other = get(allocator, MIB)
    free(allocator, get(allocator, 4 * MIB))
    free(allocator, other)
    assert [region.size // MIB for region in allocator.regions()] == [1, 2, 4]
    with caplog.at_level(logging.WARNING):
        assert get(allocator, 7 * MIB) == BASE + 7 * MIB
    assert "returns 6.00MiB in 2 free regions" in caplog.text
    assert [region.size // MIB for region in allocator.regions()] == [1, 7]
    free(allocator, held)


def test_garbage_is_kept_if_it_cannot_help_or_must_not_be_collected() -> None:
    allocator = make(8 * MIB, growth=True)
    get(allocator, MIB)
    free(allocator, get(allocator, 2 * MIB))
    assert allocator.allocate_raw(8 * MIB) is None
    assert len(allocator.regions()) == 2
    hoarder = BFCAllocator(FakeSubAllocator(), 2 * MIB, "b", True, garbage_collection=False)
    free(hoarder, get(hoarder, MIB))
    assert hoarder.allocate_raw(2 * MIB) is None
    assert not hoarder.deallocate_free_regions()


@pytest.mark.parametrize("what", ["requested_size", "allocated_size", "deallocate_raw"])
def test_unknown_and_freed_addresses_are_errors(what: str) -> None:
    allocator = make()
    address = get(allocator, 1000)
    for wrong in (address + 1, address + 1024, 0):
        with pytest.raises(InvalidArgumentError, match=rf"\(GPU_0_bfc\).*{wrong:#x}"):
            getattr(allocator, what)(wrong)
    free(allocator, address)
    with pytest.raises(InvalidArgumentError, match=rf"\(GPU_0_bfc\).*{address:#x}"):
        getattr(allocator, what)(address)
    free(allocator, None)
    with pytest.raises(InvalidArgumentError, match="allocation id"):
        allocator.allocation_id(address + 1)


def test_statistics_are_copies_and_can_be_restarted() -> None:
    allocator = make(MIB)
    address = get(allocator, 1000)
    stats = allocator.get_stats()
    get(allocator, 1)
    assert stats == AllocatorStats(1, 1024, 1024, 1024, MIB, MIB, MIB, None)
    free(allocator, address)
    allocator.clear_stats()
    assert counts(allocator) == (0, 256, 256, 0)


def test_limits_that_hold_nothing() -> None:
    for total in (0, 255):
        assert make(total).allocate_raw(1) is None
        assert make(total, growth=True).allocate_raw(1) is None
    with pytest.raises(InvalidArgumentError, match=r"GPU_0_bfc.*-1"):
        make(-1)


def test_a_failure_is_reported_and_the_allocator_stays_usable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    allocator = make(MIB)
    with caplog.at_level(logging.WARNING):
        assert allocator.allocate_raw(2 * MIB) is None
    assert caplog.messages == [allocator.dump_memory_log(2 * MIB)]
    assert get(allocator, MIB) == BASE


def test_only_the_first_ten_optional_failures_are_mentioned(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out_of_memory_log, "_optional_failures", count())
    allocator = make(MIB)
    with caplog.at_level(logging.WARNING):
        for _ in range(20):
            assert allocator.allocate_raw(2 * MIB, optional=True) is None
    assert len(caplog.messages) == 10
    assert "2.00MiB" in caplog.messages[0]
    assert "not a failure" in caplog.messages[0]


def test_a_visitor_or_finalizer_may_free_from_inside() -> None:
    """As the garbage collector does when it runs in the middle of a call."""
    addresses: list[int] = []
    errors: list[InvalidArgumentError] = []

    def finalize(address: int, num_bytes: int) -> None:
        if addresses:
            allocator.deallocate_raw(addresses[0])
            try:
                allocator.deallocate_raw(addresses.pop())
            except InvalidArgumentError as error:
                errors.append(error)

    sub = FakeSubAllocator(base=BASE, alloc_visitors=[finalize])
    allocator = BFCAllocator(sub, 4 * MIB, "b", allow_growth=True)
    addresses.append(get(allocator, MIB))
    get(allocator, MIB)
    assert len(errors) == 1
    assert counts(allocator)[1] == MIB
    assert get(allocator, MIB) == BASE


class Cyclic:
    """Memory that only the garbage collector finds, whenever it happens to run."""

    def __init__(self, allocator: Allocator, num_bytes: int) -> None:
        self.me = self
        self.allocator = allocator
        self.address = allocator.allocate_raw(num_bytes)

    def __del__(self) -> None:
        self.allocator.deallocate_raw(self.address)


def test_the_garbage_collector_may_run_anywhere() -> None:
    base = BFCAllocator(FakeSubAllocator(), GIB, "b", allow_growth=True)
    tracking = TrackingAllocator(base, True)
    top = LimitingAllocator(tracking, GIB)
    thresholds = gc.get_threshold()
    try:
        for threshold in (1, 2, 7, 1_000_000):
            gc.set_threshold(threshold)
            for size in range(1, 3000):
                Cyclic(top, 100 * size)
                if size % 500 == 0:
                    base.check()
                    assert base.live_allocations()
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    base.check()
    assert counts(base)[:2] == (4 * 2999, 0)
    assert top.get_stats().bytes_in_use == tracking.get_sizes()[2] == 0


def test_many_frees_from_inside_are_all_done() -> None:
    allocator = make()
    addresses = [allocator.allocate_raw(256) for _ in range(5000)]
    with allocator._exclusive():
        for address in addresses:
            allocator.deallocate_raw(address)
        assert allocator.get_stats().bytes_in_use == 5000 * 256
    allocator.check()
    assert counts(allocator)[1] == 0


def test_nothing_else_may_be_done_from_inside() -> None:
    refused = []

    def meddle(address: int, num_bytes: int) -> None:
        for call in (allocator.allocate_raw, allocator.deallocate_free_regions):
            with pytest.raises(FailedPreconditionError, match=r"\(b\).*inside"):
                call(1)
            refused.append(call)

    allocator = BFCAllocator(FakeSubAllocator(alloc_visitors=[meddle]), MIB, "b")
    get(allocator, 1)
    assert len(refused) == 2


def test_host_memory_can_be_written_through_its_region() -> None:
    allocator = BFCAllocator(HostSubAllocator(), 64 * MIB, "cpu", allow_growth=True)
    addresses = [get(allocator, 3 * KIB) for _ in range(1000)]
    for number, address in enumerate(addresses):
        base, buffer = allocator.host_region(address)
        view = memoryview(buffer)[address - base : address - base + 3 * KIB]
        view[:] = bytes([number % 251]) * (3 * KIB)
    for number, address in enumerate(addresses):
        base, buffer = allocator.host_region(address)
        assert buffer[address - base + 3 * KIB - 1] == number % 251
    assert len(allocator.regions()) == 2


def test_disagreeing_statistics_are_found() -> None:
    allocator = make()
    get(allocator, 1)
    allocator._stats.bytes_in_use += 1
    with pytest.raises(InternalError, match="disagrees on bytes in use, the peak"):
        allocator.check()
