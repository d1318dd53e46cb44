"""The report on memory that ran out, word for word."""

from gpugraph.memory import BFCAllocator, FakeSubAllocator

BAR = "_" * 6 + "*" * 30 + "x" * 4 + "_" * 60


def bin_row(size: int, chunks: int = 0, used: int = 0, texts: tuple[str, ...] = ("0B",) * 3) -> str:
    total, in_use, requested = texts
    return (
        f"Bin ({size}): \tTotal Chunks: {chunks}, Chunks in use: {used}. {total} allocated for "
        f"chunks. {in_use} in use in bin. {requested} client-requested in use in bin."
    )


def test_the_whole_report() -> None:
    allocator = BFCAllocator(FakeSubAllocator(base=0x1000), 4000, "GPU_0_bfc")
    first, _, _ = (allocator.allocate_raw(size) for size in (256, 1000, 100))
    allocator.deallocate_raw(first)
    expected = [
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.9KiB (rounded to 3072).  "
        "Current allocation summary follows.",
        bin_row(256, 2, 1, ("512B", "256B", "100B")),
        bin_row(512),
        bin_row(1024, 1, 1, ("1.0KiB", "1.0KiB", "1000B")),
        bin_row(2048, 1, 0, ("2.2KiB", "0B", "0B")),
        *(bin_row(256 << index) for index in range(4, 21)),
        "Bin for 3.0KiB was 2.0KiB, Chunk State: ",
        "  Size: 2.2KiB | Requested Size: 0B | in_use: 0 | bin_num: 3"
        ", prev:   Size: 256B | Requested Size: 100B | in_use: 1 | bin_num: -1",
        "Next region of size 3840",
        "Free  at 0x1000 next 1 of size 256",
        "InUse at 0x1100 next 2 of size 1024",
        "InUse at 0x1500 next 3 of size 256",
        "Free  at 0x1600 next 18446744073709551615 of size 2304",
        "     Summary of in-use Chunks by size: ",
        "1 Chunks of size 256 totalling 256B",
        "1 Chunks of size 1024 totalling 1.0KiB",
        "Sum Total of in-use chunks: 1.2KiB",
        "total_region_allocated_bytes_: 3840 memory_limit_: 4000 available bytes: 160 "
        "curr_region_allocation_bytes_: 8192",
        "Stats: ",
        "Limit:                        4000",
        "InUse:                        1280",
        "MaxInUse:                     1536",
        "NumAllocs:                       3",
        "MaxAllocSize:                 1024",
        "",
        BAR,
    ]
    assert allocator.dump_memory_log(3000).split("\n") == expected


def test_free_chunks_tell_both_neighbours() -> None:
    allocator = BFCAllocator(FakeSubAllocator(), 1024, "b")
    addresses = [allocator.allocate_raw(size) for size in (256, 256, 256)]
    allocator.deallocate_raw(addresses[1])
    assert (
        "  Size: 256B | Requested Size: 0B | in_use: 0 | bin_num: 0"
        ", prev:   Size: 256B | Requested Size: 256B | in_use: 1 | bin_num: -1"
        ", next:   Size: 256B | Requested Size: 256B | in_use: 1 | bin_num: -1\n"
    ) in allocator.dump_memory_log(1)


def test_an_allocator_without_memory() -> None:
    allocator = BFCAllocator(FakeSubAllocator(), 1024, "b")
    assert allocator.dump_memory_log(1).endswith("<allocator contains no memory>")


def test_the_bar_draws_regions_one_after_the_other() -> None:
    allocator = BFCAllocator(FakeSubAllocator(), 3 << 20, "b", allow_growth=True)
    allocator.allocate_raw(1 << 20)
    allocator.allocate_raw(1 << 20)
    allocator.allocate_raw(1 << 19)
    bar = allocator.dump_memory_log(1).split("\n")[-1]
    assert bar == "*" * 84 + "_" * 16
