"""Fragments, the parts of a regular expression. A fragment has a program over bytes and a source
for Python's `re`.

The program is a list of instructions with relative jumps, so fragments can be concatenated and
copied as lists (Thompson's construction). The bytes are the UTF-8 encoding of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from math import inf, prod
from typing import Any, NamedTuple

LAST = 0x10FFFF
MAX_INSTRUCTIONS = 400_000

Ranges = tuple[tuple[int, int], ...]
"""A set of code points: (first, last) of each range. The ranges are sorted and disjoint."""


Op = Enum("Op", ["BYTES", "SPLIT", "SAVE", "ASSERT", "MATCH"])
"""The kinds of instructions. BYTES consumes one byte if it is in a frozenset. SPLIT continues at
each of the given distances, in order of preference. SAVE stores the position in a slot. ASSERT
continues if the Assertion holds. MATCH ends the match.
"""


class Assertion(Enum):
    """A condition on the position between two bytes. The value of a member is its source for
    `re`.
    """

    TEXT_START = r"\A"
    TEXT_END = r"\Z"
    LINE_START = "(?m:^)"
    LINE_END = "(?m:$)"
    WORD_EDGE = r"\b"
    NO_WORD_EDGE = r"\B"


Instruction = tuple[Op, Any]


class TooLargeError(ValueError):
    """The error for a pattern whose program would have more than MAX_INSTRUCTIONS instructions."""


class Fragment(NamedTuple):
    """A part of a pattern, with an upper bound for the number of ways in which `re` could try to
    match it.

    For a text of n bytes, the number of ways is at most `choices` * n ** `loops`.
    """

    code: list[Instruction]
    source: str
    size: int = (
        1  # the number of code points and assertions, each counted as often as it is repeated
    )
    choices: float = 1.0  # inf if it exceeds a float
    loops: int = 0
    ends_in_loop: bool = (
        False  # whether its last part is a loop, so that nothing after the loop can fail
    )
    may_be_empty: bool = False
    copies: int = 1  # the maximum product of nested repetition counts
    ranges: Ranges | None = (
        None  # the code points that it matches, if it always matches a single code point
    )

    @property
    def is_fixed(self) -> bool:
        """Whether there is only one way to match the fragment, which consumes at least one byte."""
        return self.choices == 1 and not self.loops and not self.may_be_empty


def merged(ranges: Sequence[tuple[int, int]]) -> Ranges:
    """Return the union of these ranges of code points, as disjoint ranges."""
    result: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        else:
            result.append((first, last))
    return tuple(result)


def complement(ranges: Ranges) -> Ranges:
    """Return the set of all code points that are not in `ranges`."""
    edges = [0, *(edge for first, last in ranges for edge in (first, last + 1)), LAST + 1]
    return tuple((a, b - 1) for a, b in zip(edges[::2], edges[1::2]) if a < b)


def _byte_sequences(first: int, last: int) -> list[tuple[tuple[int, int], ...]]:
    """Return the UTF-8 encodings of the code points from `first` to `last`.

    The result is a list of sequences. An item (lowest, highest) of a sequence matches one byte, and
    the sequences together match the whole range.
    """
    for edge in (0x7F, 0x7FF, 0xFFFF):
        if first <= edge < last:
            return [*_byte_sequences(first, edge), *_byte_sequences(edge + 1, last)]
    for bits in (6, 12, 18):
        mask = (1 << bits) - 1
        if last > 0x7F and first >> bits != last >> bits:
            if first & mask:
                return [
                    *_byte_sequences(first, first | mask),
                    *_byte_sequences((first | mask) + 1, last),
                ]
            if last & mask != mask:
                return [
                    *_byte_sequences(first, (last & ~mask) - 1),
                    *_byte_sequences(last & ~mask, last),
                ]
    return [tuple(zip(_utf8(first), _utf8(last)))]


def _utf8(point: int) -> bytes:
    return chr(point).encode("utf-8", "surrogatepass")


_MORE = (0x80, 0xBF)
# RE2 does the same for sets that contain all of non-ASCII; some of these bytes are not valid UTF-8.
_NO_ASCII = [((0xC2, 0xDF), _MORE), ((0xE0, 0xEF), _MORE, _MORE), ((0xF0, 0xF4), *[_MORE] * 3)]


def _set_source(ranges: Ranges) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return re.escape(chr(ranges[0][0]))
    is_shorter = bool(ranges) and ranges[0][0] == 0 and ranges[-1][1] == LAST
    if ranges == ((0, LAST),) or not ranges:
        return r"[\s\S]" if ranges else r"[^\s\S]"
    pairs = complement(ranges) if is_shorter else ranges
    text = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in pairs)
    return f"[{'^' * is_shorter}{text}]"


def one_of(ranges: Ranges) -> Fragment:
    """Return the fragment that matches one code point of the ranges."""
    leads: dict[tuple[tuple[int, int], ...], set[int]] = {}
    for first, last in ranges:
        sequences = _byte_sequences(first, last if first > 0x7F else min(last, 0x7F))
        if last == LAST and first <= 0x80:
            sequences = [*(_byte_sequences(first, 0x7F) if first < 0x80 else []), *_NO_ASCII]
        elif first <= 0x7F < last:
            sequences += _byte_sequences(0x80, last)
        for (low, high), *tail in sequences:
            leads.setdefault(tuple(tail), set()).update(range(low, high + 1))
    codes = [
        [_bytes(lead), *(_bytes(range(low, high + 1)) for low, high in tail)]
        for tail, lead in leads.items()
    ]
    code = _branches(codes) if codes else [_bytes(())]
    return Fragment(code, _set_source(ranges), ranges=ranges)


def _bytes(values: Any) -> Instruction:
    return Op.BYTES, frozenset(values)


def any_byte() -> Fragment:
    r"""Return the fragment that matches any single byte (\C)."""
    return Fragment([_bytes(range(256))], "", choices=inf)


def assertion(kind: Assertion) -> Fragment:
    r"""Return the fragment for an assertion. Unlike `re`, it also checks \B inside characters."""
    choices = inf if kind is Assertion.NO_WORD_EDGE else 1.0
    return Fragment([(Op.ASSERT, kind)], kind.value, choices=choices, may_be_empty=True)


def sequence(parts: Sequence[Fragment]) -> Fragment:
    """Return the fragment that matches the parts one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Fragment(
        _checked([instruction for part in parts for instruction in part.code]),
        "".join(part.source for part in parts),
        sum(part.size for part in parts),
        prod((part.choices for part in parts), start=1.0),
        sum(part.loops for part in parts),
        bool(parts) and parts[-1].ends_in_loop,
        all(part.may_be_empty for part in parts),
        max((part.copies for part in parts), default=1),
    )


