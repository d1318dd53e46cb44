"""TFRecord: records come back, TensorFlow's bytes, and files that are cut or changed."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.formats.crc32c import masked_crc32c
from gpugraph.formats.tf_record import read_records, write_record


def written(records):
    target = io.BytesIO()
    sizes = [write_record(target, record) for record in records]
    assert sum(sizes) == len(target.getvalue())
    return target.getvalue()


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=50), max_size=5))
def test_records_come_back(records):
    assert list(read_records(io.BytesIO(written(records)), "f")) == records


def test_the_bytes_are_those_of_tensorflow():
    # tf.io.TFRecordWriter.write(b"abc")
    assert written([b"abc"]).hex() == "0300000000000000b099490e6162636e57f121"


def test_every_cut_and_every_flipped_bit_is_an_error():
    data = written([b"first", b"second record"])
    for size in range(len(data)):
        if size in (0, 16 + 5):
            continue
        with pytest.raises(tf.errors.DataLossError, match=r"truncated record at .*: folder/f"):
            list(read_records(io.BytesIO(data[:size]), "folder/f"))
    for index in range(len(data)):
        changed = bytearray(data)
        changed[index] ^= 4
        with pytest.raises(tf.errors.DataLossError, match="corrupted record at"):
            list(read_records(io.BytesIO(changed), "f"))


def test_a_length_that_is_a_lie_costs_no_memory():
    length = struct.pack("<Q", 2**63)
    data = length + struct.pack("<I", masked_crc32c(length)) + b"abc"
    with pytest.raises(tf.errors.DataLossError, match="3 of its 9223372036854775808 bytes"):
        list(read_records(io.BytesIO(data), "f"))
