"""Functions of tensors, given a SparseTensor: which keep it sparse, and the errors of the
others.
"""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

BY_VALUES = {
    "abs": np.abs, "asinh": np.arcsinh, "atan": np.arctan, "negative": np.negative,
    "sign": np.sign, "sin": np.sin, "square": np.square, "tanh": np.tanh,
}  # fmt: skip


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def sparse():
    return tf.SparseTensor([[0, 1], [1, 2]], [1.5, -2.0], [2, 3])


def run(fetches):
    with tf.Session() as session:
        return session.run(fetches)


@pytest.mark.parametrize("name", BY_VALUES)
def test_functions_with_0_at_0_take_the_values(name):
    source = sparse()
    output = getattr(tf, name)(source)
    assert (output.indices, output.dense_shape) == (source.indices, source.dense_shape)
    np.testing.assert_allclose(run(output).values, BY_VALUES[name]([1.5, -2.0]), rtol=1e-6)


def test_casts():
    source = sparse()
    output = tf.cast(source, tf.int64)
    assert output.values.op.name == "Cast"
    assert run(output).values.tolist() == [1, -2]
    assert tf.cast(source, tf.float32) is source
    again = tf.cast(source, tf.int64)
    assert run(tf.edit_distance(output, again, normalize=False)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("function", "name"), [(tf.identity, "Identity"), (tf.stop_gradient, "StopGradient")]
)
def test_identities_are_of_all_parts(function, name):
    output = function(sparse())
    names = [tensor.op.name for tensor in (output.indices, output.values, output.dense_shape)]
    assert names == [name, f"{name}_1", f"{name}_2"]
    assert run(output).dense_shape.tolist() == [2, 3]


def test_shape_size_and_rank_are_those_of_the_whole(graph):
    source = sparse()
    before = len(graph.get_operations())
    shape, size, rank = tf.shape(source), tf.size(source), tf.rank(source)
    assert [tensor.name for tensor in graph.get_operations()[before:]] == [
        "Shape/Cast", "Size/Cast", "Size/reduction_indices", "Size", "Rank",
    ]  # fmt: skip
    assert [array.dtype for array in (shape, size, rank)] == [tf.int32] * 3
    assert [array.tolist() for array in run([shape, size, rank])] == [[2, 3], 6, 2]
    assert tf.shape(source, out_type=tf.int64) is source.dense_shape
    assert run(tf.size(source, out_type=tf.int64)).dtype == np.int64


def test_a_dense_tensor_times_a_sparse_one_is_sparse():
    output = tf.fill([2, 3], 2.0) * sparse()
    assert output.values.op.name == "mul"
    assert run(output).values.tolist() == [3, -4]


@pytest.mark.parametrize(
    "make", [tf.cos, tf.nn.relu, lambda x: tf.ones([2, 3]) + x, lambda x: tf.concat([x, x], 0)]
)
def test_others_refuse_it_by_their_name(make):
    with pytest.raises(TypeError, match=r"For '.*' .*a SparseTensor \(float32\)"):
        make(sparse())
