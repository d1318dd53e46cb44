"""Philox4x32-10, a counter-based generator, which computes 128 random bits from a key and a 128-bit
counter.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011. Any
part of a stream can be computed separately, so the numbers do not depend on threads and devices.

A block is the four 32-bit words of one counter value, stored as two uint64 with the earlier word in
the lower half: words.view(np.uint32) is the stream in order. Blocks are computed `CHUNK` at a time,
so that they stay in the cache, on two arrays of pairs of words, in ten rounds:

    A = [c2; c0]    B = [c1; c3]           a round: A *= [M1; M0]
    c0' = high(M1 c2) ^ c1 ^ k0                     T = (A >> 32) ^ B ^ [k0; k1]    [c0'; c2']
    c2' = high(M0 c0) ^ c3 ^ k1                     A, B = T with rows swapped, A   [c1'; c3']
    c1' = low(M1 c2), c3' = low(M0 c0)

Here c0 to c3 are the words of the counter, and k0 and k1 are the words of the round's key. The
upper 32 bits of array elements are cleared only where a product would read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

CHUNK = 8192
"""The number of blocks computed together: half a MiB of arrays."""

_FEW = 8
"""For at most this number of blocks, Python's integers are faster than arrays."""

_HALF = 2**32
_WORD = _HALF - 1
_WHOLE = 2**128
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57  # M0, M1
_WEYL = 0x9E3779B9, 0xBB67AE85  # the increments of the two words of the key per round
_ROUNDS = 10


@lru_cache(maxsize=256)
def _round_keys(key: int) -> list[tuple[int, int]]:
    low, high = key & _WORD, key >> 32 & _WORD
    return [
        ((low + _WEYL[0] * number) & _WORD, (high + _WEYL[1] * number) & _WORD)
        for number in range(_ROUNDS)
    ]


class _Constants(NamedTuple):
    """The constants of the rounds as arrays. They are created on first use, because NumPy is slow
    to create them.
    """

    multipliers: Any
    low: Any
    half: Any


@lru_cache(maxsize=1)
def _constants() -> _Constants:
    first, second = _MULTIPLIERS
    return _Constants(np.array([[second], [first]], np.uint64), np.uint64(_WORD), np.uint64(32))


@lru_cache(maxsize=256)
def _key_columns(key: int) -> list[Any]:
    return [np.array([[low], [high]], np.uint64) for low, high in _round_keys(key)]


class _Workspace:
    """Scratch arrays for `size` blocks."""

    def __init__(self, size: int) -> None:
        self.steps = np.arange(size, dtype=np.uint64)
        self.pairs = [np.empty((2, size), np.uint64) for _ in range(3)]
        self.words = np.empty(2 * size, np.uint64)


Words = tuple[Any, Any, Any, Any]
"""The four words of blocks, each an array of uint64 below 2**32."""


def blocks_by_key(key: tuple[Any, Any], counter: Words) -> Words:
    """Return the blocks of several counters, each with its own key. The result has an array for
    each of the four words of a block.
    """
    k0, k1 = key
    c0, c1, c2, c3 = counter
    m0, m1 = (np.uint64(number) for number in _MULTIPLIERS)
    w0, w1 = (np.uint64(number) for number in _WEYL)
    low, half = np.uint64(_WORD), np.uint64(32)
    for _ in range(_ROUNDS):
        first, second = c0 * m0, c2 * m1
        c0, c1 = second >> half ^ c1 ^ k0, second & low
        c2, c3 = first >> half ^ c3 ^ k1, first & low
        k0, k1 = k0 + w0 & low, k1 + w1 & low
    return c0, c1, c2, c3


