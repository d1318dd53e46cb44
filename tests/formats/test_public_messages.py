"""The messages among the public names, and by TensorFlow's import paths."""

from __future__ import annotations

import importlib

import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2
from gpugraph.formats.public_messages import PUBLIC_MESSAGES


def test_public_names_are_the_messages():
    for module, path in ((tf, ""), (tf.train, "train")):
        for name in PUBLIC_MESSAGES[path]:
            assert getattr(module, name) is getattr(messages_pb2, name)
    assert tf.compat.v1.NodeDef is tf.NodeDef
    with pytest.raises(AttributeError, match=r"'gpugraph\.train' has no attribute 'GraphDef'"):
        _ = tf.train.GraphDef


def test_modules_of_messages_are_found_by_tensorflows_paths():
    with tf.as_tensorflow():
        graph_pb2 = importlib.import_module("tensorflow.core.framework.graph_pb2")
        types_pb2 = importlib.import_module("tensorflow.core.framework.types_pb2")
        saver_pb2 = importlib.import_module("tensorflow.core.protobuf.saver_pb2")
        assert graph_pb2.GraphDef is tf.GraphDef
        assert (types_pb2.DT_HALF, types_pb2.DataType.Name(1)) == (19, "DT_FLOAT")
        assert saver_pb2.SaverDef is tf.train.SaverDef
        assert not hasattr(saver_pb2, "Nothing")


def test_an_example_of_the_documentation():
    example = tf.train.Example(
        features=tf.train.Features(
            feature={"a": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))}
        )
    )
    again = tf.train.Example.FromString(example.SerializeToString())
    assert list(again.features.feature["a"].int64_list.value) == [1, 2]


def test_shapes_as_messages():
    for sizes in (None, [], [2, None, 0]):
        shape = tf.TensorShape(sizes)
        assert tf.TensorShape(shape.as_proto()) == shape
    assert tf.TensorShape([None]).as_proto().dim[0].size == -1
    with pytest.raises(ValueError):
        tf.TensorShape(messages_pb2.TensorShapeProto(dim=[{"size": -2}]))
