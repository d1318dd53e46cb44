"""The machine's memory, and the assumption where the system does not report it."""

import os

import pytest

from gpugraph.memory.host_allocator import new_cpu_allocator, physical_memory_bytes


def test_the_limit_is_what_the_machine_has() -> None:
    assert new_cpu_allocator().memory_limit == physical_memory_bytes() > 0


@pytest.mark.parametrize("answer", [-1, OSError, ValueError])
def test_unknown_memory_counts_as_one_tebibyte(
    monkeypatch: pytest.MonkeyPatch, answer: int | type[Exception]
) -> None:
    def sysconf(name: str) -> int:
        if isinstance(answer, int):
            return answer if "PHYS" in name else 4096
        raise answer

    monkeypatch.setattr(os, "sysconf", sysconf)
    assert physical_memory_bytes() == 1 << 40
