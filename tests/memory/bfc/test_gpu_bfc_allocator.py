"""The environment's settings of GPU memory, and the treatment of invalid ones."""

import logging

import pytest

from gpugraph.memory import FakeSubAllocator, GPUBFCAllocator

GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"
COLLECTION = "TF_ENABLE_GPU_GARBAGE_COLLECTION"


def first_region(configured: bool) -> int:
    """Return the bytes of the first region: 1 MiB if it grows, else all 8 MiB."""
    allocator = GPUBFCAllocator(FakeSubAllocator(), 8 << 20, "GPU_0_bfc", configured)
    assert allocator.allocate_raw(1) is not None
    return allocator.regions()[0].size


@pytest.mark.parametrize(
    ("text", "configured", "grows"),
    [
        (None, False, False),
        (None, True, True),
        ("true", False, True),
        ("true", True, True),
        ("false", True, False),
        ("unparsable", False, False),
        ("unparsable", True, True),
    ],
)
def test_growth(
    monkeypatch: pytest.MonkeyPatch, text: str | None, configured: bool, grows: bool
) -> None:
    monkeypatch.delenv(GROWTH, raising=False)
    if text is not None:
        monkeypatch.setenv(GROWTH, text)
    assert first_region(configured) == ((1 << 20) if grows else (8 << 20))


def test_overruling_and_nonsense_are_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(GROWTH, "false")
    first_region(True)
    monkeypatch.setenv(GROWTH, "perhaps")
    first_region(True)
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.WARNING, logging.ERROR]
    assert "'perhaps'" in caplog.records[1].getMessage()


@pytest.mark.parametrize(
    ("text", "collects"), [(None, True), ("true", True), ("false", False), ("no", True)]
)
def test_garbage_collection(
    monkeypatch: pytest.MonkeyPatch, text: str | None, collects: bool
) -> None:
    monkeypatch.delenv(COLLECTION, raising=False)
    if text is not None:
        monkeypatch.setenv(COLLECTION, text)
    allocator = GPUBFCAllocator(FakeSubAllocator(), 1 << 20, "GPU_0_bfc")
    allocator.deallocate_raw(allocator.allocate_raw(1))
    assert allocator.deallocate_free_regions() is collects
