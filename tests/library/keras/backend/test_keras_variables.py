"""Variables, constants, placeholders, and their values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import gpugraph as tf

K = tf.keras.backend


def test_a_variable():
    v = K.variable(np.ones([2, 3]), name="v", constraint=tf.nn.relu)
    assert (v.name, K.dtype(v), K.int_shape(v), K.ndim(v), K.count_params(v)) == (
        "v:0",
        "float32",
        (2, 3),
        2,
        6,
    )
    assert v._keras_shape == (2, 3) and v.constraint is tf.nn.relu
    assert K.variable(tf.zeros([4]))._keras_shape == (4,)
    np.testing.assert_array_equal(K.get_value(v), np.ones([2, 3]))
    assert tf.trainable_variables()[0] is v


def test_a_sparse_matrix():
    dense = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    x = K.variable(scipy.sparse.csr_matrix(dense))
    assert K.is_sparse(x) and not K.is_sparse(K.to_dense(x)) and x._keras_shape == (2, 3)
    np.testing.assert_array_equal(K.eval(x), dense)
    np.testing.assert_array_equal(K.eval(K.to_dense(tf.constant(dense))), dense)


def test_constants_and_placeholders():
    np.testing.assert_array_equal(K.eval(K.constant(3, shape=[2])), np.float32([3, 3]))
    assert K.constant(3, dtype="int32", name="three").name == "three:0"
    x = K.placeholder(ndim=2, name="x")
    assert (K.int_shape(x), x.dtype, x.name) == ((None, None), tf.float32, "x:0")
    assert K.int_shape(K.placeholder((3, None), dtype="int64")) == (3, None)
    assert K.int_shape(K.placeholder()) is None
    assert K.is_sparse(K.placeholder((None, 3), sparse=True))
    with pytest.raises(tf.errors.UnimplementedError, match="no ragged tensors"):
        K.placeholder((None, 3), ragged=True)


def test_a_tensor_of_keras():
    x = K.placeholder((2,))
    assert not K.is_keras_tensor(x) and not K.is_keras_tensor(K.variable(1.0))
    x._keras_history = (None, 0, 0)
    assert K.is_keras_tensor(x)
    with pytest.raises(ValueError, match="Unexpectedly found an instance of type"):
        K.is_keras_tensor(np.ones(2))


def test_values_are_set_and_read_in_one_run():
    v, w = K.variable([1.0, 2.0]), K.variable(2, dtype="int64")
    K.set_value(w, 5)
    assert K.batch_get_value([w]) == [5]
    K.batch_set_value([(v, [3.0, 4.0]), (w, 6)])
    values = K.batch_get_value([v, w])
    assert values[0].tolist() == [3, 4] and values[1] == 6
    operations = len(K.get_graph().get_operations())
    K.batch_set_value([(v, [5.0, 6.0]), (w, 7)])
    assert len(K.get_graph().get_operations()) == operations
    assert K.get_value(v).tolist() == [5, 6]
    K.batch_set_value([])
    assert K.batch_get_value([]) == []
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="shape"):
        K.set_value(v, [1.0, 2.0, 3.0])
