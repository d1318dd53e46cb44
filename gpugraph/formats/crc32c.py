"""CRC-32C of bytes, plain and masked as in TensorFlow's files.

A checksum is the remainder of a division of polynomials over bits. Without native code, two sparse
multiples of CRC-32C's polynomial make the division fast. To reduce the bytes by such a multiple,
each block is XORed into the bytes at a few fixed distances after it. NumPy and Python's integers
perform these XORs at the speed of memory.

If a C compiler and the processor's CRC instruction are available, native code is used
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

# Multiples of CRC-32C's polynomial as (degree, exponents): x**degree equals the sum of x**e modulo
# the polynomial. The same holds with any power x**k in place of x.
_FEW_TERMS = (5685, (1362, 426, 0))
_LOW_DEGREE = (266, (143, 121, 88, 71, 0))

_WORTH_COMPILING = 16 << 10
"""For at least this number of bytes, native code is requested, and compiled if it is not cached."""
_WORTH_COMPILING_IN_SUM = 1 << 20
"""The same for many small pieces, such as the records of a file."""
_BY_TABLE = 64
"""The maximum number of bytes for which the checksum is computed byte by byte, by a table of 256
entries.
"""
_BY_INTEGER = 8 << 10
_BY_BYTES = 96 << 10
_CHUNK = 512 << 10
"""The number of bytes that are reduced at once; together with the reduced bytes they fit into the
processor's cache.
"""

NativeCrc = Callable[[int, int, int], int]
"""`crc(address, number of bytes, checksum of the preceding bytes)` returns the checksum."""


class _Native:
    """The native function for checksums. It is requested repeatedly until it is available, or until
    it is known that it never will be.
    """

    def __init__(self) -> None:
        self.function: NativeCrc | None = None
        self._find: Callable[[], tuple[NativeCrc | None, bool]] | None = None
        self._left = _WORTH_COMPILING_IN_SUM

    def look_after(self, size: int) -> NativeCrc | None:
        """Call `look` if the total number of bytes, including the `size` bytes of this call, makes
        native code worthwhile.
        """
        self._left -= size
        if self._left > 0:
            return None
        self._left = _WORTH_COMPILING_IN_SUM
        return self.look()

    def provide(self, find: Callable[[], tuple[NativeCrc | None, bool]]) -> None:
        """Set the function that finds the native function.

        Args:
          find: returns the native function or None, and whether a later call may return another
            result.
        """
        self._find = find

    def look(self) -> NativeCrc | None:
        """Return the native function, or None if it is not available yet."""
        if self.function is None and self._find is not None:
            self.function, may_come = self._find()
            if not may_come:
                self._find = None
        return self.function


_NATIVE = _Native()
provide_native = _NATIVE.provide
"""Set the function that looks up the native checksum function.

It returns the native function or None, and whether a later call may return another result. It is
called for large data, until it reports that the native function will never be available."""


def crc32c(data: Any, crc: int = 0) -> int:
    """Return the CRC-32C of `data`. If `data` continues other bytes, `crc` is the checksum of these
    preceding bytes.

    Args:
      data: bytes or any contiguous buffer. The bytes of a NumPy array are used.
    """
    source = memoryview(data)
    if source.nbytes > _BY_TABLE:
        native = _NATIVE.function
        if native is None:
            is_large = source.nbytes >= _WORTH_COMPILING
            native = _NATIVE.look() if is_large else _NATIVE.look_after(source.nbytes)
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
    """Return the masked form of a checksum, as files store it.

    Masking is necessary because a CRC detects errors poorly in data that contains CRCs.
    """
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL


def unmask_crc(masked: int) -> int:
    """Return the checksum that `mask_crc` masked."""
    rotated = (masked - _MASK_DELTA) & _ALL
    return ((rotated >> 17) | (rotated << 15)) & _ALL


def masked_crc32c(data: Any) -> int:
    """Return the masked checksum of `data`, as files store it."""
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
    """XOR the state of `crc` into the first four bytes. A checksum that starts from 0 is then a
    continuation of `crc`.
    """
    scratch[:4] ^= np.frombuffer((crc ^ _ALL).to_bytes(4, "little"), np.uint8)


def _folded(scratch: Any) -> Any:
    """Reduce an array of bytes or words in place, and return the few elements at its end that
    remain. They have the same remainder as the array had.

    The elements are coefficients of powers of x. At most 5685 elements remain.
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
    """Return fewer bytes that have the same remainder as `source`, where `crc` is the checksum of
    the preceding bytes.

    The 64-bit words of `source` are reduced. The bytes after the last word are appended.
    """
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
    """Reduce an integer to one that has fewer bits and the same remainder. Return the new integer
    and its number of bits.

    Args:
      bits: the number of bits of `value`, a multiple of 8.
    """
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
