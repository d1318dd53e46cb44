"""Adaptors: their records, logs and refusals, alone and on top of each other."""

import pytest

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.memory import (
    BFCAllocator,
    FailingAllocator,
    FailingSubAllocator,
    FakeSubAllocator,
    LimitingAllocator,
    LoggingAllocator,
    RecordingAllocator,
    TrackingAllocator,
    compare,
)


def bfc() -> BFCAllocator:
    return BFCAllocator(FakeSubAllocator(), 1 << 20, "fake", allow_growth=True)


def test_a_recording_is_what_was_allocated_and_can_be_replayed():
    allocator = RecordingAllocator(bfc())
    first, second = allocator.allocate_raw(1000), allocator.allocate_raw(5000)
    assert allocator.allocate_raw(2 << 20) is None
    allocator.deallocate_raw(first)
    allocator.deallocate_raw(None)
    third = allocator.allocate_raw(700)
    assert third == first
    assert allocator.trace.text() == "+1 1000\n+2 5000\n-1\n+3 700\n"
    assert {row.policy: row.peak_bytes for row in compare(allocator.trace)}["bound"] == 6000
    allocator.deallocate_raw(second)
    with pytest.raises(InvalidArgumentError, match="never allocated or has already taken back"):
        allocator.deallocate_raw(second)
    assert allocator.inner.get_stats().num_allocs == 3


def test_a_log_has_a_line_for_each_call():
    lines: list[str] = []
    allocator = LoggingAllocator(bfc(), lines.append)
    address = allocator.allocate_raw(100)
    allocator.allocate_raw(1 << 30)
    allocator.deallocate_raw(address)
    place = f"at {address:#x}"
    assert lines == [
        f"fake allocate 100 {place}", "fake allocate 1073741824 refused", f"fake free {place}"
    ]  # fmt: skip


def test_refusals_by_number_and_by_size():
    allocator = FailingAllocator(bfc(), lambda number, num_bytes: number == 1 or num_bytes > 4096)
    assert [allocator.allocate_raw(size) is None for size in (8, 8, 8, 5000)] == [
        *(False, True, False, True)
    ]
    assert allocator.num_requests == 4 and allocator.get_stats().num_allocs == 2


def test_a_sub_allocator_that_refuses_once_is_asked_again():
    source = FailingSubAllocator(FakeSubAllocator(), lambda number, _: number == 0)
    allocator = BFCAllocator(source, 1 << 20, "fake")
    address = allocator.allocate_raw(100)  # of a region that is a tenth smaller
    assert address is not None and source.num_requests == 2
    assert allocator.get_stats().bytes_reserved < 1 << 20
    allocator.check()


def test_they_stack():
    recording = RecordingAllocator(TrackingAllocator(bfc(), True))
    allocator = LimitingAllocator(FailingAllocator(recording, lambda number, _: number == 0), 4096)
    assert allocator.allocate_raw(256) is None
    address = allocator.allocate_raw(256)
    assert allocator.allocate_raw(8192) is None
    allocator.deallocate_raw(address)
    assert recording.trace.text() == "+1 256\n-1\n"
    assert recording.inner.get_sizes() == (256, 256, 0)
