"""The regions of BFC, split into chunks. Limits, growth and locks are left to `bfc_allocator`.

    region   |<------------------------ 1 MiB ------------------------>|
    chunks   | in use 256 | free 768 | in use 4096 |       free        |
    bins       free chunks by size: bin 1 holds (768, address), bin 11 the last one

The invariants, which `check` verifies:

- The chunks of a region, linked in order of address, cover it without gaps. All sizes are multiples
  of 256.
- No two free chunks of a region are neighbours. A chunk never extends over two regions, even if
  these are adjacent.
- Bin b holds the free chunks of at least 256 << b bytes and less than twice that (the last of the
  21 bins has no upper limit). Each bin has 32 slots, ordered by (size, address), so that no list is
  long even with many chunks. A slot holds exactly the free chunks of certain sizes.

The best fit is therefore the first chunk that is large enough, in the first slot that has such a
chunk. This chunk is split if it is at least twice the needed size, or if 128 MiB or more would be
wasted. The second half of a split chunk, directly behind the used half, becomes a free chunk. A
freed chunk is joined with its free successor first and then with its free predecessor. The `Chunk`
records are reused in the order last in, first out, so that their handles are also equal to
TensorFlow's.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from gpugraph.base.errors import InternalError

MIN_ALLOCATION_BYTES = 256
NUM_BINS = 21
_MAX_INTERNAL_FRAGMENTATION = 128 << 20
_SLOT_BITS = 6


def round_up(num_bytes: int) -> int:
    """Round up to a multiple of 256 bytes."""
    return (num_bytes + 255) & -256


def bin_index(num_bytes: int) -> int:
    """Return the index, 0 to 20, of the bin for free chunks of `num_bytes`."""
    return min(NUM_BINS - 1, (max(num_bytes, MIN_ALLOCATION_BYTES) >> 8).bit_length() - 1)


def slot_index(num_bytes: int) -> int:
    """Return the slot of chunks of `num_bytes`, a multiple of 256.

    Up to 16 KiB, each size has its own slot.
    """
    units = num_bytes >> 8
    shift = units.bit_length() - _SLOT_BITS
    return (shift << _SLOT_BITS - 1) + (units >> shift) if shift > 0 else units


def bin_size(index: int) -> int:
    """Return the size in bytes of the smallest chunk in a bin."""
    return MIN_ALLOCATION_BYTES << index


class Region(NamedTuple):
    """Memory from the sub-allocator: `size` bytes from the address `base`."""

    base: int
    size: int


class Chunk:
    """A contiguous part of a region. The chunk is free if and only if `allocation_id` is -1."""

    __slots__ = ("address", "allocation_id", "handle", "next", "prev", "requested", "size")

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.address = 0
        self.size = 0
        self.requested = 0
        self.allocation_id = -1
        self.prev: Chunk | None = None
        self.next: Chunk | None = None


class ChunkStore:
    """All regions of an allocator, their chunks by address, and the free chunks by slot."""

    __slots__ = ("_handles", "_nonempty", "_spare", "chunks", "regions", "slots")

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.chunks: dict[int, Chunk] = {}
        self.slots: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._nonempty = 0  # bit s is set if and only if slot s holds a chunk
        self._handles = 0
        self._spare: list[Chunk] = []

    def add_region(self, base: int, size: int) -> None:
        """Add a region as one free chunk."""
        insort(self.regions, Region(base, size))
        self._insert(self._new_chunk(base, size))

    def remove_region(self, region: Region) -> None:
        """Remove a region without a chunk in use."""
        chunk = self.chunks[region.base]
        self._remove(chunk)
        self._drop(chunk)
        self.regions.remove(region)

    def free_regions(self) -> list[Region]:
        """Return the regions without a chunk in use. Each of them is a single free chunk."""
        regions = []
        for region in self.regions:
            chunk = self.chunks[region.base]
            if chunk.allocation_id < 0 and chunk.size == region.size:
                regions.append(region)
        return regions

    def take(self, rounded: int, requested: int, allocation_id: int) -> Chunk | None:
        """Find the best fit for `rounded` bytes, split it if it is too large, and mark it as used.
        Return the chunk, or None if no chunk is large enough.
        """
        index = slot_index(rounded)
        free = self.slots[index]
        position = bisect_left(free, (rounded,))
        if position == len(
            free
        ):  # all are too small: use the first chunk of the next non-empty slot
            larger = self._nonempty >> index + 1
            if not larger:
                return None
            index += (larger & -larger).bit_length()
            free = self.slots[index]
            position = 0
        size, address = free.pop(position)
        if not free:
            self._nonempty ^= 1 << index
        chunk = self.chunks[address]
        if size >= 2 * rounded or size - rounded >= _MAX_INTERNAL_FRAGMENTATION:
            self._split(chunk, rounded)
        chunk.requested = requested
        chunk.allocation_id = allocation_id
        return chunk

    def release(self, chunk: Chunk) -> None:
        """Free a chunk in use and join it with its free neighbours."""
        chunk.allocation_id = -1
        after = chunk.next
        if after is not None and after.allocation_id < 0:
            self._remove(after)
            self._merge(chunk, after)
        before = chunk.prev
        if before is not None and before.allocation_id < 0:
            self._remove(before)
            self._merge(before, chunk)
            chunk = before
        self._insert(chunk)

    def chunks_of(self, region: Region) -> Iterator[Chunk]:
        """Yield the chunks of a region in order of address."""
        chunk: Chunk | None = self.chunks[region.base]
        while chunk is not None:
            yield chunk
            chunk = chunk.next

    def all_chunks(self) -> Iterator[Chunk]:
        """Yield every chunk, in order of address."""
        for region in self.regions:
            yield from self.chunks_of(region)

    def free_in_bin(self, index: int) -> list[Chunk]:
        """Return the free chunks of a bin, sorted by size and then by address."""
        keys = [
            key
            for _, slot in sorted(self.slots.items())
            for key in slot
            if bin_index(key[0]) == index
        ]
        return [self.chunks[address] for _, address in keys]

    def largest_free(self) -> int:
        """Return the size in bytes of the largest free chunk, or 0 if there is none."""
        top = self._nonempty.bit_length()
        return self.slots[top - 1][-1][0] if top else 0

    def check(self) -> None:
        """Raise InternalError if an invariant is violated."""
        binned = 0
        for region in self.regions:
            binned += self._check_region(region)
        counted = sum(len(free) for free in self.slots.values())
        _require(binned == counted, f"{counted} chunks in bins, but {binned} are free")
        in_regions = sum(1 for _ in self.all_chunks())
        _require(
            in_regions == len(self.chunks), "the address map and the regions have different chunks"
        )
        mask = sum(1 << index for index, free in self.slots.items() if free)
        _require(mask == self._nonempty, "the mask of slots that hold chunks is wrong")
        for free in self.slots.values():
            _require(free == sorted(free), "a slot is out of order")
        ends = [region.base + region.size for region in self.regions]
        starts = [region.base for region in self.regions[1:]]
        _require(all(e <= s for e, s in zip(ends, starts, strict=False)), "regions overlap")

    def _check_region(self, region: Region) -> int:
        """Check one region and return the number of its free chunks."""
        address, free = region.base, 0
        before: Chunk | None = None
        for chunk in self.chunks_of(region):
            where = f"the chunk at {chunk.address:#x}"
            _require(chunk.address == address, f"{where} should begin at {address:#x}")
            _require(chunk.size > 0 and chunk.size % 256 == 0, f"{where} has size {chunk.size}")
            _require(self.chunks.get(address) is chunk, f"{where} is not the one known by address")
            _require(chunk.prev is before, f"{where} is linked to the wrong predecessor")
            if chunk.allocation_id < 0:
                free += 1
                joined = before is None or before.allocation_id >= 0
                _require(joined, f"{where} and its predecessor are both free")
                _require(self._is_binned(chunk), f"{where} is not in its bin")
            else:
                _require(0 < chunk.requested <= chunk.size, f"{where} is smaller than asked for")
            address += chunk.size
            before = chunk
        is_tiled = address == region.base + region.size
        _require(is_tiled, f"the region at {region.base:#x} is not tiled")
        return free

    def _is_binned(self, chunk: Chunk) -> bool:
        entry = (chunk.size, chunk.address)
        free = self.slots[slot_index(chunk.size)]
        position = bisect_left(free, entry)
        return position < len(free) and free[position] == entry

    def _insert(self, chunk: Chunk) -> None:
        size = chunk.size
        index = slot_index(size)
        insort(self.slots[index], (size, chunk.address))
        self._nonempty |= 1 << index

    def _remove(self, chunk: Chunk) -> None:
        size = chunk.size
        index = slot_index(size)
        free = self.slots[index]
        del free[bisect_left(free, (size, chunk.address))]
        if not free:
            self._nonempty ^= 1 << index

    def _split(self, chunk: Chunk, rounded: int) -> None:
        rest = self._new_chunk(chunk.address + rounded, chunk.size - rounded)
        chunk.size = rounded
        after = chunk.next
        rest.prev = chunk
        rest.next = after
        chunk.next = rest
        if after is not None:
            after.prev = rest
        self._insert(rest)

    def _merge(self, chunk: Chunk, after: Chunk) -> None:
        """Join `chunk` with the chunk `after`, which follows it directly. The caller must have
        removed both chunks from their bins.
        """
        beyond = after.next
        chunk.next = beyond
        if beyond is not None:
            beyond.prev = chunk
        chunk.size += after.size
        self._drop(after)

    def _new_chunk(self, address: int, size: int) -> Chunk:
        if self._spare:
            chunk = self._spare.pop()
        else:
            chunk = Chunk(self._handles)
            self._handles += 1
        chunk.address = address
        chunk.size = size
        self.chunks[address] = chunk
        return chunk

    def _drop(self, chunk: Chunk) -> None:
        del self.chunks[chunk.address]
        chunk.prev = chunk.next = None
        self._spare.append(chunk)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise InternalError.of_no_node(f"BFC is corrupt: {message}.")
