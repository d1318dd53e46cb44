"""Statistics: counters, their text, and bytes as text."""

import pytest

from gpugraph.memory import AllocatorStats, human_readable_bytes


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.0KiB"),
        (1536, "1.5KiB"),
        (1 << 20, "1.00MiB"),
        ((1 << 20) - 1, "1024.0KiB"),
        (1 << 30, "1.00GiB"),
        (5 << 40, "5.00TiB"),
        ((1 << 63) - 1, "8.00EiB"),
        (-1536, "-1.5KiB"),
    ],
)
def test_bytes_are_written_with_binary_units(num_bytes: int, text: str) -> None:
    assert human_readable_bytes(num_bytes) == text


def test_debug_string_right_aligns_five_rows() -> None:
    stats = AllocatorStats(3, 1280, 1536, 1024, 4000)
    assert stats.debug_string() == (
        "Limit:                        4000\n"
        "InUse:                        1280\n"
        "MaxInUse:                     1536\n"
        "NumAllocs:                       3\n"
        "MaxAllocSize:                 1024\n"
    )


def test_no_limit_shows_as_zero() -> None:
    assert AllocatorStats().debug_string().startswith("Limit:" + " " * 27 + "0\n")


def test_clear_keeps_what_is_in_use_as_the_new_peak() -> None:
    stats = AllocatorStats(bytes_limit=100)
    stats.record_alloc(30)
    stats.record_alloc(20)
    stats.bytes_in_use -= 30
    stats.clear()
    assert stats == AllocatorStats(0, 20, 20, 0, 100)


def test_reserved_bytes_keep_their_peak() -> None:
    stats = AllocatorStats()
    stats.record_reserved(50)
    stats.record_reserved(-20)
    assert (stats.bytes_reserved, stats.peak_bytes_reserved) == (30, 50)
