"""64-bit hashes of bytes: MurmurHash64A, FarmHash's fingerprint, and SipHash-2-4.

TensorFlow assigns strings to buckets by these hashes. The results must never change, because
trained embeddings depend on them.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_ALL = (1 << 64) - 1
_KEYS = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _word(data: bytes, offset: int) -> int:
    return struct.unpack_from("<Q", data, offset)[0]


def _half_word(data: bytes, offset: int) -> int:
    return struct.unpack_from("<I", data, offset)[0]


def _right(value: int, by: int) -> int:
    """Rotate a 64-bit integer to the right by `by` bits."""
    value &= _ALL
    return (value >> by | value << (64 - by)) & _ALL


def _mix(value: int) -> int:
    value &= _ALL
    return value ^ value >> 47


# -- MurmurHash64A


def murmur(data: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """Return the MurmurHash64A of the bytes, as an int in [0, 2**64)."""
    factor = 0xC6A4A7935BD1E995
    whole = len(data) // 8 * 8
    state = seed ^ len(data) * factor & _ALL
    for offset in range(0, whole, 8):
        block = _mix(_word(data, offset) * factor) * factor
        state = (state ^ block & _ALL) * factor & _ALL
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * factor & _ALL
    return _mix(_mix(state) * factor)


# -- FarmHash's Fingerprint64


def _pair(one: int, other: int, factor: int) -> int:
    """Combine two 64-bit words into one."""
    first = _mix((one ^ other) * factor)
    second = _mix((other & _ALL ^ first) * factor)
    return second * factor & _ALL


def _up_to_16(data: bytes) -> int:
    size = len(data)
    k0, _, k2 = _KEYS
    factor = k2 + size * 2
    if size >= 8:
        a, b = _word(data, 0) + k2, _word(data, size - 8)
        c, d = _right(b, 37) * factor + a, (_right(a, 25) + b) * factor
        return _pair(c & _ALL, d & _ALL, factor)
    if size >= 4:
        return _pair(size + (_half_word(data, 0) << 3), _half_word(data, size - 4), factor)
    if size:
        low, high = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
        return _mix(low * k2 ^ high * k0) * k2 & _ALL
    return k2


def _ends(data: bytes, first: int) -> tuple[int, int, int, int, int]:
    """Return intermediate results of FarmHash for inputs of 17 to 64 bytes: two sums, a word, the
    factor and the size.
    """
    _, _, k2 = _KEYS
    size, factor = len(data), k2 + len(data) * 2
    a, b = _word(data, 0) * first, _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * k2
    total = _right(a + b, 43) + _right(c, 30) + d & _ALL
    return total, a + _right(b + k2, 18) + c & _ALL, a, factor, size


def _up_to_32(data: bytes) -> int:
    one, other, _, factor, _ = _ends(data, _KEYS[1])
    return _pair(one, other, factor)


def _up_to_64(data: bytes) -> int:
    y, other, a, factor, size = _ends(data, _KEYS[2])
    z = _pair(y, other, factor)
    e, f = _word(data, 16) * factor, _word(data, 24)
    g, h = (y + _word(data, size - 32)) * factor, (z + _word(data, size - 24)) * factor
    one = _right(e + f, 43) + _right(g, 30) + h
    return _pair(one & _ALL, e + _right(f + a, 18) + g & _ALL, factor)


class _State(NamedTuple):
    """The state of FarmHash between two blocks of 64 bytes."""

    x: int
    y: int
    z: int
    v: tuple[int, int]
    w: tuple[int, int]


def _weak(data: bytes, offset: int, a: int, b: int) -> tuple[int, int]:
    """Combine four words of the data, starting at `offset`, with the words a and b. Return two
    words.
    """
    w, x, y, z = struct.unpack_from("<4Q", data, offset)
    a += w
    b = _right(b + a + z, 21)
    last = a + x + y
    return last + z & _ALL, b + _right(last, 44) + a & _ALL


def _block(state: _State, data: bytes, offset: int, factor: int, times: int) -> _State:
    """Return the state of the hash after the block of 64 bytes at `offset`.

    Args:
      times: 9 for the last block, which may overlap the previous block, otherwise 1.
    """
    x, y, z, v, w = state
    x = _right(x + y + v[0] + _word(data, offset + 8), 37) * factor
    y = _right(y + v[1] + _word(data, offset + 48), 42) * factor
    x ^= w[1] * times
    y += v[0] * times + _word(data, offset + 40)
    z = _right(z + w[0], 33) * factor
    v = _weak(data, offset, v[1] * factor, x + w[0])
    w = _weak(data, offset + 32, z + w[1], y + _word(data, offset + 16))
    return _State(z & _ALL, y & _ALL, x & _ALL, v, w)


def _longer(data: bytes) -> int:
    k0, k1, k2 = _KEYS
    size, seed = len(data), 81
    y = seed * k1 + 113 & _ALL
    z = _mix(y * k2 + 113) * k2 & _ALL
    state = _State(seed * k2 + _word(data, 0) & _ALL, y, z, (0, 0), (0, 0))
    for offset in range(0, (size - 1) // 64 * 64, 64):
        state = _block(state, data, offset, k1, 1)
    factor = k1 + ((state.z & 0xFF) << 1)
    w0 = state.w[0] + ((size - 1) & 63)
    v0 = state.v[0] + w0
    state = state._replace(v=(v0, state.v[1]), w=(w0 + v0, state.w[1]))
    x, y, z, v, w = _block(state, data, size - 64, factor, 9)
    one = _pair(v[0], w[0], factor) + _mix(y) * k0 + z
    return _pair(one & _ALL, _pair(v[1], w[1], factor) + x & _ALL, factor)


def farm_fingerprint(data: bytes) -> int:
    """Return FarmHash's Fingerprint64 of the bytes, as an int in [0, 2**64)."""
    if len(data) <= 16:
        return _up_to_16(data)
    if len(data) <= 32:
        return _up_to_32(data)
    return _up_to_64(data) if len(data) <= 64 else _longer(data)


# -- SipHash-2-4


def _round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    a = a + b & _ALL
    b = _right(b, 51) ^ a
    a = _right(a, 32)
    c = c + d & _ALL
    d = _right(d, 48) ^ c
    a = a + d & _ALL
    d = _right(d, 43) ^ a
    c = c + b & _ALL
    b = _right(b, 47) ^ c
    return a, b, _right(c, 32), d


def sip_hash(data: bytes, key: tuple[int, int]) -> int:
    """Return the SipHash-2-4 of the bytes under a key of two 64-bit words, as an int in [0,
    2**64).
    """
    k0, k1 = (word & _ALL for word in key)
    state = (
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    )
    whole = len(data) // 8 * 8
    last = int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56
    for word in [*(_word(data, offset) for offset in range(0, whole, 8)), last]:
        a, b, c, d = _round(*_round(*state[:3], state[3] ^ word))
        state = (a ^ word, b, c, d)
    a, b, c, d = state
    state = (a, b, c ^ 0xFF, d)
    for _ in range(4):
        state = _round(*state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]
