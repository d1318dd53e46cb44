"""CRC-32C: known values, every size against the definition, continued, masked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gpugraph.devices.native.native_runtime import RUNTIME, _crc32c
from gpugraph.formats.crc32c import (
    _NATIVE,
    _crc32c_by_numpy,
    crc32c,
    mask_crc,
    masked_crc32c,
    unmask_crc,
)

KNOWN = {
    b"": 0,
    b"123456789": 0xE3069283,
    bytes(32): 0x8A9136AA,
    b"\xff" * 32: 0x62A8AB43,
    bytes(range(32)): 0x46DD794E,
    bytes(range(31, -1, -1)): 0x113FDB5C,
}


def defined(data: bytes, crc: int = 0) -> int:
    """Bit by bit, a thousand bytes at a time in Python's integers."""
    state = crc ^ 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize(("data", "crc"), KNOWN.items(), ids=range(len(KNOWN)))
def test_known_values(data, crc):
    assert crc32c(data) == crc
    assert crc32c(np.frombuffer(data, np.uint8)) == crc


def test_every_small_size_is_as_defined():
    data = np.random.default_rng(0).bytes(300)
    for size in range(0, 300, 7):
        assert crc32c(data[:size]) == defined(data[:size])


@pytest.mark.parametrize("size", [8191, 8193, 20001, 98304, 98305, 700_009, 1_600_000])
def test_a_checksum_is_continued_at_any_place(size):
    data = np.random.default_rng(size).bytes(size)
    whole = crc32c(data)
    for cut in (1, 65, 9000, size // 2, size - 1):
        assert crc32c(data[cut:], crc32c(data[:cut])) == whole


def test_large_sizes_are_as_defined():
    data = np.random.default_rng(1).bytes(120_003)
    assert crc32c(data) == defined(data)


@settings(max_examples=30)
@given(st.binary(max_size=200), st.integers(0, 2**32 - 1))
def test_masks_are_undone_and_starts_are_heeded(data, crc):
    assert crc32c(data, crc) == defined(data, crc)
    assert unmask_crc(mask_crc(crc)) == crc
    assert masked_crc32c(data) == mask_crc(crc32c(data))


def test_any_buffer_counts_as_its_bytes():
    array = np.arange(5000, dtype=np.float32).reshape(50, 100)
    assert crc32c(array) == crc32c(array.tobytes())
    assert crc32c(bytearray(b"123456789")) == 0xE3069283
    before = array.copy()
    crc32c(array)
    assert (array == before).all()


def test_native_code_agrees_with_numpy(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    RUNTIME.get(True)
    native, may_come = _crc32c()
    assert not may_come
    if native is None:
        pytest.skip("there is no compiler, or the processor has no instruction for it")
    data = np.random.default_rng(2).integers(0, 256, 300_000, np.uint8)
    for size in (0, 1, 7, 8, 65, 3071, 3072, 3073, 9000, 299_990):
        for start, crc in ((0, 0), (3, 0xDEADBEEF)):
            part = data[start : start + size]
            expected = _crc32c_by_numpy(memoryview(part), crc)
            assert native(part.ctypes.data, len(part), crc) == expected


def test_without_native_code_numpy_is_taken(monkeypatch):
    monkeypatch.setattr(_NATIVE, "function", None)
    monkeypatch.setattr(_NATIVE, "_find", lambda: (None, True))
    monkeypatch.setattr(_NATIVE, "_left", 1 << 20)
    assert crc32c(b"12345678" * 2048) == defined(b"12345678" * 2048)
    monkeypatch.setattr(_NATIVE, "_find", lambda: (lambda address, size, crc: 17, False))
    assert crc32c(b"12345678" * 2047) == defined(b"12345678" * 2047)
    assert crc32c(b"12345678" * 2048) == 17
    assert crc32c(b"12345678" * 10) == 17
    assert _NATIVE._find is None


def test_native_code_is_requested_for_many_small_pieces(monkeypatch):
    monkeypatch.setattr(_NATIVE, "function", None)
    monkeypatch.setattr(_NATIVE, "_left", 1 << 20)
    monkeypatch.setattr(_NATIVE, "_find", lambda: (lambda address, size, crc: 17, False))
    piece = b"12345678" * 128
    checksums = [crc32c(piece) for _ in range(1024)]
    assert checksums == [defined(piece)] * 1023 + [17]
