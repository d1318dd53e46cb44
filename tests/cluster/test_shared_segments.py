"""Memory shared by processes of one machine: which may map it, and that nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpugraph.cluster import shared_segments
from gpugraph.cluster.shared_segments import Segment, SegmentName, SegmentPool, mapped

pytestmark = pytest.mark.skipif(not shared_segments.is_possible(), reason="memfd is Linux's")


def test_another_process_reads_what_was_written() -> None:
    segment = Segment(1000)
    segment.content[:] = 7
    code = (
        "from gpugraph.cluster.shared_segments import SegmentName, mapped\n"
        f"print(mapped(SegmentName(*{tuple(segment.name)!r})).sum())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == "7000\n", result.stderr


def test_what_is_written_is_seen_and_only_the_owner_writes() -> None:
    segment = Segment(8)
    seen: Any = mapped(segment.name)
    segment.content[:] = 3
    np.testing.assert_array_equal(seen, [3] * 8)
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 1
    with pytest.raises(OSError):
        os.ftruncate(segment.name.number, 10)  # a reader would get a SIGBUS
    assert mapped(segment.name) is not None


def test_a_wrong_name_maps_nothing(tmp_path: Any) -> None:
    segment = Segment(1000)
    name = segment.name
    other = tmp_path / "file"
    other.write_bytes(b"x" * 2000)
    with open(other) as file:
        for wrong in (
            name._replace(token=b"x" * 32),
            name._replace(token=b""),
            name._replace(size=999),
            name._replace(size=1001),
            name._replace(number=987654),
            name._replace(pid=1 << 30),
            SegmentName(os.getpid(), file.fileno(), b"x" * 32, 1936),
        ):
            assert mapped(wrong) is None


def test_nothing_is_left_of_a_segment() -> None:
    def num_open() -> int:
        files = Path("/proc/self/fd").iterdir()
        return sum("memfd:gpugraph" in os.readlink(file) for file in files if file.is_symlink())

    before = num_open()
    segment = Segment(100)
    seen: Any = mapped(segment.name)
    assert num_open() > before
    del segment
    assert seen.nbytes == 100  # as long as somebody has it mapped
    del seen
    assert num_open() == before


def test_a_pool_gives_free_segments_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SegmentPool()
    first: Any = pool.take(100)
    second: Any = pool.take(100)
    assert first is not second
    pool.give_back(first)
    assert pool.take(100) is first
    monkeypatch.setattr(shared_segments, "_MAX_FREE_BYTES", 250)
    pool.give_back(first)
    pool.give_back(second)
    pool.give_back(Segment(60))
    assert len({id(pool.take(100)), id(first), id(second)}) == 2
    assert pool.take(100) not in (first, second)


def test_where_there_is_no_memory_to_share_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SegmentPool()
    assert pool.take(1 << 62) is None
    assert pool.map(SegmentName()) is None
    monkeypatch.delattr(os, "memfd_create")
    assert pool.take(100) is None


def test_what_a_pool_frees_is_gone_though_others_have_it_mapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool, reader = SegmentPool(), SegmentPool()
    once: Any = pool.take(1 << 20)
    once.content[:] = 1
    seen = reader.map(once.name)
    assert seen is not None and seen[0] == 1
    status = os.fstat(once.name.number)
    assert status.st_blocks * 512 >= 1 << 20
    monkeypatch.setattr(shared_segments, "_IDLE_S", -1.0)  # all that is free has been so for long
    pool.give_back(once)
    assert os.fstat(once.name.number).st_blocks == 0


def test_mappings_have_a_bound_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_segments, "_MAX_MAPPED_BYTES", 2500)
    segments = [Segment(1000) for _ in range(3)]
    reader = SegmentPool()
    first, second, _ = [reader.map(segment.name) for segment in segments]
    assert reader.map(segments[1].name) is second
    again = reader.map(segments[0].name)
    assert again is not None and again is not first
    reader.forget([segments[1].name])
    assert reader.map(segments[1].name) is not second
