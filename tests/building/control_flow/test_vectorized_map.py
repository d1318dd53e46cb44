"""tf.vectorized_map."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def value(fetches):
    with tf.Session() as session:
        return session.run(fetches)


def test_products_of_rows():
    """The outer product of each row with itself, as TensorFlow documents it."""
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = tf.vectorized_map(lambda a: tf.matmul(a[:, None], a[None, :]), tf.constant(rows))
    assert result.shape.as_list() == [2, 3, 3]
    np.testing.assert_array_equal(value(result), rows[:, :, None] * rows[:, None, :])


def test_structures_and_dtypes_are_those_of_the_function():
    elems = (np.arange(3), {"b": np.ones([3, 2], np.float32)})

    def fn(elem):
        first, rest = elem
        return {"sum": tf.reduce_sum(rest["b"]), "odd": tf.equal(first % 2, 1), "one": 1.0}

    result = value(tf.vectorized_map(fn, elems))
    assert result["odd"].tolist() == [False, True, False]
    assert result["sum"].tolist() == [2.0, 2.0, 2.0]
    assert result["one"].tolist() == [1.0, 1.0, 1.0]


def test_gradients_pass_through():
    x = tf.constant([1.0, 2.0, 3.0])
    (grad,) = tf.gradients(tf.vectorized_map(lambda a: a * a, x), x)
    assert value(grad).tolist() == [2.0, 4.0, 6.0]


def test_the_call_for_the_dtypes_is_not_run():
    count = tf.Variable(0, use_resource=True)

    def fn(elem):
        with tf.control_dependencies([count.assign_add(1)]):
            return tf.identity(elem)

    result = tf.vectorized_map(fn, tf.range(4))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(result).tolist() == [0, 1, 2, 3]
        assert session.run(count) == 4


def test_wrong_arguments():
    with pytest.raises(TypeError, match="fn must be callable"):
        tf.vectorized_map(3, [1])
    with pytest.raises(ValueError, match="not scalars"):
        tf.vectorized_map(lambda x: x, tf.constant(1))


def test_gradients_of_each_element_with_respect_to_a_tensor_outside():
    """The gradient of each example, as differentially private training takes it."""
    weights = tf.constant([1.0, 2.0])
    rows = tf.constant([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    losses = tf.square(tf.linalg.matvec(rows, weights))
    each = tf.vectorized_map(lambda loss: tf.gradients(loss, weights)[0], losses)
    np.testing.assert_allclose(value(each), [[2.0, 0.0], [16.0, 8.0], [0.0, 36.0]])
