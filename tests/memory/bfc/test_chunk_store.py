"""The self-check of the chunks: it must find every inconsistency."""

from collections.abc import Callable

import pytest

from gpugraph.base.errors import InternalError
from gpugraph.memory.bfc.chunk_store import (
    Chunk,
    ChunkStore,
    bin_index,
    bin_size,
    round_up,
    slot_index,
)


def make() -> tuple[ChunkStore, list[Chunk]]:
    """Two regions; in the first: used, free, used, free."""
    store = ChunkStore()
    store.add_region(4096, 8192)
    store.add_region(65536, 1024)
    chunks = []
    for number in range(1, 4):
        chunk = store.take(512, 500, number)
        assert chunk is not None
        chunks.append(chunk)
    assert [chunk.address for chunk in chunks] == [65536, 66048, 4096]
    second = store.take(512, 500, 4)
    third = store.take(512, 500, 5)
    assert second is not None
    assert third is not None
    store.release(second)
    store.check()
    return store, [chunks[2], second, third]


def swap_bin(store: ChunkStore, chunk: Chunk) -> None:
    store.slots[9].append(store.slots[slot_index(chunk.size)].pop())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda s, c: setattr(c[0], "size", 768), "should begin at"),
        (lambda s, c: setattr(c[0], "size", 500), "has size 500"),
        (lambda s, c: setattr(c[0], "requested", 513), "smaller than asked for"),
        (lambda s, c: setattr(c[0], "allocation_id", -1), "is not in its bin"),
        (lambda s, c: setattr(c[2], "prev", c[0]), "wrong predecessor"),
        (lambda s, c: setattr(c[0], "next", None), "is not tiled"),
        (lambda s, c: s.chunks.pop(c[1].address), "not the one known by address"),
        (lambda s, c: s.chunks.update({7: c[1]}), "have different chunks"),
        (lambda s, c: swap_bin(s, c[1]), "is not in its bin"),
        (lambda s, c: s.slots[2].insert(0, (512, 512)), "chunks in bins"),
        (lambda s, c: setattr(s, "_nonempty", 0), "mask"),
        (lambda s, c: s.regions.insert(1, s.regions[0]), ""),
    ],
)
def test_damage_is_found(damage: Callable[[ChunkStore, list[Chunk]], object], message: str) -> None:
    store, chunks = make()
    damage(store, chunks)
    with pytest.raises(InternalError, match=f"BFC is corrupt: .*{message}"):
        store.check()


def test_free_neighbours_are_found() -> None:
    store = ChunkStore()
    store.add_region(0, 1024)
    chunk = store.take(512, 1, 1)
    assert chunk is not None
    chunk.allocation_id = -1
    store.slots[2].insert(0, (512, 0))
    with pytest.raises(InternalError, match="are both free"):
        store.check()


def test_handles_are_reused_last_in_first_out() -> None:
    store, chunks = make()
    used = {chunk.handle for chunk in store.all_chunks()}
    assert used == set(range(len(used)))
    store.release(chunks[0])  # joins the free chunk behind it
    gone = used - {chunk.handle for chunk in store.all_chunks()}
    again = store.take(512, 1, 9)
    assert again is not None
    assert again.next is not None
    assert {again.next.handle} == gone


def test_bins_and_rounding() -> None:
    assert [round_up(n) for n in (0, 1, 256, 257)] == [0, 256, 256, 512]
    for index in range(21):
        assert bin_index(bin_size(index)) == index
        assert bin_index(bin_size(index) + 255) == index
        assert bin_index(2 * bin_size(index) - 1) == index
    assert bin_index(0) == 0
    assert bin_index(1 << 60) == 20


def test_the_largest_hole() -> None:
    store = ChunkStore()
    assert store.largest_free() == 0
    store.add_region(0, 1 << 20)
    store.add_region(1 << 30, 3 << 20)
    assert store.largest_free() == 3 << 20
