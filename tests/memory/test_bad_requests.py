"""Requests that can not be met, for BFC and every allocator on top of it: each a named error, or
None, after which the allocator is whole."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.memory import (
    Allocator,
    BFCAllocator,
    FailingAllocator,
    FakeSubAllocator,
    LimitingAllocator,
    LoggingAllocator,
    RecordingAllocator,
    TrackingAllocator,
)

MIB = 1 << 20
KINDS: dict[str, Callable[[Allocator], Allocator]] = {
    "BFC": lambda bfc: bfc,
    "limit": lambda bfc: LimitingAllocator(bfc, 2 * MIB),
    "statistics": lambda bfc: TrackingAllocator(bfc, True),
    "record": RecordingAllocator,
    "log": lambda bfc: LoggingAllocator(bfc, lambda line: None),
    "failure": lambda bfc: FailingAllocator(bfc, lambda number, num_bytes: num_bytes == 4096),
    "all": lambda bfc: FailingAllocator(
        LoggingAllocator(
            RecordingAllocator(TrackingAllocator(LimitingAllocator(bfc, 2 * MIB), True)), print
        ),
        lambda number, num_bytes: False,
    ),
}


@pytest.fixture(params=KINDS)
def allocators(
    request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> Iterator[tuple[Allocator, BFCAllocator]]:
    """Yield an allocator, and the BFC below it; that is whole at the end, and all of it is free."""
    caplog.set_level(logging.CRITICAL)
    bfc = BFCAllocator(FakeSubAllocator(), 4 * MIB, "bfc")
    allocator = KINDS[request.param](bfc)
    kept = allocator.allocate_raw(3000)
    yield allocator, bfc
    bfc.check()
    assert allocator.get_stats().bytes_in_use in (3000, 3072)
    allocator.deallocate_raw(kept)
    assert bfc.get_stats().bytes_in_use == 0
    again = allocator.allocate_raw(MIB)
    assert again is not None
    allocator.deallocate_raw(again)


Pair = tuple[Allocator, BFCAllocator]


@pytest.mark.parametrize("num_bytes", [0, 5 * MIB, 2**62, 2**63 - 1, 2**63, 2**64 + 1, 2**200])
def test_sizes_that_can_not_be_had(allocators: Pair, num_bytes: int) -> None:
    allocator, _ = allocators
    assert allocator.allocate_raw(num_bytes) is None
    assert allocator.allocate_raw(num_bytes, optional=True) is None


@pytest.mark.parametrize("num_bytes", [-1, -(2**63), -(2**70)])
def test_negative_sizes(allocators: Pair, num_bytes: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"bfc.*negative size: {num_bytes} bytes"):
        allocators[0].allocate_raw(num_bytes)


def test_what_is_freed_twice(allocators: Pair) -> None:
    allocator, _ = allocators
    address = allocator.allocate_raw(1000)
    allocator.deallocate_raw(address)
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="never allocated or has already taken back"):
            allocator.deallocate_raw(address)


@pytest.mark.parametrize("kind", ["foreign", "inside", "another allocator's", "negative"])
def test_addresses_that_are_not_its_own(allocators: Pair, kind: str) -> None:
    allocator, _ = allocators
    other = BFCAllocator(FakeSubAllocator(base=1 << 50), MIB, "other")
    address = allocator.allocate_raw(1000)
    assert address is not None
    wrong = {
        "foreign": 12345,
        "inside": address + 64,
        "another allocator's": other.allocate_raw(1000),
        "negative": -address,
    }[kind]
    with pytest.raises(InvalidArgumentError, match="never allocated or has already taken back"):
        allocator.deallocate_raw(wrong)
    allocator.deallocate_raw(address)
    allocator.deallocate_raw(None)
