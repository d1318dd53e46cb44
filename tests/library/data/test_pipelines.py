"""Datasets and their transformations: elements, structures, order, errors, threads and files."""

from __future__ import annotations

import gc
import itertools
import os
import threading

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.datasets import ahead_stages
from gpugraph.ops.datasets.elements import worker_threads

D = tf.data.Dataset


def read(dataset, most=100):
    """Return the elements of a dataset, by a new session."""
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    found = []
    with tf.Session() as session:
        session.run(iterator.initializer)
        try:
            for _ in range(most):
                found.append(session.run(following))
        except tf.errors.OutOfRangeError as error:
            assert error.message.startswith("End of sequence")
    return found


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def data_threads():
    return [t for t in threading.enumerate() if t.name.startswith("gpugraph_data")]


def test_a_pipeline():
    dataset = D.from_tensor_slices(np.arange(10)).map(lambda x: x * x)
    dataset = dataset.filter(lambda x: x > 10).batch(4)
    assert [row.tolist() for row in read(dataset)] == [[16, 25, 36, 49], [64, 81]]


def test_structures_of_elements():
    dataset = D.from_tensors({"b": 1, "a": (np.float32(2), ["x", "y"])})
    assert dataset.output_types == {"b": tf.int32, "a": (tf.float32, tf.string)}
    assert dataset.output_shapes["a"][1].as_list() == [2]
    assert dataset.element_spec["b"] == tf.TensorSpec([], tf.int32)
    (element,) = read(dataset)
    assert element["b"] == 1
    assert element["a"][1].tolist() == [b"x", b"y"]


@pytest.mark.parametrize("calls", [None, 1, 3, -1])
def test_map_keeps_the_order(calls):
    assert read(D.range(50).map(lambda x: x + 1, calls)) == list(range(1, 51))


def test_parallel_calls_run_at_the_same_time():
    barrier = threading.Barrier(3, timeout=30)
    wait = lambda x: tf.py_func(lambda v: (barrier.wait(), v)[1], [x], tf.int64)  # noqa: E731
    assert read(D.range(6).map(wait, num_parallel_calls=3)) == list(range(6))


def _sums(start):
    return D.range(start, 99).map(lambda x: tf.cumsum([x]))


class SlowPace:
    """A pace at which threads pay off."""

    is_quick = False

    def __init__(self, is_quick):
        pass

    def record(self, seconds, num_bytes, times=1):
        pass


@pytest.mark.parametrize(
    "dataset",
    [
        lambda: D.range(1000).map(lambda x: tf.cumsum([x])).prefetch(4),
        lambda: D.range(1000).map(lambda x: tf.cumsum([x]), 3).prefetch(2),
        lambda: D.range(9).interleave(_sums, 4, num_parallel_calls=2),
        lambda: D.range(5).flat_map(lambda x: _sums(x).prefetch(3)),
    ],
)
def test_no_thread_is_left_when_a_session_closes(dataset, monkeypatch):
    for module in (worker_threads, ahead_stages):
        monkeypatch.setattr(module, "Pace", SlowPace)
    before = len(data_threads())
    iterator = dataset().make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(3):
            session.run(following)
        assert len(data_threads()) > before
        session.run(iterator.initializer)
        session.run(following)
    assert len(data_threads()) == before


