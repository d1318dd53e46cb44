"""The engines of regular expressions: the package google-re2, or Python's `re` within limits.

TensorFlow's are RE2's, which takes linear time. The package `google-re2` (the extra `regex`) runs
them where it is installed. Without it Python's `re` does, which knows nearly all of that syntax:
what differs is translated ([[:alpha:]], \\z, \\pL...), what RE2 refuses (lookaround,
backreferences) is refused, and so is what could take `re` for ever: it tries one way to match after
another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from gpugraph.base.errors import InvalidArgumentError, UnimplementedError, invalid_argument

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_NAMED = re.compile(r"\[:(\w+):\]")
_NEGATED = re.compile(r"\[\[:\^(\w+):\]\]")
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
_SET = re.compile(r"(\[\^?\]?(?:\\.|[^\]\\])*\])", re.DOTALL)
_LETTER = r"(?:[^\W\d_])"
_PARTS = re.compile(r"\\p\{?L\}?|\\[zZ1-9]|\\.|\(\?[=!]|\(\?<[=!]|\(\?P=|\$", re.DOTALL)


def _refusal(pattern: str, why: str) -> InvalidArgumentError:
    return invalid_argument(f"Invalid pattern: {pattern}, error: {why}")


def _translate(pattern: str) -> str:
    """The pattern in Python's syntax."""

    def named(match: re.Match[str]) -> str:
        if match[1] not in _CLASSES:
            raise _refusal(pattern, f"invalid character class range: {match[0]}")
        return _CLASSES[match[1]]

    def part(match: re.Match[str]) -> str:
        text = match[0]
        if text.startswith("\\p"):
            return _LETTER
        if text == "\\z":
            return "\\Z"
        if text == "$":
            return "$" if multiline else "\\Z"  # not before a newline at the end
        if text.startswith("(?"):
            raise _refusal(pattern, f"invalid perl operator: {text}")
        if text[1:] in "Z123456789":
            raise _refusal(pattern, f"invalid escape sequence: {text}")
        return text

    multiline = re.match(r"\(\?\w*m", pattern) is not None
    text = _QUOTED.sub(lambda match: re.escape(match[1]), pattern)
    text = _NEGATED.sub(lambda match: f"[^{named(match)}]", text)
    pieces = _SET.split(_NAMED.sub(named, text))
    return "".join(
        re.sub(r"(?<!^)(?<!\\)\[", r"\\[", piece) if index % 2 else _PARTS.sub(part, piece)
        for index, piece in enumerate(pieces)
    )


class Pattern(NamedTuple):
    """A compiled pattern. trials: how `re` could match the longer, the more text there is."""

    compiled: Any
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    trials: Callable[[int], float]

    def prepared(self, text: bytes) -> Any:
        """The text as the engine takes it. UnimplementedError where it could take for ever."""
        if self.trials(len(text)) > _MOST_TRIALS:
            raise _too_slow(self.compiled.pattern)
        return self.decode(text)

    def matches(self, text: Any) -> Iterator[Any]:
        """The matches that do not overlap; no empty one right after another, as in RE2."""
        last = -1
        for match in self.compiled.finditer(text):
            if match.end() > match.start() or match.start() != last:
                yield match
            last = match.end()


@cache
def _re2() -> Any:
    """The package `google-re2` with its options, or None where it is not installed."""
    if find_spec("re2") is None:
        return None
    module = import_module("re2")
    if not hasattr(module, "Options"):  # another package of that name
        return None
    options = module.Options()
    options.log_errors = False
    return module, options


@lru_cache(maxsize=256)
def compiled_pattern(pattern: bytes) -> Pattern:
    """The pattern for whichever engine there is. InvalidArgumentError for one that is not valid."""
    if _re2() is not None:
        module, options = _re2()
        try:
            return Pattern(module.compile(pattern, options), bytes, bytes, lambda length: 0)
        except module.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            raise _refusal(_text(pattern), reason) from error
    text = _text(pattern)
    try:
        translated = _translate(text)
        compiled = re.compile(translated, 0 if "\\p" in text else re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        raise _refusal(text, str(error)) from error
    return Pattern(compiled, _text, _bytes, _trials(translated))


_MOST_TRIALS = 1e10
_TOKENS = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?[^:)]*:?)?|\)|\||[*+?]|\{\d*,?\d*\}", re.DOTALL
)


def _trials(pattern: str) -> Callable[[int], float]:
    """How many ways `re` may try for a text of some length: a bound.

    A repeated group that may match in several ways may take exponential time.
    """
    repeated = 0
    optional = 0
    end = 0
    several = [False]  # of each open group: whether it may match in several ways
    of_group = False  # a group that may ends just here
    for match in _TOKENS.finditer(pattern):
        token = match[0]
        of_group &= match.start() == end
        end = match.end()
        if token[0] == "(":
            several.append(False)
        elif token == ")":
            of_group = several.pop() if len(several) > 1 else False
            several[-1] |= of_group
            continue
        elif token == "|":
            several[-1] = True
        elif token == "?":
            optional += 1
            several[-1] = True
        elif token[0] in "*+{" and token != "{1}":
            if of_group:
                return lambda length: float("inf")
            repeated += 1
            several[-1] = True
        of_group = False
    return lambda length: (length + 1.0) ** min(repeated, 20) * 2.0 ** min(optional, 100)


def _too_slow(pattern: Any) -> UnimplementedError:
    return UnimplementedError.of_no_node(
        f"Python's `re` could take for ever for the pattern {pattern!r}: install the package "
        "google-re2 (pip install 'gpugraph[regex]')"
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