class Philox(NamedTuple):
    """A position in the stream of random blocks of one key.

    Args:
      counter: the counter of the next block.
    """

    key: int
    counter: int

    def skip(self, blocks: int) -> Philox:
        """Return the position after the next `blocks` blocks."""
        return Philox(self.key, (self.counter + blocks) % _WHOLE)

    def block(self) -> tuple[int, int, int, int]:
        """Return the four words of the next block."""
        c0, c1, c2, c3 = (self.counter >> shift & _WORD for shift in (0, 32, 64, 96))
        for k0, k1 in _round_keys(self.key):
            first, second = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
            c0, c1 = second >> 32 ^ c1 ^ k0, second & _WORD
            c2, c3 = first >> 32 ^ c3 ^ k1, first & _WORD
        return c0, c1, c2, c3

    def chunks(self, count: int, stride: int = 1) -> Iterator[tuple[int, Any]]:
        """Yield `count` blocks in chunks, as (number of preceding blocks, words). The words are
        uint64, two for each block. They are valid until the next chunk is yielded.

        Args:
          stride: the distance between the counters of consecutive blocks.
        """
        if count <= _FEW:
            if count:
                yield 0, self._few(count, stride)
            return
        size, done = min(count, CHUNK), 0
        space = _Workspace(size)
        while done < count:
            place = self.skip(done * stride)
            until_carry = -(-(_HALF - (place.counter & _WORD)) // stride)
            part = min(size, count - done, until_carry)
            yield done, place._run(part, stride, space)
            done += part

    def words(self, count: int) -> Any:
        """Return the next `count` words, as uint32."""
        pairs = np.empty(-(-count // 4) * 2, np.uint64)
        for done, words in self.chunks(-(-count // 4)):
            pairs[2 * done : 2 * done + len(words)] = words
        return pairs.view(np.uint32)[:count]

    def at(self, offsets: Any) -> Any:
        """Return the blocks at these counter offsets (uint64, below 2**63). Each row has one block
        as two uint64.
        """
        low = np.asarray(offsets, np.uint64) + np.uint64(self.counter & 2**64 - 1)
        carried = low < offsets
        constants, size = _constants(), len(low)
        a, b, spare = (np.empty((2, size), np.uint64) for _ in range(3))
        np.bitwise_and(low, constants.low, out=a[1])
        np.right_shift(low, constants.half, out=b[0])
        upper, past = self.counter >> 64, ((self.counter >> 64) + 1) % 2**64
        a[0] = np.where(carried, np.uint64(past & _WORD), np.uint64(upper & _WORD))
        b[1] = np.where(carried, np.uint64(past >> 32), np.uint64(upper >> 32))
        pairs = np.empty(2 * size, np.uint64)
        _pack(_rounds(a, b, spare, _key_columns(self.key)), pairs)
        return pairs.reshape(size, 2)

    def _few(self, count: int, stride: int) -> Any:
        words = [word for index in range(count) for word in self.skip(index * stride).block()]
        return np.array(words, np.uint32).view(np.uint64)

    def _run(self, count: int, stride: int, space: _Workspace) -> Any:
        """Return `count` blocks whose counters are `stride` apart and differ only in the lowest
        word.

        So most words of the first two rounds are the same for all blocks, and are computed as
        Python ints.
        """
        constants, (k0, k1), (l0, l1) = _constants(), *_round_keys(self.key)[:2]
        c0, c1, c2, c3 = (self.counter >> shift & _WORD for shift in (0, 32, 64, 96))
        a, b, t = (array[:, :count] for array in space.pairs)
        first, second = (np.uint64(multiplier) for multiplier in _MULTIPLIERS)
        start = space.steps[:count]
        if stride != 1:
            start = np.multiply(start, np.uint64(stride), out=b[1])
        np.add(start, np.uint64(c0), out=b[1])
        np.multiply(b[1], first, out=b[1])
        np.right_shift(b[1], constants.half, out=b[0])
        np.bitwise_xor(b[0], np.uint64(c3 ^ k1), out=b[0])
        np.multiply(b[0], second, out=b[0])  # b: the two products that depend on c0

        upper = c2 * _MULTIPLIERS[1]
        product = (upper >> 32 ^ c1 ^ k0) * _MULTIPLIERS[0]
        np.right_shift(b[0], constants.half, out=a[1])
        np.bitwise_xor(a[1], np.uint64(upper & _WORD ^ l0), out=a[1])
        np.bitwise_xor(b[1], np.uint64(product >> 32 ^ l1), out=a[0])
        np.bitwise_and(a[0], constants.low, out=a[0])
        b[1] = np.uint64(product & _WORD)
        words = space.words[: 2 * count]
        _pack(_rounds(a, b, t, _key_columns(self.key)[2:]), words)
        return words


def _rounds(a: Any, b: Any, t: Any, keys: list[Any]) -> tuple[Any, Any]:
    """Return A = [c2; c0] and B = [c1; c3] after the rounds with `keys`. This overwrites all
    arrays.
    """
    constants = _constants()
    for key in keys:
        np.multiply(a, constants.multipliers, out=a)
        np.bitwise_xor(b, key, out=b)
        np.right_shift(a, constants.half, out=t)
        np.bitwise_xor(t, b, out=t)
        np.bitwise_and(t, constants.low, out=t)
        a, b, t = t[::-1], a, b
    return a, b


def _pack(state: tuple[Any, Any], out: Any) -> None:
    """Store c0 | c1 << 32 and c2 | c3 << 32 of each block in `out`."""
    a, b = state
    np.left_shift(b, _constants().half, out=b)
    np.bitwise_or(a[::-1], b, out=out.reshape(-1, 2).T)