_READERS = {
    "shuffle": lambda d: d.shuffle(3),
    "shuffle_and_repeat": lambda d: d.apply(tf.data.experimental.shuffle_and_repeat(3)),
    "repeat": lambda d: d.repeat(),
    "concatenate": lambda d: D.range(1).concatenate(d),
    "zip": lambda d: D.zip((D.range(100), d)),
    "cache": lambda d: d.cache(),
    "take": lambda d: d.take(50),
    "skip": lambda d: d.skip(2),
    "filter": lambda d: d.filter(lambda x: x > 2),
    "shard": lambda d: d.shard(2, 0),
    "batch": lambda d: d.batch(2),
    "padded_batch": lambda d: d.padded_batch(2, []),
    "unbatch": lambda d: d.batch(2).apply(tf.data.experimental.unbatch()),
    "window": lambda d: d.window(2).flat_map(lambda w: w.batch(2)),
    "interleave": lambda d: d.interleave(D.range, 2),
    "scan": lambda d: d.apply(tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, x))),
    "groups": lambda d: d.apply(
        tf.data.experimental.group_by_window(lambda x: x % 2, lambda _, w: w.batch(2), 2)
    ),
    "unique": lambda d: d.apply(tf.data.experimental.unique()),
    "take_while": lambda d: d.apply(tf.data.experimental.take_while(lambda x: x < 90)),
    "ignore_errors": lambda d: d.apply(tf.data.experimental.ignore_errors()),
    "sample": lambda d: tf.data.experimental.sample_from_datasets([D.range(100), d], seed=1),
    "map_and_batch": lambda d: d.apply(tf.data.experimental.map_and_batch(lambda x: x + 1, 2)),
}


@pytest.mark.parametrize("name", _READERS)
def test_datasets_close_those_from_which_they_read(name):
    before = len(data_threads())
    source = D.from_generator(lambda: iter(range(100)), tf.int64, []).prefetch(2)
    iterator = _READERS[name](source).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(4):
            session.run(following)
        assert len(data_threads()) > before
    assert len(data_threads()) == before


def test_no_file_is_left_open(tmp_path):
    paths = [str(tmp_path / f"{n}.txt") for n in range(3)]
    for path in paths:
        with open(path, "w") as file:
            file.write("a\nb\nc\n" * 100)
    dataset = tf.data.TextLineDataset(paths).prefetch(2)
    for _ in range(3):
        iterator = dataset.make_initializable_iterator()
        following = iterator.get_next()
        with tf.Session() as session:
            session.run(iterator.initializer)
            session.run(following)
    gc.collect()
    links = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    assert not [link for link in links if str(tmp_path) in link]


def test_a_session_that_closes_ends_a_waiting_iterator():
    release = threading.Event()

    def slow(value):
        release.wait(10)
        return value

    iterator = D.range(9).map(lambda x: tf.py_func(slow, [x], tf.int64)).prefetch(1)
    iterator = iterator.make_initializable_iterator()
    following = iterator.get_next()
    session = tf.Session()
    session.run(iterator.initializer)
    errors = []

    def run():
        try:
            session.run(following)
        except tf.errors.OpError as error:
            errors.append(type(error).__name__)

    thread = threading.Thread(target=run)
    thread.start()
    closing = threading.Timer(0.5, release.set)
    closing.start()
    session.close()
    thread.join(20)
    assert not thread.is_alive()
    assert errors == ["CancelledError"]


def test_two_iterators_do_not_disturb_each_other():
    first = D.range(5).make_initializable_iterator()
    second = D.range(10, 15).make_initializable_iterator()
    one, other = first.get_next(), second.get_next()
    with tf.Session() as session:
        session.run([first.initializer, second.initializer])
        assert session.run(one) == 0
        session.run(second.initializer)
        assert session.run([one, other]) == [1, 10]


def test_generators_are_closed():
    closed = []

    def numbers():
        try:
            yield from itertools.count()
        finally:
            closed.append(True)

    iterator = D.from_generator(numbers, tf.int64, []).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert [session.run(following) for _ in range(3)] == [0, 1, 2]
    assert closed == [True]


def test_a_cache_computes_once():
    calls = []
    dataset = D.range(3).map(lambda x: tf.py_func(lambda v: calls.append(v) or v, [x], tf.int64))
    assert read(dataset.cache().repeat(3)) == [0, 1, 2] * 3
    assert len(calls) == 3


