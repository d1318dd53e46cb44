"""tf.io.decode_compressed."""

from __future__ import annotations

import gzip
import zlib

import pytest

import gpugraph as tf

TEXT = b"hello" * 20


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def decoded(text, compression):
    with tf.Session() as session:
        return session.run(tf.io.decode_compressed(text, compression))


def test_strings_are_as_they_were():
    texts = [[zlib.compress(TEXT)], [zlib.compress(b"")]]
    assert decoded(texts, "ZLIB").tolist() == [[TEXT], [b""]]
    assert decoded(gzip.compress(TEXT), "GZIP") == TEXT
    assert decoded(TEXT, "") == TEXT
    assert decoded(b"", "ZLIB") == b""


def test_what_follows_and_what_is_cut_off():
    """As TensorFlow 2.21 reads them."""
    assert decoded(gzip.compress(TEXT) * 2, "GZIP") == TEXT * 2
    assert decoded(zlib.compress(TEXT) + b"xx", "ZLIB") == TEXT
    assert decoded(zlib.compress(TEXT)[:3], "ZLIB") == b""
    assert TEXT.startswith(decoded(zlib.compress(TEXT)[:-8], "ZLIB"))


def test_wrong_strings_and_types():
    with pytest.raises(tf.errors.DataLossError, match=r"inflate\(\) failed"):
        decoded(b"zzzzzzz", "ZLIB")
    with pytest.raises(tf.errors.DataLossError, match=r"inflate\(\) failed"):
        decoded(gzip.compress(TEXT), "ZLIB")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Only ZLIB, GZIP or NONE are"):
        decoded(TEXT, "BZ2")


@pytest.mark.parametrize(
    ("kind", "text"),
    [("ZLIB", zlib.compress(bytes(70 << 20), 1)), ("GZIP", gzip.compress(bytes(35 << 20), 1) * 2)],
    ids=["one stream", "two streams"],
)
def test_a_short_string_does_not_become_a_long_one(kind, text):
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.DataLossError, match="expand to over 67108864"),
    ):
        session.run(tf.decode_compressed(text, kind))
