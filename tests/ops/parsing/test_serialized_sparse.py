"""Tensors and SparseTensors as strings, with TensorFlow's bytes, and JSON as Examples."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


def test_sparse_tensors_come_back():
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = tf.SparseTensor([[0, 1], [2, 0]], ["ab", "c"], [3, 4])
        one = session.run(tf.serialize_sparse(sparse))
        assert one[1] == b'\x08\x07\x12\x04\x12\x02\x08\x02"\x05\x02\x01abc'  # TensorFlow's
        many = session.run(tf.serialize_many_sparse(sparse))
        assert many.shape == (3, 3)
        assert many[1, 1] == b"\x08\x07\x12\x02\x12\x00"
        back = session.run(tf.deserialize_many_sparse(many, tf.string, rank=2))
        assert back.indices.tolist() == [[0, 1], [2, 0]]
        assert back.values.tolist() == [b"ab", b"c"] and back.dense_shape.tolist() == [3, 4]
        whole = tf.raw_ops.DeserializeSparse(one, dtype=tf.string)
        assert session.run(whole)[2].tolist() == [3, 4]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Requested SparseTensor of type"):
            session.run(tf.deserialize_many_sparse(many, tf.int32))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse serialized"):
            session.run(tf.deserialize_many_sparse([["a", "b", "c"]], tf.int32))
        with pytest.raises(tf.errors.InvalidArgumentError, match="should be > 1, but saw rank: 1"):
            session.run(tf.serialize_many_sparse(tf.SparseTensor([[0]], [1.0], [1])))
        with pytest.raises(TypeError, match="Input must be a SparseTensor"):
            tf.serialize_sparse(3)


def test_tensors_come_back():
    with tf.Graph().as_default(), tf.Session() as session:
        for value in (np.float32([[1, 2]]), np.array([b"x"], object), np.int32(3)):
            dtype = tf.constant(value).dtype
            text = tf.io.serialize_tensor(value)
            np.testing.assert_array_equal(session.run(tf.io.parse_tensor(text, dtype)), value)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch between parsed"):
            session.run(tf.parse_tensor(text, tf.float32))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse `serialized`"):
            session.run(tf.parse_tensor("\x0a\x7f", tf.float32))


def test_json():
    text = """{"features": {"feature": {"a": {"int64List": {"value": ["1", 2]}},
        "f": {"float_list": {"value": [1.5, "NaN"]}}, "b": {"bytesList": {"value": ["YWI="]}}}}}"""
    with tf.Graph().as_default(), tf.Session() as session:
        features = {"a": tf.FixedLenFeature([2], tf.int64), "b": tf.FixedLenFeature([], tf.string)}
        parsed = session.run(tf.parse_single_example(tf.io.decode_json_example(text), features))
        assert parsed["a"].tolist() == [1, 2] and parsed["b"] == b"ab"
        for bad in ('{"a": 1}', "{", "[]", '{"features": {"feature": {"a": {"int64List": 3}}}}'):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
                session.run(tf.decode_json_example(bad))
