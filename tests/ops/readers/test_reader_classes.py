"""Readers. Their results are those of TensorFlow 2.21 for the same files."""

from __future__ import annotations

import threading
import zlib

import pytest

import gpugraph as tf


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as opened:
        yield opened


def queue_of(session, *names):
    queue = tf.FIFOQueue(10, tf.string, shapes=[[]])
    if names:
        session.run(queue.enqueue_many([list(names)]))
        session.run(queue.close())
    return queue


def write(folder, name, content):
    (folder / name).write_bytes(content)
    return str(folder / name)


def rest(session, pair):
    """Return all that a reader has left: the ends of the keys, and the values."""
    records = []
    while True:
        try:
            key, value = session.run(pair)
        except tf.errors.OutOfRangeError:
            return records
        records.append((key.rpartition(b":")[2], value))


def test_lines(session, tmp_path):
    path = write(tmp_path, "a", b"h1\nl2\r\nl\r3\n\nlast")
    empty = write(tmp_path, "b", b"")
    reader = tf.TextLineReader(skip_header_lines=1)
    lines = rest(session, reader.read(queue_of(session, path, empty, path)))
    assert lines == [(b"2", b"l2"), (b"3", b"l\r3"), (b"4", b""), (b"5", b"last")] * 2
    numbers = [reader.num_records_produced(), reader.num_work_units_completed()]
    assert session.run(numbers) == [8, 3]
    session.run(reader.reset())
    assert session.run(numbers) == [0, 0]


def test_several_records_at_once(session, tmp_path):
    path = write(tmp_path, "a", b"1\n2\n3\n4\n5\n")
    pair = tf.TextLineReader().read_up_to(queue_of(session, path, path + "none", path), 3)
    assert session.run(pair)[1].tolist() == [b"1", b"2", b"3"]
    assert session.run(pair)[1].tolist() == [b"4", b"5"]
    with pytest.raises(tf.errors.NotFoundError):
        session.run(pair)
    assert session.run(pair)[1].tolist() == [b"1", b"2", b"3"]


@pytest.mark.parametrize("encoding", [None, "ZLIB"])
@pytest.mark.parametrize(
    ("sizes", "values"),
    [
        ({}, [b"abcd", b"efgh"]),
        ({"hop_bytes": 2}, [b"abcd", b"cdef", b"efgh", b"ghij"]),
        ({"hop_bytes": 6}, [b"abcd", b"ghij"]),
        ({"hop_bytes": 60}, [b"abcd"]),
    ],
)
def test_records_of_one_length(session, tmp_path, encoding, sizes, values):
    content = b"HHabcdefghijFF"
    path = write(tmp_path, "a", zlib.compress(content) if encoding else content)
    reader = tf.FixedLengthRecordReader(4, 2, 2, encoding=encoding, **sizes)
    records = rest(session, reader.read(queue_of(session, path)))
    assert records == [(b"%d" % number, value) for number, value in enumerate(values)]


def test_sizes_that_are_refused(session, tmp_path):
    for sizes in ({"record_bytes": 0}, {"record_bytes": 1, "header_bytes": -1}):
        reader = tf.FixedLengthRecordReader(**sizes)
        with pytest.raises(tf.errors.InvalidArgumentError, match="_bytes must be >"):
            session.run(reader.num_records_produced())
    path = write(tmp_path, "a", b"short")
    reader = tf.FixedLengthRecordReader(1, header_bytes=10)
    with pytest.raises(tf.errors.OutOfRangeError, match="reached end of file"):
        session.run(reader.read(queue_of(session, path)))


def test_tf_records(session, tmp_path):
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path, "GZIP") as writer:
        for record in (b"abc", b"defg"):
            writer.write(record)
    pair = tf.TFRecordReader(options="GZIP").read(queue_of(session, path))
    assert rest(session, pair) == [(b"0", b"abc"), (b"19", b"defg")]
    broken = tf.TFRecordReader().read(queue_of(session, path))
    for _ in range(2):
        with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
            session.run(broken)


def test_whole_files_and_states(session, tmp_path):
    path = write(tmp_path, "a", b"one\ntwo")
    assert session.run(tf.WholeFileReader().read(queue_of(session, path))) == (
        path.encode(), b"one\ntwo",
    )  # fmt: skip
    reader = tf.IdentityReader()
    pair = reader.read(queue_of(session, "x", "y"))
    session.run(pair)
    state = session.run(reader.serialize_state())
    assert state == b'\x08\x01\x10\x01\x18\x01"\x01x'  # TensorFlow's
    assert session.run(pair) == (b"y", b"y")
    session.run(reader.restore_state(state))
    assert session.run(reader.num_records_produced()) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse state"):
        session.run(reader.restore_state("xyz"))
    with pytest.raises(tf.errors.UnimplementedError, match="Reader SerializeState"):
        session.run(tf.TextLineReader().serialize_state())


def test_queues_that_hold_no_names(session):
    for dtype, value, words in (
        (tf.int32, 1, "single string component"),
        (tf.string, ["a", "b"], "one-element string tensor"),
    ):
        queue = tf.FIFOQueue(3, dtype)
        session.run(queue.enqueue([value]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(tf.IdentityReader().read(queue))
    with pytest.raises(tf.errors.InvalidArgumentError, match="handle is that of no"):
        session.run(tf.IdentityReader().read(tf.IdentityReader().reader_ref))


def test_a_read_waits_for_a_name(session):
    queue = queue_of(session)
    pair = tf.IdentityReader().read(queue)
    name = tf.placeholder(tf.string, [])
    put, close = queue.enqueue([name]), queue.close()
    values = []
    readers = [
        threading.Thread(target=lambda: values.append(session.run(pair)[1])) for _ in range(2)
    ]
    for thread in readers:
        thread.start()
    for text in ("x", "y"):
        session.run(put, {name: text})
    for thread in readers:
        thread.join(30)
    assert sorted(values) == [b"x", b"y"]
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(pair, options=tf.RunOptions(timeout_in_ms=100))
    session.run(close)
    with pytest.raises(tf.errors.OutOfRangeError, match="closed and has insufficient"):
        session.run(pair)


def test_readers_are_shared_by_name(session):
    queue = queue_of(session, "x", "y")
    first, second = (
        tf.ReaderBase(tf.raw_ops.IdentityReaderV2(shared_name="mine")) for _ in range(2)
    )
    assert session.run(first.read(queue))[1] == b"x"
    assert session.run(second.num_records_produced()) == 1
