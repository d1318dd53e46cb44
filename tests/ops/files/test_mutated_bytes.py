"""Whatever bytes a decoder gets, it gives a result or an error of TensorFlow, in bounded memory."""

from __future__ import annotations

import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

ACCEPTED = (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError)
MOST_BYTES = 64 << 20
"""Limit of memory allocated at a time: the inputs have some hundred bytes."""


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(random_bytes: random.Random, color: int, depth: int) -> bytes:
    """Return a PNG file whose parts are now and then damaged, with checksums that fit."""
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(color, 1)
    size = -(-5 * depth * channels // 8)
    rows = b"".join(
        bytes([random_bytes.randrange(5)]) + random_bytes.randbytes(size) for _ in range(4)
    )
    header = struct.pack(">IIBBBBB", 5, 4, depth, color, 0, 0, 0)
    parts = [
        (b"IHDR", header),
        (b"PLTE", random_bytes.randbytes(random_bytes.choice([48, 49, 3, 0]))),
        (b"tRNS", random_bytes.randbytes(random_bytes.choice([0, 2, 6, 7, 300]))),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    random_bytes.random() < 0.3 and parts.pop(random_bytes.randrange(len(parts)))
    damaged = random_bytes.randrange(len(parts))
    data = b"\x89PNG\r\n\x1a\n"
    for index, (kind, content) in enumerate(parts):
        data += chunk(kind, mutated(random_bytes, content) if index == damaged else content)
    return data


def bmp() -> bytes:
    with tf.Graph().as_default():
        body = np.arange(4 * 16, dtype=np.uint8).tobytes()
    return (
        struct.pack(
            "<2sIHHIIiiHHIIiiII", b"BM", 54 + 64, 0, 0, 54, 40, 5, 4, 1, 24, 0, 64, 0, 0, 0, 0
        )
        + body
    )


def mutated(random_bytes: random.Random, data: bytes) -> bytes:
    """Some bits flipped, parts cut, doubled or replaced by extreme numbers."""
    array = bytearray(data)
    for _ in range(random_bytes.randrange(1, 4)):
        start = random_bytes.randrange(len(array) + 1)
        end = min(len(array), start + random_bytes.randrange(9))
        change = random_bytes.randrange(6)
        if change == 0 and start < len(array):
            array[start] ^= 1 << random_bytes.randrange(8)
        elif change == 1:
            del array[start:end]
        elif change == 2:
            array[start:start] = array[start:end]
        elif change == 3:
            array[start : start + 4] = random_bytes.choice(
                [b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x80\0\0\0"]
            )
        elif change == 4:
            array[start:] = b""
        else:
            array[start:end] = random_bytes.randbytes(end - start)
    return bytes(array)


Source = Callable[[random.Random], bytes]


def of(*samples: bytes) -> Source:
    """Mutations of samples, and the samples."""
    return lambda chance: (
        mutated(chance, chance.choice(samples)) if chance.random() < 0.9 else chance.choice(samples)
    )


def any_png(chance: random.Random) -> bytes:
    return png(chance, chance.choice([0, 2, 3, 4, 6, 1]), chance.choice([1, 2, 4, 8, 16, 5]))


TEXT = of(b'1,2.5,"a ""b"""', b"-17", b"1e400", b"0x1p-3", b"nan(1)", "äö€𝄞".encode(), b"")

DECODERS: dict[str, tuple[Source, Callable[[Any], Any]]] = {
    "decode_png": (any_png, lambda data: tf.image.decode_png(data, channels=4)),
    "decode_png_16": (any_png, lambda data: tf.image.decode_png(data, dtype=tf.uint16)),
    "decode_png_whole": (lambda chance: mutated(chance, any_png(chance)), tf.image.decode_png),
    "decode_bmp": (of(bmp()), tf.image.decode_bmp),
    "decode_image": (
        lambda chance: chance.choice([any_png, of(bmp()), TEXT])(chance),
        tf.image.decode_image,
    ),
    "decode_raw": (TEXT, lambda data: tf.decode_raw(data, tf.int32)),
    "decode_csv": (TEXT, lambda data: tf.decode_csv(data, [[1], [2.5], [""]])),
    "decode_base64": (of(b"YWJjZA==", b"YWJj"), tf.decode_base64),
    "encode_base64": (TEXT, tf.encode_base64),
    "string_to_number": (TEXT, tf.string_to_number),
    "string_to_int": (
        of(b"9223372036854775807", b"9" * 5000),
        lambda data: tf.string_to_number(data, tf.int64),
    ),
    "unicode_transcode": (
        TEXT,
        lambda data: tf.strings.unicode_transcode(data, "UTF-8", "UTF-16-BE"),
    ),
    "unicode_strict": (
        TEXT,
        lambda data: tf.strings.unicode_transcode(data, "UTF-16-BE", "UTF-8", errors="strict"),
    ),
    "length": (TEXT, lambda data: tf.strings.length(data, unit="UTF8_CHAR")),
    "substr": (TEXT, lambda data: tf.strings.substr(data, 1, 2, unit="UTF8_CHAR")),
    "split": (TEXT, lambda data: tf.string_split([data], ",").values),
    "regex": (
        of(b"(a|b)+[c-d]{2,3}\\d$", b"[[:alpha:]]\\pL(?i)x*?"),
        lambda data: tf.strings.regex_replace("abc", data, "x"),
    ),
    "rewrite": (of(rb"\1\0x\\"), lambda data: tf.strings.regex_replace("abc", "(b)", data)),
    "strip": (TEXT, tf.strings.strip),
    "lower": (TEXT, tf.strings.lower),
    "hash": (TEXT, lambda data: tf.string_to_hash_bucket_fast(data, 10)),
}


def check(name: str, count: int, seed: int) -> None:
    """Run a decoder on `count` mutations."""
    source, decode = DECODERS[name]
    chance = random.Random(f"{name} {seed}")
    data = tf.placeholder(tf.string, [])
    result = decode(data)
    outcomes = set()
    with tf.Session() as session:
        tracemalloc.start()
        for _ in range(count):
            value = source(chance)
            try:
                session.run(result, {data: value})
                outcomes.add("result")
            except ACCEPTED as error:
                assert type(error) in ACCEPTED
                outcomes.add("error")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MOST_BYTES
    assert outcomes, name


@pytest.fixture(autouse=True)
def fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("name", DECODERS)
def test_some_mutations(name: str) -> None:
    check(name, 100, 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DECODERS)
def test_many_mutations(name: str) -> None:
    check(name, 5000, 2)


def test_a_bomb_is_not_unpacked() -> None:
    """A file of one pixel whose data would fill 200 MB."""
    data = chunk(b"IDAT", zlib.compress(bytes(200_000_000), 9))
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + header + data + chunk(b"IEND", b"")
    tracemalloc.start()
    with tf.Session() as session:
        assert session.run(tf.image.decode_png(bomb)).tolist() == [[[0]]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20


def test_sizes_that_no_image_has() -> None:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1 << 20, 1 << 20, 8, 6, 0, 0, 0))
    data = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    with tf.Session() as session, pytest.raises(ACCEPTED, match="PNG size too large"):
        session.run(tf.image.decode_png(data))
