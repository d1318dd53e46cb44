"""Many strings, for tests of native code: of all functions on strings, with samples that are larger
than those of the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import gpugraph as tf

from .sampling import Sample, case


def numbers(*shape: int, seed: int = 1, dtype: Any = np.float32) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=shape) * 8
    return values.astype(dtype)


def indices(count: int, most: int, dtype: Any = np.int32) -> np.ndarray:
    return np.random.default_rng(count).integers(0, most, count).astype(dtype)


def texts() -> Iterator[tuple[str, Sample]]:
    """Many strings: empty, long, with white space, zeros and bytes that are no UTF-8."""
    random = np.random.default_rng(6)
    words = [b"", b" ", b"Graph", b"of ", b",", b";;", b"\t\n", b"\xff\0", b"T1" * 200, b"ab"]
    lines = np.empty(500, object)
    lines[:] = [b"".join(random.choice(words, 6)) for _ in range(500)]
    space, both, none = (np.array(text, object) for text in (b" ", b" ,", b""))
    for op_type in ("StringLength", "StringLower", "StringUpper", "StringStrip", "EncodeBase64"):
        yield op_type, case(lines)
    yield "EncodeBase64", case(lines, pad=True)
    written = np.array(
        ["".join(random.choice([*"a€ñ 😀\t"], 9)).encode() for _ in range(99)], object
    )
    yield "StringLength", case(lines, unit="UTF8_CHAR")
    for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        options = {"input_encoding": "UTF-8", "output_encoding": encoding}
        yield "UnicodeTranscode", case(written, **options)
    for start, size in ((0, 3), (-9, 1000), (4, 2), (9, 0), (2, -1)):
        parts = np.array(start, np.int32), np.array(size, np.int32)
        yield "Substr", case(written, *parts, unit="UTF8_CHAR")
    for delimiter in (space, both, none):
        for most in (-1, 0, 1, 2):
            yield "StringSplitV2", case(lines, delimiter, maxsplit=most)
        for skips in (True, False):
            yield "StringSplit", case(lines, delimiter, skip_empty=skips)
    for suffix in ("", "Fast"):
        yield f"StringToHashBucket{suffix}", case(lines, num_buckets=997)
    yield "StringToHashBucketStrong", case(lines, num_buckets=997, key=[-1, 1 << 62])
    long = np.array([line + b"0123456789" for line in lines], object)
    for start, size in ((0, 3), (-10, 1000), (4, -1), (10, 0)):
        yield "Substr", case(long, np.array(start, np.int32), np.array(size, np.int32))
    yield "Substr", case(long, indices(500, 10, np.int64), indices(500, 30, np.int64) - 1)
    values = numbers(400, dtype=np.float64) * 10.0 ** random.integers(-40, 40, 400)
    for form in ("%.17g", " %.3f\n", "%+.9e", "%.30f"):
        written = np.array([(form % value).encode() for value in values], object)
        yield "StringToNumber", case(written, out_type=tf.float32)
        yield "StringToNumber", case(written, out_type=tf.float64)
    for dtype in (np.int32, np.int64):
        whole = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 300, dtype)
        whole[:3] = 0, np.iinfo(dtype).min, np.iinfo(dtype).max
        yield "AsString", case(whole)
        small = np.array([b"%d" % value for value in whole // 1000], object)
        yield "StringToNumber", case(small, out_type=tf.as_dtype(dtype))
    yield "StringToNumber", case(small, out_type=tf.uint32)
    yield from written_numbers(random)
    yield from broken_characters(random)
    yield from tagged_numbers(lines)
    ids = random.integers(0, 60, (50, 10))
    for shape in ((500,), (50, 10), (10, 50)):
        yield (
            "UnsortedSegmentJoin",
            case(lines.reshape(shape), ids.reshape(shape), np.array(60), separator=", "),
        )
    yield "UnsortedSegmentJoin", case(lines.reshape(50, 10), ids[:, 0], np.array(60))
    yield from edited(random)


def written_numbers(random: Any) -> Iterator[tuple[str, Sample]]:
    """Numbers of all sizes in all formats."""
    special = [0.0, -0.0, 0.5, 1.5, 2.5, 0.0625, -0.125, 9.995, np.inf, -np.inf, np.nan, -np.nan]
    usual = [*special, *(numbers(300, dtype=np.float64) * 10.0 ** random.integers(-9, 6, 300))]
    for precision in (-1, 0, 1, 3, 9, 12):
        yield "AsString", case(np.array(usual), precision=precision)
        yield "AsString", case(np.array(usual, np.float32), precision=precision)
        yield "AsString", case(np.array([*usual, 1e300, -3e38]), precision=precision, fill="+")
    for fill in ("", "+", "-", "0", " ", "#"):
        for kind in ({}, {"shortest": True}, {"scientific": True}):
            yield "AsString", case(np.array(usual), fill=fill, width=12, **kind)
        yield "AsString", case(random.integers(-99, 10**6, 99), fill=fill, width=5)
    yield "AsString", case(np.array(usual) > 0)
    yield "AsString", case(np.array(usual), precision=70)


def edited(random: Any) -> Iterator[tuple[str, Sample]]:
    """Sequences of several lengths, some of them empty, of elements that are often equal."""
    both = []
    for count in (700, 650):
        places = random.integers(0, [9, 11, 20], (count, 3))
        both.append(places[np.lexsort(places.T[::-1])])
    sizes = np.array([9, 11, 20]), np.array([8, 12, 20])
    both[1] = np.minimum(both[1], sizes[1] - 1)
    for dtype in (np.int8, np.int64, np.float32, np.float64, object):
        values = []
        for places in both:
            drawn = random.integers(0, 4, len(places)).astype(np.int64)
            if dtype is object:
                drawn = np.array([b"", b"a", b"ab", b"ac"], object)[drawn]
            values.append(drawn.astype(dtype))
            if values[-1].dtype.kind == "f":
                values[-1][::9], values[-1][::7] = np.nan, -0.0
        parts = [part for group in zip(both, values, sizes) for part in group]
        mixed = random.permutation(len(both[1]))
        others = *parts[:3], both[1][mixed], values[1][mixed], sizes[1]
        for normalize in (True, False):
            yield "EditDistance", case(*parts, normalize=normalize)
            yield "EditDistance", case(*others, normalize=normalize)


def broken_characters(random: Any) -> Iterator[tuple[str, Sample]]:
    """Texts with bytes that are no characters of UTF-8, or begin one."""
    some = [0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0x80, 0x8F, 0x90, 0x9F]
    some += [0xA0, 0xBF, 0x41, 0x1F, 0x7F]
    lines = np.empty(500, object)
    lines[:] = [bytes(random.choice(some, random.integers(0, 12)).tolist()) for _ in range(500)]
    lines[:2] = b"\xff" * 100, b"a" * 300 + b"\xe2"
    for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        for errors, point in (("replace", 0xFFFD), ("replace", 0x1F600), ("ignore", 0xD800)):
            options = {"input_encoding": "UTF-8", "output_encoding": encoding, "errors": errors}
            for controls in (False, True):
                options |= {"replacement_char": point, "replace_control_characters": controls}
                yield "UnicodeTranscode", case(lines, **options)


def tagged_numbers(tags: np.ndarray) -> Iterator[tuple[str, Sample]]:
    """Numbers under tags of all lengths, those beyond float32 too."""
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        values = numbers(len(tags), dtype=np.float64) * 100
        if dtype is np.float64:
            values[:3] = 1e300, -1e300, np.nan
        yield "ScalarSummary", case(tags, values.astype(dtype))