def _branches(codes: Sequence[list[Instruction]]) -> list[Instruction]:
    if len(codes) == 1:
        return codes[0]
    starts = [1]
    for code in codes:
        starts.append(starts[-1] + len(code) + 1)
    end = starts[-1] - 1  # the last branch does not jump to the end
    result: list[Instruction] = [(Op.SPLIT, tuple(starts[:-1]))]
    for code in codes[:-1]:
        result += code
        result.append((Op.SPLIT, (end - len(result),)))
    return [*result, *codes[-1]]


def either(parts: Sequence[Fragment]) -> Fragment:
    """Return the fragment that matches one of the parts. Earlier parts are preferred."""
    if len(parts) == 1:
        return parts[0]
    ranges = [pair for part in parts for pair in part.ranges or ()]
    if all(part.ranges is not None for part in parts):
        return one_of(merged(ranges))
    return Fragment(
        _checked(_branches([part.code for part in parts])),
        "(?:" + "|".join(part.source for part in parts) + ")",
        sum(part.size for part in parts),
        sum(part.choices for part in parts),
        max(part.loops for part in parts),
        all(part.ends_in_loop for part in parts),
        any(part.may_be_empty for part in parts),
        max(part.copies for part in parts),
    )


def group(part: Fragment, index: int) -> Fragment:
    """Return the fragment that matches `part` and saves its span as group number `index`.

    The function modifies the list `part.code`.
    """
    part.code.insert(
        0, (Op.SAVE, 2 * index)
    )  # in place, because groups may be nested thousands of levels deep
    part.code.append((Op.SAVE, 2 * index + 1))
    return part._replace(code=_checked(part.code), source=f"({part.source})", ranges=None)


def repeat(part: Fragment, low: int, high: int | None, greedy: bool) -> Fragment:
    """Return the fragment that matches `part` `low` to `high` times. If `high` is None, there is no
    limit.

    Args:
      greedy: whether more repetitions are preferred to fewer.
    """
    rest = 0 if high is None else high - low
    if len(part.code) * max(high or low, 1) > MAX_INSTRUCTIONS:
        raise TooLargeError
    source = f"(?:{part.source}){{{low},{'' if high is None else high}}}{'' if greedy else '?'}"
    optional = (low, high) == (0, 1)
    is_simple = part.is_fixed or optional or high == low == 1
    return Fragment(
        _loop(part, low, greedy) if high is None else _copies(part.code, low, rest, greedy),
        source,
        part.size * max(high or low, 1),
        part.choices * (1 + rest) if is_simple else inf,
        1 if high is None else part.loops,
        high is None,
        part.may_be_empty or low == 0,
        part.copies,
    )


def _split(greedy: bool, into: int, past: int) -> Instruction:
    return Op.SPLIT, (into, past) if greedy else (past, into)


def _loop(part: Fragment, low: int, greedy: bool) -> list[Instruction]:
    code, size = part.code, len(part.code)
    if low:
        return [*code * low, _split(greedy, -size, 1)]
    if part.may_be_empty:  # (x+)? keeps the empty match in the order of preference
        return [_split(greedy, 1, size + 2), *code, _split(greedy, -size, 1)]
    return [_split(greedy, 1, size + 2), *code, (Op.SPLIT, (-size - 1,))]


def _copies(code: list[Instruction], low: int, rest: int, greedy: bool) -> list[Instruction]:
    result = code * low
    for left in range(rest, 0, -1):
        result += [_split(greedy, 1, left * (len(code) + 1)), *code]
    return result


def _checked(code: list[Instruction]) -> list[Instruction]:
    if len(code) > MAX_INSTRUCTIONS:
        raise TooLargeError
    return code
