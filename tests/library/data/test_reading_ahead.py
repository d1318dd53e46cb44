"""Elements that are computed ahead, several at a time, are those of single calls."""

from __future__ import annotations

import tempfile
import threading

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.kernel.reused_memory import empty_array
from gpugraph.ops.datasets import ahead_stages, parallel_elements
from gpugraph.ops.parsing import several_examples

D = tf.data.Dataset


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def threads_pay(monkeypatch):
    """Let each function be called in threads, three elements at a time."""
    monkeypatch.setattr(parallel_elements.Workers, "is_quick", False)
    monkeypatch.setattr(parallel_elements.ParallelElements, "_part_size", lambda self: 3)


def read(dataset):
    """Return all elements, and the messages of errors in their places."""
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    found = []
    with tf.Session() as session:
        session.run([tf.tables_initializer(), iterator.initializer])
        while True:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                return found
            except tf.errors.OpError as error:
                found.append(error.message.split("\n")[0][:40])


def image(number):
    picture = tf.fill([40 + number % 3, 50, 3], tf.cast(number, tf.float32))
    return tf.reduce_sum(tf.image.resize_images(picture, [20 + number % 2, 20]), [0, 1])


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.usefixtures("threads_pay")
def test_order_is_that_of_the_elements(calls):
    found = read(D.range(20).map(lambda n: image(tf.cast(n, tf.int32)), calls))
    expected = [[n * 400.0 + n * 20 * (n % 2)] * 3 for n in range(20)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.usefixtures("threads_pay")
def test_an_error_concerns_its_element():
    def checked(n):
        with tf.control_dependencies([tf.Assert(tf.not_equal(n, 4), ["four"])]):
            return image(tf.cast(n, tf.int32))

    found = read(D.range(8).map(checked))
    assert [isinstance(one, str) for one in found] == [n == 4 for n in range(8)]
    assert found[4].startswith("assertion failed: [four]")


def test_functions_with_effects_are_called_when_needed():
    called = []

    def noted(n):
        called.append(int(n))
        return n

    dataset = D.range(100).map(lambda n: tf.py_func(noted, [n], tf.int64))
    following = dataset.map(lambda n: n * 2).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(3)] == [0, 2, 4]
    assert called == [0, 1, 2]


@pytest.mark.usefixtures("threads_pay")
def test_a_position_has_the_elements_that_were_read(tmp_path):
    dataset = D.range(30).map(lambda n: image(tf.cast(n, tf.int32))).batch(2)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(4):
            session.run(following)
        path = saver.save(session, str(tmp_path / "position"))
        expected = session.run(following)
    with tf.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(following), expected)
    assert not [t for t in threading.enumerate() if t.name.startswith("gpugraph_data")]


def message(number):
    feature = tf.train.Feature
    lists = {
        "words": [
            feature(bytes_list=tf.train.BytesList(value=[b"w%d" % n])) for n in range(number)
        ],
        "ids": [
            feature(int64_list=tf.train.Int64List(value=range(n % 3))) for n in range(number % 4)
        ],
    }
    context = {"y": feature(int64_list=tf.train.Int64List(value=[number] * (number % 2)))}
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=context),
        feature_lists=tf.train.FeatureLists(
            feature_list={name: tf.train.FeatureList(feature=part) for name, part in lists.items()}
        ),
    ).SerializeToString()


def sequences():
    def parsed(text):
        found = tf.io.parse_single_sequence_example(
            text,
            {"y": tf.io.VarLenFeature(tf.int64)},
            {
                "words": tf.io.FixedLenSequenceFeature([], tf.string),
                "ids": tf.io.VarLenFeature(tf.int64),
            },
        )
        context, steps = found
        y, ids = context["y"], steps["ids"]
        sparse = y.indices, y.values, y.dense_shape, ids.indices, ids.values, ids.dense_shape
        return (*sparse, steps["words"])

    return D.from_tensor_slices([message(n) for n in range(1, 70)]).map(parsed)


def test_messages_are_parsed_at_once_as_they_are_singly(monkeypatch):
    at_once = read(sequences())
    monkeypatch.setattr(parallel_elements.ParallelElements, "_part_size", lambda self: 1)
    singly = read(sequences())
    assert len(at_once) == len(singly) == 69
    for one, other in zip(at_once, singly, strict=True):
        for array, expected in zip(one, other, strict=True):
            assert array.dtype == expected.dtype
            np.testing.assert_array_equal(array, expected)


def test_parts_do_not_keep_an_array_alive():
    rows = np.arange(10)
    parts = several_examples._parts(rows, np.array([3, 0, 7]))
    assert [part.tolist() for part in parts] == [[0, 1, 2], [], [3, 4, 5, 6, 7, 8, 9]]
    assert all(part.base is None for part in parts)


