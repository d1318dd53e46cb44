"""Vectors of varying length, computed for blocks, are those of one element after the other."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.datasets.elements import stage
from gpugraph.ops.datasets.elements.ragged_blocks import RaggedElements
from tests.library.data.test_row_forms import outcomes

D = tf.data.Dataset
TEXTS = np.array(["a b", "", "c", "  d e  f", "1", "a"] * 7, object)
NUMBERS = np.array([" ".join(map(str, range(n % 4))) for n in range(30)] + ["x", "5"], object)
SPEC = {
    "x": tf.io.FixedLenFeature([2], tf.float32),
    "v": tf.io.VarLenFeature(tf.int64),
    "w": tf.io.VarLenFeature(tf.string),
}


def _examples():
    texts = []
    for number in range(40):
        features = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number, 1])),
            "v": tf.train.Feature(int64_list=tf.train.Int64List(value=range(number % 3))),
            "w": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a"] * (number % 2))),
        }
        message = tf.train.Example(features=tf.train.Features(feature=features))
        texts.append(message.SerializeToString())
    return np.array([*texts[:20], b"bad", *texts], object)


def _table():
    keys, values = tf.constant(["a", "b", "c"]), tf.constant([5, 6, 7], tf.int64)
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
    return tf.lookup.StaticHashTable(initializer, -1)


def words(text):
    return tf.string_split([text]).values


def parts(sparse):
    return sparse.indices, sparse.values, sparse.dense_shape


def _dense(record):
    parsed = tf.io.parse_single_example(record, SPEC)
    return tf.sparse.to_dense(parsed["v"]), tf.sparse.to_dense(parsed["w"], ""), parsed["x"]


CASES = {
    "words": (TEXTS, words),
    "all parts": (TEXTS, lambda t: parts(tf.string_split([t], skip_empty=False))),
    "white space": (TEXTS, lambda t: tf.compat.v1.strings.split([t]).values),
    "numbers": (NUMBERS, lambda t: tf.strings.to_number(words(t), tf.int64) * 2 + 1),
    "with a scalar": (TEXTS, lambda t: tf.strings.length(words(t)) + tf.strings.length(t)),
    "sizes": (TEXTS, lambda t: (tf.size(words(t)), tf.shape(words(t)), words(t))),
    "first": (TEXTS, lambda t: words(t)[:2]),
    "sums": (NUMBERS[:30], lambda t: (tf.reduce_sum(tf.strings.to_number(words(t), tf.int64)), t)),
    "dense": (_examples(), _dense),
}
ALONE = ("sums",)
"""The cases whose results are not ragged."""


@pytest.mark.parametrize("name", CASES)
def test_functions_with_vectors(name, monkeypatch):
    rows, function = CASES[name]
    found = []
    rows_of = stage.rows_of
    monkeypatch.setattr(stage, "rows_of", lambda *args: found.append(rows_of(*args)) or found[-1])
    blocks = outcomes(D.from_tensor_slices(rows).map(function))
    assert any(found[-1].is_ragged) == (name not in ALONE)
    monkeypatch.setattr(stage, "rows_of", lambda *args: None)
    assert blocks == outcomes(D.from_tensor_slices(rows).map(function))
    assert len(blocks) == len(rows)


def chain(rows):
    """Return the pipeline of a translation: words, cut, looked up, with their number, padded."""
    table = _table()
    dataset = D.from_tensor_slices(rows).map(words).map(lambda w: w[:2])
    dataset = dataset.map(lambda w: tf.cast(table.lookup(w), tf.int32), 2)
    return dataset.map(lambda w: (w, tf.size(w)))


def batches(dataset, count=99):
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        session.run(iterator.initializer)
        found = []
        try:
            for _ in range(count):
                found.append([np.asarray(part).tolist() for part in session.run(following)])
        except tf.errors.OutOfRangeError:
            pass
        return found


def test_a_chain_of_functions(monkeypatch):
    started = []
    begin = RaggedElements.__init__
    monkeypatch.setattr(
        RaggedElements, "__init__", lambda self, *args: started.append(self) or begin(self, *args)
    )
    blocks = batches(chain(TEXTS).padded_batch(4, ([None], [])))
    assert len(started) == 4
    monkeypatch.setattr(stage, "rows_of", lambda *args: None)
    assert blocks == batches(chain(TEXTS).padded_batch(4, ([None], [])))
    assert blocks[0] == [[[5, 6], [0, 0], [7, 0], [-1, -1]], [2, 0, 1, 2]]


def test_an_error_in_a_chain():
    dataset = D.from_tensor_slices(NUMBERS).map(words)
    found = outcomes(dataset.map(lambda w: tf.strings.to_number(w, tf.int64)).map(lambda n: n + 1))
    assert [type(one) for one in found].count(tuple) == 1
    assert found[30][0] == "InvalidArgumentError"
    assert found[31] == [("<i8", (1,), [6])]


@pytest.mark.parametrize("read", [0, 1, 5, 41])
def test_positions_of_chains(read, tmp_path):
    expected = batches(chain(TEXTS))
    iterator = chain(TEXTS).make_initializable_iterator()
    following = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
        session.run([tf.tables_initializer(), iterator.initializer])
        for _ in range(read):
            session.run(following)
        path = saver.save(session, str(tmp_path / "position"))
    with tf.Session() as session:
        session.run([tf.tables_initializer(), iterator.initializer])
        saver.restore(session, path)
        rest = []
        try:
            while True:
                rest.append([np.asarray(part).tolist() for part in session.run(following)])
        except tf.errors.OutOfRangeError:
            pass
    assert rest == expected[read:]
