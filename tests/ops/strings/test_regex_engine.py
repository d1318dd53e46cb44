"""Regular expressions: linear time by google-re2; without it, what could take long is refused."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.ops.strings import regex_engine


@pytest.fixture(params=["re2", "re"])
def engine(request: Any, monkeypatch: Any) -> Any:
    """Both engines, google-re2 where it is installed."""
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
    "pattern", ["(a+)+$", "(a|aa)+$", "(?:a?){30}a{30}$", "(a*)*b", "a*a*a*a*b"]
)
def test_patterns_on_which_backtracking_takes_for_ever(engine: str, pattern: str) -> None:
    text = "a" * 4000 + "c"
    if engine == "re2":
        assert replaced(text, pattern, "") == text.encode()
        return
    with pytest.raises(tf.errors.UnimplementedError, match="google-re2"):
        replaced(text, pattern, "")


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "[[:nothing:]]", "a**b(", "\\"])
def test_patterns_that_are_not_valid(engine: str, pattern: str) -> None:
    del engine
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        replaced("a", pattern, "")


def test_nested_groups(engine: str) -> None:
    pattern = "(" * 2000 + "a" + ")" * 2000
    if engine == "re2":
        assert replaced("xay", pattern, "") == b"xy"
        return
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        replaced("a", pattern, "")
