"""Functions on stacked elements give the bits, and the errors, of one element after the other."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.datasets.elements import stage

D = tf.data.Dataset
NUMBERS = np.arange(40)
ARRAYS = np.random.default_rng(0).normal(size=(40, 3, 4)).astype(np.float32)
TEXTS = np.array([f"w{n % 5},{n}" for n in range(40)], object)


def _examples():
    texts = []
    for number in range(40):
        floats = tf.train.FloatList(value=[number, 2 * number])
        features = {"x": tf.train.Feature(float_list=floats)}
        message = tf.train.Example(features=tf.train.Features(feature=features))
        texts.append(message.SerializeToString())
    return np.array([*texts[:20], b"bad", *texts], object)


def _parsed(record):
    spec = {
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "d": tf.io.FixedLenFeature([2], tf.int64, [1, 2]),
    }
    return tf.io.parse_single_example(record, spec)


CASES = {
    "remainder": (NUMBERS, lambda x: x % 7),
    "by zero": (NUMBERS, lambda x: 7 % (x - 20)),
    "where": (NUMBERS, lambda x: tf.where(tf.equal(x % 2, 0), x, -x)),
    "text": (NUMBERS, tf.as_string),
    "one hot": (NUMBERS, lambda x: tf.one_hot(x % 5, 5)),
    "stack": (NUMBERS, lambda x: tf.stack([x, 3, x + 1])),
    "broadcast": (NUMBERS, lambda x: tf.cast(x, tf.float32) * tf.constant([1.0, 2.0])),
    "constant": (NUMBERS, lambda x: (x, tf.constant(5))),
    "gather": (NUMBERS, lambda x: tf.gather(tf.constant(np.arange(30) * 3), x)),
    "clip": (ARRAYS, lambda x: tf.clip_by_value(x, -1.0, 1.0)),
    "maximum": (ARRAYS, lambda x: (tf.reduce_max(x, -1), x - tf.reduce_max(x), tf.argmax(x, 0))),
    "parts": (ARRAYS, lambda x: (x[..., :2], x[1, ::2], x[:, tf.newaxis, -1])),
    "shapes": (ARRAYS, lambda x: (tf.reshape(x, [4, -1]), tf.transpose(x), tf.shape(x))),
    "axes": (ARRAYS, lambda x: (tf.expand_dims(x, 1), tf.squeeze(tf.expand_dims(x, 0), [0]))),
    "joined": (ARRAYS, lambda x: tf.concat([x, x * 2, tf.ones([3, 4])], 0)),
    "reversed": (ARRAYS, lambda x: tf.reverse(x, [0])),
    "not at all": (ARRAYS, lambda x: tf.reduce_mean(x) + tf.random.uniform([], seed=1)),
    "lengths": (TEXTS, lambda x: (tf.strings.length(x), tf.strings.to_hash_bucket_fast(x, 9))),
    "strings": (TEXTS, lambda x: (tf.strings.join([x, "!"]), tf.strings.substr(x, 0, 2))),
    "csv": (TEXTS, lambda x: tf.io.decode_csv(x, [[""], [0]])),
    "uneven": (TEXTS, lambda x: tf.io.decode_raw(x, tf.uint8)),
    "parse": (_examples(), _parsed),
}


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def outcomes(dataset):
    """Return the elements and errors of a dataset."""
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    found = []
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(70):
            try:
                parts = [np.asarray(part) for part in tf.nest.flatten(session.run(following))]
                found.append([(part.dtype.str, part.shape, part.tolist()) for part in parts])
            except tf.errors.OutOfRangeError:
                break
            except tf.errors.OpError as error:
                found.append((type(error).__name__, error.message.partition("\n")[0]))
    return found


@pytest.mark.parametrize("name", CASES)
def test_functions_on_stacked_elements(name, monkeypatch):
    rows, function = CASES[name]
    seen = []
    rows_of = stage.rows_of
    monkeypatch.setattr(stage, "rows_of", lambda *args: seen.append(rows_of(*args)) or seen[-1])
    stacked = outcomes(D.from_tensor_slices(rows).map(function))
    assert (seen[0] is None) == (name == "not at all")
    monkeypatch.setattr(stage, "rows_of", lambda *args: None)
    assert stacked == outcomes(D.from_tensor_slices(rows).map(function))


def test_selections_of_sampled_datasets(monkeypatch):
    def sampled():
        parts = [D.range(n, n + 30) for n in (0, 100, 200)]
        weights = [0.5, 0.2, 0.3]
        return tf.data.experimental.sample_from_datasets(parts, weights, seed=3)

    stacked = outcomes(sampled())
    monkeypatch.setattr(stage, "rows_of", lambda *args: None)
    assert stacked == outcomes(sampled())
    assert len(stacked) == 70