def test_a_cache_in_a_file_survives(tmp_path):
    calls = []
    dataset = D.range(3).map(lambda x: tf.py_func(lambda v: calls.append(v) or v, [x], tf.int64))
    cached = dataset.cache(str(tmp_path / "kept"))
    assert read(cached) == [0, 1, 2]
    assert read(cached) == [0, 1, 2]
    assert len(calls) == 3


@pytest.mark.parametrize(
    "dataset",
    [
        lambda: D.range(40).shuffle(7, seed=3),
        lambda: D.range(40).map(lambda x: x * 2, 3).batch(3),
        lambda: D.range(6).flat_map(lambda x: D.range(x)).prefetch(3),
        lambda: D.range(6).interleave(lambda x: D.range(x), 3, 2),
        lambda: D.range(5).repeat(4).skip(3).take(12),
        lambda: D.zip((D.range(20), D.range(20).shuffle(3, seed=1).repeat())),
        lambda: D.range(9).cache().repeat(2),
        lambda: D.range(20).window(3, 2).flat_map(lambda w: w.batch(3)),
        lambda: D.range(30).apply(
            tf.data.experimental.group_by_window(lambda x: x % 3, lambda k, w: w.batch(4), 4)
        ),
        lambda: D.range(20).apply(
            tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s + x))
        ),
        lambda: D.range(30).batch(4).apply(tf.data.experimental.unbatch()),
        lambda: D.range(30).shard(3, 1).enumerate(),
        lambda: tf.data.experimental.sample_from_datasets([D.range(20), D.range(20, 40)], seed=2),
        lambda: tf.data.experimental.RandomDataset(4).take(20),
        lambda: D.range(20).apply(tf.data.experimental.shuffle_and_repeat(6, 2, seed=4)),
        lambda: D.range(3).shuffle(3, seed=1).repeat(6),
        lambda: D.range(4).shuffle(4, seed=1).map(lambda x: x * 2, 2).repeat(4).prefetch(3),
        lambda: D.range(2).shuffle(2, seed=1).concatenate(D.range(2).shuffle(2, seed=2)).repeat(9),
        lambda: D.range(2).flat_map(lambda x: D.range(4).shuffle(4, seed=3).repeat(5)),
        lambda: D.range(9).shuffle(9, seed=1).window(3, 2).flat_map(lambda w: w.batch(3)).repeat(3),
    ],
)
def test_positions_go_on_where_they_were(dataset, tmp_path):
    iterator = dataset().make_initializable_iterator()
    following = iterator.get_next()
    saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
    saver = tf.train.Saver([saveable])
    path = str(tmp_path / "position")

    def rest(session):
        found = []
        try:
            while True:
                found.append(session.run(following))
        except tf.errors.OutOfRangeError:
            return [np.asarray(part).tolist() for part in found]

    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(5):
            session.run(following)
        saver.save(session, path)
        expected = rest(session)
        assert expected
    with tf.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert rest(session) == expected


def test_graph_defs_keep_functions_and_captures():
    offset = tf.constant(7, tf.int64)
    v = tf.Variable(np.int64(2), use_resource=True)
    dataset = D.range(5).map(lambda x: x * v + offset).flat_map(lambda x: D.range(x, x + 2))
    iterator = dataset.make_initializable_iterator()
    names = [iterator.get_next().name, iterator.initializer.name, v.initializer.name]
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        value, begin, init = tf.import_graph_def(graph_def, return_elements=names)
        with tf.Session() as session:
            session.run(init)
            session.run(begin)
            assert [session.run(value) for _ in range(6)] == [7, 8, 9, 10, 11, 12]
        again = tf.get_default_graph().as_graph_def()
        assert {f.signature.name for f in again.library.function} == {
            f.signature.name for f in graph_def.library.function
        }


def test_an_iterator_must_be_initialized():
    following = D.range(3).make_initializable_iterator().get_next()
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"),
    ):
        session.run(following)


