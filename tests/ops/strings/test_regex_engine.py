"""Regular expressions: RE2's language and linear time, by google-re2 and without it."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.ops.strings import regex_engine
from gpugraph.plan import run_clock


@pytest.fixture(params=["re2", "re"])
def engine(request: Any, monkeypatch: Any) -> Any:
    """Yield both engines, google-re2 where it is installed."""
    if request.param == "re2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setattr(regex_engine, "_re2", lambda: None)
    regex_engine.compiled_pattern.cache_clear()
    yield request.param
    regex_engine.compiled_pattern.cache_clear()


def replaced(*args: Any, **kwargs: Any) -> bytes:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.strings.regex_replace(*args, **kwargs))


@pytest.mark.parametrize(
    "text, pattern, rewrite, wanted",
    [
        ("baac", "a*", "x", b"xbxcx"),  # no empty match after another, unlike Python's sub
        ("ab", "b*", "-", b"-a-"),
        (b"\xffa", "a", "x", b"\xffx"),
        ("äö", ".", "x", b"xx"),
        ("abab", "(?i)B", "-", b"a-a-"),
        ("a\nb", "a$", "x", b"a\nb"),
        ("a\nb", "(?m)a$", "x", b"x\nb"),
        ("x1y", r"\pL", "Q", b"Q1Q"),
        ("abc", r"(a)(x)?", r"\2\1\0\\", rb"aa\bc"),
        ("one two", r"(\w+)\s+(\w+)", r"\2 \1", b"two one"),
    ],
)
def test_replacements(engine: str, text: Any, pattern: str, rewrite: str, wanted: bytes) -> None:
    del engine
    assert replaced(text, pattern, rewrite) == wanted


@pytest.mark.parametrize(
    "pattern, wanted",
    [
        ("(a+)+$", b"-"),
        ("(a|aa)+$", b"-"),
        ("(?:a?){30}a{30}$", b"a" * 3940 + b"-"),
        ("(a*)*b", b""),
        ("a*a*a*a*b", b""),
        ("(foo|a)+", b"-"),
        (r"([a-z]+,)*[a-z]+", b"-"),
        (r"\w+|\d+", b"-"),
    ],
)
def test_patterns_on_which_backtracking_takes_for_ever(
    engine: str, pattern: str, wanted: bytes
) -> None:
    del engine
    text = "a" * 4000
    assert replaced(text, pattern, "-") == (wanted or text.encode())


def test_patterns_that_re_could_match_for_ever_are_never_its(monkeypatch: Any) -> None:
    monkeypatch.setattr(regex_engine, "_re2", lambda: None)
    by_re = [
        isinstance(regex_engine.compiled_pattern(pattern).prepared(b"a" * length), str)
        for pattern in (rb"\w+|\d+", b"(a|b)c", b"(foo|a)+", b"a*a*b")
        for length in (20, 100_000)
    ]
    assert by_re == [True, True, True, True, False, False, True, False]


@pytest.mark.parametrize(
    "pattern, reason",
    [
        ("(", "missing ): ("),
        ("a)", "unexpected ): a)"),
        ("(?=a)", "invalid perl operator: (?="),
        ("(?<!a)", "invalid perl operator: (?<!"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("[[:nothing:]]", "invalid character class range: [:nothing:]"),
        ("[z-a]", "invalid character class range: z-a"),
        (r"\p{Nothing}", r"invalid character class range: \p{Nothing}"),
        ("[a", "missing ]: [a"),
        ("a**", "bad repetition operator: **"),
        ("a|*", "no argument for repetition operator: *"),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("(a{100}){100}", "invalid repetition size: {100}"),
        (r"\pL{1000}", "pattern too large - compile failed"),
        ("(?P<a-b>x)", "invalid named capture group: (?P<a-b>"),
        ("\\", "trailing \\"),
        (b"\xff", "invalid UTF-8"),
    ],
)
def test_patterns_that_are_not_valid(engine: str, pattern: Any, reason: str) -> None:
    del engine
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        replaced("a", pattern, "")
    assert "Invalid pattern: " in caught.value.message
    assert f", error: {reason}" in caught.value.message


def test_as_many_ways_as_no_number_holds(engine: str) -> None:
    del engine
    assert replaced("ab", "(?:a?b?)" * 1200 + "(?:b|aa)*", "x") == b"x"


def test_nested_groups(engine: str) -> None:
    del engine
    assert replaced("xay", "(" * 2000 + "a" + ")" * 2000, "") == b"xy"


LIMITED = """
import resource, sys
import gpugraph as tf
from gpugraph.ops.strings import regex_engine

pattern = "(" * 8000 + "a" + ")" * 8000
text = tf.placeholder(tf.string, [])
fetches = [tf.strings.regex_replace(text, pattern, rewrite) for rewrite in ("", "<\\\\1>")]
with tf.Session() as session:
    session.run(tf.strings.regex_replace("ab", "(a)", "\\\\1"))
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20),) * 2)
    print(session.run([*fetches, tf.strings.regex_full_match(text, pattern)], {text: "xay"}))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="it reads /proc")
def test_the_places_of_many_groups_do_not_fill_the_memory() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=100
    )
    assert ended.stdout == "[b'xy', b'x<a>y', np.False_]\n", ended.stderr[-2000:]


@pytest.mark.parametrize(
    "text, pattern, wanted",
    [
        ("aé", r"\C", b"xxx"),
        (b"\xffa", ".", b"\xffx"),
        ("aéa", r"\B", b"a\xc3x\xa9a"),
        ("aaa", "a*?", b"xaxaxax"),
        ("Kk\u212a", "(?i)k", b"xxx"),
        ("iI\u0131", "(?i)i", "xx\u0131".encode()),
        ("a,b", r"(?U)[\Wb]+", b"axx"),
        ("aB1", r"(?i)\p{^Lu}", b"aBx"),
        ("aα日ア", r"\p{Greek}|\p{Han}", "axxア".encode()),
        ("a{,2}", "a{,2}", b"x"),
        ("x1", r"(?P<letter>[[:alpha:]])\x{31}", b"x"),
    ],
)
def test_what_python_has_otherwise(engine: str, text: Any, pattern: str, wanted: bytes) -> None:
    del engine
    assert replaced(text, pattern, "x") == wanted


def test_a_time_limit_reaches_a_match(monkeypatch: Any) -> None:
    monkeypatch.setattr(regex_engine, "_re2", lambda: None)
    regex_engine.compiled_pattern.cache_clear()
    ticks = itertools.count(time.monotonic())  # a second goes by between two looks at the clock
    monkeypatch.setattr(run_clock, "monotonic", lambda: next(ticks))
    letters = "".join(random.Random(0).choices("ab", k=2000))
    options = tf.RunOptions(timeout_in_ms=100_000)
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string, [])
        for result in (
            tf.strings.regex_replace(text, "(a|b)*a(a|b){18}c", ""),
            tf.strings.regex_full_match(text, "(a|b)*a(a|b){17}c"),
        ):
            with pytest.raises(tf.errors.DeadlineExceededError, match="in a regular expression"):
                session.run(result, {text: letters}, options=options)
    regex_engine.compiled_pattern.cache_clear()
