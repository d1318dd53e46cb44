"""Sparse lookups: dtypes of tables, weights and results."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

ROWS = np.arange(12.0).reshape(4, 3)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def sparse(values, dtype):
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array(values, dtype), [2, 2])


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_narrow_tables_give_float32(dtype, weighted, combiner):
    weights = sparse([1, 2, 3], np.float32) if weighted else None
    ids = sparse([0, 2, 3], np.int64)
    result = tf.nn.embedding_lookup_sparse(tf.cast(ROWS, dtype), ids, weights, combiner=combiner)
    wide = tf.nn.embedding_lookup_sparse(tf.cast(ROWS, tf.float32), ids, weights, combiner=combiner)
    assert result.dtype == tf.float32
    with tf.Session() as session:
        np.testing.assert_allclose(*session.run([result, wide]))


def test_tables_have_the_dtype_of_the_weights():
    ids, weights = sparse([0, 2, 3], np.int64), sparse([1, 2, 3], np.float32)
    result = tf.nn.safe_embedding_lookup_sparse(ROWS, ids, weights)
    assert result.dtype == tf.float32
    with pytest.raises(ValueError, match="Tensor conversion requested dtype float32"):
        tf.nn.safe_embedding_lookup_sparse(tf.constant(ROWS), ids, weights)
    table = tf.get_variable("table", initializer=ROWS, use_resource=True)
    with pytest.raises(ValueError, match="requested to type 'float32' for variable 'table:0'"):
        tf.nn.safe_embedding_lookup_sparse([table], ids, weights)
