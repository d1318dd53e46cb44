"""Functions that return sums and maxima of sparse tensors along axes, as dense tensors or
SparseTensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.reductions.reduction_functions import either
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, expect_sparse


def _reduction(name: str, op_type: str, doc: str) -> Callable[..., Any]:
    """Return the public function `name`, which reduces a SparseTensor with the op `op_type`."""

    def reduce(
        sp_input: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        reduction_axes: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:
        source = expect_sparse(sp_input)
        axes = either(axis, reduction_axes, "axis", "reduction_axes")
        keep = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
        if axes is None:
            rank = source.shape.rank
            if rank is None:
                axes = raw_ops.Range(0, raw_ops.Shape(source.dense_shape)[0], 1)
            else:
                axes = np.arange(rank, dtype=np.int32)
        result = getattr(raw_ops, op_type)(*source._parts(), axes, keep_dims=keep)
        return SparseTensor(*result) if op_type.endswith("Sparse") else result

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = doc
    return reduce


sparse_reduce_sum = _reduction(
    "sparse_reduce_sum",
    "SparseReduceSum",
    """Sum a SparseTensor along `axis` (an int, several, or None for all) into a dense tensor.

    The axes are dropped, or with `keepdims` left with size 1; an empty list of them sums nothing.
    `reduction_axes` and `keep_dims` are older names. Raises ValueError, or InvalidArgumentError in
    a run, for axes out of range.
    """,
)
sparse_reduce_max = _reduction(
    "sparse_reduce_max",
    "SparseReduceMax",
    """Return the maximum of the elements present along `axis`, or 0 without elements.

    See `sparse_reduce_sum`. It has no gradient.
    """,
)
sparse_reduce_sum_sparse = _reduction(
    "sparse_reduce_sum_sparse",
    "SparseReduceSumSparse",
    "Like `sparse_reduce_sum`, with a sparse result. It has no gradient.",
)
sparse_reduce_max_sparse = _reduction(
    "sparse_reduce_max_sparse",
    "SparseReduceMaxSparse",
    "Like `sparse_reduce_max`, with a sparse result. It has no gradient.",
)
