"""Embedding lookup by sparse ids, which combines the embeddings of each row of ids into a single
row.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.embedding_lookup import embedding_lookup, table_parts
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.indexing.one_hot_where_unique import unique
from gpugraph.ops.sparse.sparse_functions import sparse_fill_empty_rows, sparse_retain
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, expect_sparse

_LOG = logging.getLogger("gpugraph")
_COMBINERS = {"sum": "Sum", "mean": "Mean", "sqrtn": "SqrtN"}
_FIRST = np.array(0, np.int32)


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
) -> Tensor:
    """Look up the rows of `params` at the ids in each row of `sp_ids`, and combine them into one
    row.

    The result has the shape (rows,) + params.shape[1:]. float16 and bfloat16 are summed as float32,
    and the result is float32. Raises ValueError if the combiner is unknown or the weights do not
    fit the ids. Raises TypeError if the ids or weights are not sparse.

    For the remaining arguments, see `embedding_lookup`.

    Args:
      sp_ids: a SparseTensor of ints with two dimensions. Only rows at its end may be empty.
      sp_weights: a SparseTensor with a factor for each id, or None for weights of 1.
      combiner: "sum", "mean" (the default), which divides the sum by the sum of the weights, or
        "sqrtn", which divides it by the square root of the sum of the squared weights.
    """
    if combiner is None:
        _LOG.warning('The default value of combiner will change from "mean" to "sqrtn".')
        combiner = "mean"
    if combiner not in _COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', but is {combiner!r}")
    ids = expect_sparse(sp_ids)
    weights = None if sp_weights is None else expect_sparse(sp_weights)
    if weights is not None:
        ids.values.shape.assert_is_compatible_with(weights.values.shape)
        ids.indices.shape.assert_is_compatible_with(weights.indices.shape)
        ids.shape.assert_is_compatible_with(weights.shape)
    with op_scope(name, "embedding_lookup_sparse", params, ids) as scope:
        segments = cast(ids.indices[:, 0], dtypes.int32)
        unique_ids, places = unique(ids.values)
        rows = embedding_lookup(params, unique_ids, partition_strategy, max_norm=max_norm)
        if rows.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16):
            rows = cast(rows, dtypes.float32)
        if weights is None:
            combine = getattr(raw_ops, f"SparseSegment{_COMBINERS[combiner]}")
            return combine(rows, places, segments, name=scope)
        return _weighted_sums(gather(rows, places), weights.values, segments, combiner, scope)


def _weighted_sums(
    rows: Tensor, weights: Tensor, segments: Tensor, combiner: str, name: str
) -> Tensor:
    """Multiply rows by weights, sum them by segment, and divide each sum as `combiner` requires.

    Args:
      segments: the segment id of each row, in ascending order.
    """
    if weights.dtype.base_dtype is not rows.dtype.base_dtype:
        weights = cast(weights, rows.dtype.base_dtype)
    ones = raw_ops.Fill(raw_ops.Sub(raw_ops.Rank(rows), np.array([1], np.int32)), _ONE)
    shape = raw_ops.ConcatV2([raw_ops.Shape(weights), ones], _FIRST)
    factors = raw_ops.Reshape(weights, shape)
    if rows.shape.rank is not None:
        known = (weights.shape.as_list()[0], *[1] * (rows.shape.rank - 1))
        factors.set_shape(TensorShape.of(known))
    count = _segment_count(segments)
    scaled = raw_ops.Mul(rows, factors)
    if combiner == "sum":
        return raw_ops.UnsortedSegmentSum(scaled, segments, count, name=name)
    total = raw_ops.UnsortedSegmentSum(scaled, segments, count)
    if combiner == "mean":
        divisor = raw_ops.UnsortedSegmentSum(factors, segments, count)
    else:
        squares = raw_ops.UnsortedSegmentSum(raw_ops.Square(factors), segments, count)
        divisor = raw_ops.Sqrt(squares)
    return raw_ops.DivNoNan(total, divisor, name=name)


_ONE = np.array(1, np.int32)


def _segment_count(segments: Tensor) -> Any:
    """Return the largest segment id plus one, or 0 if there are no ids."""
    with_none = raw_ops.ConcatV2([np.array([-1], np.int32), segments], _FIRST)
    return raw_ops.Add(raw_ops.Max(with_none, np.array([0], np.int32)), _ONE)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
) -> Tensor:
    """Combine embeddings as `embedding_lookup_sparse` does, but skip negative ids. Unless the
    combiner is "sum", also skip ids whose weight is not positive.

    The result has the shape sparse_ids.shape[:-1] + (columns,). If no ids remain in a row, the
    result is the embedding of `default_id`, or zeros if this is None.

    Raises ValueError if there is no table, or if a table's dtype is not the dtype of the weights.

    Args:
      sparse_ids: a SparseTensor of rank 2 or more. The embeddings along its last dimension are
        combined.
    """
    if embedding_weights is None or (
        isinstance(embedding_weights, (list, tuple)) and not embedding_weights
    ):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    ids = expect_sparse(sparse_ids)
    weights = None if sparse_weights is None else expect_sparse(sparse_weights)
    dtype = None if weights is None else weights.dtype.base_dtype
    tables = [_table(item, dtype) for item in table_parts(embedding_weights)]
    with op_scope(name, "embedding_lookup", ids) as scope:
        known, sizes = ids.shape, ids.dense_shape
        ids, weights = _as_matrix(ids), None if weights is None else _as_matrix(weights)
        ids, weights = _without_invalid(ids, weights, combiner)
        ids, empty = sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        embeddings = embedding_lookup_sparse(
            tables,
            ids,
            weights,
            partition_strategy,
            None if default_id is None else scope,
            combiner,
            max_norm,
        )
        if default_id is None:
            embeddings = _zero_empty_rows(embeddings, empty, scope)
        rest = raw_ops.Slice(
            cast(sizes, dtypes.int32),
            np.array([0], np.int32),
            raw_ops.Sub(raw_ops.Shape(sizes), np.array([1], np.int32)),
        )
        columns = raw_ops.Slice(
            raw_ops.Shape(embeddings), np.array([1], np.int32), np.array([-1], np.int32)
        )
        result: Tensor = raw_ops.Reshape(embeddings, raw_ops.ConcatV2([rest, columns], _FIRST))
        result.set_shape(known[:-1].concatenate(embeddings.shape[1:]))
        return result


def _table(table: Any, dtype: DType | None) -> Any:
    """Return a table as a variable or tensor. Raises ValueError if its dtype is not `dtype`."""
    if hasattr(table, "handle") and dtype in (None, table.dtype.base_dtype):
        return table  # then lookups need not read the whole variable
    return convert_to_tensor(table, dtype)


def _as_matrix(sparse: SparseTensor) -> SparseTensor:
    """Reshape a SparseTensor to a matrix, by merging all dimensions except the last."""
    last = sparse.dense_shape[-1]
    rows = raw_ops.Prod(sparse.dense_shape[:-1], np.array([0], np.int32))
    indices, shape = raw_ops.SparseReshape(
        sparse.indices, sparse.dense_shape, raw_ops.Pack([rows, last])
    )
    return SparseTensor(indices, identity(sparse.values), shape)


def _without_invalid(
    ids: SparseTensor, weights: SparseTensor | None, combiner: str
) -> tuple[SparseTensor, SparseTensor | None]:
    zero = ids.dtype.base_dtype.as_numpy_dtype(0)
    valid = raw_ops.GreaterEqual(ids.values, zero)
    if weights is None:
        return sparse_retain(ids, valid), None
    ids, weights = sparse_retain(ids, valid), sparse_retain(weights, valid)
    if combiner == "sum":
        return ids, weights
    positive = raw_ops.Greater(weights.values, weights.dtype.base_dtype.as_numpy_dtype(0))
    return sparse_retain(ids, positive), sparse_retain(weights, positive)


def _zero_empty_rows(rows: Tensor, empty: Tensor, name: str) -> Tensor:
    """Return `rows`, with zeros in each row for which `empty` is true."""
    mask = raw_ops.Reshape(empty, np.array([-1, 1], np.int32))
    columns = raw_ops.Shape(rows)[1]
    wide = raw_ops.Tile(mask, raw_ops.Pack([np.array(1, np.int32), columns]))
    return raw_ops.Select(wide, raw_ops.ZerosLike(rows), rows, name=name)
