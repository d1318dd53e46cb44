"""The engines that match regular expressions. They take linear time, as TensorFlow's RE2 does.

The package `google-re2` (the extra `regex`) is used if it is installed. Otherwise, the pattern is
translated for Python's `re`, provided that `re` certainly needs few steps for this pattern and
text. In all other cases, including bytes that are not valid UTF-8, an automaton is used
(`linear_regex`), which is about ten times slower.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from math import inf
from typing import Any, Protocol

from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.ops.strings.linear_regex import Automaton
from gpugraph.ops.strings.regex_syntax import Parsed, SyntaxRefusal, parsed

Spans = Sequence[tuple[int, int]]
"""The spans of a match and of its groups; (-1, -1) for a group that was not part of the match."""

FEW_STEPS = 10**6
FEW_STEPS_PER_BYTE = 1000

MAX_CAPTURES = 4 << 20
"""RE2 compiles a pattern only if the number of instructions times the number of groups is at most
this.

RE2 may store the positions of all groups for each instruction: 64 MiB at this limit. TensorFlow
requests at most ten groups, the package always requests all.
"""

_NESTED = re.compile(rb"(?s)[*+?}]\)+[*+?{]")
_LAZY = re.compile(rb"[*+?}]\?|\(\?[a-zA-Z]*U")


class Pattern(Protocol):
    """A compiled pattern of any engine.

    Args:
      groups: the number of groups in the pattern.
    """

    groups: int

    def prepared(self, data: bytes) -> Any:
        """Return the text in the form that `search` requires, str or bytes.

        Spans are positions in this text.
        """

    def search(self, text: Any, start: int) -> Spans | None:
        """Return the spans of the first match at or after `start`, or None if there is no match."""

    def is_full_match(self, data: bytes) -> bool:
        """Return whether the pattern matches the whole text."""


_NO_SPAN = (-1, -1)


class _Re2Pattern:
    """A pattern of the package google-re2. It is called without the package's Python classes."""

    def __init__(self, compiled: Any) -> None:
        regexp = compiled._regexp  # the package's class in C++
        self._match = regexp.Match
        self._anywhere = type(regexp).Anchor.UNANCHORED
        self._whole = type(regexp).Anchor.ANCHOR_BOTH
        self.groups: int = compiled.groups

    def prepared(self, data: bytes) -> bytes:
        """Return the text unchanged."""
        return data

    def search(self, text: bytes, start: int) -> Spans | None:
        """Return the spans of the first match at or after `start`, or None."""
        spans: Spans = self._match(self._anywhere, text, start, len(text))
        return None if spans[0] == _NO_SPAN else spans

    def is_full_match(self, data: bytes) -> bool:
        """Return whether the pattern matches the whole text."""
        spans: Spans = self._match(self._whole, data, 0, len(data))
        return spans[0] != _NO_SPAN


class _FallbackPattern:
    """A pattern that is matched without RE2. `re` searches texts for which it needs few steps, and
    the automaton searches all other texts.
    """

    def __init__(self, pattern: Parsed) -> None:
        part = self._fragment = pattern.fragment
        self.groups = pattern.groups
        loops = (
            part.loops + 1 - part.ends_in_loop
        )  # 1 is added for the position where the match starts
        steps = max(part.size, 1) * part.choices
        self._longest = (  # the length from which `re` might need too many steps
            inf
            if loops == 1 and steps <= FEW_STEPS_PER_BYTE
            else (FEW_STEPS / steps) ** (1 / loops)
        )

    @cached_property
    def _re(self) -> re.Pattern[str] | None:
        try:
            return re.compile(self._fragment.source, re.ASCII)
        except RecursionError:  # the parser of `re` recurses for each group
            return None

    @cached_property
    def _search(self) -> Automaton:
        return Automaton(self._fragment, self.groups, search=True)

    @cached_property
    def _whole(self) -> Automaton:
        return Automaton(self._fragment, self.groups, search=False)

    def prepared(self, data: bytes) -> str | bytes:
        """Return the text as str if `re` will search it, or as bytes if the automaton will."""
        if len(data) >= self._longest or self._re is None:
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data

    def search(self, text: str | bytes, start: int) -> Spans | None:
        """Return the spans of the first match at or after `start`, or None if there is no match."""
        if isinstance(text, bytes):
            return self._search.search(text, start)
        assert self._re is not None
        match = self._re.search(text, start)
        return match and match.regs

    def is_full_match(self, data: bytes) -> bool:
        """Return whether the pattern matches the whole text."""
        text = self.prepared(data)
        if isinstance(text, bytes):
            return self._whole.search(text, 0) is not None
        assert self._re is not None
        return self._re.fullmatch(text) is not None


def is_of_mixed_repetitions(pattern: bytes) -> bool:
    """Return whether a pattern may contain a repetition inside a repetition, one of them lazy and
    the other greedy.

    RE2 may merge the two repetitions, and then prefers other matches than `re` does.
    """
    return bool(_NESTED.search(pattern) and _LAZY.search(pattern))


@cache
def _re2() -> Any:
    """Return the package `google-re2`, or None if it is not installed."""
    if find_spec("re2") is None:
        return None
    module = import_module("re2")
    if not hasattr(module, "Options"):  # another package with the same name
        return None
    has_match = hasattr(getattr(module.compile(b""), "_regexp", None), "Match")
    return module if has_match else None


def _of_re2(module: Any, pattern: bytes, captures: bool) -> _Re2Pattern | None:
    """Compile the pattern with RE2, or return None if the pattern's groups could take too much
    memory.
    """
    options = module.Options()
    options.log_errors = False
    options.never_capture = not (captures or is_of_mixed_repetitions(pattern))
    compiled = module.compile(pattern, options)
    few = compiled.programsize * compiled.groups <= MAX_CAPTURES
    return _Re2Pattern(compiled) if few else None


def _refusal(pattern: bytes, why: str) -> InvalidArgumentError:
    text = pattern.decode("utf-8", "backslashreplace")
    return invalid_argument(f"Invalid pattern: {text}, error: {why}")


@lru_cache(maxsize=256)
def compiled_pattern(pattern: bytes, captures: bool = True) -> Pattern:
    """Compile the pattern for the best available engine.

    Raises InvalidArgumentError if the pattern is invalid.

    Args:
      captures: whether the spans of groups are needed. If not, the engine may omit them.
    """
    module = _re2()
    if module is not None:
        try:
            compiled = _of_re2(module, pattern, captures)
            if compiled is not None:
                return compiled
        except module.error as error:
            reason = error.args[0]
            text = (
                reason.decode("utf-8", "backslashreplace") if isinstance(reason, bytes) else reason
            )
            raise _refusal(pattern, text) from error
    try:
        return _FallbackPattern(parsed(pattern.decode()))
    except UnicodeDecodeError:
        raise _refusal(pattern, "invalid UTF-8") from None
    except SyntaxRefusal as error:
        raise _refusal(pattern, str(error)) from error
