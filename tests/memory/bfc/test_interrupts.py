"""A signal in the middle of a change of a BFC allocator: its handler is called after the change."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from gpugraph.memory import BFCAllocator, FakeSubAllocator
from gpugraph.memory.bfc import bfc_allocator, chunk_store, region_growth
from tests.signals_at import raising, stopped_at_line

FILES = {str(module.__file__) for module in (bfc_allocator, chunk_store, region_growth)}


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    with raising():
        yield


def fragmented(total: int = 1 << 20) -> tuple[BFCAllocator, list[int]]:
    """Return an allocator with chunks in use and free neighbours between them."""
    allocator = BFCAllocator(FakeSubAllocator(), total, "bfc", allow_growth=True)
    addresses = [allocator.allocate_raw(size) for size in (300, 5000, 256, 256, 70_000, 512, 900)]
    for index in (1, 3):
        allocator.deallocate_raw(addresses[index])
    return allocator, [a for i, a in enumerate(addresses) if a is not None and i not in (1, 3)]


def check_held(allocator: BFCAllocator, addresses: list[int]) -> None:
    """These are held and no others; then all is free."""
    allocator.check()
    assert [live.address for live in allocator.live_allocations()] == sorted(addresses)
    for address in addresses:
        allocator.deallocate_raw(address)
    allocator.check()
    assert allocator.get_stats().bytes_in_use == 0


SIZES = {"a split": 1000, "an exact fit": 5120, "a new region": 3 << 20}


@pytest.mark.parametrize("change", SIZES)
def test_an_allocation_is_done_and_its_holder_has_it(change: str) -> None:
    for place in range(1, 500):
        allocator, live = fragmented(8 << 20)
        holder = SimpleNamespace(address=None)
        interrupted = stopped_at_line(
            FILES, partial(allocator.allocate_for, holder, SIZES[change]), place
        )
        check_held(allocator, live if holder.address is None else [*live, holder.address])
        if not interrupted:
            break
    assert 3 < place < 499


@pytest.mark.parametrize("which", [1, 2])
def test_a_release_is_done_or_has_not_begun(which: int) -> None:
    for place in range(1, 500):
        allocator, live = fragmented(8 << 20)
        holder = SimpleNamespace(address=live[which])
        interrupted = stopped_at_line(FILES, partial(allocator.deallocate_for, holder), place)
        check_held(allocator, [x for x in live if x != live[which] or holder.address is not None])
        if not interrupted:
            break
    assert 3 < place < 499


def test_free_regions_are_given_back_once() -> None:
    for place in range(1, 500):
        source = FakeSubAllocator()
        allocator = BFCAllocator(source, 8 << 20, "bfc", allow_growth=True)
        kept = allocator.allocate_raw(1 << 20)
        for size in (2 << 20, 4 << 20):
            allocator.deallocate_raw(allocator.allocate_raw(size))
        interrupted = stopped_at_line(FILES, allocator.deallocate_free_regions, place)
        allocator.check()
        allocator.deallocate_free_regions()
        assert source.bytes_held == 1 << 20 == allocator.get_stats().bytes_in_use
        allocator.deallocate_raw(kept)
        if not interrupted:
            break
    assert 10 < place < 499


def test_frees_that_were_put_off_are_done() -> None:
    for place in range(1, 800):
        allocator, live = fragmented(8 << 20)
        freed: list[int] = []

        def free_from_inside(address: int, num_bytes: int) -> None:
            for number in 1, 2:
                allocator.deallocate_raw(live[number])  # noqa: B023 - called at once
                freed.append(live[number])  # noqa: B023

        source: Any = allocator.sub_allocator
        source._alloc_visitors = (free_from_inside,)
        holder = SimpleNamespace(address=None)
        interrupted = stopped_at_line(
            FILES, partial(allocator.allocate_for, holder, 3 << 20), place
        )
        source._alloc_visitors = ()
        held = [*live, holder.address] if holder.address is not None else live
        check_held(allocator, [address for address in held if address not in freed])
        if not interrupted:
            break
    assert 50 < place < 799
