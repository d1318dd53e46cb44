"""Programs of datasets on bad input: errors, and what is left of them."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to, in_thread

from life.pipelines import elements

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


def _raises(value: Any) -> Any:
    if int(value) == 2:
        raise ValueError("no twos")
    return value


@program
def functions_that_raise(tf: Any, record: Record) -> None:
    d = tf.data.Dataset

    def broken(x: Any) -> Any:
        raise KeyError("while it was traced")

    record.error("in tracing", lambda: d.range(3).map(broken))
    raising = lambda x: tf.py_func(_raises, [x], tf.int64)  # noqa: E731
    elements(tf, record, "py_func", d.range(4).map(raising))
    elements(tf, record, "parallel", d.range(4).map(raising, 3))
    elements(tf, record, "prefetched", d.range(4).map(raising).prefetch(2))
    elements(tf, record, "filter", d.range(4).filter(lambda x: tf.greater(raising(x), -1)))
    elements(tf, record, "flat_map", d.range(4).flat_map(lambda x: d.from_tensors(raising(x))))
    other = lambda x: d.range(4).map(raising)  # noqa: E731
    elements(tf, record, "interleave", d.range(2).interleave(other, 2, 1))
    elements(tf, record, "wrong type", d.range(3).map(
        lambda x: tf.py_func(lambda v: "text", [x], tf.int64)
    ))  # fmt: skip
    elements(tf, record, "assertion", d.range(3).map(_asserted(tf)))


def _asserted(tf: Any) -> Any:
    def function(x: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_less(x, np.int64(1), message="too big")]):
            return tf.identity(x)

    return function


@program
def errors_are_passed(tf: Any, record: Record) -> None:
    """A read behind an error goes on with the next element."""
    dataset = tf.data.Dataset.range(5).map(lambda x: tf.py_func(_raises, [x], tf.int64))
    following = dataset.make_one_shot_iterator().get_next()
    other = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        record("first", [session.run(following), session.run(following), session.run(other)])
        record.error("error", lambda: session.run(following))
        record("later", [session.run(following), session.run(following), session.run(other)])
        record.error("end", lambda: session.run(following))
        record("other", session.run(other))


@program
def other_structures(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    for key, rows in {
        "fewer": [(1, 2), (3,)],
        "more": [(1, 2), (3, 4, 5)],
        "other type": [(1, 2), (3, "x")],
        "not a tuple": [(1, 2), 7],
    }.items():
        elements(tf, record, key, d.from_generator(lambda rows=rows: rows, (tf.int64, tf.int64)))
    shapes = lambda: iter([[1, 2], [1, 2, 3]])  # noqa: E731
    elements(tf, record, "open shape", d.from_generator(shapes, tf.int64, [None]))
    elements(tf, record, "other shape", d.from_generator(shapes, tf.int64, [2]))
    elements(tf, record, "other rank", d.from_generator(lambda: [[1], [[1]]], tf.int64, [None]))
    counts = lambda v: np.zeros([int(v)], np.float32)  # noqa: E731

    def fixed(x: Any) -> Any:
        result = tf.py_func(counts, [x], tf.float32)
        result.set_shape([1])
        return result

    elements(tf, record, "a set shape", d.range(3).map(fixed).batch(2))
    record.error("no generator", lambda: d.from_generator([1, 2], tf.int32))
    record.error("a dict of sets", lambda: d.from_tensors({"a": {1, 2}}))
    record.error("sizes", lambda: d.from_tensor_slices(([1, 2], [1, 2, 3])))
    record.error("scalar", lambda: d.from_tensor_slices(5))
    record.error("zip of a list", lambda: d.zip([d.range(2), d.range(3)]))
    record.error("zip of numbers", lambda: d.zip((d.range(2), 5)))
    record.error("concatenate", lambda: d.range(3).concatenate(d.from_tensors("x")))
    record.error("structure", lambda: d.range(3).concatenate(d.zip((d.range(3), d.range(3)))))
    record.error("filter", lambda: d.range(3).filter(lambda x: (x > 1, x > 2)))
    record.error("padded", lambda: d.range(3).padded_batch(2, [None]))
    record.error("padding value", lambda: d.range(3).map(tf.range).padded_batch(2, [None], "x"))
    record.error("batch size", lambda: d.range(3).batch("two"))
    record.error("batch shape", lambda: d.range(3).batch([2, 2]))
    record.error("no function", lambda: d.range(3).map(5))
    record.error("arguments", lambda: d.range(3).map(lambda x, y: x))
    record.error("no tensor", lambda: d.range(3).map(lambda x: object()))
    record.error("nothing", lambda: d.range(3).map(lambda x: None))


@program
def unequal_batches(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    rows = d.range(1, 5).map(lambda x: tf.fill([x], x))
    elements(tf, record, "batch", rows.batch(2))
    elements(tf, record, "parallel", rows.apply(tf.data.experimental.map_and_batch(tf.identity, 2)))
    elements(tf, record, "first of two", d.zip((d.range(4), rows)).batch(2))
    elements(tf, record, "smaller padding", rows.padded_batch(2, [2]))
    ranks = d.range(3).map(lambda x: tf.fill(tf.fill([x], np.int64(1)), x))
    elements(tf, record, "ranks", ranks.batch(2))
    sparse = d.range(1, 4).map(lambda x: tf.SparseTensor([[0]], [x], [x]))
    elements(tf, record, "sparse", sparse.batch(2))


@program
def bad_files(tf: Any, record: Record) -> None:
    path = str(record.folder / "x.records")
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(4):
            writer.write(b"record %d" % number)
    content = (record.folder / "x.records").read_bytes()
    bad = {
        "empty": b"",
        "cut header": content[:5],
        "cut length": content[:10],
        "cut record": content[: len(content) // 2 + 3],
        "length": content[:24] + b"\xff" * 8 + content[32:],
        "text": b"this is no record file at all, but some text",
    }
    for key, data in bad.items():
        (record.folder / key).write_bytes(data)
        elements(tf, record, key, tf.data.TFRecordDataset(str(record.folder / key)))
    elements(tf, record, "no gzip", tf.data.TFRecordDataset(path, "GZIP"))
    elements(tf, record, "no zlib", tf.data.TFRecordDataset(path, "ZLIB"))
    elements(tf, record, "compression", tf.data.TFRecordDataset(path, "ZIP"))
    elements(tf, record, "folder", tf.data.TextLineDataset(str(record.folder)))
    elements(tf, record, "missing text", tf.data.TextLineDataset(f"{path}.none"))
    both = tf.data.TFRecordDataset([f"{path}.none", path])
    elements(tf, record, "missing first", both)
    database = str(record.folder / "no.sqlite")
    (record.folder / "no.sqlite").write_bytes(b"no database")
    sql = tf.data.experimental.SqlDataset
    elements(tf, record, "no database", sql("sqlite", database, "SELECT 1", (tf.int32,)))
    (record.folder / "a.csv").write_text("a,b\n1,2\n3\n4,x\n")
    csv = tf.data.experimental.CsvDataset(
        str(record.folder / "a.csv"), [tf.int32, tf.int32], header=True
    )
    elements(tf, record, "csv", csv)


@program
def changed_files(tf: Any, record: Record) -> None:
    """Files that are cut, or removed, while they are read."""
    path = record.folder / "lines.txt"
    path.write_text("".join(f"line {number}\n" for number in range(200_000)))
    following = tf.data.TextLineDataset(str(path)).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        record("first", session.run(following))
        os.truncate(path, 10)
        count = 0
        try:
            while True:
                session.run(following)
                count += 1
        except (tf.errors.OutOfRangeError, tf.errors.DataLossError):
            record("ends early", count < 199_999)
    path.write_text("one\ntwo\n")
    following = tf.data.TextLineDataset([str(path)] * 2).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        record("one", session.run(following))
        os.remove(path)
        record("two", session.run(following))
        record.error("removed", lambda: session.run(following))


@program
def iterators_out_of_order(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    iterator = d.range(2).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        record.error("before", lambda: session.run(following))
        record.error("in a condition", lambda: session.run(
            tf.cond(tf.constant(True), iterator.get_next, lambda: tf.constant(0, tf.int64))
        ))  # fmt: skip
        session.run(iterator.initializer)
        record("values", [session.run(following) for _ in range(2)])
        record.error("end", lambda: session.run(following))
        record.error("end again", lambda: session.run(following))
        session.run(iterator.initializer)
        record("restarted", session.run(following))
    with tf.Session() as session:
        record.error("in another session", lambda: session.run(following))
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
        record.error("saved before", lambda: saver.save(session, str(record.folder / "model")))
    with tf.Graph().as_default():
        record.error("another graph", lambda: tf.identity(following))
        with tf.Session() as session:
            record.error("fetched", lambda: session.run(following))
    record.error("other types", lambda: tf.data.Iterator.from_structure(
        tf.int32, []
    ).make_initializer(d.range(3)))  # fmt: skip
    record.error("no dataset", lambda: tf.data.Iterator.from_structure(
        tf.int64, []
    ).make_initializer(5))  # fmt: skip
    handle = tf.placeholder(tf.string, [])
    fed = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with tf.Session() as session:
        record.error("bad handle", lambda: session.run(fed, {handle: "x"}))
        text = session.run(iterator.string_handle())
        record.error("uninitialized", lambda: session.run(fed, {handle: text}))


@program
def closed_while_reading(tf: Any, record: Record) -> None:
    started = threading.Event()

    def slow(value: Any) -> Any:
        started.set()
        time.sleep(0.2)
        return value

    dataset = tf.data.Dataset.range(1000).map(lambda x: tf.py_func(slow, [x], tf.int64), 2)
    following = dataset.prefetch(2).make_one_shot_iterator().get_next()
    session = tf.Session()

    def read() -> None:
        while True:
            session.run(following)

    thread = in_thread(record, "reader", read)
    started.wait(10)
    session.close()
    thread.join(20)
    record("ended", not thread.is_alive())
    record.error("closed", lambda: session.run(following))
