"""Arrays as TensorProtos and back: bytes, typed fields, and possible errors in a file."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2, tensor_proto

NUMBERS = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"]
TYPED = ["float16", "uint16", "bool", "complex64", "complex128", "string"]
QUANTIZED = ["qint8", "quint8", "qint16", "quint16", "qint32"]
SHAPES = [(), (1,), (3,), (2, 1, 2), (0,), (2, 0)]


def array_of(dtype: str, shape: tuple[int, ...]):
    values = np.arange(np.prod(shape, dtype=int)) % 5
    if dtype == "string":
        return np.array([b"x" * value + b"\0" for value in values], object).reshape(shape)
    return values.astype(tf.as_dtype(dtype).as_numpy_dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [*NUMBERS, *TYPED, *QUANTIZED])
def test_every_dtype_and_shape_comes_back(dtype):
    for shape in SHAPES:
        array = array_of(dtype, shape)
        proto = tf.make_tensor_proto(array)
        again = tf.make_ndarray(messages_pb2.TensorProto.FromString(proto.SerializeToString()))
        assert (again.dtype, again.shape) == (array.dtype, shape)
        assert again.tolist() == array.tolist()


def test_bfloat16_is_held_as_bits():
    pytest.importorskip("ml_dtypes", reason="the extra `bfloat16` is not installed")
    array = np.array([1.0, -2.5], tf.bfloat16.as_numpy_dtype)
    proto = tf.make_tensor_proto(array)
    assert list(proto.half_val) == [0x3F80, 0xC020]
    assert tf.make_ndarray(proto).tolist() == [1.0, -2.5]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers_are_raw_bytes_unless_there_is_one(dtype):
    assert tf.make_tensor_proto(array_of(dtype, (3,))).tensor_content == (
        array_of(dtype, (3,)).tobytes()
    )
    assert tf.make_tensor_proto(array_of(dtype, (1,))).tensor_content == b""


def test_fields_of_dtypes():
    assert list(tf.make_tensor_proto(np.float16([1, -2])).half_val) == [0x3C00, 0xC000]
    assert list(tf.make_tensor_proto([1j, 2.0], tf.complex64).scomplex_val) == [0, 1, 2, 0]
    assert list(tf.make_tensor_proto([True, False]).bool_val) == [True, False]
    assert list(tf.make_tensor_proto(["ä", b"\xff"]).string_val) == ["ä".encode(), b"\xff"]
    assert list(tf.make_tensor_proto(-3, tf.int8).int_val) == [-3]


def test_the_last_value_stands_for_what_follows():
    proto = messages_pb2.TensorProto(dtype=tf.int32.as_datatype_enum, int_val=[1, 2])
    proto.tensor_shape.CopyFrom(tf.TensorShape([2, 2]).as_proto())
    assert tf.make_ndarray(proto).tolist() == [[1, 2], [2, 2]]
    proto.ClearField("int_val")
    assert tf.make_ndarray(proto).tolist() == [[0, 0], [0, 0]]


def test_arrays_can_be_written_to():
    array = tf.make_ndarray(tf.make_tensor_proto([1.0, 2.0]))
    array[0] = 3
    assert array.tolist() == [3, 2]


def test_values_that_do_not_fit_are_errors():
    proto = tf.make_tensor_proto([1, 2, 3])
    proto.tensor_shape.dim[0].size = 2
    with pytest.raises(ValueError, match="reshape"):
        tf.make_ndarray(proto)
    proto.tensor_content = b"123"
    with pytest.raises(ValueError, match="buffer size"):
        tf.make_ndarray(proto)
    proto.tensor_shape.dim[0].size = -1
    with pytest.raises(ValueError, match="fully defined shape"):
        tf.make_ndarray(proto)
    with pytest.raises(ValueError, match="reshape"):
        typed = messages_pb2.TensorProto(dtype=messages_pb2.DT_BOOL, bool_val=[True, True])
        tf.make_ndarray(typed)


def test_dtypes_without_values_are_errors():
    with pytest.raises(TypeError, match=r"^Unsupported tensor type: 21 \(variant: no array can"):
        tf.make_ndarray(messages_pb2.TensorProto(dtype=messages_pb2.DT_VARIANT))
    with pytest.raises(TypeError, match="Unsupported tensor type: 20"):
        tf.make_ndarray(messages_pb2.TensorProto(dtype=messages_pb2.DT_RESOURCE))
    with pytest.raises(TypeError):
        tf.make_ndarray(messages_pb2.TensorProto(dtype=77))


def test_two_gibibytes_are_too_many():
    array = np.broadcast_to(np.float64(1), (2**28,))
    with pytest.raises(ValueError, match="larger than 2GB"):
        tensor_proto.tensor_proto_of(array, tf.float64, array.shape)