def test_a_batch_that_is_held_is_not_written_again():
    shape = (1 << 17,)
    first = empty_array(shape, np.dtype(np.float32))
    view = first[5:9]
    view[:] = 7
    del first
    second = empty_array(shape, np.dtype(np.float32))
    assert not np.shares_memory(second, view)
    place = second.ctypes.data
    del second
    assert empty_array(shape, np.dtype(np.float32)).ctypes.data == place
    assert view.tolist() == [7] * 4


def test_batches_that_a_program_keeps_stay():
    rows = np.arange(40, dtype=np.float32)
    dataset = D.from_tensor_slices(rows).map(lambda x: tf.fill([300, 300], x)).batch(4).prefetch(1)
    found = read(dataset)
    assert [batch[:, 7, 7].tolist() for batch in found] == rows.reshape(-1, 4).tolist()


@pytest.mark.parametrize("buckets", [0, 3])
def test_words_are_looked_up_in_blocks(tmp_path, buckets):
    path = tmp_path / "words"
    path.write_text("\n".join(f"w{n}" for n in range(10)))
    texts = tf.lookup.TextFileInitializer(
        str(path), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER,
    )  # fmt: skip
    table = tf.lookup.StaticHashTable(texts, -1)
    if buckets:
        table = tf.lookup.StaticVocabularyTable(texts, buckets)
    lines = [" ".join(f"w{n % 13}" for n in range(row % 5)) for row in range(50)]
    words = D.from_tensor_slices(lines).map(lambda line: tf.string_split([line]).values)
    found = read(words.map(table.lookup))
    known = {f"w{n}": n for n in range(10)}
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        others = [f"w{n}" for n in range(10, 13)]
        known |= dict(zip(others, session.run(table.lookup(tf.constant(others))).tolist()))
    assert [row.tolist() for row in found] == [[known[w] for w in line.split()] for line in lines]


def test_small_blocks_are_joined(tmp_path):
    paths = [str(tmp_path / f"{part}.txt") for part in range(3)]
    for part in range(3):
        (tmp_path / f"{part}.txt").write_text("\n".join(f"{part} {n}" for n in range(7 + part)))
    files = D.from_tensor_slices(paths).interleave(tf.data.TextLineDataset, 3, 1)
    words = files.map(lambda line: tf.string_split([line]).values)
    expected = [[b"%d" % part, b"%d" % n] for n in range(9) for part in range(3) if n < 7 + part]
    assert [row.tolist() for row in read(words)] == expected


@pytest.mark.parametrize("stages", ["batch", "cache", "cache prefetch", "unbatch"])
def test_a_program_may_change_the_arrays_that_it_fetches(stages):
    rows = np.random.default_rng(0).integers(0, 99, [12, 90, 300, 3]).astype(np.uint8)
    dataset = D.from_tensor_slices(rows).map(
        lambda x: tf.where(tf.reduce_sum(tf.cast(x[0, 0], tf.int32)) % 2 > 0, tf.reverse(x, [1]), x)
    )
    dataset = dataset if stages == "unbatch" else dataset.batch(4)
    dataset = dataset.cache() if "cache" in stages else dataset
    dataset = dataset.prefetch(1) if "prefetch" in stages else dataset
    expected = np.stack([x[:, ::-1] if int(x[0, 0].sum()) % 2 else x for x in rows])
    following = dataset.repeat(3).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        for _ in range(3):
            for start in range(0, 12, 1 if stages == "unbatch" else 4):
                found = session.run(following)
                stop = start + 4
                wanted = expected[start] if stages == "unbatch" else expected[start:stop]
                np.testing.assert_array_equal(found, wanted)
                found[...] = 0


def test_prefetch_passes_its_thread_by_while_that_is_quicker(monkeypatch):
    """The elements, their order and a saved position are the same with and without the thread."""
    dataset = D.range(20).map(lambda x: tf.fill([40_000], x)).prefetch(3)
    iterator = dataset.make_initializable_iterator()
    numbers = iterator.get_next()[:2]
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    found, threads = [], []
    with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        session.run(iterator.initializer)
        for turn in range(19):
            quick = turn // 3 % 2 == 0
            monkeypatch.setattr(ahead_stages.Pace, "record", is_quick(quick))
            if turn % 5 == 4:
                path = saver.save(session, folder + "/position")
                session.run(iterator.initializer)
                saver.restore(session, path)
            found += session.run(numbers).tolist()
            threads.append(number_of_threads())
    assert found == [number for number in range(19) for _ in range(2)]
    assert threads[0] < max(threads)


def is_quick(quick):
    def record(pace, seconds, num_bytes, times=1):
        pace.is_quick = quick

    return record


def number_of_threads():
    return sum(thread.name.startswith("gpugraph_data") for thread in threading.enumerate())
