"""The automaton of regular expressions: the same matches as `re`, in linear time and bounded
memory.
"""

from __future__ import annotations

import contextvars
import random
import re
import signal
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gpugraph.base.interruptions.signal_handlers import defers_signals, install_handlers
from gpugraph.ops.strings import linear_regex
from gpugraph.ops.strings.linear_regex import Automaton
from gpugraph.ops.strings.regex_syntax import parsed
from gpugraph.plan import RUN_CLOCK, Clock


def automaton(pattern: str, search: bool = True) -> Automaton:
    syntax = parsed(pattern)
    return Automaton(syntax.fragment, syntax.groups, search)


# -- the same as `re`

# Where both have the same syntax and meaning: Python guarantees nothing about groups in
# repetitions, nor about repetitions of a possibly empty expression.
LETTERS = st.sampled_from(["a", "b", "ab", ".", "[ab]", "[^a]", r"\w", r"\d", r"\s", "é", r"\."])
ASSERTIONS = st.sampled_from(["^", r"\A", r"\b", "(?m:$)", "(?m:^)"])
REPEATS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{1,}?", "{0,2}?"])
FLAGS = st.sampled_from(["(?i:", "(?s:", "(?:", "(?-i:"])


def joined(parts: Any) -> Any:
    return st.one_of(
        st.builds("{}{}".format, parts, parts), st.builds("{}{}|{})".format, FLAGS, parts, parts)
    )


SOLID = st.recursive(LETTERS, joined, max_leaves=4)
REPEATED = st.builds("(?:{}){}".format, SOLID, REPEATS)
NESTED = st.builds("(?:{}{}){}".format, REPEATED, SOLID, REPEATS)
PARTS = st.recursive(
    st.one_of(SOLID, REPEATED, NESTED, ASSERTIONS),
    lambda parts: st.one_of(joined(parts), st.builds("({})".format, parts)),
    max_leaves=6,
)
PATTERNS = st.builds("{}{}".format, st.sampled_from(["", "(?i)", "(?s)", "(?m)", "(?ms)"]), PARTS)
TEXTS = st.text("abAé1. \n", max_size=12)


def byte_spans(text: str, match: re.Match[str] | None) -> list[tuple[int, int]] | None:
    if match is None:
        return None
    return [
        (len(text[:first].encode()), len(text[:last].encode())) if first >= 0 else (-1, -1)
        for first, last in match.regs
    ]


@given(PATTERNS, TEXTS)
def test_spans_and_groups_are_those_of_re(pattern: str, text: str) -> None:
    wanted = byte_spans(text, re.compile(pattern, re.ASCII).search(text))
    assert automaton(pattern).search(text.encode(), 0) == wanted


@given(PATTERNS, TEXTS)
def test_full_matches_are_those_of_re(pattern: str, text: str) -> None:
    whole = automaton(pattern, search=False).search(text.encode(), 0)
    assert (whole is not None) == (re.compile(pattern, re.ASCII).fullmatch(text) is not None)


@given(PATTERNS, TEXTS)
def test_the_pattern_for_re_means_the_same(pattern: str, text: str) -> None:
    source = re.compile(parsed(pattern).fragment.source, re.ASCII)
    wanted = re.compile(pattern, re.ASCII).search(text)
    assert byte_spans(text, source.search(text)) == byte_spans(text, wanted)


# -- time and memory


def lines_run(machine: Automaton, text: bytes) -> int:
    """Return how many lines of Python a search takes."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        machine.search(text, 0)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "([a-z]+,)*[a-z]+", "(foo|a)+", r"\w+|\d+", "(a*)*b", "(?:a?){20}a{20}$", "(a|b)*c"],
)
def test_the_work_grows_with_the_text(pattern: str) -> None:
    short, long = (lines_run(automaton(pattern), b"a" * size + b"!") for size in (2000, 8000))
    assert long < 4.4 * short


def test_states_that_are_forgotten_change_nothing(monkeypatch: Any) -> None:
    text = bytes(random.Random(0).choices(b"ab", k=1500)) + b"c"
    pattern = "((a|b)*a(a|b){9}c)"
    wanted = automaton(pattern).search(text, 0)
    monkeypatch.setattr(linear_regex, "MAX_ENTRIES", 200)
    bounded = automaton(pattern)
    kept = []
    follow = bounded.follow

    def counted(*arguments: Any) -> Any:
        kept.append(bounded.entries)
        return follow(*arguments)

    bounded.follow = counted  # type: ignore[method-assign]
    assert bounded.search(text, 0) == wanted
    assert wanted is not None
    assert max(kept) < 300  # one state of some threads more


def test_an_interrupt_ends_a_match(interruptible: None) -> None:
    install_handlers()
    clock = Clock()

    @defers_signals(lambda frame: clock.interrupt())
    def search() -> None:
        RUN_CLOCK.set(clock)
        signal.raise_signal(signal.SIGINT)
        automaton("(a|b)*c").search(b"ab", 0)

    with pytest.raises(KeyboardInterrupt):
        contextvars.copy_context().run(search)
