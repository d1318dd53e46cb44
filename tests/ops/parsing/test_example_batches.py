"""Batches of Examples that are written alike: the values are those of one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats.example_bytes import BYTES, FLOATS, INTEGERS, example_bytes, feature_bytes

FEATURES = {
    "image": tf.FixedLenFeature([3, 4], tf.float32),
    "wide": tf.FixedLenFeature([50], tf.float32),
    "label": tf.FixedLenFeature([], tf.int64),
    "text": tf.FixedLenFeature([], tf.string),
    "ids": tf.VarLenFeature(tf.int64),
    "weights": tf.VarLenFeature(tf.float32),
    "tag": tf.VarLenFeature(tf.string),
    "rows": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
    "given": tf.FixedLenFeature([2], tf.int64, default_value=[7, 8]),
}


def lists_of(number):
    lists = {
        "image": (FLOATS, np.arange(12) + number),
        "wide": (FLOATS, np.arange(50) * number),
        "label": (INTEGERS, [number * 1000 - 5]),
        "text": (BYTES, [b"t" * number * 50]),
        "ids": (INTEGERS, list(range(number % 4))),
        "weights": (FLOATS, [0.5] * (number % 3)),
        "tag": (BYTES, [b"%d" % number]),
        "rows": (FLOATS, [1.0, 2.0] * (number % 3)),
        "given": (INTEGERS, [number, number]),
    }
    if number % 2:
        del lists["tag"]
    return lists


def content_of(lists):
    return example_bytes({name: feature_bytes(*values) for name, values in lists.items()})


def parse(contents, features, **arguments):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.parse_example(contents, features, **arguments))


@pytest.mark.parametrize("left_out", [(), ("rows",), ("rows", "given"), ("image", "wide", "text")])
@pytest.mark.parametrize("missing", [(), ("given",), ("ids", "weights")])
def test_a_batch_is_its_examples(left_out, missing):
    features = {name: value for name, value in FEATURES.items() if name not in left_out}
    contents = [
        content_of({k: v for k, v in lists_of(n).items() if k not in missing or n % 2})
        for n in range(20)
    ]
    whole = parse(contents, features)
    parts = [parse(contents[first : first + 4], features) for first in range(0, 20, 4)]
    for name, feature in features.items():
        if isinstance(feature, tf.VarLenFeature):
            values = np.concatenate([part[name].values for part in parts])
            assert whole[name].values.tolist() == values.tolist()
            rows = [part[name].indices[:, 0] + 4 * n for n, part in enumerate(parts)]
            assert whole[name].indices[:, 0].tolist() == np.concatenate(rows).tolist()
            longest = max(part[name].dense_shape[1] for part in parts)
            assert whole[name].dense_shape.tolist() == [20, longest]
        elif name != "rows":
            expected = np.concatenate([part[name] for part in parts])
            np.testing.assert_array_equal(whole[name], expected)
            assert whole[name].dtype == expected.dtype


def test_the_first_example_that_does_not_fit_is_named():
    contents = [content_of(lists_of(n)) for n in range(12)]
    contents[7] = content_of({**lists_of(7), "image": (FLOATS, [1.0])})
    contents[9] = content_of({**lists_of(9), "label": (FLOATS, [1.0])})
    features = {name: FEATURES[name] for name in ("label", "image")}
    names = [f"n{n}" for n in range(12)]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Name: n7, Key: image, Index: 7\."):
        parse(contents, features, example_names=names)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Name: n9, Key: label, Index: 1\."):
        parse(contents[8:], features, example_names=names[8:])


def test_bytes_that_are_no_example_are_refused_in_a_batch():
    contents = [content_of(lists_of(n)) for n in range(12)]
    features = {"label": FEATURES["label"]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example input"):
        parse([*contents, contents[0][:-3]], features)
    endless = content_of({"label": (INTEGERS, [2**63 - 1] * 3)}).replace(b"\x7f", b"\xff")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"label, Index: 12\.  Can't parse"):
        parse([*contents, endless], features)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Feature: new \(data type: float"):
        parse(contents, {"new": tf.FixedLenFeature([], tf.float32)})


def test_examples_without_features():
    values = parse([b""] * 9, {"ids": FEATURES["ids"], "given": FEATURES["given"]})
    assert values["ids"].dense_shape.tolist() == [9, 0]
    assert values["given"].tolist() == [[7, 8]] * 9
    values = parse([b""] * 9 + [content_of({"ids": (INTEGERS, [1, 2])})], {"ids": FEATURES["ids"]})
    assert values["ids"].indices.tolist() == [[9, 0], [9, 1]]


@pytest.mark.parametrize("shape", [[], [2]])
def test_rows_are_as_many_as_the_longest_has(shape):
    feature = tf.FixedLenSequenceFeature(shape, tf.int64, allow_missing=True, default_value=-1)
    lists = [{"r": (INTEGERS, [n] * 2 * (n % 3))} if n % 5 else {} for n in range(11)]
    whole = parse([content_of(row) for row in lists], {"r": feature})["r"]
    for row, values in zip(whole, lists):
        expected = list(values["r"][1]) if values else []
        flat = row.reshape(-1).tolist()
        assert flat == expected + [-1] * (len(flat) - len(expected))
    assert whole.shape == (11, *([2] if shape else [4]), *shape)
    none = parse([content_of({})] * 9, {"r": feature})["r"]
    assert none.shape == (9, 0, *shape)