def test_memory_of_iterators_is_released():
    iterator = D.from_tensor_slices(np.zeros([8, 1000], np.float32)).map(
        lambda x: x + 1
    ).batch(4).prefetch(2).make_initializable_iterator()  # fmt: skip
    following = iterator.get_next()
    with tf.Session() as session:
        for _ in range(5):
            session.run(iterator.initializer)
            session.run(following)
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(100):
            session.run(iterator.initializer)
            session.run(following)
        gc.collect()
        assert len(gc.get_objects()) - before < 200


def test_multi_device_iterators_take_turns():
    from gpugraph.library.data.saved_iterators import MultiDeviceIterator  # noqa: PLC0415

    iterator = MultiDeviceIterator(D.range(6), ["/cpu:0", "/cpu:0"])
    one, other = iterator._next_of(0), iterator._next_of(1)
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert [session.run(one), session.run(one), session.run(other)] == [0, 2, 1]


def test_csv_and_sql(tmp_path):
    import sqlite3  # noqa: PLC0415

    path = tmp_path / "t.csv"
    path.write_text('a,b,c\n1,x,0.5\n2,"y, z",1.5\n3,,2\n')
    rows = read(tf.data.experimental.CsvDataset(str(path), [tf.int32, ["?"], [0.0]], header=True))
    assert [tuple(np.asarray(v).tolist() for v in row) for row in rows] == [
        (1, b"x", 0.5), (2, b"y, z", 1.5), (3, b"?", 2.0),
    ]  # fmt: skip
    batches = tf.data.experimental.make_csv_dataset(
        str(path), 3, label_name="a", shuffle=False, num_epochs=1
    )
    ((columns, labels),) = read(batches)
    assert labels.tolist() == [1, 2, 3]
    assert columns["c"].tolist() == [0.5, 1.5, 2.0]
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("create table t (n integer, s text)")
        database.executemany("insert into t values (?, ?)", [(1, "one"), (2, "two")])
    query = "select s, n from t order by n desc"
    dataset = tf.data.experimental.SqlDataset(
        "sqlite", str(tmp_path / "t.db"), query, (tf.string, tf.int32)
    )
    assert read(dataset) == [(b"two", 2), (b"one", 1)]


def test_batched_features_and_the_writer(tmp_path):
    path = str(tmp_path / "r")

    def example(number):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(number)]))
        features = tf.train.Features(feature={"n": feature})
        return tf.train.Example(features=features).SerializeToString()

    texts = D.range(6).map(lambda x: tf.py_func(example, [x], tf.string)).map(
        lambda s: tf.reshape(s, [])
    )  # fmt: skip
    with tf.Session() as session:
        session.run(tf.data.experimental.TFRecordWriter(path).write(texts))
    batches = tf.data.experimental.make_batched_features_dataset(
        path, 4, {"n": tf.FixedLenFeature([], tf.int64)}, num_epochs=1, shuffle=False
    )
    assert [row["n"].tolist() for row in read(batches)] == [[0, 1, 2, 3], [4, 5]]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: D.from_generator(3, tf.int32), TypeError, "must be callable"),
        (lambda: D.zip([D.range(3)]), TypeError, "do not support Python lists"),
        (lambda: D.range(3).apply(lambda _: 3), TypeError, "must return a Dataset"),
        (lambda: D.range(3).flat_map(lambda x: x), TypeError, "must return a `Dataset`"),
        (lambda: D.range(3).concatenate(D.from_tensors("a")), TypeError, "different types"),
        (lambda: D.range(1, 2, 3, 4), ValueError, "Invalid arguments"),
        (lambda: D.from_tensor_slices(3), ValueError, "rank"),
        (lambda: tf.data.experimental.dense_to_ragged_batch(3), NotImplementedError, "ragged"),
        (lambda: iter(D.range(3)), RuntimeError, "eager"),
    ],
)
def test_wrong_arguments(make, error, words):
    with pytest.raises(error, match=words):
        make()
