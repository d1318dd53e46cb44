"""BFC against a plain model of the same rules: the owner of each byte, and every address.

The model keeps each region as a list of pieces and inspects all of them at each step. It states
TensorFlow's algorithm as briefly as possible.
"""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gpugraph.memory import BFCAllocator, FakeSubAllocator

BASE = 1 << 32
MIB = 1 << 20
SIZES = st.one_of(
    st.sampled_from([1, 255, 256, 257, 4096, MIB, 3 * MIB, 6 * MIB, 8 * MIB]),
    st.integers(1, 4096),
    st.integers(1, 4 * MIB),
)


@dataclass
class Piece:
    address: int
    size: int
    used: bool = False


class Model:
    """The algorithm over addresses that a FakeSubAllocator gives from BASE on."""

    def __init__(self, limit: int, growth: bool, collect: bool) -> None:
        self.limit = limit
        self.collect = collect
        self.grow = -(-(min(limit, MIB) if growth else limit) // 256) * 256
        self.next_base = BASE
        self.regions: list[list[Piece]] = []

    def held(self) -> int:
        return sum(piece.size for region in self.regions for piece in region)

    def alloc(self, num_bytes: int) -> int | None:
        need = -(-num_bytes // 256) * 256
        address = self.find(need)
        if address is None and self.extend(need):
            address = self.find(need)
        if address is None and self.drop_free_regions(need) and self.extend(need):
            address = self.find(need)
        return address

    def find(self, need: int) -> int | None:
        pieces = [p for region in self.regions for p in region if not p.used and p.size >= need]
        if not pieces:
            return None
        best = min(pieces, key=lambda piece: (piece.size, piece.address))
        if best.size >= 2 * need or best.size - need >= 128 * MIB:
            region = next(region for region in self.regions if best in region)
            rest = Piece(best.address + need, best.size - need)
            region.insert(region.index(best) + 1, rest)
            best.size = need
        best.used = True
        return best.address

    def extend(self, need: int) -> bool:
        available = (self.limit - self.held()) // 256 * 256
        if need > available:
            return False
        fitted = need <= self.grow
        while need > self.grow:
            self.grow *= 2
        size = min(self.grow, available)
        if fitted:
            self.grow *= 2
        self.regions.append([Piece(self.next_base, size)])
        self.next_base += size
        return True

    def drop_free_regions(self, need: int) -> bool:
        kept = [region for region in self.regions if any(piece.used for piece in region)]
        freed = self.held() - sum(piece.size for region in kept for piece in region)
        if not self.collect or not freed or need > self.limit - self.held() + freed:
            return False
        self.regions = kept
        return True

    def free(self, address: int) -> None:
        for region in self.regions:
            for piece in region:
                if piece.address == address:
                    piece.used = False
            self.join(region)

    def join(self, region: list[Piece]) -> None:
        index = 0
        while index + 1 < len(region):
            if region[index].used or region[index + 1].used:
                index += 1
            else:
                region[index].size += region.pop(index + 1).size


class BFCAgainstModel(RuleBasedStateMachine):
    @initialize(
        limit=st.sampled_from([9 * MIB, 300 * MIB, 2 * MIB + 300, 65536, 1000]),
        growth=st.sampled_from([True, True, False]),
        collect=st.sampled_from([True, True, False]),
    )
    def begin(self, limit: int, growth: bool, collect: bool) -> None:
        self.model = Model(limit, growth, collect)
        self.bfc = BFCAllocator(FakeSubAllocator(base=BASE), limit, "b", growth, collect)
        self.live: dict[int, int] = {}

    @rule(num_bytes=SIZES)
    def allocate(self, num_bytes: int) -> None:
        address = self.bfc.allocate_raw(num_bytes, optional=True)
        assert address == self.model.alloc(num_bytes)
        if address is not None:
            assert address not in self.live
            self.live[address] = num_bytes

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        address = data.draw(st.sampled_from(sorted(self.live)))
        self.bfc.deallocate_raw(address)
        self.model.free(address)
        del self.live[address]

    @rule(num_bytes=st.integers(1, 9 * MIB))
    def empty_and_allocate(self, num_bytes: int) -> None:
        """Cause garbage collection: free regions, none of them large enough."""
        self.free_all_but_the_last()
        self.allocate(num_bytes)

    @rule()
    def free_all_but_the_last(self) -> None:
        for address in sorted(self.live)[:-1]:
            self.bfc.deallocate_raw(address)
            self.model.free(address)
            del self.live[address]

    @invariant()
    def everyone_owns_their_own_bytes(self) -> None:
        if not hasattr(self, "bfc"):
            return
        self.bfc.check()
        used = [p for region in self.model.regions for p in region if p.used]
        result = [(a, size, asked) for a, asked, size, _ in self.bfc.live_allocations()]
        assert result == [(p.address, p.size, self.live[p.address]) for p in used]
        ends = [a + size for a, size, _ in result]
        assert all(end <= start for end, (start, _, _) in zip(ends, result[1:], strict=False))


BFCAgainstModel.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None
)
TestBFCAgainstModel = BFCAgainstModel.TestCase
