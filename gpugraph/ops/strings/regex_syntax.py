"""A parser of RE2's syntax, which converts a pattern to a Fragment. It raises RE2's errors.

Source: https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from gpugraph.ops.strings.character_classes import (
    ASCII_CLASSES,
    PERL_CLASSES,
    folded,
    unicode_class,
)
from gpugraph.ops.strings.regex_fragments import (
    LAST,
    Assertion,
    Fragment,
    Ranges,
    TooLargeError,
    any_byte,
    assertion,
    complement,
    either,
    group,
    merged,
    one_of,
    repeat,
    sequence,
)
from gpugraph.plan import check_run

MAX_COPIES = 1000
_NOT_NEWLINE = complement(((10, 10),))
_ESCAPES = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_NUMBER = re.compile(r"\\(?:([1-7][0-7]{1,2}|0[0-7]{0,2})|x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]+)\})")
_COUNT = re.compile(r"\{(0|[1-9][0-9]{0,8})(,?)(|0|[1-9][0-9]{0,8})\}")
_NAME = re.compile(r"\(\?P?<(\w+)>")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NO_NAME = re.compile(r"\(\?(?:P<|<(?![=!])).")
_NO_FLAGS = re.compile(r"\(\?(?:P|<.?|[imsU]*(?:-[imsU]*)?.?)", re.DOTALL)
_NO_ESCAPE = re.compile(r"\\(?:x\{(?:[0-9A-Fa-f]{6}|[0-9A-Fa-f]{0,5}.?)|x.{0,2}|.)", re.DOTALL)
_NAMED = re.compile(r"\\([dswDSW])|\\([pP])(?:\{(\^?)([^}]*)\}|([^{]))")
_ASCII_CLASS = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)
_ASSERTIONS = {
    "A": Assertion.TEXT_START,
    "z": Assertion.TEXT_END,
    "b": Assertion.WORD_EDGE,
    "B": Assertion.NO_WORD_EDGE,
}


class SyntaxRefusal(ValueError):
    """The error for an invalid pattern. It has RE2's message."""


class Parsed(NamedTuple):
    """A pattern as a Fragment, and the number of its groups."""

    fragment: Fragment
    groups: int


