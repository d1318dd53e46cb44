"""Sums and largest elements of sparse tensors, as dense tensors and as sparse ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.reductions.reduction_functions import either
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, expect_sparse


def _reduced(function: Any, sparse: Any, axis: Any, keepdims: Any, old: tuple[Any, Any]) -> Any:
    source = expect_sparse(sparse)
    chosen = either(axis, old[0], "axis", "reduction_axes")
    keep = bool(either(keepdims, old[1], "keepdims", "keep_dims"))
    if chosen is None:
        rank = source.shape.rank
        if rank is None:
            chosen = raw_ops.Range(0, raw_ops.Shape(source.dense_shape)[0], 1)
        else:
            chosen = np.arange(rank, dtype=np.int32)
    return function(*source._parts(), chosen, keep_dims=keep)


def sparse_reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The sums along `axis` (an int, several, or None for all) of a SparseTensor, dense.

    The axes are dropped, or with `keepdims` left with size 1; an empty list of them sums nothing.
    `reduction_axes` and `keep_dims` are older names. ValueError, or InvalidArgumentError in a run,
    for axes that are not there.
    """
    old = reduction_axes, keep_dims
    return _reduced(raw_ops.SparseReduceSum, sp_input, axis, keepdims, old)


def sparse_reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The largest of the elements that are there along `axis`, 0 where there is none; see
    `sparse_reduce_sum`. It has no gradient."""
    old = reduction_axes, keep_dims
    return _reduced(raw_ops.SparseReduceMax, sp_input, axis, keepdims, old)


def sparse_reduce_sum_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """`sparse_reduce_sum` with a sparse result. It has no gradient."""
    old = reduction_axes, keep_dims
    return SparseTensor(*_reduced(raw_ops.SparseReduceSumSparse, sp_input, axis, keepdims, old))


def sparse_reduce_max_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """`sparse_reduce_max` with a sparse result. It has no gradient."""
    old = reduction_axes, keep_dims
    return SparseTensor(*_reduced(raw_ops.SparseReduceMaxSparse, sp_input, axis, keepdims, old))
