"""SparseTensors and IndexedSlices that go through branches and loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def sparse(values: Any = (1.0, 2.0)) -> tf.SparseTensor:
    return tf.SparseTensor([[0, 0], [1, 2]], tf.constant(values), [2, 3])


def slices(values: Any = ((1.0, 2.0),), with_shape: bool = True) -> tf.IndexedSlices:
    shape = tf.constant([4, 2]) if with_shape else None
    return tf.IndexedSlices(tf.constant(values), tf.constant([1]), shape)


def repeated(change: Any, start: Any, invariant: Any = None, times: int = 3) -> Any:
    invariants = None if invariant is None else [tf.TensorShape([]), invariant]
    result = tf.while_loop(
        lambda i, x: i < times, lambda i, x: (i + 1, change(x)), [0, start], invariants
    )
    return result[1]


def twice_sparse(x: tf.SparseTensor) -> tf.SparseTensor:
    return tf.SparseTensor(x.indices, x.values * 2.0, x.dense_shape)


def twice_slices(x: tf.IndexedSlices) -> tf.IndexedSlices:
    return tf.IndexedSlices(x.values * 2.0, x.indices, x.dense_shape)


def longer(x: Any) -> Any:
    values, indices = tf.concat([x.values] * 2, 0), tf.concat([x.indices] * 2, 0)
    if isinstance(x, tf.SparseTensor):
        return tf.SparseTensor(indices, values, x.dense_shape)
    return tf.IndexedSlices(values, indices, x.dense_shape)


# -- loops


def test_a_sparse_tensor_stays_one_in_a_loop() -> None:
    kinds: list[type] = []

    def change(x: Any) -> Any:
        kinds.append(type(x))
        return twice_sparse(x)

    result = repeated(change, sparse())
    assert kinds == [tf.SparseTensor]
    value = run(result)
    assert value.indices.tolist() == [[0, 0], [1, 2]]
    assert value.values.tolist() == [8, 16]
    assert value.dense_shape.tolist() == [2, 3]
    assert result.indices.shape.as_list() == [None, 2]  # their number may change
    assert run(repeated(longer, sparse(), times=2)).values.tolist() == [1, 2] * 4


@pytest.mark.parametrize(
    ("invariant", "shape"), [(tf.TensorShape([2]), [2]), (tf.TensorShape([None]), [None])]
)
def test_the_invariant_of_a_sparse_tensor_is_its_dense_shapes_shape(
    invariant: Any, shape: Any
) -> None:
    result = repeated(longer, sparse(), invariant)
    assert result.dense_shape.shape.as_list() == shape
    assert result.indices.shape.as_list() == [None, shape[0]]
    assert repeated(longer, sparse(), tf.TensorShape(None)).dense_shape.shape.rank is None


def test_indexed_slices_stay_such_in_a_loop() -> None:
    for with_shape in (True, False):
        value = run(repeated(twice_slices, slices(with_shape=with_shape)))
        assert value.values.tolist() == [[8, 16]]
        assert value.indices.tolist() == [1]
        assert (value.dense_shape is not None) == with_shape
    result = repeated(longer, slices(), tf.TensorShape([None, 2]))
    assert result.values.shape.as_list() == [None, 2]
    assert result.indices.shape.as_list() == [None]
    assert result.dense_shape.shape.as_list() == [2]
    assert run(result).indices.tolist() == [1] * 8


def test_misfits_in_loops() -> None:
    with pytest.raises(ValueError, match="is not compatible with the initial shape"):
        repeated(twice_sparse, sparse(), tf.TensorShape([5]))
    with pytest.raises(ValueError, match="Expected a shape with 1 dimension"):
        repeated(twice_sparse, sparse(), tf.TensorShape([2, 3]))
    with pytest.raises(ValueError, match="is not compatible with the initial shape"):
        repeated(twice_slices, slices(), tf.TensorShape([None, 5]))
    with pytest.raises(ValueError, match=r"has shape \(\?, 3\) after one iteration"):
        repeated(lambda x: tf.sparse_reshape(x, [1, 2, 3]), sparse())
    with pytest.raises(ValueError, match=r"has shape \(2, 2\) after one iteration"):
        repeated(longer, slices())
    for start, change in (
        (sparse(), lambda x: x.values),
        (slices(), lambda x: x.values),
        (slices(), lambda x: tf.IndexedSlices(x.values, x.indices)),
        (tf.constant([1.0]), lambda x: tf.IndexedSlices(x, tf.constant([0]))),
    ):
        with pytest.raises(ValueError, match="don't have the same nested structure"):
            repeated(change, start)


def test_gradients_go_through_the_values() -> None:
    values = tf.constant([1.0, 2.0])
    result = repeated(twice_sparse, tf.SparseTensor([[0, 0], [1, 2]], values, [2, 3]))
    rows = tf.constant([[1.0, 2.0]])
    squared = repeated(
        lambda x: tf.IndexedSlices(x.values * x.values, x.indices, x.dense_shape),
        tf.IndexedSlices(rows, tf.constant([1]), tf.constant([4, 2])),
    )
    pair = [tf.gradients(result.values, values)[0], tf.gradients(squared.values, rows)[0]]
    assert [np.asarray(grad).tolist() for grad in run(pair)] == [[8, 8], [[8, 1024]]]


def test_invariants_may_be_tensor_specs() -> None:
    result = repeated(
        lambda x: tf.concat([x, x], 0), tf.constant([1.0]), tf.TensorSpec([None], tf.float32)
    )
    assert result.shape.as_list() == [None]
    assert run(result).tolist() == [1] * 8


# -- branches


def test_branches_that_return_sparse_tensors() -> None:
    choice = tf.placeholder(tf.bool, [])
    values = tf.constant([1.0, 2.0])
    whole = tf.SparseTensor([[0, 0], [1, 2]], values, [2, 3])
    result, number = tf.cond(
        choice, lambda: [twice_sparse(whole), tf.constant(1)], lambda: [whole, tf.constant(2)]
    )
    assert isinstance(result, tf.SparseTensor)
    grad = tf.gradients(result.values, values)[0]
    for is_true, factor in ((True, 2), (False, 1)):
        value, count, slope = run([result, number, grad], {choice: is_true})
        assert value.values.tolist() == [factor, 2 * factor]
        assert value.indices.tolist() == [[0, 0], [1, 2]]
        assert count == (1 if is_true else 2)
        assert slope.tolist() == [factor, factor]


@pytest.mark.parametrize("with_shape", [True, False])
def test_branches_that_return_indexed_slices(with_shape: bool) -> None:
    choice = tf.placeholder(tf.bool, [])
    result = tf.cond(
        choice,
        lambda: twice_slices(slices(with_shape=with_shape)),
        lambda: slices(with_shape=with_shape),
    )
    assert isinstance(result, tf.IndexedSlices)
    assert result.indices.dtype is tf.int32
    assert run(result, {choice: True}).values.tolist() == [[2, 4]]
    assert run(result, {choice: False}).values.tolist() == [[1, 2]]


def test_indices_of_two_dtypes_become_int64() -> None:
    choice = tf.placeholder(tf.bool, [])
    result = tf.cond(
        choice,
        lambda: tf.IndexedSlices(tf.constant([1.0]), tf.constant([3])),
        lambda: tf.IndexedSlices(tf.constant([2.0]), tf.constant([0], tf.int64)),
    )
    assert result.indices.dtype is tf.int64
    assert run(result, {choice: True}).indices.tolist() == [3]
    assert run(result, {choice: False}).indices.tolist() == [0]


def test_branches_that_return_other_kinds() -> None:
    choice = tf.placeholder(tf.bool, [])
    with pytest.raises(ValueError, match="Incompatible return types of true_fn and false_fn"):
        tf.cond(choice, sparse, lambda: tf.constant([1.0]))
    with pytest.raises(ValueError, match="Incompatible return types of true_fn and false_fn"):
        tf.cond(choice, slices, lambda: slices(with_shape=False))
