"""Samples of ops on sequences and encodings of text, with references in Python."""

from __future__ import annotations

import gzip
import zlib
from functools import cache
from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .samples_of_strings import each, texts
from .sampling import add, case, i64, representatives

__all__ = ["ENCODED"]

ENCODED = texts("a\x07é", b"b\xff", "", "\U0001f600", shape=(2, 2))
_CODECS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}


def _transcoded(
    text: bytes,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
) -> bytes:
    insert = chr(replacement_char) if errors == "replace" else ""
    result = text.decode(input_encoding, errors).replace("\ufffd", insert)
    if replace_control_characters:
        result = "".join(insert if ord(char) < 32 else char for char in result)
    return result.encode(_CODECS[output_encoding])


add(
    "UnicodeTranscode",
    *[lambda _, to=to: case(ENCODED, input_encoding="UTF-8", output_encoding=to) for to in _CODECS],
    lambda _: case(
        ENCODED,
        input_encoding="UTF-8",
        output_encoding="UTF-8",
        errors="ignore",
        replace_control_characters=True,
    ),
    lambda _: case(
        ENCODED,
        input_encoding="UTF-8",
        output_encoding="UTF-8",
        replacement_char=ord("?"),
        replace_control_characters=True,
    ),
    lambda _: case(texts(b"a\0b\0"), input_encoding="UTF-16-LE", output_encoding="UTF-8"),
    lambda _: case(np.empty((0,), object), input_encoding="UTF-8", output_encoding="UTF-8"),
    reference=each(_transcoded),
)


def _decompressed(text: bytes, compression_type: str = "") -> bytes:
    read = {"ZLIB": zlib.decompress, "GZIP": gzip.decompress, "": bytes}
    return read[compression_type](text)


add(
    "DecodeCompressed",
    lambda _: case(
        texts(zlib.compress(b"a" * 99), zlib.compress(b""), shape=(2, 1)), compression_type="ZLIB"
    ),
    lambda _: case(texts(gzip.compress(b"ab"), gzip.compress(b"c") * 2), compression_type="GZIP"),
    lambda _: case(texts(b"plain", b"")),
    lambda _: case(np.empty((0,), object), compression_type="GZIP"),
    reference=each(_decompressed),
)


def _edits(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
    """Compute by the definition: the minimum over the ways to make the first elements equal."""

    @cache
    def least(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        ways = least(i - 1, j) + 1, least(i, j - 1) + 1
        return min(*ways, least(i - 1, j - 1) + (one[i - 1] != other[j - 1]))

    return least(len(one), len(other))


def _distances(
    rows: Any,
    values: Any,
    shape: Any,
    rows2: Any,
    values2: Any,
    shape2: Any,
    normalize: bool = True,
) -> Any:
    out = np.zeros(np.maximum(shape, shape2)[:-1], np.float32)
    for place in np.ndindex(out.shape):
        sequences = [
            tuple(v for index, v in zip(where.tolist(), value.tolist()) if index[:-1] == [*place])
            for where, value in ((rows, values), (rows2, values2))
        ]
        out[place] = _edits(*sequences)
        if normalize and any(sequences):
            out[place] = out[place] / len(sequences[1]) if sequences[1] else np.inf
    return out


_ROWS = np.array([[0, 0], [0, 1], [0, 2], [2, 0], [3, 0], [3, 1]], np.int64)
_ROWS2 = np.array([[0, 1], [0, 2], [1, 0], [3, 0], [3, 3]], np.int64)
_NONE = np.zeros((0, 2), np.int64)
add(
    "EditDistance",
    lambda v: case(_ROWS, v(6), i64(4, 3), _ROWS2, v(5), i64(4, 4)),
    lambda v: case(_ROWS, v(6), i64(4, 3), _ROWS2, v(5), i64(4, 4), normalize=False),
    lambda v: case(_NONE, v(0), i64(2, 3), _NONE, v(0), i64(2, 0)),
    lambda v: case(_ROWS, np.ones_like(v(6)), i64(4, 3), _ROWS, np.ones_like(v(6)), i64(4, 3)),
    types=representatives(dtypes.ALL),
    reference=_distances,
)
