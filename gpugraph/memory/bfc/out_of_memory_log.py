"""The report that a BFC allocator logs when it runs out of memory. It describes bins, chunks and
regions.

The rows, their order and their wording are TensorFlow's, so that tools for its logs can read them.
The report contains a row for each bin, the free chunks of the request's bin, every chunk of every
region, the number of chunks in use of each size, totals, and statistics. At its end, a bar of 100
characters represents all regions, one after the other: '*' is memory in use, 'x' is lost to
rounding, and '_' is free.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gpugraph.memory.allocator import Allocator
from gpugraph.memory.allocator_stats import AllocatorStats, human_readable_bytes
from gpugraph.memory.bfc.chunk_store import NUM_BINS, Chunk, ChunkStore, bin_index, bin_size

_NO_CHUNK = 2**64 - 1
_BAR_LENGTH = 100
_MAX_OPTIONAL_WARNINGS = 10

_optional_failures = itertools.count()


@dataclass
class BinDebugInfo:
    """The number of bytes and chunks in one bin, for chunks in use and for all chunks.

    A chunk in use is counted in the bin of its size.
    """

    total_bytes_in_use: int = 0
    total_bytes_in_bin: int = 0
    total_requested_bytes_in_use: int = 0
    total_chunks_in_use: int = 0
    total_chunks_in_bin: int = 0


def log_failure(
    logger: logging.Logger, allocator: Allocator, num_bytes: int, optional: bool
) -> None:
    """Log a warning that `num_bytes` could not be allocated, with the allocator's report.

    A failed optional request logs a single line, and only the first ten such failures of the
    process are logged.
    """
    if not logger.isEnabledFor(logging.WARNING):
        return
    if not optional:
        logger.warning("%s", allocator.dump_memory_log(num_bytes))
    elif next(_optional_failures) < _MAX_OPTIONAL_WARNINGS:
        logger.warning(
            "Allocator (%s) ran out of memory trying to allocate %s. The caller indicates "
            "that this is not a failure, but more memory might make it faster.",
            allocator.name,
            human_readable_bytes(num_bytes),
        )


def log_regions_returned(logger: logging.Logger, name: str, num_bytes: int, regions: int) -> None:
    """Log a warning that regions were returned in order to obtain a larger region, because memory
    is nearly exhausted.
    """
    logger.warning(
        "Allocator (%s) returns %s in %d free regions, to obtain a larger region in their "
        "place. If this happens often, memory is nearly exhausted and steps get slower: try a "
        "smaller batch. TF_ENABLE_GPU_GARBAGE_COLLECTION=false turns this off.",
        name,
        human_readable_bytes(num_bytes),
        regions,
    )


class ReportTotals(NamedTuple):
    """The figures of a report that can't be computed from the chunks. Sizes are in bytes."""

    name: str
    region_bytes: int
    memory_limit: int
    next_region_bytes: int
    stats: AllocatorStats


def bin_debug_info(store: ChunkStore) -> list[BinDebugInfo]:
    """Return one record for each of the 21 bins."""
    infos = [BinDebugInfo() for _ in range(NUM_BINS)]
    for chunk in store.all_chunks():
        info = infos[bin_index(chunk.size)]
        info.total_bytes_in_bin += chunk.size
        info.total_chunks_in_bin += 1
        if chunk.allocation_id >= 0:
            info.total_bytes_in_use += chunk.size
            info.total_requested_bytes_in_use += chunk.requested
            info.total_chunks_in_use += 1
    return infos


