"""BFC over a sub-allocator that refuses now and then: invariants hold, and nothing is lost."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.memory import BFCAllocator, FailingSubAllocator, FakeSubAllocator, LiveAllocation

MIB = 1 << 20
SIZES = st.one_of(st.integers(1, 4096), st.integers(1, 4 * MIB), st.sampled_from([256, MIB]))


class Failures(RuleBasedStateMachine):
    """Allocates, frees, grows, collects, is refused, and passes invalid sizes and addresses."""

    @initialize(limit=st.integers(0, 16 * MIB), growth=st.booleans(), collect=st.booleans())
    def start(self, limit: int, growth: bool, collect: bool) -> None:
        self.refuses = False
        self.source = FakeSubAllocator()
        source = FailingSubAllocator(self.source, lambda *_: self.refuses)
        self.limit = limit
        self.allocator = BFCAllocator(source, limit, "failing", growth, collect)
        self.live: dict[int, int] = {}

    @rule(refuses=st.booleans())
    def refuse_regions(self, refuses: bool) -> None:
        self.refuses = refuses

    @rule(num_bytes=SIZES)
    def allocate(self, num_bytes: int) -> None:
        before, hole = self.source.bytes_held, self.allocator.largest_free_chunk()
        address = self.allocator.allocate_raw(num_bytes)
        if address is None:
            assert hole < -(-num_bytes // 256) * 256
            return
        assert self.source.bytes_held <= max(before, self.limit)
        assert address not in self.live and address % 256 == 0
        self.live[address] = num_bytes

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        address = data.draw(st.sampled_from(sorted(self.live)))
        del self.live[address]
        self.allocator.deallocate_raw(address)
        with pytest.raises(InvalidArgumentError, match="already taken back"):
            self.allocator.deallocate_raw(address)

    @rule(num_bytes=st.one_of(st.just(0), st.integers(1 << 63, 1 << 70)))
    def ask_for_nothing_or_too_much(self, num_bytes: int) -> None:
        assert self.allocator.allocate_raw(num_bytes) is None

    @rule(num_bytes=st.integers(max_value=-1))
    def ask_for_a_negative_size(self, num_bytes: int) -> None:
        with pytest.raises(InvalidArgumentError, match="negative size"):
            self.allocator.allocate_raw(num_bytes)

    @rule(offset=st.integers(1, 255))
    def free_a_foreign_address(self, offset: int) -> None:
        with pytest.raises(InvalidArgumentError, match="never allocated"):
            self.allocator.deallocate_raw(next(iter(self.live), 1 << 20) + offset)

    @rule()
    def collect(self) -> None:
        self.allocator.deallocate_free_regions()

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        if not hasattr(self, "allocator"):
            return
        self.allocator.check()
        live = [LiveAllocation(*row) for row in self.allocator.live_allocations()]
        assert {row.address: row.requested for row in live} == self.live
        ends = [(row.address, row.address + row.allocated) for row in live]
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))


class TestFailures(Failures.TestCase):
    settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
