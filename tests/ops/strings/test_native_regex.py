"""Native regular expressions give the results of the engines, on random patterns and texts."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.strings.regex_engine import compiled_pattern

from ..one_op import Alone, kernels
from ..sampling import Sample, case
from ..test_native_rows import Native

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

ATOMS = [
    *("a", "b", ".", "[ab]", "[^a]", r"\w", r"\W", r"\d", r"\s", r"\b", r"\B", "^", "$", "(?m:^)"),
    *("(?m:$)", "(a|b)", "(ab|a)", "(?:a*)", "(b*)", "(?i:A)", r"\C", "ä", "[ä-ü]", "(?s:.)", "x"),
    *(r"\n", "(|a)", "(a|)", r"\A", r"\z", "[[:alpha:]]", "(a*)*", "(a?b?)+", "(?U:a+)"),
]
REPEATS = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?"]
PIECES = [
    *(b"a", b"b", b"ab", b" ", b"\n", b"A", b"1", b"x", b"_", b"\0", b"\xff", b"\xc3"),
    *("ä".encode(), "ü".encode(), "€".encode(), b"\xf0\x9f\x98\x80", b"\xe2\x82"),
]
REWRITES = ["-", r"<\0>", "", r"\1", r"\\", r"[\1\2]", r"x\0y"]


def pattern(draw: random.Random, depth: int = 0) -> str:
    text = ""
    for _ in range(draw.randint(1, 4)):
        is_nested = depth < 2 and draw.random() < 0.2
        atom = f"({pattern(draw, depth + 1)})" if is_nested else draw.choice(ATOMS)
        text += atom + draw.choice(REPEATS)
    return text + (f"|{pattern(draw, depth + 1)}" if draw.random() < 0.15 else "")


def texts(draw: random.Random, count: int) -> np.ndarray:
    sizes = [draw.choice([0, 1, 2, 3, 5, 8, 20]) for _ in range(count)]
    lines = np.empty(count, object)
    lines[:] = [b"".join(draw.choices(PIECES, k=size)) for size in sizes]
    return lines


def compare(op_type: str, sample: Sample) -> bool:
    """Compare the native kernel with the host's. Return whether there is a native kernel."""
    native = Native(op_type, sample)
    try:
        native.prepare()
    except NotImplementedError:
        return False
    attrs = sample.all_attrs(DECLARATIONS[op_type].op_def)
    host = next(call for device, call in kernels(op_type, attrs) if device == "CPU")
    wanted, result = Alone(op_type, sample, host)()[0], native.alone()[0]
    assert not native.is_refused
    differing = [pair for pair in zip(sample.flat[0], result, wanted) if pair[1] != pair[2]]
    assert not differing, (op_type, attrs, differing[0])
    return True


def compare_patterns(draw: random.Random, count: int) -> int:
    done = 0
    while done < count:
        written = pattern(draw)
        try:
            compiled_pattern(written.encode())
        except tf.errors.InvalidArgumentError:
            continue
        lines, everywhere = texts(draw, 25), draw.random() < 0.7
        options = {"rewrite": draw.choice(REWRITES), "replace_global": everywhere}
        done += compare("StaticRegexReplace", case(lines, pattern=written, **options))
        done += compare("StaticRegexFullMatch", case(lines, pattern=written))
    return done


def test_random_patterns_and_texts() -> None:
    assert compare_patterns(random.Random(1), 150) >= 150


@pytest.mark.exhaustive
def test_many_random_patterns_and_texts() -> None:
    compare_patterns(random.Random(2), 20_000)


@pytest.mark.parametrize("written", ["(a|b)*a(a|b){12}", "(?:a?){200}b", "a.*b|a"])
def test_more_states_than_a_table_holds_at_first(written: str) -> None:
    draw = random.Random(3)
    lines = np.empty(9, object)
    lines[:] = ["".join(draw.choices("ab", k=3000)).encode() for _ in range(9)]
    assert compare("StaticRegexFullMatch", case(lines, pattern=written))
    assert compare("StaticRegexReplace", case(lines, pattern=written, rewrite=r"<\0>"))


@pytest.mark.parametrize("written", [r"\pL", "(?i)ä", "(?:[a-z]{9}x){300}", "(?:(a*)*?)*"])
def test_patterns_that_other_engines_match(written: str) -> None:
    assert not compare("StaticRegexFullMatch", case(texts(random.Random(4), 5), pattern=written))
