"""Philox: the numbers its authors publish, and that arrays of blocks are those of single ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gpugraph.ops.random.philox import CHUNK, Philox

ALL_ONES = 2**128 - 1
COUNTERS = st.one_of(
    st.integers(0, ALL_ONES),
    st.builds(
        lambda bits, back: (2**bits - back) % 2**128, st.integers(1, 128), st.integers(0, 99)
    ),
)  # the second kind is where a word of the counter carries over


def joined(*words: int) -> int:
    """Words as one number, the lowest first."""
    return sum(word << 32 * index for index, word in enumerate(words))


def singly(place: Philox, count: int, stride: int = 1) -> list[tuple[int, ...]]:
    return [place.skip(index * stride).block() for index in range(count)]


def rows(words: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in words.view(np.uint32).reshape(-1, 4).tolist()]


@pytest.mark.parametrize(
    ("key", "counter", "block"),
    [
        ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((2**32 - 1,) * 2, (2**32 - 1,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0xA4093822, 0x299F31D0),
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_published_blocks(key, counter, block):
    """Random123's known answers."""
    place = Philox(joined(*key), joined(*counter))
    assert place.block() == block
    assert rows(place.words(40))[0] == block
    assert rows(place.at(np.zeros(1, np.uint64)))[0] == block


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**64 - 1), COUNTERS, st.integers(0, 40), st.sampled_from([1, 128, 256]))
def test_arrays_of_blocks_are_single_blocks(key, counter, count, stride):
    place = Philox(key, counter)
    result = [row for _, words in place.chunks(count, stride) for row in rows(words)]
    assert result == singly(place, count, stride)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**64 - 1), COUNTERS, st.lists(st.integers(0, 2**62), max_size=9))
def test_blocks_from_anywhere(key, counter, offsets):
    place = Philox(key, counter)
    result = rows(place.at(np.array(offsets, np.uint64)))
    assert result == [place.skip(offset).block() for offset in offsets]


def test_chunks_follow_each_other():
    place = Philox(3, 2**32 - CHUNK - 5)
    words = place.words(4 * (2 * CHUNK + 3))
    for index in (0, 1, CHUNK, CHUNK + 4, CHUNK + 5, 2 * CHUNK, 2 * CHUNK + 2):
        assert tuple(words[4 * index : 4 * index + 4].tolist()) == place.skip(index).block()


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 41])
def test_as_many_words_as_asked_for(count):
    place = Philox(7, 11)
    assert place.words(count).tolist() == place.words(100)[:count].tolist()


def test_skipping_goes_round():
    assert Philox(1, ALL_ONES).skip(3) == Philox(1, 2)
