"""CRC-32C of bytes, plain and masked as TensorFlow's files hold it.

A checksum is the remainder of a polynomial over bits. Two sparse multiples of CRC-32C's polynomial
give the speed without native code: to reduce by one of them is to XOR a block of bytes into what
comes a fixed distance after it, which NumPy and Python's integers do at the speed of memory. Where
a C compiler and the processor's own instruction are at hand, native code does it
(`provide_native`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78  # reflected: bit 0 is x**31
_MASK_DELTA = 0xA282EAD8
_ALL = 0xFFFFFFFF

# x**degree = the sum of x**e is true of CRC-32C's polynomial, and of all powers x**k for x.
_FEW_TERMS = (5685, (1362, 426, 0))
_LOW_DEGREE = (266, (143, 121, 88, 71, 0))

_WORTH_COMPILING = 16 << 10
"""From so many bytes on native code is asked for, which is compiled where there was none."""
_BY_TABLE = 64
"""Up to so many bytes go through the table of bytes."""
_BY_INTEGER = 8 << 10
_BY_BYTES = 96 << 10
_CHUNK = 512 << 10
"""So many bytes, with what they are reduced to, lie in a processor's cache."""

NativeCrc = Callable[[int, int, int], int]
"""Takes an address, a number of bytes and the checksum before; returns the checksum."""


class _Native:
    """Native code for checksums, looked for until it is there or can't be."""

    def __init__(self) -> None:
        self.function: NativeCrc | None = None
        self._find: Callable[[], tuple[NativeCrc | None, bool]] | None = None

    def provide(self, find: Callable[[], tuple[NativeCrc | None, bool]]) -> None:
        """Has `find` asked for the native code, as `provide_native` says."""
        self._find = find

    def look(self) -> NativeCrc | None:
        """The native code, or None."""
        if self.function is None and self._find is not None:
            self.function, may_come = self._find()
            if not may_come:
                self._find = None
        return self.function


_NATIVE = _Native()
provide_native = _NATIVE.provide
"""Takes a function that returns native code, if it is there, and whether to ask again.

It is asked when there are many bytes, until it says that nothing will come."""


def crc32c(data: Any, crc: int = 0) -> int:
    """The CRC-32C of `data`, continued from the checksum of what comes before it.

    data: bytes or any contiguous buffer; an array of NumPy counts as its bytes.
    """
    source = memoryview(data)
    if source.nbytes > _BY_TABLE:
        native = _NATIVE.function
        if native is None and source.nbytes >= _WORTH_COMPILING:
            native = _NATIVE.look()
        if native is not None and source.c_contiguous:
            return native(_address(data, source), source.nbytes, crc)
    source = source if source.format == "B" and source.ndim == 1 else source.cast("B")
    return _crc32c_by_numpy(source, crc)


def _address(data: Any, view: memoryview) -> int:
    if not isinstance(data, np.ndarray):
        data = np.frombuffer(view, np.uint8)
    address: int = data.__array_interface__["data"][0]
    return address


def _crc32c_by_numpy(source: memoryview, crc: int) -> int:
    size = len(source)
    if size > _BY_BYTES:
        source, crc = memoryview(_folded_in_chunks(source, crc)), _ALL
        size = len(source)
    if size > _BY_INTEGER:
        scratch = np.array(source, np.uint8)
        _enter(scratch, crc)
        source, crc = memoryview(_folded(scratch)), _ALL
        size = len(source)
    if size > _BY_TABLE:
        value = int.from_bytes(source, "little") ^ (crc ^ _ALL)
        bits = 8 * size
        for terms in (_FEW_TERMS, _LOW_DEGREE):
            value, bits = _folded_integer(value, bits, *terms)
        source, crc = memoryview(value.to_bytes(bits // 8, "little")), _ALL
    state = crc ^ _ALL
    table = _byte_table()
    for byte in source:
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ _ALL


def mask_crc(crc: int) -> int:
    """The checksum as files hold it, so that the checksum of data with checksums stays useful."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL


def unmask_crc(masked: int) -> int:
    """The checksum that `mask_crc` made `masked` of."""
    rotated = (masked - _MASK_DELTA) & _ALL
    return ((rotated >> 17) | (rotated << 15)) & _ALL


def masked_crc32c(data: Any) -> int:
    """The checksum of `data` as files hold it."""
    return mask_crc(crc32c(data))


@functools.cache
def _byte_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        state = byte
        for _ in range(8):
            state = (state >> 1) ^ (_POLYNOMIAL if state & 1 else 0)
        table.append(state)
    return tuple(table)


def _enter(scratch: Any, crc: int) -> None:
    """Lets the bytes continue `crc`: the state is a part of the first four."""
    scratch[:4] ^= np.frombuffer((crc ^ _ALL).to_bytes(4, "little"), np.uint8)


def _folded(scratch: Any) -> Any:
    """Reduces an array of bytes or words in place; returns the end that all of it became.

    One element is one power of x, so that 5685 elements remain.
    """
    degree, exponents = _FEW_TERMS
    lags = [degree - exponent for exponent in exponents]
    position, excess = 0, len(scratch) - degree
    while position < excess:
        width = min(lags[0], excess - position)
        block = scratch[position : position + width]
        for lag in lags:
            target = scratch[position + lag : position + lag + width]
            np.bitwise_xor(target, block, out=target)
        position += width
    return scratch[max(excess, 0) :]


def _folded_in_chunks(source: memoryview, crc: int) -> Any:
    """Bytes with the remainder of `source`: what its words are reduced to, and those after them."""
    whole = len(source) // 8 * 8
    words = np.frombuffer(source[:whole], np.uint64)
    step, kept = _CHUNK // 8, _FEW_TERMS[0]
    scratch = np.empty(step + kept, np.uint64)
    scratch[:kept] = words[:kept]
    _enter(scratch.view(np.uint8), crc)
    for start in range(kept, len(words), step):
        chunk = words[start : start + step]
        used = scratch[: kept + len(chunk)]
        used[kept:] = chunk
        scratch[:kept] = _folded(used)
    return np.concatenate([scratch[:kept].view(np.uint8), np.frombuffer(source[whole:], np.uint8)])


def _folded_integer(
    value: int, bits: int, degree: int, exponents: tuple[int, ...]
) -> tuple[int, int]:
    """Reduces an integer of whole bytes to fewer than twice the degree in bits; returns those."""
    scale = 1
    while 2 * scale * degree < bits:
        scale *= 2
    while scale:
        lags = [scale * (degree - exponent) for exponent in exponents]
        while bits > scale * degree + 7:
            width = min(lags[0], bits - scale * degree) // 8 * 8
            low = value & ((1 << width) - 1)
            value >>= width
            for lag in lags:
                value ^= low << (lag - width)
            bits -= width
        scale //= 2
    return value, bits
