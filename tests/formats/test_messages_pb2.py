"""TensorFlow's messages: protobuf's classes by their names, made on first access."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool, text_format
from google.protobuf.message import DecodeError

from gpugraph.formats import messages_pb2

ROOT = Path(__file__).resolve().parents[2]


def run(program: str) -> str:
    """Return the output of a program in a fresh interpreter."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    return result.stdout


def graph():
    graph = messages_pb2.GraphDef()
    node = graph.node.add(name="a", op="Const")
    node.attr["dtype"].type = messages_pb2.DT_INT32
    node.attr["value"].tensor.CopyFrom(
        messages_pb2.TensorProto(dtype=messages_pb2.DT_INT32, int_val=[5, -1])
    )
    graph.versions.producer = 134
    return graph


def test_the_bytes_are_those_of_the_wire_format():
    attr = messages_pb2.AttrValue(list=messages_pb2.AttrValue.ListValue(i=[1, 300]))
    assert attr.SerializeToString() == bytes.fromhex("0a05 1a03 01ac02")
    shape = messages_pb2.TensorShapeProto(dim=[messages_pb2.TensorShapeProto.Dim(size=-1)])
    assert shape.SerializeToString() == bytes.fromhex("120b08") + b"\xff" * 9 + b"\x01"
    entry = messages_pb2.BundleEntryProto(crc32c=1)
    assert entry.SerializeToString() == bytes.fromhex("3501000000")


def test_a_message_is_read_again_from_its_bytes_and_its_text():
    original = graph()
    again = messages_pb2.GraphDef.FromString(original.SerializeToString())
    assert again == original
    assert text_format.Parse(str(original), messages_pb2.GraphDef()) == original
    assert copy.deepcopy(original) == original
    assert pickle.loads(pickle.dumps(original)) == original


def test_messages_are_copied_and_merged():
    original, other = graph(), messages_pb2.GraphDef()
    other.CopyFrom(original)
    other.MergeFrom(original)
    assert [node.name for node in other.node] == ["a", "a"]
    assert other.HasField("versions") and not messages_pb2.GraphDef().HasField("versions")
    attr = messages_pb2.AttrValue(s=b"x")
    attr.i = 3
    assert attr.WhichOneof("value") == "i" and not attr.HasField("s")


def test_unknown_fields_are_kept():
    later = messages_pb2.NodeDef(name="a").SerializeToString() + bytes.fromhex("ba3e0178")
    assert messages_pb2.NodeDef.FromString(later).SerializeToString() == later


def test_malformed_bytes_are_protobufs_error():
    with pytest.raises(DecodeError):
        messages_pb2.GraphDef.FromString(b"\x0a\xff")
    with pytest.raises(DecodeError):
        messages_pb2.GraphDef().ParseFromString(graph().SerializeToString()[:-1])


def test_enumerations_have_their_values_names():
    assert messages_pb2.DataType.Name(messages_pb2.DT_FLOAT_REF) == "DT_FLOAT_REF"
    assert messages_pb2.DT_UINT64 == 23
    assert messages_pb2.SaverDef.V2 == 2
    runner = messages_pb2.QueueRunnerDef(queue_closed_exception_types=[messages_pb2.OUT_OF_RANGE])
    assert "OUT_OF_RANGE" in str(runner)


def test_any_message_can_be_packed_into_a_collection():
    collection = messages_pb2.CollectionDef()
    packed = collection.any_list.value.add()
    packed.Pack(graph())
    assert packed.type_url == "type.googleapis.com/tensorflow.GraphDef"
    unpacked = messages_pb2.GraphDef()
    assert packed.Unpack(unpacked) and unpacked == graph()


def test_a_class_says_where_it_is_found():
    assert messages_pb2.AttrValue.ListValue.__module__ == messages_pb2.__name__
    assert messages_pb2.AttrValue is messages_pb2.AttrValue
    assert messages_pb2.AttrValue.DESCRIPTOR.full_name == "tensorflow.AttrValue"
    with pytest.raises(AttributeError, match="has no attribute 'GraphDefs'"):
        _ = messages_pb2.GraphDefs


def test_protobufs_own_pool_does_not_know_them():
    messages_pb2.GraphDef()
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("tensorflow.GraphDef")


def test_protobuf_is_imported_with_the_first_message():
    program = (
        "import sys, gpugraph\n"
        "print('google.protobuf' in sys.modules)\n"
        "from gpugraph.formats import messages_pb2\n"
        "print('google.protobuf' in sys.modules)\n"
        "messages_pb2.GraphDef()\n"
        "print('google.protobuf' in sys.modules)\n"
    )
    assert run(program).split() == ["False", "False", "True"]
