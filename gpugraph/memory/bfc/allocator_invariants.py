"""Checks that the chunks, regions and counters of a BFC allocator agree while no call is in
progress. `chunk_store` checks the chunks of each region.
"""

from __future__ import annotations

from gpugraph.base.errors import InternalError
from gpugraph.memory.allocator_stats import AllocatorStats
from gpugraph.memory.bfc.chunk_store import ChunkStore
from gpugraph.memory.bfc.region_growth import RegionSource


def check_agreement(
    name: str, store: ChunkStore, source: RegionSource, stats: AllocatorStats, last_id: int
) -> None:
    """Raise InternalError if an allocator's chunks, regions and counters contradict each other."""
    in_use = [chunk for chunk in store.all_chunks() if chunk.allocation_id >= 0]
    held = sum(region.size for region in store.regions)
    ids = {chunk.allocation_id for chunk in in_use}
    facts = {
        "bytes in use": stats.bytes_in_use == sum(chunk.size for chunk in in_use),
        "the peak": stats.peak_bytes_in_use >= stats.bytes_in_use,
        "region bytes": source.held_bytes == stats.bytes_reserved == held,
        "the limit": held <= source.memory_limit,
        "allocation ids": len(ids) == len(in_use) and max(ids, default=0) <= last_id,
    }
    wrong = ", ".join(what for what, holds in facts.items() if not holds)
    if wrong:
        raise InternalError.of_no_node(f"Allocator ({name}) disagrees on {wrong}.")
