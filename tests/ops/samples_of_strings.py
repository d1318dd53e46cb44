"""Samples of the string ops and of checks, with references in Python."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape

from .sampling import add, case, i32, i64

__all__ = ["texts"]


def texts(*words: Any, shape: tuple[int, ...] | None = None) -> Any:
    """Return an array of strings, and a scalar of one word without a shape."""
    result = np.array([word.encode() if isinstance(word, str) else word for word in words], object)
    if shape is None:
        return result if len(words) != 1 else result.reshape(())
    return result.reshape(shape)


def each(function: Callable[[bytes], Any]) -> Callable[..., Any]:
    """Return the function on each element."""

    def apply(source: Any, **attrs: Any) -> Any:
        results = [function(value, **attrs) for value in source.reshape(-1)]
        result = np.empty(len(results), object)
        result[:] = results
        return result.reshape(source.shape)

    return apply


WORDS = texts(b" a\tb\n", "", "Straße", b"\xff\x00 ", shape=(2, 2))


def strings(op_type: str, function: Callable[..., Any], *others: Any, **attrs: Any) -> None:
    """Samples of an op on each string of a tensor."""
    shown = [*others, WORDS, texts("a"), np.empty((0, 3), object)]
    add(
        op_type,
        *[lambda _, given=value: case(given, **attrs) for value in shown],  # type: ignore[misc]
        reference=each(function),
    )


# -- each string


def _length(text: bytes, unit: str = "BYTE") -> int:
    return len(text) if unit == "BYTE" else len(text.decode("utf-8", "replace"))


strings("StringLength", _length)
strings("StringLength", _length, unit="UTF8_CHAR")
strings("StringStrip", bytes.strip)


def _cased(name: str) -> Callable[..., bytes]:
    def change(text: bytes, encoding: str = "") -> bytes:
        if not encoding:
            return bytes(getattr(text, name)())
        return getattr(text.decode("utf-8", "replace"), name)().encode()  # type: ignore[no-any-return]

    return change


for _encoding in ("", "utf-8"):
    strings("StringLower", _cased("lower"), encoding=_encoding)
    strings("StringUpper", _cased("upper"), encoding=_encoding)


def _encoded(text: bytes, pad: bool = False) -> bytes:
    result = base64.b64encode(text, b"-_")
    return result if pad else result.replace(b"=", b"")


strings("EncodeBase64", _encoded)
strings("EncodeBase64", _encoded, pad=True)
add(
    "DecodeBase64",
    lambda _: case(texts("YQ", "YQ==", "-_-_", "YWJj", "", "YWI=", shape=(2, 3))),
    lambda _: case(texts("YWI")),
    lambda _: case(np.empty((0,), object)),
    reference=each(lambda text: base64.b64decode(text + b"=" * (-len(text) % 4), b"-_")),
)


def _parts(source: Any, pos: Any, length: Any, unit: str = "BYTE") -> Any:
    def part(text: bytes, index: int, count: int) -> bytes:
        if unit == "BYTE":
            return text[index:][:count]
        return text.decode()[index:][:count].encode()

    result = np.frompyfunc(part, 3, 1)(source, pos, length)
    return np.asarray(result, object)


add(
    "Substr",
    lambda _: case(texts("hello", "abc"), i32(1, -2), i32(3, 1)),
    lambda _: case(texts("hello", "abc"), np.array(1, np.int64), np.array(9, np.int64)),
    lambda _: case(texts("hello"), i32(0, 1), i32(1, 2)),
    lambda _: case(texts("añbc", "ñ"), i32(1, 0), i32(2, 1), unit="UTF8_CHAR"),
    lambda _: case(np.empty((0,), object), i32(), i32()),
    reference=_parts,
)

# -- regular expressions


def _replaced(source: Any, pattern: Any, rewrite: Any, replace_global: bool = True) -> Any:
    def replace(text: bytes) -> bytes:
        result = re.sub(_bytes(pattern), _bytes(rewrite), text, count=0 if replace_global else 1)
        return result

    return each(replace)(source)


def _bytes(value: Any) -> bytes:
    source = value[()] if isinstance(value, np.ndarray) else value
    return source.encode() if isinstance(source, str) else bytes(source)


_LINES = texts("a1b22", "none", "", "333", shape=(2, 2))
add(
    "RegexReplace",
    lambda _: case(_LINES, texts("[0-9]+"), texts("<n>")),
    lambda _: case(_LINES, texts("([a-z])([0-9])"), texts(r"\2\1"), replace_global=False),
    lambda _: case(np.empty((0, 3), object), texts("a"), texts("b")),
    reference=_replaced,
)
add(
    "StaticRegexReplace",
    lambda _: case(_LINES, pattern="[0-9]+", rewrite="<n>"),
    lambda _: case(_LINES, pattern="[0-9]", rewrite="", replace_global=False),
    lambda _: case(np.empty((0, 3), object), pattern="a", rewrite="b"),
    reference=_replaced,
)


def _matched(source: Any, pattern: Any) -> Any:
    return each(lambda text: re.fullmatch(_bytes(pattern), text) is not None)(source)


add(
    "RegexFullMatch",
    lambda _: case(_LINES, texts("[0-9]*")),
    lambda _: case(np.empty((0, 3), object), texts("a")),
    reference=_matched,
)
add(
    "StaticRegexFullMatch",
    lambda _: case(_LINES, pattern="[a-z]+"),
    lambda _: case(np.empty((0, 3), object), pattern="a"),
    reference=_matched,
)

# -- hashes, whose numbers for known strings are in test_strings.py


def _first_run(**known: int) -> Callable[..., int]:
    """Return a table of buckets: that of each of our words, which TensorFlow put there."""
    return lambda text, num_buckets, key=None: known[text.decode() or "empty"]


for _type, _more, _buckets in (
    ("StringToHashBucket", {}, {"a": 868, "empty": 899, "hello": 938}),
    ("StringToHashBucketFast", {}, {"a": 939, "empty": 263, "hello": 296}),
    ("StringToHashBucketStrong", {"key": [1, 2]}, {"a": 646, "empty": 435, "hello": 622}),
):
    add(
        _type,
        lambda _, more=_more: case(  # type: ignore[misc]
            texts("a", "", "hello"), num_buckets=1000, **more
        ),
        lambda _, more=_more: case(  # type: ignore[misc]
            np.empty((0, 3), object), num_buckets=1000, **more
        ),
        reference=each(_first_run(**_buckets)),
    )

# -- numbers


def _written(source: Any, precision: int = -1, **_: Any) -> Any:
    def write(value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        if isinstance(value, np.bool_):
            return b"true" if value else b"false"
        if isinstance(value, np.complexfloating):
            return f"({value.real:f},{value.imag:f})".encode()
        if isinstance(value, np.floating):
            return f"{value:.{6 if precision < 0 else precision}f}".encode()
        return str(value).encode()

    return each(write)(source)


add(
    "AsString",
    lambda v: case(v(2, 3)),
    lambda v: case(v()),
    lambda v: case(v(0, 3)),
    reference=_written,
)
add(
    "AsString",
    lambda v: case(v(2), precision=2),
    types=[dtypes.float64, dtypes.float32],
    reference=_written,
)
for _to in (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64):
    add(
        "StringToNumber",
        lambda _, to=_to: case(texts("1", " -3\n", "+20", "0"), out_type=to),  # type: ignore[misc]
        lambda _, to=_to: case(texts("7"), out_type=to),  # type: ignore[misc]
        lambda _, to=_to: case(np.empty((0, 3), object), out_type=to),  # type: ignore[misc]
        reference=lambda source, out_type: np.array(
            [float(text) for text in source.reshape(-1)], out_type.as_numpy_dtype
        ).reshape(source.shape),
    )

# -- joining and cutting


def _joined(sources: Any, separator: str = "") -> Any:
    join = np.frompyfunc(lambda *words: separator.encode().join(words), len(sources), 1)
    return np.asarray(join(*sources), object)


add(
    "StringJoin",
    lambda v: case([v(2, 3), v(2, 3)], separator="-"),
    lambda v: case([v(3), v(), v(3)], separator=", "),
    lambda v: case([v()]),
    lambda v: case([v(0, 3), v(0, 3)]),
    reference=_joined,
)


def _joined_along(source: Any, axes: Any, keep_dims: bool = False, separator: str = "") -> Any:
    """Return axis by axis."""
    for axis in np.asarray(axes).reshape(-1):
        moved = np.moveaxis(source, axis, -1)
        result = np.empty(moved.shape[:-1], object)
        for index in np.ndindex(result.shape):
            result[index] = separator.encode().join(moved[index])
        source = np.expand_dims(result, axis)
    gone = tuple(np.asarray(axes).reshape(-1).tolist())
    return source if keep_dims else source.squeeze(gone)


add(
    "ReduceJoin",
    lambda v: case(v(2, 3), i32(0, 1), separator="/"),
    lambda v: case(v(2, 3), i32(1, 0), separator="/"),
    lambda v: case(v(2, 3, 2), i32(-2), keep_dims=True),
    lambda v: case(v(2, 3), np.array(1, np.int32), separator=", "),
    lambda v: case(v(2), i32()),
    lambda v: case(v(0, 3), i32(0)),
    reference=_joined_along,
)


def _joined_by(source: Any, ids: Any, count: Any, separator: str = "") -> Any:
    rest = source.shape[ids.ndim :]
    result = np.empty((int(count), *rest), object)
    for index in np.ndindex(result.shape):
        position = (ids == index[0]).nonzero()
        joined = [b""]
        for text in source[(*position, *index[1:])]:  # no separator after an empty text
            joined = [*joined, text] if joined != [b""] else [text]
        result[index] = separator.encode().join(joined)
    return result


add(
    "UnsortedSegmentJoin",
    lambda v: case(v(3), i32(0, 2, 0), np.array(4, np.int32), separator=","),
    lambda v: case(v(2, 3), i64(1, 1), np.array(2, np.int64), separator=","),
    lambda v: case(v(2, 2), np.array([[1, 0], [1, 1]], np.int32), np.array(2, np.int32)),
    lambda v: case(v(0, 2), i32(), np.array(2, np.int32)),
    reference=_joined_by,
)


def _cut(cut: Callable[[bytes], list[bytes]], source: Any) -> Any:
    rows = [cut(text) for text in source]
    places = [(index, column) for index, row in enumerate(rows) for column in range(len(row))]
    widest = max(map(len, rows), default=0)
    return (
        np.array(places, np.int64).reshape(-1, 2),
        np.array([part for row in rows for part in row], object),
        np.array([len(rows), widest], np.int64),
    )


def _at_any(source: Any, delimiter: Any, skip_empty: bool = True) -> Any:
    def cut(text: bytes) -> list[bytes]:
        result = re.split(b"[" + delimiter[()] + b"]", text) if text else []
        return [part for part in result if part or not skip_empty]

    return _cut(cut, source)


def _at_each(source: Any, separator: Any, maxsplit: int = -1) -> Any:
    return _cut(lambda text: text.split(separator[()] or None, maxsplit), source)


_CUT = texts("a b,,c", "", " d")
add(
    "StringSplit",
    lambda _: case(_CUT, texts(", ")),
    lambda _: case(_CUT, texts(","), skip_empty=False),
    lambda _: case(np.empty((0,), object), texts(",")),
    reference=_at_any,
)
add(
    "StringSplitV2",
    lambda _: case(_CUT, texts("")),
    lambda _: case(_CUT, texts(","), maxsplit=1),
    lambda _: case(np.empty((0,), object), texts(",")),
    reference=_at_each,
)


def _numbers(source: Any, out_type: Any, little_endian: bool = True) -> Any:
    kind = np.dtype(out_type.as_numpy_dtype).newbyteorder("<" if little_endian else ">")
    rows = [np.frombuffer(text, kind) for text in source.reshape(-1)]
    result = np.array(rows, out_type.as_numpy_dtype)
    return result.reshape((*source.shape, result.shape[-1] if rows else 0))


_BYTES = np.random.default_rng(3).integers(0, 50, (4, 16), np.uint8)
for _to in (dtypes.uint8, dtypes.int16, dtypes.int64, dtypes.float64):
    for _order in (True, False):
        add(
            "DecodeRaw",
            lambda _, how={"out_type": _to, "little_endian": _order}: case(  # type: ignore[misc]
                texts(*[row.tobytes() for row in _BYTES], shape=(2, 2)), **how
            ),
            lambda _, how={"out_type": _to, "little_endian": _order}: case(  # type: ignore[misc]
                texts(_BYTES.tobytes()), **how
            ),
            lambda _, how={"out_type": _to, "little_endian": _order}: case(  # type: ignore[misc]
                np.empty((0, 3), object), **how
            ),
            reference=_numbers,
        )

# -- checks

add(
    "CheckNumerics",
    lambda v: case(v(2, 3), message="checked"),
    lambda v: case(v(), message="checked"),
    lambda v: case(v(0, 3), message="checked"),
    reference=lambda x, message: x,
)


def _same(x: Any, shape: Any) -> Any:
    return x


for _shape in ((None, 3), None, (2, 3)):
    add(
        "EnsureShape",
        lambda v, shape=_shape: case(v(2, 3), shape=TensorShape.of(shape)),  # type: ignore[misc]
        reference=_same,
    )
add("EnsureShape", lambda v: case(v(0, 3), shape=TensorShape.of((None, 3))), reference=_same)
