"""The engines of regular expressions, which take linear time, as TensorFlow's RE2 does.

The package `google-re2` (the extra `regex`) runs them if it is installed. Without it, patterns
that Python's `re` can match in few steps are translated for `re`; all others, and bytes that are
no text, run on an automaton (`linear_regex`), about ten times slower.
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
"""The spans of a match and of its groups; (-1, -1) for a group that took no part."""

FEW_STEPS = 10**6
FEW_STEPS_PER_BYTE = 1000

MAX_CAPTURES = 4 << 20
"""The maximum of instructions times groups of a pattern for RE2, which may keep the places of all
groups for each instruction: 64 MiB. TensorFlow requests at most ten groups, the package always all.
"""


class Pattern(Protocol):
    """A compiled pattern."""

    groups: int

    def prepared(self, data: bytes) -> Any:
        """Return the text in the form for `search`, str or bytes; spans refer to that form."""

    def search(self, text: Any, start: int) -> Spans | None:
        """Return the spans of the first match in the text from `start` on."""

    def is_full_match(self, data: bytes) -> bool:
        """Return whether the pattern matches all of the text."""


class _Re2Pattern:
    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self.groups: int = compiled.groups

    def prepared(self, data: bytes) -> bytes:
        """Return the text as it is."""
        return data

    def search(self, text: bytes, start: int) -> Spans | None:
        """Return the spans of the first match."""
        match = self._compiled.search(text, start)
        return match and [match.span(group) for group in range(self.groups + 1)]

    def is_full_match(self, data: bytes) -> bool:
        """Return whether the pattern matches all of the text."""
        return self._compiled.fullmatch(data) is not None


class _FallbackPattern:
    """Runs `re` on text that it matches in few steps, and the automaton on bytes otherwise."""

    def __init__(self, pattern: Parsed) -> None:
        part = self._fragment = pattern.fragment
        self.groups = pattern.groups
        loops = part.loops + 1 - part.ends_in_loop  # one more for the start of the match
        steps = max(part.size, 1) * part.choices
        self._longest = (  # the maximum length of text that `re` searches
            inf
            if loops == 1 and steps <= FEW_STEPS_PER_BYTE
            else (FEW_STEPS / steps) ** (1 / loops)
        )

    @cached_property
    def _re(self) -> re.Pattern[str] | None:
        try:
            return re.compile(self._fragment.source, re.ASCII)
        except RecursionError:  # its parser recurses for each group
            return None

    @cached_property
    def _search(self) -> Automaton:
        return Automaton(self._fragment, self.groups, search=True)

    @cached_property
    def _whole(self) -> Automaton:
        return Automaton(self._fragment, self.groups, search=False)

    def prepared(self, data: bytes) -> str | bytes:
        """Return the text as str if `re` is to search it, else as bytes."""
        if len(data) >= self._longest or self._re is None:
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data

    def search(self, text: str | bytes, start: int) -> Spans | None:
        """Return the spans of the first match."""
        if isinstance(text, bytes):
            return self._search.search(text, start)
        assert self._re is not None
        match = self._re.search(text, start)
        return match and match.regs

    def is_full_match(self, data: bytes) -> bool:
        """Return whether the pattern matches all of the text."""
        text = self.prepared(data)
        if isinstance(text, bytes):
            return self._whole.search(text, 0) is not None
        assert self._re is not None
        return self._re.fullmatch(text) is not None


@cache
def _re2() -> Any:
    """Return the package `google-re2`, or None if it is not installed."""
    if find_spec("re2") is None:
        return None
    module = import_module("re2")
    if not hasattr(module, "Options"):  # another package of that name
        return None
    return module


def _of_re2(module: Any, pattern: bytes, captures: bool) -> _Re2Pattern | None:
    """Compile the pattern for RE2; return None if its groups could fill the memory."""
    options = module.Options()
    options.log_errors = False
    options.never_capture = not captures
    compiled = module.compile(pattern, options)
    few = compiled.programsize * compiled.groups <= MAX_CAPTURES
    return _Re2Pattern(compiled) if few else None


def _refusal(pattern: bytes, why: str) -> InvalidArgumentError:
    text = pattern.decode("utf-8", "backslashreplace")
    return invalid_argument(f"Invalid pattern: {text}, error: {why}")


@lru_cache(maxsize=256)
def compiled_pattern(pattern: bytes, captures: bool = True) -> Pattern:
    """Compile the pattern for the available engine; raise InvalidArgumentError if it is invalid.

    captures: whether the spans of groups are needed; otherwise the engine may omit them.
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
