"""SequenceExamples as tensors. The expected values are those of TensorFlow 2.21's v1 API."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.formats.example_bytes import BYTES, FLOATS, INTEGERS, example_bytes, feature_bytes
from gpugraph.formats.message_bytes import bytes_field

KINDS = {int: INTEGERS, float: FLOATS, bytes: BYTES}


def feature(values):
    return feature_bytes(KINDS[type(values[0])], values) if values else b""


def sequence(context, **lists):
    entries = b"".join(
        bytes_field(
            1,
            bytes_field(1, key.encode())
            + bytes_field(2, b"".join(bytes_field(1, feature(row)) for row in rows)),
        )
        for key, rows in lists.items()
    )
    head = example_bytes({key: feature(values) for key, values in context.items()})
    return head + bytes_field(2, entries)


TEXTS = [
    sequence({"n": [1], "w": [b"p", b"q"]}, x=[[1.0, 2.0], [3.0, 4.0]], t=[[1], [2, 3]]),
    sequence({"n": [2]}, x=[[5.0, 6.0]], t=[[4], [], [5, 6, 7]]),
]
CONTEXT = {"n": tf.FixedLenFeature([], tf.int64), "w": tf.VarLenFeature(tf.string)}
LISTS = {
    "x": tf.FixedLenSequenceFeature([2], tf.float32),
    "t": tf.VarLenFeature(tf.int64),
    "gone": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
}


def test_one():
    with tf.Graph().as_default(), tf.Session() as session:
        context, lists = tf.parse_single_sequence_example(TEXTS[1], CONTEXT, LISTS)
        assert lists["x"].shape.as_list() == [None, 2]
        first, second = session.run([context, lists])
    assert first["n"] == 2 and first["w"].dense_shape.tolist() == [0]
    assert second["x"].tolist() == [[5, 6]] and second["gone"].tolist() == []
    assert second["t"].indices.tolist() == [[0, 0], [2, 0], [2, 1], [2, 2]]
    assert second["t"].dense_shape.tolist() == [3, 3]


def test_a_batch():
    with tf.Graph().as_default(), tf.Session() as session:
        parsed = tf.io.parse_sequence_example(TEXTS, CONTEXT, LISTS)
        context, lists, lengths = session.run(parsed)
    assert context["n"].tolist() == [1, 2]
    assert context["w"].indices.tolist() == [[0, 0], [0, 1]]
    assert lists["x"].tolist() == [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    assert lists["t"].indices.tolist()[-2:] == [[1, 2, 1], [1, 2, 2]]
    assert lists["t"].dense_shape.tolist() == [2, 3, 3]
    assert {key: value.tolist() for key, value in lengths.items()} == {"gone": [0, 0], "x": [2, 1]}


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ({"y": LISTS["x"]}, "Feature list 'y' is required but could not be found"),
        ({"x": tf.FixedLenSequenceFeature([3], tf.float32)}, "Feature list: x, Index: 0.*!= expec"),
        ({"x": tf.FixedLenSequenceFeature([2], tf.int64)}, "Expected type: int64"),
        ({"t": tf.VarLenFeature(tf.string)}, "Feature list: t, Index: 0.*Expected type: string"),
    ],
)
def test_what_does_not_fit(lists, words):
    with tf.Graph().as_default(), tf.Session() as session:
        for parsed in (
            tf.parse_single_sequence_example(TEXTS[0], None, lists)[1],
            tf.io.parse_sequence_example(TEXTS, None, lists)[1],
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(parsed)


def test_what_is_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="Missing features"):
            tf.parse_single_sequence_example(TEXTS[0])
        with pytest.raises(ValueError, match="Unsupported FixedLenFeature"):
            tf.parse_single_sequence_example(TEXTS[0], None, CONTEXT)
        wanted = {"m": tf.FixedLenFeature([], tf.int64)}
        for text, words in ((TEXTS[0], "Context feature 'm' is required"), (b"hello", "Could not")):
            context, _ = tf.parse_single_sequence_example(text, wanted)
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(context)
