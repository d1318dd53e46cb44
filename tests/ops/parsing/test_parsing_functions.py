"""Examples as tensors. The expected values are those of TensorFlow 2.21's v1 API."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.formats.example_bytes import BYTES, FLOATS, INTEGERS, example_bytes, feature_bytes

KINDS = {int: INTEGERS, float: FLOATS, bytes: BYTES}


def example(**features):
    lists = {
        key: feature_bytes(KINDS[type(values[0])], values) if values else b""
        for key, values in features.items()
    }
    return example_bytes(lists)


FEATURES = {
    "a": tf.FixedLenFeature([2], tf.float32),
    "b": tf.FixedLenFeature([], tf.int64, -1),
    "c": tf.VarLenFeature(tf.string),
    "rows": tf.FixedLenSequenceFeature([2], tf.int64, allow_missing=True, default_value=9),
}
EXAMPLES = [
    example(a=[1.0, 2.0], b=[5], c=[b"x", b"y"], rows=[1, 2, 3, 4]),
    example(a=[3.0, 4.0], rows=[7, 8]),
    example(a=[5.0, 6.0], b=[2**62], c=[b"z"]),
]


def test_a_batch():
    with tf.Graph().as_default(), tf.Session() as session:
        parsed = tf.parse_example(EXAMPLES, FEATURES)
        assert parsed["a"].shape.as_list() == [3, 2]
        assert parsed["rows"].shape.as_list() == [3, None, 2]
        values = session.run(parsed)
    assert values["a"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert values["b"].tolist() == [5, -1, 2**62]
    assert values["rows"].tolist() == [[[1, 2], [3, 4]], [[7, 8], [9, 9]], [[9, 9], [9, 9]]]
    assert values["c"].indices.tolist() == [[0, 0], [0, 1], [2, 0]]
    assert values["c"].values.tolist() == [b"x", b"y", b"z"]
    assert values["c"].dense_shape.tolist() == [3, 2]


@pytest.mark.parametrize("name", [None, "mine"])
def test_a_single_example(name):
    with tf.Graph().as_default(), tf.Session() as session:
        values = session.run(tf.parse_single_example(EXAMPLES[0], FEATURES, example_names=name))
    assert values["a"].tolist() == [1, 2]
    assert values["rows"].tolist() == [[1, 2], [3, 4]]
    assert values["c"].dense_shape.tolist() == [2]
    assert values["c"].indices.tolist() == [[0], [1]]


def test_values_and_their_places():
    with tf.Graph().as_default(), tf.Session() as session:
        texts = [example(i=[3, 1], v=[30.0, 10.0]), example(), example(i=[0], v=[5.0])]
        sparse = tf.parse_example(texts, {"s": tf.SparseFeature("i", "v", tf.float32, 5)})
        value = session.run(sparse)["s"]
    assert value.indices.tolist() == [[0, 1], [0, 3], [2, 0]]
    assert value.values.tolist() == [10, 30, 5]
    assert value.dense_shape.tolist() == [3, 5]


@pytest.mark.parametrize(
    ("key", "feature", "words"),
    [
        ("d", tf.FixedLenFeature([], tf.float32), "Feature: d \\(data type: float\\) is required"),
        ("a", tf.FixedLenFeature([2], tf.int64), "Data type: float but expected type: int64"),
        ("c", tf.VarLenFeature(tf.float32), "Data type: string but expected type: float"),
        ("a", tf.FixedLenFeature([3], tf.float32), "Values size: 2 but output shape: \\[3\\]"),
        ("a", tf.FixedLenSequenceFeature([3], tf.float32, True), "not a multiple of stride length"),
    ],
)
def test_what_does_not_fit(key, feature, words):
    with tf.Graph().as_default(), tf.Session() as session:
        for parsed in (
            tf.parse_example(EXAMPLES, {key: feature}, example_names=["m", "n", "o"]),
            tf.parse_single_example(EXAMPLES[0], {key: feature}),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(parsed)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Name: m, (Key|Feature)"):
            session.run(tf.parse_example(EXAMPLES[:1], {key: feature}, example_names=["m"]))
        assert session.run(tf.parse_example(EXAMPLES, FEATURES))["b"].tolist()[0] == 5


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        (tf.FixedLenFeature([None], tf.float32), "Consider using FixedLenSequenceFeature"),
        (tf.FixedLenFeature([2, None], tf.float32), "need to be known"),
        (tf.FixedLenFeature(None, tf.float32), "Missing shape for feature a"),
        (tf.FixedLenFeature([], None), "Missing type for feature a"),
        (tf.FixedLenSequenceFeature([], tf.float32), "requires allow_missing to be True"),
        (tf.SparseFeature("", "v", tf.float32, 3), "Missing index_key for SparseFeature a"),
        (3, "Invalid feature a:3"),
    ],
)
def test_features_that_are_not_complete(feature, words):
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=words):
            tf.parse_example(["x"], {"a": feature})
        with pytest.raises(ValueError, match="Missing: features"):
            tf.parse_example(["x"], {})
        with pytest.raises(ValueError, match="must be a scalar"):
            tf.parse_single_example(["x"], {"a": tf.VarLenFeature(tf.int64)})


@pytest.fixture(scope="module")
def parse():
    """Parses one example in a session that all calls share."""
    with tf.Graph().as_default(), tf.Session() as session:
        source = tf.placeholder(tf.string, [None])
        parsed = tf.parse_example(source, FEATURES)
        yield lambda content: session.run(parsed, {source: [content]})


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=40), st.integers(0, 60))
def test_any_bytes_are_parsed_or_refused(parse, noise, position):
    content = EXAMPLES[0][:position] + noise + EXAMPLES[0][position + len(noise) :]
    try:
        values = parse(content)
    except tf.errors.InvalidArgumentError:
        return
    assert values["a"].shape == (1, 2) and values["rows"].dtype == np.int64


@pytest.mark.parametrize(
    ("feature", "parameter"),
    [
        (tf.FixedLenFeature([], tf.int32), "dense_defaults"),
        (tf.FixedLenSequenceFeature([], tf.int32, allow_missing=True), "dense_defaults"),
        (tf.FixedLenFeature([2], tf.int32, [1, 2]), "dense_defaults"),
        (tf.VarLenFeature(tf.int32), "sparse_types"),
    ],
)
def test_features_of_other_dtypes_are_refused_while_the_graph_is_built(feature, parameter):
    words = (
        f"Value passed to parameter '{parameter}' has DataType int32 not in list of allowed "
        "values: float32, int64, string"
    )
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match=words):
            tf.parse_example(["x"], {"a": feature})
        with pytest.raises(TypeError, match=words):
            tf.parse_single_example("x", {"a": feature})
