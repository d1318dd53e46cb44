"""The conversion of random bits to random numbers. Each block of Philox is converted as in
TensorFlow.

The conversions were derived from TensorFlow's numbers for known seeds. Tests compare the results
with these numbers. A block of the Philox generator is four uint32 words. A law is an object that
fills an array with numbers, starting at a position of the generator. The blocks from which a number
is computed depend only on its index in the array. A float is computed from as many random bits as
its mantissa has. These bits give a number in [1, 2), from which 1 is subtracted. Normal numbers are
computed in pairs (Box and Muller, 1958: sqrt(-2 log u) times the sine, and the cosine, of 2 pi v).
The computation is in double precision, so float32 results are nearly always correctly rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.bfloat16 import is_bfloat16
from gpugraph.config.environment import thread_count
from gpugraph.ops.framework.thread_pool import run_in_threads
from gpugraph.ops.random.philox import CHUNK, Philox

_MIN_BLOCKS_PER_THREAD = 8 * CHUNK
"""The minimum number of Philox blocks that justifies waking another thread."""

_SMALLEST = 1e-7
"""The lower bound of u before its logarithm is computed."""

_RESERVED = 256 // 4
"""The number of blocks reserved for each number if the number may use several blocks."""

Convert = Callable[[Any, Any], None]
"""A function (words, out) that converts the words of whole blocks (pairs of uint64) to numbers. It
may overwrite the words.
"""


class Law(NamedTuple):
    """A distribution that fills arrays with random numbers.

    `law(place, out)` fills `out`, a C-ordered array, starting at position `place` of the generator.
    A group consists of the numbers that are computed from one block.

    Args:
      groups: a function `groups(place, offsets, out)` that fills `out`, which consists of whole
        groups, from the blocks at these counter offsets.
      reserved: the number of blocks that are reserved for each number, or 0 if each group has one
        block.
      native: the name of the C function that computes the same numbers (`native_random`), or "" if
        there is none.
      parameters: the integers that the C function receives after the number of numbers.
    """

    fill: Callable[[Philox, Any], None]
    groups: Callable[[Philox, Any, Any], None]
    reserved: int = 0
    native: str = ""
    parameters: tuple[int, ...] = ()

    def __call__(self, place: Philox, out: Any) -> None:
        self.fill(place, out)

    def rows(self, place: Philox, stride: int, out: Any) -> None:
        """Fill each row of `out` as if it were a separate array. Row i starts i * `stride` counters
        after `place`.
        """
        count, size = out.shape
        groups, group = groups_of(out[0])
        within = np.arange(groups, dtype=np.uint64) * np.uint64(self.reserved * group or 1)
        offsets = np.arange(count, dtype=np.uint64)[:, None] * np.uint64(stride) + within
        whole = np.empty((count, groups * group), out.dtype)
        self.groups(place, offsets.reshape(-1), whole.reshape(-1))
        out[...] = whole[:, :size]


def groups_of(out: Any) -> tuple[int, int]:
    """Return the number of groups in an array, and the number of elements per group."""
    size = 2 if out.dtype.itemsize == 8 else 4
    return -(-out.size // size), size


def _law(convert: Convert, native: str = "") -> Law:
    part = partial(_fill_part, convert)
    return Law(partial(_fill, part, 0), partial(_fill_groups, convert), native=native)


def _fill_groups(convert: Convert, place: Philox, offsets: Any, out: Any) -> None:
    convert(place.at(offsets).reshape(-1), out)


# -- by chunks, in threads


def _fill(part: Callable[[Philox, Any], None], reserved: int, place: Philox, out: Any) -> None:
    """Fill `out` with calls of `part(place, flat)`, each of which fills a part of `out`. For large
    arrays, several threads make these calls.

    Args:
      reserved: see `Law`.
    """
    flat, (groups, group) = out.reshape(-1), groups_of(out)
    if groups < 2 * _MIN_BLOCKS_PER_THREAD:
        part(place, flat)
        return
    size, stride = (
        -(-groups // min(thread_count(), groups // _MIN_BLOCKS_PER_THREAD)),
        reserved * group or 1,
    )
    works = [
        partial(part, place.skip(start * stride), flat[start * group : (start + size) * group])
        for start in range(0, groups, size)
    ]
    run_in_threads(works)


def _fill_part(convert: Convert, place: Philox, flat: Any) -> None:
    groups, group = groups_of(flat)
    for done, words in place.chunks(groups):
        part = flat[done * group : done * group + len(words) // 2 * group]
        whole = len(words) // 2 * group == part.size
        target = part if whole else np.empty(len(words) // 2 * group, flat.dtype)
        convert(words, target)
        if not whole:
            part[...] = target[: part.size]


# -- uniform


def _unit16(words: Any, out: Any) -> None:
    bits = words.view(np.uint32) & np.uint32(0x3FF)
    np.multiply(bits, np.float32(2**-10), out=out, casting="unsafe")


def _unit_bfloat16(words: Any, out: Any) -> None:
    bits = words.view(np.uint32) & np.uint32(0x7F)
    np.copyto(out, np.multiply(bits, np.float32(2**-7)), casting="unsafe")


def _unit32(words: Any, out: Any) -> None:
    """Store floats in [0, 1) in `out`, two for each uint64 in `words`. This overwrites `words`."""
    np.bitwise_and(words, np.uint64(0x007FFFFF007FFFFF), out=words)
    np.bitwise_or(words, np.uint64(0x3F8000003F800000), out=words)
    np.subtract(words.view(np.float32), np.float32(1), out=out)


def _unit64(words: Any, out: Any) -> None:
    """Store doubles in [0, 1) in `out`, one for each uint64 in `words`. This overwrites `words`.

    The upper bits of a double come from the lower 32-bit word of the uint64.
    """
    np.bitwise_or(words << np.uint64(32), words >> np.uint64(32), out=words)
    np.bitwise_and(words, np.uint64(2**52 - 1), out=words)
    np.bitwise_or(words, np.uint64(1023 << 52), out=words)
    np.subtract(words.view(np.float64), 1, out=out)


_UNITS = {2: _unit16, 4: _unit32, 8: _unit64}


def _unit(words: Any, out: Any) -> None:
    convert = _unit_bfloat16 if is_bfloat16(out.dtype) else _UNITS[out.dtype.itemsize]
    convert(words, out)


uniform = _law(_unit, "gg_uniform")
"""The law of floats that are uniform in [0, 1)."""


def doubles(words: Any) -> Any:
    """Return a double in [0, 1) for each uint64 in `words`. This overwrites `words`."""
    numbers = np.empty(words.shape)
    _unit64(words, numbers)
    return numbers


def integers(low: int, high: int) -> Law:
    """Return the law of integers in [low, high). Each integer is `low` plus a random word modulo
    `high - low`. For 64-bit integers, two words are used.
    """

    def convert(span: int, words: Any, out: Any) -> None:
        kind = np.uint32 if out.dtype.itemsize == 4 else np.uint64
        values, unsigned = words.view(kind), out.view(kind)
        if span & (span - 1):
            np.floor_divide(values, kind(span), out=unsigned)  # faster than np.remainder
            np.multiply(unsigned, kind(span), out=unsigned)
            np.subtract(values, unsigned, out=unsigned)
        else:
            np.bitwise_and(values, kind(span - 1), out=unsigned)
        np.add(unsigned, kind(low % 2 ** (8 * out.dtype.itemsize)), out=unsigned)

    law = _law(partial(convert, high - low), "gg_integers")
    return law._replace(parameters=(low, _signed(high - low)))


def _signed(number: int) -> int:
    """Return the int64 with the same bits as an unsigned integer."""
    return number - (number >> 63 << 64)


# -- normal


def normal_pairs(words: Any, out: Any) -> None:
    """Store pairs of normal numbers in `out`, which is float32 or float64. This overwrites
    `words`.
    """
    if out.dtype.itemsize == 4:
        units = np.empty(2 * words.size, np.float32)
        _unit32(words, units)
        angle = np.multiply(units[1::2], 2 * math.pi, dtype=np.float64)
        angle = angle.astype(np.float32).astype(np.float64)
        radius = np.log(np.maximum(units[0::2], np.float32(_SMALLEST)), dtype=np.float64)
        radius = np.sqrt(np.float32(-2) * radius.astype(np.float32))
    else:
        units = doubles(words)
        angle = 2 * math.pi * units[1::2]
        radius = np.sqrt(-2 * np.log(np.maximum(units[0::2], _SMALLEST)))
    np.multiply(np.sin(angle).astype(out.dtype), radius, out=out[0::2])
    np.multiply(np.cos(angle).astype(out.dtype), radius, out=out[1::2])


def _normal16(words: Any, out: Any) -> None:
    wide = np.empty(out.size, np.float32)
    normal_pairs(words, wide)
    np.copyto(out, wide, casting="unsafe")  # a cast that also works for bfloat16


def _normal(words: Any, out: Any) -> None:
    (_normal16 if out.dtype.itemsize == 2 else normal_pairs)(words, out)


normal = _law(_normal, "gg_normal")
"""The law of normal numbers with mean 0 and standard deviation 1."""


# -- truncated normal: each group has reserved blocks, and uses their first numbers within 2


def _truncate(place: Philox, offsets: Any, words: Any, group: int) -> Any:
    """Return the truncated normal numbers of the groups at these counter offsets.

    Args:
      words: the first block of each group.
      group: the number of numbers in a group.
    """
    drawn = np.empty((len(words) // 2, group), np.float32 if group == 4 else np.float64)
    normal_pairs(words, drawn.reshape(-1))
    short = np.flatnonzero((np.abs(drawn) >= 2).any(axis=1))
    if short.size:
        drawn[short] = _first_within(place, offsets[short], drawn[short])
    return drawn.reshape(-1)


def _fill_truncated(place: Philox, flat: Any) -> None:
    groups, group = groups_of(flat)
    stride = _RESERVED * group
    for done, words in place.chunks(groups, stride):
        offsets = np.arange(done, done + len(words) // 2, dtype=np.uint64) * np.uint64(stride)
        drawn = _truncate(place, offsets, words, group)
        part = flat[done * group : done * group + drawn.size]
        part[...] = drawn[: part.size]


def _truncated_groups(place: Philox, offsets: Any, out: Any) -> None:
    words = place.at(offsets).reshape(-1)
    out[...] = _truncate(place, offsets, words, groups_of(out)[1])


def _first_within(place: Philox, starts: Any, drawn: Any) -> Any:
    """Replace numbers in the rows of `drawn` whose magnitude is 2 or more with numbers from later
    blocks.

    For each row of the result, the blocks of the row are read in order, and numbers of magnitude 2
    or more are skipped.

    Args:
      starts: the counter offsets of the rows.
    """
    group, used = drawn.shape[1], 1
    numbers = np.empty_like(drawn)
    rows = np.arange(len(drawn))
    while rows.size:
        following = np.empty((len(rows), group), drawn.dtype)
        normal_pairs(place.at(starts + np.uint64(used)).reshape(-1), following.reshape(-1))
        used += 1
        drawn = np.concatenate([drawn, following], axis=1)
        beyond = np.abs(drawn) >= 2
        full = (~beyond).sum(axis=1) >= group
        first = np.argsort(beyond[full], axis=1, kind="stable")[:, :group]
        numbers[rows[full]] = np.take_along_axis(drawn[full], first, axis=1)
        rows, starts, drawn = rows[~full], starts[~full], drawn[~full]
    return numbers


truncated_normal = Law(
    partial(_fill, _fill_truncated, _RESERVED), _truncated_groups, _RESERVED, "gg_truncated"
)
"""The law of normal numbers within 2 standard deviations."""
