"""Native parsing of Examples and SequenceExamples equals that of Python, errors included."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.native import prepare_source
from gpugraph.ops.parsing import native_examples

pytestmark = pytest.mark.skipif(not native_examples.IS_USUAL, reason="CPython's layout of bytes")


@pytest.fixture(autouse=True)
def _compiled():
    if prepare_source("host_examples.h", "bytes").get(wait=True) is None:
        pytest.skip("native code is off, or there is no C compiler")
    with tf.Graph().as_default():
        yield


def feature(chance):
    """Return a random feature: of any kind, empty, or with values one by one."""
    kind, count = chance.randrange(5), chance.choice([0, 1, 2, 2, 2, 3])
    if kind == 0:
        return tf.train.Feature()
    if kind == 1:
        values = [chance.uniform(-9, 9) for _ in range(count)]
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    if kind == 2:
        texts = [b"x" * chance.choice([0, 3, 200]) for _ in range(count)]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=texts))
    numbers = [chance.choice([0, -1, 5, 2**62, -(2**63)]) for _ in range(count)]
    return tf.train.Feature(int64_list=tf.train.Int64List(value=numbers))


KEYS = ("a", "bb", "c" * 130)


def features(chance, good):
    """Return the features of a message; good ones suit the specifications mostly."""
    found = {}
    for key in KEYS:
        if chance.random() < 0.9:
            found[key] = feature(chance)
        if chance.random() < good:
            numbers = tf.train.Int64List(value=[chance.randrange(-5, 300)] * 2)
            found[key] = tf.train.Feature(int64_list=numbers)
    return tf.train.Features(feature=found)


def damaged(chance, text):
    """Return a message, damaged now and then."""
    if text and chance.random() < 0.05:
        place = chance.randrange(len(text))
        return text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :]
    return text[: chance.randrange(len(text) + 1)] if chance.random() < 0.03 else text


def specifications(chance):
    """Return features to parse."""
    kinds = [
        lambda dtype: tf.io.FixedLenFeature([2], dtype),
        lambda dtype: tf.io.FixedLenFeature(
            [2], dtype, ["?"] * 2 if dtype == tf.string else [7, 8]
        ),
        lambda dtype: tf.io.VarLenFeature(dtype),
        lambda dtype: tf.io.FixedLenSequenceFeature([2], dtype, True),
        lambda dtype: tf.io.FixedLenSequenceFeature([], dtype, True),
    ]
    dtypes = [tf.int64, tf.int64, tf.int64, tf.float32, tf.string]
    return {
        key: chance.choice(kinds)(chance.choice(dtypes))
        for key in chance.sample([*KEYS, "missing"], chance.choice([1, 2, 3]))
    }


def outcome(fetches, texts):
    """Return the values of a run, or its error."""
    try:
        with tf.Session() as session:
            parts = tf.nest.flatten(
                session.run(fetches, {"texts:0": texts}), expand_composites=True
            )
    except tf.errors.OpError as error:
        return type(error).__name__, error.message.partition("\n")[0]
    return [(np.asarray(part).dtype.str, np.asarray(part).tolist()) for part in parts]


def fed():
    """Return the placeholder of the messages: constants would be parsed without native code."""
    return tf.placeholder(tf.string, [None], name="texts")


def both(fetches, texts, monkeypatch):
    """Return the outcomes by native code and by Python."""
    native = outcome(fetches, texts)
    with monkeypatch.context() as patch:
        patch.setattr(native_examples.NativeExamples, "is_ready", False)
        return native, outcome(fetches, texts)


@pytest.mark.parametrize("seed", range(40))
def test_examples(seed, monkeypatch):
    chance = random.Random(seed)
    good = chance.choice([0.5, 1.0])
    messages = [tf.train.Example(features=features(chance, good)) for _ in range(6)]
    texts = [message.SerializeToString() for message in messages]
    texts = [damaged(chance, text) if seed % 2 else text for text in texts]
    parsed = tf.io.parse_example(fed(), specifications(chance))
    native, python = both(parsed, texts, monkeypatch)
    assert native == python


@pytest.mark.parametrize("seed", range(40))
def test_sequence_examples(seed, monkeypatch):
    chance = random.Random(seed)
    good = chance.choice([0.5, 1.0])
    texts = []
    for _ in range(5):
        lists = {}
        for key in ("u", "v"):
            steps = [feature(chance) if chance.random() > good else
                     tf.train.Feature(int64_list=tf.train.Int64List(value=[1, chance.randrange(9)]))
                     for _ in range(chance.randrange(4))]  # fmt: skip
            if chance.random() < 0.95:
                lists[key] = tf.train.FeatureList(feature=steps)
        message = tf.train.SequenceExample(
            context=features(chance, good), feature_lists=tf.train.FeatureLists(feature_list=lists)
        )
        text = message.SerializeToString()
        texts.append(damaged(chance, text) if seed % 2 else text)
    context = {
        key: one
        for key, one in specifications(chance).items()
        if not isinstance(one, tf.io.FixedLenSequenceFeature)
    }
    steps = {
        "u": tf.io.FixedLenSequenceFeature([2], tf.int64, chance.random() < 0.5),
        "v": tf.io.VarLenFeature(tf.int64),
    }
    parsed = tf.io.parse_sequence_example(fed(), context, steps)
    native, python = both(parsed, texts, monkeypatch)
    assert native == python


def test_native_code_reads_what_protobuf_writes(monkeypatch):
    chance = random.Random(0)
    texts = [
        tf.train.Example(features=features(chance, 1.0)).SerializeToString() for _ in range(40)
    ]
    read = []
    located = native_examples.NativeExamples.located

    def counted(self, *arguments):
        found = located(self, *arguments)
        read.append(found is not None)
        return found

    monkeypatch.setattr(native_examples.NativeExamples, "located", counted)
    parsed = tf.io.parse_example(fed(), {key: tf.io.VarLenFeature(tf.int64) for key in KEYS})
    with tf.Session() as session:
        session.run(parsed, {"texts:0": texts})
    assert read == [True]
