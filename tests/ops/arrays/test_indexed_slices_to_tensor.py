"""IndexedSlices: their parts, as tensors, in a session, and clipped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf

ROWS = np.array([[3, 0], [0, 4], [0, 0]], np.float32)
AT = [1, 3, 1]


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def slices(shape=(5, 2)) -> tf.IndexedSlices:
    sizes = None if shape is None else tf.constant(shape)
    return tf.IndexedSlices(tf.constant(ROWS, name="rows"), tf.constant(AT), sizes)


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


def test_what_it_says_of_itself(graph):
    with tf.device("/cpu:0"):
        result = slices()
    assert result.name == "rows:0"
    assert result.op is graph.get_operation_by_name("rows")
    assert result.device == "/device:CPU:0"
    assert result.dtype is tf.float32
    assert result.graph is graph
    assert result.shape.as_list() == result.get_shape().as_list() == [5, 2]
    assert str(result).startswith("IndexedSlices(indices=Tensor(")
    assert "dense_shape" in str(result)
    assert "dense_shape" not in str(slices(None))
    assert slices(None).shape.rank is None
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="same graph"):
            tf.IndexedSlices(result.values, tf.constant([1]))


def test_negated():
    result = -slices()
    np.testing.assert_array_equal(run(result).values, -ROWS)
    assert result.values.op.type == "Neg"


def test_as_a_tensor():
    dense = tf.convert_to_tensor(slices())
    assert dense.op.type == "UnsortedSegmentSum"
    assert dense.shape.as_list() == [5, 2]
    wanted = [[0, 0], [3, 0], [0, 0], [0, 4], [0, 0]]
    np.testing.assert_array_equal(run(dense), wanted)
    np.testing.assert_array_equal(run(tf.multiply(slices(), 2.0)), np.multiply(wanted, 2))


def test_as_a_tensor_refused():
    with pytest.raises(ValueError, match="without dense_shape"):
        tf.convert_to_tensor(slices(None))
    with pytest.raises(ValueError, match="requested dtype int32"):
        tf.convert_to_tensor(slices(), tf.int32)


def test_large_or_unknown_shapes_warn():
    with pytest.warns(UserWarning, match="of unknown shape"):
        tf.convert_to_tensor(
            tf.IndexedSlices(tf.constant(ROWS), tf.constant(AT), tf.placeholder(tf.int32, [2]))
        )
    with pytest.warns(UserWarning, match="200000000 elements"):
        tf.convert_to_tensor(slices((100_000_000, 2)))


def test_fetched():
    value, nothing, both = run([slices(), slices(None), {"a": (slices(),)}])
    assert type(value).__name__ == "IndexedSlicesValue"
    np.testing.assert_array_equal(value.values, ROWS)
    np.testing.assert_array_equal(value.indices, AT)
    np.testing.assert_array_equal(value.dense_shape, [5, 2])
    assert nothing.dense_shape is None
    np.testing.assert_array_equal(both["a"][0].indices, AT)


def test_fed():
    values = tf.placeholder(tf.float32, [None, 2])
    result = tf.IndexedSlices(values, tf.placeholder(tf.int32, [None]), tf.constant([5, 2]))
    dense = tf.convert_to_tensor(result)
    fed = run(dense, {result: ([[1, 2]], [4], [5, 2])})
    np.testing.assert_array_equal(fed[4], [1, 2])
    assert fed[:4].sum() == 0


def test_cast():
    result = tf.cast(slices(), tf.float64)
    assert isinstance(result, tf.IndexedSlices)
    assert result.dtype is tf.float64


def test_clipped_by_norm():
    result = tf.clip_by_norm(slices(), 2.0)
    assert result.values.op.name == "clip_by_norm"
    np.testing.assert_allclose(run(result).values, ROWS * 0.4, rtol=1e-6)
    np.testing.assert_array_equal(run(result).indices, AT)


def test_clipped_by_value():
    np.testing.assert_array_equal(run(tf.clip_by_value(slices(), 1.0, 2.0)).values.min(), 1)


def test_clipped_by_global_norm():
    (rows, nothing, plain), norm = tf.clip_by_global_norm(
        [slices(), None, tf.constant([12.0])], 6.5
    )
    assert nothing is None
    values = run([rows, plain, norm])
    np.testing.assert_allclose(values[0].values, ROWS / 2, rtol=1e-6)
    np.testing.assert_allclose(values[1], [6], rtol=1e-6)
    np.testing.assert_allclose(values[2], 13, rtol=1e-6)