@dataclass
class _Open:
    """A group whose closing parenthesis has not been read.

    Args:
      index: the number of the group, or 0 if the group does not capture.
      flags: the flags in effect before the group, which are restored after it.
      branches: the alternatives that are complete.
      parts: the fragments of the current alternative.
    """

    index: int
    flags: frozenset[str]
    branches: list[Fragment] = field(default_factory=list)
    parts: list[Fragment] = field(default_factory=list)

    def closed(self) -> Fragment:
        """Return the Fragment of the group."""
        part = either([*self.branches, sequence(self.parts)])
        return group(part, self.index) if self.index else part


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.offset = 0
        self.flags: frozenset[str] = frozenset()
        self.groups = 0
        self.open = [_Open(0, self.flags)]
        self.repeated = ""  # the repetition operator that was just read, if any

    def parse(self) -> Parsed:
        """Parse the whole pattern."""
        while self.offset < len(self.pattern):
            start = self.offset
            bounds = self._bounds()
            if bounds is None:
                self._item(self.pattern[start])
                self.repeated = ""
            else:
                self._repeat(start, *bounds)
                self.repeated = self.pattern[start : self.offset]
        if len(self.open) > 1:
            raise SyntaxRefusal(f"missing ): {self.pattern}")
        return Parsed(self.open[0].closed(), self.groups)

    def _take(self, match: re.Match[str]) -> re.Match[str]:
        self.offset = match.end()
        return match

    # -- repetition

    def _bounds(self) -> tuple[int, int | None] | None:
        """Read the repetition operator at the current position, and return its bounds. Return None
        if there is no operator.
        """
        bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self.pattern[self.offset])
        if bounds is not None:
            self.offset += 1
            return bounds
        match = _COUNT.match(self.pattern, self.offset)
        if match is None or (match[3] and not match[2]):
            return None
        self._take(match)
        low = int(match[1])
        return low, int(match[3]) if match[3] else None if match[2] else low

    def _repeat(self, start: int, low: int, high: int | None) -> None:
        greedy = not self.pattern.startswith("?", self.offset)
        self.offset += not greedy
        text = self.pattern[start : self.offset]
        parts = self.open[-1].parts
        if self.repeated:
            raise SyntaxRefusal(f"bad repetition operator: {self.repeated}{text}")
        if not parts:
            raise SyntaxRefusal(f"no argument for repetition operator: {text}")
        largest = max(low, high or 0)
        copies = parts[-1].copies * max(largest if text[0] == "{" else 1, 1)
        if largest > MAX_COPIES or copies > MAX_COPIES or (high is not None and high < low):
            raise SyntaxRefusal(f"invalid repetition size: {text}")
        part = repeat(parts[-1], low, high, greedy != ("U" in self.flags))
        parts[-1] = part._replace(copies=copies)

    # -- operands of repetition

    def _item(self, letter: str) -> None:
        here = self.open[-1]
        if letter == "(":
            self._open()
        elif letter == "|":
            here.branches.append(sequence(here.parts))
            here.parts = []
            self.offset += 1
        elif letter == ")":
            self._close()
        elif letter == "[":
            here.parts.append(one_of(self._set()))
        elif letter == "\\":
            self._escaped()
        else:
            self.offset += 1
            here.parts.append(self._letter(letter))

    def _letter(self, letter: str) -> Fragment:
        if letter == ".":
            return one_of(((0, LAST),) if "s" in self.flags else _NOT_NEWLINE)
        if letter == "^":
            multiline = "m" in self.flags
            return assertion(Assertion.LINE_START if multiline else Assertion.TEXT_START)
        if letter == "$":
            return assertion(Assertion.LINE_END if "m" in self.flags else Assertion.TEXT_END)
        return one_of(self._folded(((ord(letter), ord(letter)),)))

    def _folded(self, ranges: Ranges) -> Ranges:
        return folded(ranges) if "i" in self.flags else ranges

    def _open(self) -> None:
        start = self.offset
        if not self.pattern.startswith("(?", start):
            self.offset += 1
            self._push(self.flags)
        elif match := _NAME.match(self.pattern, start):
            self._take(match)
            self._push(self.flags)
        elif match := _FLAGS.match(self.pattern, start):
            self._take(match)
            flags = (self.flags | set(match[1])) - set(match[2] or "")
            if match[3] == ":":
                self.open.append(_Open(0, self.flags))
            self.flags = flags
        else:
            raise self._no_group(start)

    def _no_group(self, start: int) -> SyntaxRefusal:
        if _NO_NAME.match(self.pattern, start):
            end = self.pattern.find(">", start)
            text = self.pattern[start : end + 1] if end >= 0 else self.pattern[start:]
            return SyntaxRefusal(f"invalid named capture group: {text}")
        match = _NO_FLAGS.match(self.pattern, start)
        assert match is not None
        return SyntaxRefusal(f"invalid perl operator: {match[0]}")

    def _push(self, flags: frozenset[str]) -> None:
        self.groups += 1
        self.open.append(_Open(self.groups, flags))

    def _close(self) -> None:
        if len(self.open) == 1:
            raise SyntaxRefusal(f"unexpected ): {self.pattern}")
        check_run("in a regular expression")
        self.offset += 1
        last = self.open.pop()
        self.flags = last.flags
        self.open[-1].parts.append(last.closed())

    # -- escapes and sets

    def _escaped(self) -> None:
        parts = self.open[-1].parts
        letter = self.pattern[self.offset + 1 : self.offset + 2]
        if letter in _ASSERTIONS:
            self.offset += 2
            parts.append(assertion(_ASSERTIONS[letter]))
        elif letter == "C":
            self.offset += 2
            parts.append(any_byte())
        elif letter == "Q":
            text, _, _ = self.pattern[self.offset + 2 :].partition("\\E")
            self.offset = min(self.offset + 4 + len(text), len(self.pattern))
            parts += [one_of(self._folded(((ord(point), ord(point)),))) for point in text]
        elif (ranges := self._named()) is not None:
            parts.append(one_of(ranges))
        else:
            point = self._point()
            parts.append(one_of(self._folded(((point, point),))))

    def _named(self) -> Ranges | None:
        r"""Read the character class at the current position, such as \d, \pL or \p{Greek}. If there
        is none, return None.
        """
        match = _NAMED.match(self.pattern, self.offset)
        if match is None:
            if self.pattern[self.offset : self.offset + 2] in (r"\p", r"\P"):
                text = self.pattern[self.offset :]
                raise SyntaxRefusal(f"invalid character class range: {text}")
            return None
        if match[1]:
            ranges: Ranges | None = PERL_CLASSES[match[1].lower()]
            negative = match[1].isupper()
        else:
            ranges = unicode_class(match[4] if match[5] is None else match[5])
            negative = (match[2] == "P") != (match[3] == "^")
        if ranges is None:
            raise SyntaxRefusal(f"invalid character class range: {match[0]}")
        self._take(match)
        return complement(self._folded(ranges)) if negative else self._folded(ranges)

    def _point(self) -> int:
        """Read the escape at the current position and return its code point."""
        start = self.offset
        letter = self.pattern[start + 1 : start + 2]
        if not letter:
            raise SyntaxRefusal("trailing \\")
        if match := _NUMBER.match(self.pattern, start):
            self._take(match)
            point = int(match[1], 8) if match[1] else int(match[2] or match[3], 16)
            if point <= LAST:
                return point
        elif letter in _ESCAPES:
            self.offset += 2
            return _ESCAPES[letter]
        elif letter.isascii() and not letter.isalnum():
            self.offset += 2
            return ord(letter)
        text = _NO_ESCAPE.match(self.pattern, start)
        assert text is not None
        raise SyntaxRefusal(f"invalid escape sequence: {text[0]}")

    def _set(self) -> Ranges:
        start = self.offset
        negative = self.pattern.startswith("^", start + 1)
        self.offset += 1 + negative
        first = self.offset
        ranges: list[tuple[int, int]] = []
        while not self.pattern.startswith("]", self.offset) or self.offset == first:
            if self.offset >= len(self.pattern):
                raise SyntaxRefusal(f"missing ]: {self.pattern[start:]}")
            ranges += self._ascii_class() or self._named() or self._folded((self._range(start),))
        self.offset += 1
        return complement(merged(ranges)) if negative else merged(ranges)

    def _ascii_class(self) -> Ranges | None:
        match = _ASCII_CLASS.match(self.pattern, self.offset)
        if match is None:
            return None
        if match[2] not in ASCII_CLASSES:
            raise SyntaxRefusal(f"invalid character class range: {match[0]}")
        self._take(match)
        ranges = self._folded(ASCII_CLASSES[match[2]])
        return complement(ranges) if match[1] else ranges

    def _range(self, start: int) -> tuple[int, int]:
        begin = self.offset
        first = last = self._member()
        if self.pattern.startswith("-", self.offset) and not self.pattern.startswith(
            "-]", self.offset
        ):
            self.offset += 1
            if self.offset >= len(self.pattern):
                raise SyntaxRefusal(f"missing ]: {self.pattern[start:]}")
            last = self._member()
        if last < first:
            text = self.pattern[begin : self.offset]
            raise SyntaxRefusal(f"invalid character class range: {text}")
        return first, last

    def _member(self) -> int:
        letter = self.pattern[self.offset]
        if letter == "\\":
            return self._point()
        self.offset += 1
        return ord(letter)


def parsed(pattern: str) -> Parsed:
    """Parse a pattern. If RE2 rejects it, raise SyntaxRefusal with RE2's message."""
    try:
        return _Parser(pattern).parse()
    except TooLargeError:
        raise SyntaxRefusal("pattern too large - compile failed") from None
