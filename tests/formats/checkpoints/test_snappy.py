"""Snappy blocks, and checkpoints whose tables have them."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.formats.checkpoints.bundle_reader import index_name
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter
from gpugraph.formats.checkpoints.slice_tables import write_slice_table
from gpugraph.formats.checkpoints.snappy import uncompressed
from gpugraph.formats.checkpoints.sorted_table import read_table
from gpugraph.formats.checkpoints.wire import MalformedError
from gpugraph.formats.crc32c import masked_crc32c
from tests.formats.checkpoints.snappy_blocks import compressed, copy, literal, table


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"\0", b""),
        (b"\x03\x08abc", b"abc"),
        (b"\x0a\x00a\x11\x01\x00b", b"a" * 9 + b"b"),  # a copy that runs into itself
        (b"\x07\x08abc\x0e\x03\x00", b"abcabca"),
        (b"\x07\x08abc\x0f\x03\x00\x00\x00", b"abcabca"),
        (b"\x40\xf0\x3f" + b"x" * 64, b"x" * 64),
        (b"\x40\xf4\x3f\x00" + b"x" * 64, b"x" * 64),
    ],
)
def test_elements_of_the_format(data: bytes, content: bytes) -> None:
    assert uncompressed(data) == content


@given(st.lists(st.binary(max_size=30), max_size=8), st.lists(st.integers(0, 7), max_size=60))
def test_what_was_compressed_comes_back(pieces: list[bytes], order: list[int]) -> None:
    content = b"".join(pieces[index % len(pieces)] for index in order if pieces)
    assert uncompressed(compressed(content)) == content


def test_far_copies() -> None:
    content = bytes(range(256)) * 300 + b"end" + bytes(range(100))
    assert uncompressed(compressed(content)) == content
    data = literal(b"z" * 70_000) + copy(70_000, 64)
    assert uncompressed(b"\xb0\xa3\x04" + data) == b"z" * 70_064


@pytest.mark.parametrize(
    "data",
    [
        b"",  # no length
        b"\xff\xff\xff\xff\xff\xff\x01",  # a length of more than five bytes
        b"\xff\xff\xff\xff\x0f\x00a",  # 4 GiB of two bytes
        b"\x04\x08abc",  # too short
        b"\x02\x08abc",  # too long
        b"\x05\x08ab",  # a literal that is cut off
        b"\x05\xf0",  # a length that is cut off
        b"\x08\x00a\x15\x00",  # an offset of 0
        b"\x08\x00a\x15\x02",  # before the content
        b"\x08\x00a\x0e\x01",  # an offset that is cut off
    ],
)
def test_malformed_blocks_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedError):
        uncompressed(data)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(MalformedError):
        assert len(uncompressed(data)) <= 32 * len(data)


@pytest.mark.parametrize("version", [1, 2])
def test_a_compressed_checkpoint_is_read(tmp_path: Path, version: int) -> None:
    prefix, values = str(tmp_path / "model"), np.zeros((50, 4), np.float32)
    values[3] = 7
    if version == 2:
        with BundleWriter(prefix) as writer:
            writer.add(b"layer/v", values)
            writer.add(b"layer/w", values + 1)
        path = index_name(prefix)
    else:
        items = [(b"layer/v", values), (b"layer/w", values + 1)]
        write_slice_table(prefix, [(name, None, array, tf.float32) for name, array in items])
        path = prefix
    plain = Path(path).read_bytes()
    Path(path).write_bytes(table(list(read_table(plain, path).items())))
    assert Path(path).read_bytes() != plain
    reader = tf.train.load_checkpoint(prefix)
    np.testing.assert_array_equal(reader.get_tensor("layer/v"), values)
    np.testing.assert_array_equal(reader.get_tensor("layer/w"), values + 1)


def test_damaged_and_unknown_compression_is_refused() -> None:
    items = [(b"a", b"value" * 9)]
    with pytest.raises(tf.errors.DataLossError, match="table: bad block type 2, at offset"):
        read_table(table(items, 2), "table")
    plain = table(items, 0)
    handle = table(items, 1)
    assert read_table(plain, "table") == read_table(handle, "table") == dict(items)
    body = b"\x7f\x00a\x01"
    damaged = body + struct.pack("<I", masked_crc32c(body)) + handle[len(body) + 4 :]
    with pytest.raises(tf.errors.DataLossError, match=r"table: .*(Snappy|checksum)"):
        read_table(damaged, "table")
