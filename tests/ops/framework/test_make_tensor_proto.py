"""make_tensor_proto: dtypes and shapes of Python values, and its errors."""

from __future__ import annotations

import pytest

import gpugraph as tf


def test_python_values_have_the_dtypes_of_constants():
    dtypes = [tf.as_dtype(tf.make_tensor_proto(value).dtype) for value in (1, 2**40, 1.5, "a", 1j)]
    assert dtypes == [tf.int32, tf.int64, tf.float32, tf.string, tf.complex128]
    assert tf.as_dtype(tf.make_tensor_proto(1, tf.float16).dtype) is tf.float16


def test_a_tensor_proto_is_given_back():
    proto = tf.make_tensor_proto([1, 2])
    assert tf.make_tensor_proto(proto) is proto


def test_few_values_stand_for_a_shape():
    proto = tf.make_tensor_proto(7, shape=[2, 3])
    assert list(proto.int_val) == [7]
    assert tf.make_ndarray(proto).tolist() == [[7, 7, 7], [7, 7, 7]]
    assert tf.make_ndarray(tf.make_tensor_proto([1, 2], shape=[3])).tolist() == [1, 2, 2]


def test_quantized_values_are_tuples():
    proto = tf.make_tensor_proto([(21,), (22,)], tf.qint32)
    assert tf.make_ndarray(proto).tolist() == [(21,), (22,)]
    with pytest.raises(TypeError, match="Expected qint8, got 1 of type 'int' instead"):
        tf.make_tensor_proto([1], tf.qint8)


def test_what_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match=r"Too many elements provided\. Needed at most 2"):
        tf.make_tensor_proto([1, 2, 3], shape=[2])
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(4,\), got \(2,\)"):
        tf.make_tensor_proto([1, 2], shape=[4], verify_shape=True)
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(4,\), got \(2,\)"):
        tf.make_tensor_proto([1, 2], shape=[4], allow_broadcast=True)
    with pytest.raises(TypeError, match="make_ndarray needs a TensorProto, but got 5"):
        tf.make_ndarray(5)
    with pytest.raises(ValueError, match="None values not supported"):
        tf.make_tensor_proto(None)
