"""Files of records: compressed or not, closed, cut off, and options."""

from __future__ import annotations

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
