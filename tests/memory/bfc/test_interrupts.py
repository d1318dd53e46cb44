"""Ctrl-C in the middle of a change leaves a BFC allocator whole."""

from __future__ import annotations

import sys
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from gpugraph.memory import BFCAllocator, FakeSubAllocator
from gpugraph.memory.bfc import chunk_store as bfc_chunks

CHANGING = {"take", "release", "_split", "_merge", "_insert", "_remove", "_new_chunk", "_drop"}
CHANGING |= {"add_region", "remove_region", "forget_region"}


def interrupting(countdown: int) -> Any:
    """A trace function that raises KeyboardInterrupt at a line of the store's changes."""
    left = [countdown]

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        changes = code.co_filename == bfc_chunks.__file__ and code.co_name in CHANGING
        return line if changes else None

    return call


def fragmented(total: int = 1 << 20) -> tuple[BFCAllocator, list[int]]:
    """An allocator with chunks in use and free neighbours between them."""
    allocator = BFCAllocator(FakeSubAllocator(), total, "bfc", allow_growth=True)
    addresses = [allocator.allocate_raw(size) for size in (300, 5000, 256, 256, 70_000, 512, 900)]
    for index in (1, 3):
        allocator.deallocate_raw(addresses[index])
    return allocator, [a for i, a in enumerate(addresses) if a is not None and i not in (1, 3)]


@pytest.mark.parametrize(
    "change",
    ["a split", "an exact fit", "a new region", "a release between free chunks", "a last release"],
)
def test_an_interrupted_change_is_undone_or_done(change: str) -> None:
    interrupted = 0
    for countdown in range(1, 200):
        allocator, live = fragmented(8 << 20)
        size = {"a split": 1000, "an exact fit": 5120, "a new region": 3 << 20}.get(change)
        which = live[2] if change == "a last release" else live[1]
        got: int | None = None
        sys.settrace(interrupting(countdown))
        try:
            if size is not None:
                got = allocator.allocate_raw(size)
            else:
                allocator.deallocate_raw(which)
            done = True
        except KeyboardInterrupt:
            done = False
            interrupted += 1
        finally:
            sys.settrace(None)
        if size is None:
            live.remove(which)  # an interrupted release is finished
        allocator.check()
        held = [live.address for live in allocator.live_allocations()]
        assert held == sorted(live + ([got] if got is not None else []))
        for address in held:
            allocator.deallocate_raw(address)
        allocator.check()
        assert allocator.get_stats().bytes_in_use == 0
        if done:
            break
    assert interrupted > 3


class FreesWhenInterrupted(FakeSubAllocator):
    """Interrupted while a region is freed: before or after it is gone."""

    is_gone = False
    interrupts = True

    def free(self, address: int, num_bytes: int) -> None:
        if not self.interrupts or self.is_gone:
            super().free(address, num_bytes)
        if self.interrupts:
            self.interrupts = False
            raise KeyboardInterrupt


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_region_is_given_back_once_where_that_is_interrupted(is_gone: bool) -> None:
    source = FreesWhenInterrupted()
    source.is_gone = is_gone
    allocator = BFCAllocator(source, 8 << 20, "bfc", allow_growth=True)
    kept = allocator.allocate_raw(1 << 20)
    for size in (2 << 20, 4 << 20):
        allocator.deallocate_raw(allocator.allocate_raw(size))
    with pytest.raises(KeyboardInterrupt):
        allocator.deallocate_free_regions()
    allocator.check()
    assert allocator.deallocate_free_regions()
    allocator.check()
    assert source.bytes_held == 1 << 20 == allocator.get_stats().bytes_in_use
    allocator.deallocate_raw(kept)


def free_meanwhile(countdown: int) -> bool:
    """Frees two chunks from inside a request that is interrupted; whether it was over before."""
    allocator, live = fragmented(8 << 20)
    freed: list[int] = []

    def free_from_inside(address: int, num_bytes: int) -> None:
        for number in 1, 2:
            allocator.deallocate_raw(live[number])
            freed.append(live[number])

    source: Any = allocator.sub_allocator
    source._alloc_visitors = (free_from_inside,)
    holder = SimpleNamespace(address=None)
    is_over = False
    sys.settrace(interrupting(countdown))
    try:
        is_over = allocator.allocate_for(holder, 3 << 20)  # in a new region
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    source._alloc_visitors = ()
    allocator.deallocate_raw(allocator.allocate_raw(256))
    allocator.check()
    for address in [*(address for address in live if address not in freed), holder.address]:
        allocator.deallocate_raw(address)
    allocator.check()
    assert allocator.get_stats().bytes_in_use == 0
    return is_over


def test_frees_that_were_put_off_are_done_where_that_is_interrupted() -> None:
    place = next(place for place in range(1, 500) if free_meanwhile(place))
    assert place > 50