def memory_log(store: ChunkStore, totals: ReportTotals, num_bytes: int) -> str:
    """Return the whole report on the failure to allocate `num_bytes`."""
    rounded = (num_bytes + 255) & -256
    lines = [
        f"Allocator ({totals.name}) ran out of memory trying to allocate "
        f"{human_readable_bytes(num_bytes)} (rounded to {rounded}).  "
        "Current allocation summary follows."
    ]
    lines += _bin_lines(store)
    lines += _request_bin_lines(store, rounded)
    lines += _region_lines(store)
    lines += _summary_lines(store)
    lines.append(
        f"total_region_allocated_bytes_: {totals.region_bytes} "
        f"memory_limit_: {totals.memory_limit} "
        f"available bytes: {totals.memory_limit - totals.region_bytes} "
        f"curr_region_allocation_bytes_: {totals.next_region_bytes}"
    )
    lines.append(f"Stats: \n{totals.stats.debug_string()}")
    lines.append(render_occupancy(store))
    return "\n".join(lines)


def render_occupancy(store: ChunkStore) -> str:
    """Return a bar of 100 characters that represents all regions. If one character represents
    several chunks, the last of them determines it.
    """
    total = sum(region.size for region in store.regions)
    if not total:
        return "<allocator contains no memory>"
    bar = ["_"] * _BAR_LENGTH
    offset = 0
    for region in store.regions:
        for chunk in store.chunks_of(region):
            if chunk.allocation_id >= 0:
                start = chunk.address - region.base + offset
                _draw(bar, total, start + chunk.requested, chunk.size - chunk.requested, "x")
                _draw(bar, total, start, chunk.requested, "*")
        offset += region.size
    return "".join(bar)


def _draw(bar: list[str], total: int, start: int, size: int, mark: str) -> None:
    if size > 0:
        first = start * _BAR_LENGTH // total
        last = (start + size - 1) * _BAR_LENGTH // total
        bar[first : last + 1] = mark * (last + 1 - first)


def _bin_lines(store: ChunkStore) -> Iterator[str]:
    for index, info in enumerate(bin_debug_info(store)):
        yield (
            f"Bin ({bin_size(index)}): \tTotal Chunks: {info.total_chunks_in_bin}, "
            f"Chunks in use: {info.total_chunks_in_use}. "
            f"{human_readable_bytes(info.total_bytes_in_bin)} allocated for chunks. "
            f"{human_readable_bytes(info.total_bytes_in_use)} in use in bin. "
            f"{human_readable_bytes(info.total_requested_bytes_in_use)} "
            "client-requested in use in bin."
        )


def _request_bin_lines(store: ChunkStore, rounded: int) -> Iterator[str]:
    index = bin_index(rounded)
    yield (
        f"Bin for {human_readable_bytes(rounded)} was "
        f"{human_readable_bytes(bin_size(index))}, Chunk State: "
    )
    for chunk in store.free_in_bin(index):
        line = _describe(chunk)
        if chunk.prev is not None:
            line += f", prev: {_describe(chunk.prev)}"
        if chunk.next is not None:
            line += f", next: {_describe(chunk.next)}"
        yield line


def _describe(chunk: Chunk) -> str:
    in_use = chunk.allocation_id >= 0
    return (
        f"  Size: {human_readable_bytes(chunk.size)}"
        f" | Requested Size: {human_readable_bytes(chunk.requested if in_use else 0)}"
        f" | in_use: {int(in_use)} | bin_num: {-1 if in_use else bin_index(chunk.size)}"
    )


def _region_lines(store: ChunkStore) -> Iterator[str]:
    for region in store.regions:
        yield f"Next region of size {region.size}"
        for chunk in store.chunks_of(region):
            state = "InUse" if chunk.allocation_id >= 0 else "Free "
            follower = _NO_CHUNK if chunk.next is None else chunk.next.handle
            yield f"{state} at {chunk.address:#x} next {follower} of size {chunk.size}"


def _summary_lines(store: ChunkStore) -> Iterator[str]:
    counts = Counter(chunk.size for chunk in store.all_chunks() if chunk.allocation_id >= 0)
    yield "     Summary of in-use Chunks by size: "
    for size, count in sorted(counts.items()):
        yield f"{count} Chunks of size {size} totalling {human_readable_bytes(size * count)}"
    total = sum(size * count for size, count in counts.items())
    yield f"Sum Total of in-use chunks: {human_readable_bytes(total)}"
