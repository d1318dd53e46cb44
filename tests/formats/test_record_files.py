"""Files of records: compressed or not, closed, cut off, and options."""

from __future__ import annotations

import os
import zlib

import pytest

import gpugraph as tf

RECORDS = [b"", b"abc", b"x" * 1000, bytes(range(256)) * 2000]
KINDS = tf.python_io.TFRecordCompressionType


@pytest.mark.parametrize(
    "options",
    [
        None,
        KINDS.GZIP,
        "ZLIB",
        tf.io.TFRecordOptions(KINDS.ZLIB, compression_level=1, window_bits=12),
        tf.io.TFRecordOptions(tf.io.TFRecordOptions("GZIP"), flush_mode=zlib.Z_FULL_FLUSH),
    ],
)
def test_records_come_back(tmp_path, options):
    path = tmp_path / "records"
    with tf.python_io.TFRecordWriter(str(path), options) as writer:
        for record in RECORDS:
            writer.write(record)
            writer.flush()
        writer.write("text")
    expected = [*RECORDS, b"text"]
    assert list(tf.python_io.tf_record_iterator(str(path), options)) == expected
    if options is not None:
        assert path.stat().st_size < 50_000
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(tf.errors.DataLossError, match="cut off"):
            list(tf.python_io.tf_record_iterator(str(path), options))


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match='Not a valid compression_type: "BZIP"'):
        tf.python_io.TFRecordOptions("BZIP")
    with pytest.raises(tf.errors.NotFoundError):
        next(tf.python_io.tf_record_iterator(str(tmp_path / "missing")))
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.TFRecordWriter(str(tmp_path / "missing" / "file"))
    writer = tf.python_io.TFRecordWriter(str(tmp_path / "file"))
    writer.write(b"abc")
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
        writer.write(b"abc")
    with pytest.raises(tf.errors.DataLossError, match="inflate"):
        list(tf.python_io.tf_record_iterator(str(tmp_path / "file"), KINDS.GZIP))
    text = tf.python_io.TFRecordOptions.get_compression_type_string
    assert [text(None), text(1), text("GZIP"), text(tf.io.TFRecordOptions(2))] == [
        "", "ZLIB", "GZIP", "GZIP",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_a_small_file_does_not_become_a_large_record(tmp_path, kind):
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path, kind) as writer:
        writer.write(b"first")
        writer.write(bytes(150 << 20))
    records = tf.python_io.tf_record_iterator(path, kind)
    assert next(records) == b"first"
    with pytest.raises(tf.errors.DataLossError, match=r"record at 21 is too large: over \d+ bytes"):
        next(records)
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(1, tf.string)
        options = tf.python_io.TFRecordOptions(kind)
        record = tf.TFRecordReader(options=options).read(queue)
        session.run(queue.enqueue(path))
        assert session.run(record)[1] == b"first"
        with pytest.raises(tf.errors.DataLossError, match="record at 21 is too large"):
            session.run(record)


def test_records_that_hold_much_are_read(tmp_path):
    """Beyond 64 MiB, and less than 100 times as large as they are compressed."""
    path = str(tmp_path / "records")
    record = (os.urandom(2048) + bytes(98 << 10)) * 700
    with tf.python_io.TFRecordWriter(path, "GZIP") as writer:
        writer.write(record)
    assert list(tf.python_io.tf_record_iterator(path, "GZIP")) == [record]
