"""Ctrl-C in the middle of a change leaves a BFC allocator whole."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from gpugraph.memory import BFCAllocator, FakeSubAllocator
from gpugraph.memory.bfc import chunk_store as bfc_chunks

CHANGING = {"take", "release", "_split", "_merge", "_insert", "_remove", "_new_chunk", "_drop"}
CHANGING |= {"add_region"}


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
