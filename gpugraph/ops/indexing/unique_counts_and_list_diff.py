"""setdiff1d, which returns the elements of one vector that are not in another, and
unique_with_counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, as_dtype
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.indexing.one_hot_where_unique import declare_unique


def _infer_difference(context: InferContext) -> Sequence[TensorShape]:
    for shape, what in zip(context.shapes, ("x", "y"), strict=True):
        of_rank(shape, 1, what)
    return [TensorShape.of((None,))] * 2


def _bind_difference(context: KernelContext, x: Any, y: Any) -> Callable[[], Any]:
    index_type = context.output_types[1].as_numpy_dtype

    def run() -> list[Any]:
        indices = np.flatnonzero(~np.isin(x, y))
        return [x[indices], indices.astype(index_type)]

    return run


_difference = op(
    "ListDiff",
    inputs="x: T, y: T",
    outputs="out: T, idx: out_idx",
    attrs={"T": ALL, "out_idx": Attr("type", dtypes.int32, allowed=INDEX)},
    infer=_infer_difference,
    cpu=Call(make=_bind_difference, dynamic=True),
    gpu=Call(make=_bind_difference, dynamic=True),
    grad=NO_GRADIENT,
    doc="The elements of x that are not in y, in the same order as in x, and their indices in x.",
)


def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return (out, idx). `out` has the elements of vector x that are not in y, in the same order as
    in x, and x[idx] equals `out`.

    An element that occurs several times in x also occurs several times in `out`.

    Raises ValueError unless x and y are vectors.

    Args:
      index_dtype: the dtype of idx, int32 or int64.
    """
    return _difference(x, y, out_idx=as_dtype(index_dtype), name=name)


_counts = declare_unique(
    "UniqueWithCounts",
    "y: T, idx: out_idx, count: out_idx",
    "The distinct elements of a vector, the index of each x, and the count of each.",
)


def unique_with_counts(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return (y, idx, count). `y` and `idx` are the results of `unique`, and `count` is the number
    of times that each element of y occurs in x.

    Raises ValueError if x is not a vector.
    """
    return _counts(x, out_idx=as_dtype(out_idx), name=name)
