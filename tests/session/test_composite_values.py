"""SparseTensors and IndexedSlices as fetches and as feeds, in each form that TensorFlow takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def assert_parts(value: Any, *parts: Any) -> None:
    for one, part in zip(value, parts, strict=True):
        if part is None:
            assert one is None
        else:
            np.testing.assert_array_equal(one, part)


@pytest.mark.parametrize(
    "fed",
    [
        tf.SparseTensorValue([[0, 1]], [3.0], [2, 2]),
        ([[0, 1]], [3.0], [2, 2]),
        (np.array([[0, 1]]), np.array([3.0]), np.array([2, 2])),
    ],
)
def test_a_sparse_tensor_is_fed_and_fetched(session: Any, fed: Any) -> None:
    sparse = tf.sparse_placeholder(tf.float32, name="sparse")
    doubled = tf.SparseTensor(sparse.indices, sparse.values * 2, sparse.dense_shape)
    value, [again], values = session.run([doubled, [sparse], sparse.values], {sparse: fed})
    assert type(value) is type(again) is tf.SparseTensorValue
    assert_parts(value, [[0, 1]], [6], [2, 2])
    assert_parts(again, [[0, 1]], [3], [2, 2])
    assert (value.indices.dtype, value.values.dtype) == (np.int64, np.float32)
    assert values.tolist() == [3]


def test_its_parts_are_fed_alone(session: Any) -> None:
    sparse = tf.sparse_placeholder(tf.float32, name="sparse")
    doubled = sparse.values * 2
    assert session.run(doubled, {sparse.values: [1.0]}).tolist() == [2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="sparse/shape' with dtype int64"):
        session.run(tf.sparse_tensor_to_dense(sparse), {sparse: ([[0]], [1.0])})


@pytest.mark.parametrize("dense_shape", [None, [5, 2]])
def test_indexed_slices_are_fed_and_fetched(session: Any, dense_shape: Any) -> None:
    shape = None if dense_shape is None else tf.constant(dense_shape)
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([3]), shape)
    fetched = session.run({"a": [slices], "b": slices})
    assert fetched["a"][0].values is fetched["b"].values
    assert type(fetched["b"]).__name__ == "IndexedSlicesValue"
    assert_parts(fetched["b"], [[1, 2]], [3], dense_shape)
    fed = ([[7.0, 8.0]], [0]) if dense_shape is None else ([[7.0, 8.0]], [0], [9, 9])
    value, twice = session.run([slices, slices.values * 2], {slices: fed})
    assert_parts(value, [[7, 8]], [0], None if dense_shape is None else [9, 9])
    assert twice.tolist() == [[14, 16]]


def test_gradients_of_a_lookup_are_fetched_as_slices(session: Any) -> None:
    table = tf.Variable(np.ones([4, 2], np.float32))
    slope = tf.gradients(tf.nn.embedding_lookup(table, [1, 1]), table)[0]
    session.run(table.initializer)
    assert_parts(session.run(slope), np.ones([2, 2]), [1, 1], [4, 2])


def test_a_variable_that_is_placed_stays_there_in_later_runs(session: Any) -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))
    variables = [
        tf.get_variable(name, [], initializer=tf.ones_initializer, use_resource=use_resource)
        for name, use_resource in (("v", False), ("r", True))
    ]
    with tf.Session(config=config) as placed:
        placed.run([variable.initializer for variable in variables])
        with tf.device("/gpu:1"):
            later = [tf.assign_add(variable, 1.0) for variable in variables[1:]]
            later.append(variables[0] * 2.0)
        assert placed.run(later) == [2, 2]
        text = str(placed.explain([variable + 1 for variable in variables]))
        assert text.count("its variable lives there") >= 1
        variables[0].op._set_device("/cpu:0")
        with pytest.raises(tf.errors.InvalidArgumentError, match="since an earlier run"):
            placed.run(variables[0] * 3.0)
        assert placed.run(later) == [3, 2]
