"""Programs of the transformations of `tf.data.experimental`, and of datasets of files."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

from life.pipelines import PROGRAMS as OTHERS, Pipeline, add, elements

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


def _texts(d: Any) -> Any:
    return d.from_tensor_slices(["a", "bb", "ccc", "dd", "e", "fffff", "gg"])


def _reducer(tf: Any) -> Any:
    return tf.data.experimental.Reducer(
        lambda key: (np.int64(0), np.int64(0)),
        lambda state, x: (state[0] + x, state[1] + 1),
        lambda total, count: total * 100 + count,
    )


_BEFORE = set(OTHERS)
_PIPELINES: dict[str, Pipeline] = {
    "scan": lambda tf, d: d.range(5).apply(
        tf.data.experimental.scan(np.int64(1), lambda s, x: (s + x, s * 10 + x))
    ),
    "scan_structure": lambda tf, d: d.range(5).apply(
        tf.data.experimental.scan(
            (np.int64(0), "x"), lambda s, x: ((s[0] + x, tf.strings.join([s[1], "y"])), s[1])
        )
    ),
    "scan_wrong_state": lambda tf, d: d.range(5).apply(
        tf.data.experimental.scan(np.int64(0), lambda s, x: (tf.cast(s, tf.int32), x))
    ),
    "scan_no_pair": lambda tf, d: d.range(5).apply(
        tf.data.experimental.scan(np.int64(0), lambda s, x: s)
    ),
    "take_while": lambda tf, d: d.range(9).apply(tf.data.experimental.take_while(lambda x: x < 4)),
    "unique": lambda tf, d: d.from_tensor_slices([1, 37, 2, 37, 2, 1]).apply(
        tf.data.experimental.unique()
    ),
    "unique_strings": lambda tf, d: d.from_tensor_slices([*"abacba"]).apply(
        tf.data.experimental.unique()
    ),
    "ignore_errors": lambda tf, d: (
        d.from_tensor_slices([1.0, 2.0, 0.0, 4.0])
        .map(lambda x: tf.debugging.check_numerics(1.0 / x, "bad"))
        .apply(tf.data.experimental.ignore_errors())
    ),
    "map_and_batch": lambda tf, d: d.range(10).apply(
        tf.data.experimental.map_and_batch(lambda x: x * 2, 4)
    ),
    "map_and_batch_drop": lambda tf, d: d.range(10).apply(
        tf.data.experimental.map_and_batch(
            lambda x: (x, [x, x]), 4, num_parallel_calls=3, drop_remainder=True
        )
    ),
    "parallel_interleave": lambda tf, d: d.range(1, 7).apply(
        tf.data.experimental.parallel_interleave(
            lambda x: d.from_tensors(x).repeat(x), cycle_length=2, block_length=1
        )
    ),
    "parallel_interleave_blocks": lambda tf, d: d.range(1, 5).apply(
        tf.data.experimental.parallel_interleave(
            lambda x: d.from_tensors(x).repeat(x), cycle_length=3, block_length=2
        )
    ),
    "group_by_window": lambda tf, d: d.range(13).apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 3, lambda k, w: w.batch(2), window_size=4
        )
    ),
    "group_by_window_keys": lambda tf, d: d.range(13).apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 2,
            lambda k, w: w.map(lambda x: x + 100 * k),
            window_size_func=lambda k: k + 1,
        )
    ),
    "group_by_window_0": lambda tf, d: d.range(3).apply(
        tf.data.experimental.group_by_window(
            lambda x: x, lambda k, w: w, window_size_func=lambda k: tf.constant(0, tf.int64)
        )
    ),
    "group_by_reducer": lambda tf, d: d.range(10).apply(
        tf.data.experimental.group_by_reducer(lambda x: 3 - x % 3, _reducer(tf))
    ),
    "buckets": lambda tf, d: (
        _texts(d)
        .map(
            lambda s: (
                tf.strings.bytes_split(tf.reshape(s, [1])).values
                if hasattr(tf.strings, "bytes_split")
                else tf.string_split([s], "").values
            )
        )
        .apply(tf.data.experimental.bucket_by_sequence_length(tf.size, [2, 4], [2, 2, 2]))
    ),
    "buckets_numbers": lambda tf, d: (
        d.range(1, 9)
        .map(lambda x: tf.fill([x], x))
        .apply(
            tf.data.experimental.bucket_by_sequence_length(
                lambda x: tf.shape(x)[0], [3, 6], [3, 2, 1]
            )
        )
    ),
    "buckets_boundary": lambda tf, d: (
        d.range(1, 6)
        .map(lambda x: tf.fill([x], x))
        .apply(
            tf.data.experimental.bucket_by_sequence_length(
                lambda x: tf.shape(x)[0], [3, 6], [2, 2, 1], pad_to_bucket_boundary=True
            )
        )
    ),
    "dense_to_sparse": lambda tf, d: (
        d.range(1, 5)
        .map(lambda x: tf.fill([x], x))
        .apply(tf.data.experimental.dense_to_sparse_batch(3, [6]))
    ),
    "dense_to_sparse_small": lambda tf, d: (
        d.range(1, 5)
        .map(lambda x: tf.fill([x], x))
        .apply(tf.data.experimental.dense_to_sparse_batch(3, [2]))
    ),
    "enumerate_dataset": lambda tf, d: d.range(5, 8).apply(
        tf.data.experimental.enumerate_dataset(3)
    ),
    "counter": lambda tf, d: tf.data.experimental.Counter(3, 2).take(4),
    "random": lambda tf, d: tf.data.experimental.RandomDataset(seed=4).take(5),
    "choose": lambda tf, d: tf.data.experimental.choose_from_datasets(
        [d.range(3), d.range(10, 13), d.range(20, 23)],
        d.from_tensor_slices(np.array([0, 1, 2, 0, 1, 2, 0, 0, 0, 1], np.int64)),
    ),
    "choose_outside": lambda tf, d: tf.data.experimental.choose_from_datasets(
        [d.range(3), d.range(10, 13)], d.from_tensor_slices(np.array([0, 7], np.int64))
    ),
    "sample": lambda tf, d: tf.data.experimental.sample_from_datasets(
        [d.range(9), d.range(10, 19)], seed=3
    ),
    "sample_weights": lambda tf, d: tf.data.experimental.sample_from_datasets(
        [d.range(9), d.range(10, 19), d.range(20, 29)], [0.2, 0.3, 0.5], seed=5
    ),
    "sample_weights_tensor": lambda tf, d: tf.data.experimental.sample_from_datasets(
        [d.range(9).repeat(), d.range(10, 19).repeat()], tf.constant([0.9, 0.1]), seed=5
    ),
    "sample_weights_dataset": lambda tf, d: tf.data.experimental.sample_from_datasets(
        [d.range(9), d.range(10, 19)], d.from_tensors([0.5, 0.5]).repeat(), seed=5
    ),
    "resample": lambda tf, d: d.from_tensor_slices(
        np.array([0, 0, 0, 1, 0, 0, 1, 0] * 20, np.int32)
    ).apply(tf.data.experimental.rejection_resample(lambda x: x, [0.5, 0.5], [0.75, 0.25], seed=7)),
    "resample_estimated": lambda tf, d: d.from_tensor_slices(
        np.array([0, 0, 0, 1, 0, 0, 1, 0] * 20, np.int32)
    ).apply(tf.data.experimental.rejection_resample(lambda x: x, [0.3, 0.7], seed=7)),
    "copy_to_device": lambda tf, d: d.range(3).apply(tf.data.experimental.copy_to_device("/cpu:0")),
    "assert_cardinality": lambda tf, d: (
        d.range(4).filter(lambda x: x >= 0).apply(tf.data.experimental.assert_cardinality(4))
    ),
    "assert_cardinality_more": lambda tf, d: (
        d.range(4).filter(lambda x: x >= 0).apply(tf.data.experimental.assert_cardinality(3))
    ),
    "assert_cardinality_fewer": lambda tf, d: (
        d.range(4).filter(lambda x: x >= 0).apply(tf.data.experimental.assert_cardinality(5))
    ),
}
add(_PIPELINES, "e_")
PROGRAMS |= {name: OTHERS.pop(name) for name in list(OTHERS) if name not in _BEFORE}


@program
def cardinalities(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    datasets = [
        d.range(5), d.range(5).repeat(), d.range(0).repeat(), d.range(5).filter(lambda x: x > 1),
        d.range(5).batch(2), d.range(5).batch(2, True), d.range(5).take(2), d.range(5).skip(2),
        d.range(5).repeat(3), d.range(5).shard(2, 0), d.zip((d.range(5), d.range(7))),
        d.range(5).concatenate(d.range(2)), d.range(5).repeat().take(7), d.range(5).shuffle(3),
        d.range(5).prefetch(2), d.range(5).cache(), d.from_tensors(1), d.range(5).window(2),
        d.from_generator(lambda: [1], tf.int32), d.range(5).flat_map(lambda x: d.range(x)),
        d.zip((d.range(5), d.range(7).repeat())), d.range(5).repeat().batch(2),
    ]  # fmt: skip
    with tf.Session() as session:
        record("numbers", session.run([tf.data.experimental.cardinality(one) for one in datasets]))


@program
def single_elements(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    get = tf.data.experimental.get_single_element
    with tf.Session() as session:
        record("one", session.run(get(d.range(7).skip(3).take(1))))
        record("tuple", session.run(get(d.range(7).batch(7).map(lambda x: (x, x + 1)))))
        record.error("empty", lambda: session.run(get(d.range(0))))
        record.error("more", lambda: session.run(get(d.range(2))))
        record("fed", session.run(get(d.from_tensors(tf.constant([1, 2])).map(lambda x: x * 2))))
    record.error("no dataset", lambda: get(5))


@program
def reductions(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    with tf.Session() as session:
        record("sum", session.run(d.range(5).reduce(np.int64(0), lambda s, x: s + x)))
        record("pair", session.run(
            d.range(5).reduce((np.int64(0), 1.0), lambda s, x: (s[0] + x, s[1] * 2.0))
        ))  # fmt: skip
        grown = d.range(4).reduce(tf.constant([0], tf.int64), lambda s, x: tf.concat([s, [x]], 0))
        record("grown", session.run(grown))
    record.error("type", lambda: d.range(5).reduce(0, lambda s, x: x))


@program
def text_files(tf: Any, record: Record) -> None:
    paths = [str(record.folder / f"{n}.txt") for n in range(2)]
    (record.folder / "0.txt").write_bytes(b"one\ntwo\r\n\nthree")
    (record.folder / "1.txt").write_bytes(b"four\n")
    packed = str(record.folder / "2.gz")
    with gzip.open(packed, "wb") as file:
        file.write(b"a\nb\n\nc")
    elements(tf, record, "both", tf.data.TextLineDataset(paths))
    elements(tf, record, "one", tf.data.TextLineDataset(paths[1]))
    elements(tf, record, "gzip", tf.data.TextLineDataset(packed, "GZIP"))
    elements(tf, record, "missing", tf.data.TextLineDataset([paths[0], paths[0] + "?"]))
    elements(tf, record, "compression", tf.data.TextLineDataset(paths, "ZIP"))
    d = tf.data.Dataset
    names = d.from_tensor_slices(paths)
    elements(tf, record, "names", tf.data.TextLineDataset(names))
    lines = names.interleave(lambda path: tf.data.TextLineDataset(path).skip(1), 2)
    elements(tf, record, "interleaved", lines)
    elements(tf, record, "listed", d.list_files(str(record.folder / "*.txt"), shuffle=False).map(
        lambda path: tf.strings.substr(path, tf.strings.length(path) - 5, 5)
    ))  # fmt: skip
    listed = d.list_files(str(record.folder / "*.txt"), seed=3)
    elements(tf, record, "shuffled", listed.map(
        lambda path: tf.strings.substr(path, tf.strings.length(path) - 5, 5)
    ))  # fmt: skip
    elements(tf, record, "no files", d.list_files(str(record.folder / "*.none")))


@program
def record_files(tf: Any, record: Record) -> None:
    paths = [str(record.folder / f"{n}.records") for n in range(3)]
    for number, path in enumerate(paths):
        options = tf.io.TFRecordOptions("GZIP") if number == 2 else None
        with tf.io.TFRecordWriter(path, options) as writer:
            for row in range(3):
                writer.write(f"{number} {row}".encode())
    elements(tf, record, "both", tf.data.TFRecordDataset(paths[:2]))
    elements(tf, record, "gzip", tf.data.TFRecordDataset(paths[2], compression_type="GZIP"))
    elements(tf, record, "parallel", tf.data.TFRecordDataset(paths[:2], num_parallel_reads=2))
    content = (record.folder / "0.records").read_bytes()
    (record.folder / "cut.records").write_bytes(content[:-2])
    (record.folder / "bad.records").write_bytes(content[:30] + b"?" + content[31:])
    for name in ("cut", "bad"):
        elements(tf, record, name, tf.data.TFRecordDataset(str(record.folder / f"{name}.records")))
    elements(tf, record, "missing", tf.data.TFRecordDataset(paths[0] + "?"))


@program
def fixed_length_files(tf: Any, record: Record) -> None:
    path = str(record.folder / "f.bin")
    (record.folder / "f.bin").write_bytes(b"HHaabbccFFF")
    read = tf.data.FixedLengthRecordDataset
    elements(tf, record, "records", read(path, 2, 2, 3))
    elements(tf, record, "two files", read([path, path], 2, 2, 3))
    elements(tf, record, "excess", read(path, 2, 2, 2))
    elements(tf, record, "record of 0", read(path, tf.constant(0, tf.int64) + 0))
    elements(tf, record, "missing", read(path + "?", 2))


@program
def cache_in_files(tf: Any, record: Record) -> None:
    path = str(record.folder / "cache")
    d = tf.data.Dataset
    calls: list[int] = []

    def count(value: Any) -> Any:
        calls.append(int(value))
        return value

    dataset = d.range(4).map(lambda x: tf.py_func(count, [x], tf.int64)).cache(path)
    elements(tf, record, "first", dataset)
    elements(tf, record, "second", dataset.repeat(2))
    record("calls", calls)


@program
def parsed_examples(tf: Any, record: Record) -> None:
    path = str(record.folder / "examples")
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(5):
            features = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number, 2.0])),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"s"] * number)),
            }
            message = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(message.SerializeToString())
    spec = {
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "y": tf.io.FixedLenFeature([], tf.int64),
        "s": tf.io.VarLenFeature(tf.string),
    }
    records = tf.data.TFRecordDataset(path)
    single = records.map(lambda text: tf.io.parse_single_example(text, spec))
    elements(tf, record, "single", single)
    elements(tf, record, "batched", single.batch(2))
    whole = records.batch(3).map(lambda texts: tf.io.parse_example(texts, spec))
    elements(tf, record, "whole", whole)
