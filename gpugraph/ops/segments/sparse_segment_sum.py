"""SparseSegmentSum, SparseSegmentMean and SparseSegmentSqrtN, which sum selected rows by segment,
and their gradients.

    output[i] = sum of data[indices[j]] over all j with segment_ids[j] == i

The ids are ascending. The rows of a segment are added in the order of j.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import INTEGRAL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, OpMemory, Source
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.row_update_launches import ADD
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank
from gpugraph.ops.indexing import row_sources
from gpugraph.ops.indexing.coordinate_gather_scatter import combine_rows
from gpugraph.ops.indexing.row_sources import ascending_segments, segment_gradients
from gpugraph.ops.segments.segment_launches import (
    SegmentReduction,
    counted_segments,
    segment_gradient,
    sized_segments,
)
from gpugraph.ops.segments.segment_ops import run_starts, segment_op, vector_size

_FLOATS = (dtypes.float64, dtypes.float32, dtypes.bfloat16)
_FIRST = np.array(0, np.int32)
_INT32 = {"Tidx": Attr("type", dtypes.int32, allowed=INDEX)}


def _infer_rows(context: InferContext, count: int | None) -> Sequence[TensorShape]:
    data = context.shapes[0].with_rank_at_least(1).sizes
    indices = vector_size(context.shapes[1], "indices")
    ids = vector_size(context.shapes[2], "segment_ids")
    if indices is not None and ids is not None and indices != ids:
        raise Misfit(
            f"Dimension 0 in both shapes must be equal, but are {indices} and {ids}. Shapes are "
            f"[{indices}] and [{ids}].",
            in_run=f"segment_ids and indices should have same size, but have {ids} and {indices}",
        )
    return [UNKNOWN if data is None else TensorShape.of((count, *data[1:]))]


def _infer_open(context: InferContext) -> Sequence[TensorShape]:
    ids = (
        None if context.is_building else context.value(2)
    )  # not known at graph construction, as in TensorFlow
    return _infer_rows(context, None if ids is None else max(0, int(np.max(ids, initial=-1)) + 1))


def _infer_counted(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[3], 0, "The number of rows")
    value = context.value(3)
    count = None if value is None else ints(value)[0]
    if count is not None and count < 0:
        message = f"Cannot specify a negative value for num_segments: {count}"
        raise Misfit(message, in_run="segment ids must be >= 0, and num_segments is negative")
    return _infer_rows(context, count)


# -- the sums


def _check_ids(ids: Any, count: int | None) -> None:
    """Raise InvalidArgumentError if segment ids are negative, descending, or not below `count`."""
    if not ids.size:
        return
    if count is not None and ids[-1] >= count:
        raise invalid_argument(
            f"segment ids must be < num_segments, but the last one, {ids[-1]}, is not in "
            f"[0, {count})"
        )
    run_starts(ids, count)


def _check_indices(indices: Any, size: int) -> None:
    """Raise InvalidArgumentError, with the first wrong index, if an index is outside [0, size)."""
    outside = np.flatnonzero((indices < 0) | (indices >= size))
    if outside.size:
        place = outside[0]
        raise invalid_argument(
            f"Bad: indices[{place}] == {indices[place]} out of range [0, {size})"
        )


def _weights(kind: str, ids: Any, dtype: Any) -> Any:
    """Return the factor of each row as a column. It is 1 / n if `kind` is "Mean", otherwise 1 /
    sqrt(n).

    n is the number of rows with the same segment id.
    """
    sizes = np.bincount(ids)[ids] if ids.size else np.zeros(0)
    return (1 / (sizes if kind == "Mean" else np.sqrt(sizes))).astype(dtype)[:, None]


def _sum_into(kind: str, data: Any, indices: Any, ids: Any, out: Any) -> None:
    _check_indices(indices, data.shape[0])
    width = prod(data.shape[1:])
    rows = data.reshape(data.shape[0], width)[indices]
    target = out.reshape(out.shape[0], width)
    out.fill(0)
    combine_rows(np.add, target, ids, rows)
    if kind == "Sum":
        return
    sizes = np.maximum(np.bincount(ids, minlength=out.shape[0]), 1)[:, None].astype(out.dtype)
    np.divide(target, sizes if kind == "Mean" else np.sqrt(sizes), target)


def _open_rows(kind: str, data: Any, indices: Any, ids: Any) -> list[Any]:
    _check_ids(ids, None)
    count = int(ids[-1]) + 1 if ids.size else 0
    out = np.empty((count, *data.shape[1:]), data.dtype)
    _sum_into(kind, data, indices, ids, out)
    return [out]


def _counted_rows(kind: str, data: Any, indices: Any, ids: Any, out: Any) -> None:
    _check_ids(ids, out.shape[0])
    _sum_into(kind, data, indices, ids, out)


def _back(kind: str, op: Any, dy: Any) -> list[Any]:
    data, indices, ids = op.inputs[:3]
    count = raw_ops.Shape(data)[0]
    if kind == "Sum":
        rows = raw_ops.GatherV2(dy, ids, _FIRST)
        dx = raw_ops.UnsortedSegmentSum(rows, indices, count)
    else:
        make = raw_ops.SparseSegmentMeanGrad if kind == "Mean" else raw_ops.SparseSegmentSqrtNGrad
        dx = make(dy, indices, ids, count)
    return [dx, *[None] * (len(op.inputs) - 1)]


_KINDS: dict[str, tuple[Any, SegmentReduction, str]] = {
    "Sum": ((*_FLOATS, dtypes.float16, *INTEGRAL), SegmentReduction(ADD.combine), "sum"),
    "Mean": (_FLOATS, SegmentReduction(ADD.combine, divided="mean"), "mean"),
    "SqrtN": (
        _FLOATS,
        SegmentReduction(ADD.combine, divided="root"),
        "sum, divided by the root of the count,",
    ),
}

for _kind, (_types, _rule, _what) in _KINDS.items():
    _open = Call(partial(_open_rows, _kind), dynamic=True)
    _counted = Call(partial(_counted_rows, _kind))
    segment_op(
        f"SparseSegment{_kind}",
        "data: T, indices: Tidx, segment_ids: int32",
        _types,
        _INT32,
        _infer_open,
        sized_segments(_rule, True, _open),
        partial(_back, _kind),
        f"The {_what} of the rows of data at the indices that share a segment id; the ids "
        "ascend, and the last one is the number of the output's last row.",
        native=ascending_segments(row_sources.ADD, True, 0, _rule.divided, counted=True),
    )
    segment_op(
        f"SparseSegment{_kind}WithNumSegments",
        "data: T, indices: Tidx, segment_ids: int32, num_segments: Tnumsegments",
        _types,
        {**_INT32, "Tnumsegments": Attr("type", dtypes.int32, allowed=INDEX)},
        _infer_counted,
        Source("segments.cu", partial(counted_segments, _rule), _counted, optional=[0, 1, 2]),
        partial(_back, _kind),
        f"The {_what} of the rows of data at the indices that share a segment id, of "
        "num_segments segments; zeros for empty ones.",
        memory=OpMemory(host_inputs=[3]),
        native=ascending_segments(row_sources.ADD, True, 0, _rule.divided),
    )


# -- their gradients


def _grad_rows(kind: str, grad: Any, indices: Any, ids: Any, out: Any) -> None:
    width = prod(out.shape[1:])
    target, rows = out.reshape(out.shape[0], width), grad.reshape(grad.shape[0], width)
    if out.shape[0]:
        _check_gradient(indices, ids, out.shape[0], grad.shape[0])
    out.fill(0)
    combine_rows(np.add, target, indices, rows[ids] * _weights(kind, ids, out.dtype))


def _check_gradient(indices: Any, ids: Any, rows: int, segments: int) -> None:
    """Raise InvalidArgumentError if a segment id is outside [0, segments) or an index is outside
    [0, rows).
    """
    if ids.size and ids[-1] >= segments:
        raise invalid_argument(
            f"Invalid number of segments: the last segment id is {ids[-1]}, not in [0, {segments})"
        )
    outside = ids[(ids < 0) | (ids >= segments)]
    if outside.size:
        raise invalid_argument(f"Segment id {outside[0]} out of range [0, {segments}).")
    outside = indices[(indices < 0) | (indices >= rows)]
    if outside.size:
        raise invalid_argument(f"Index {outside[0]} out of range [0, {rows}).")


def _grad_back(kind: str, op: Any, dy: Any) -> list[Any]:
    grad, indices, ids, _ = op.inputs
    sums = getattr(raw_ops, f"SparseSegment{kind}WithNumSegments")
    return [sums(dy, indices, ids, raw_ops.Shape(grad)[0]), None, None, None]


for _kind in ("Mean", "SqrtN"):
    _host = Call(partial(_grad_rows, _kind))
    _launches = partial(segment_gradient, _KINDS[_kind][1].divided)
    segment_op(
        f"SparseSegment{_kind}Grad",
        "grad: T, indices: Tidx, segment_ids: int32, output_dim0: int32",
        _FLOATS,
        _INT32,
        _infer_counted,
        Source("segments.cu", _launches, _host, optional=[0, 1, 2]),
        partial(_grad_back, _kind),
        f"The gradient of SparseSegment{_kind} by its data, of output_dim0 rows.",
        memory=OpMemory(host_inputs=[3]),
        native=segment_gradients(_KINDS[_kind][1].divided),
    )


# -- public functions


def _reduced(kind: str, data: Any, indices: Any, ids: Any, name: str | None, count: Any) -> Tensor:
    suffix, counts = ("", ()) if count is None else ("WithNumSegments", (count,))
    return getattr(raw_ops, f"SparseSegment{kind}{suffix}")(data, indices, ids, *counts, name=name)


def sparse_segment_sum(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
) -> Tensor:
    """Return the sums of the rows of `data` at `indices` that have the same segment id.

    The result has the shape (num_segments,) + data.shape[1:]. The sum of a segment without rows is
    0. A run raises InvalidArgumentError if an index is out of range or the ids descend.

    Args:
      segment_ids: an int32 vector of ascending ids, one for each index.
      num_segments: the number of rows of the result, by default the last id + 1.
    """
    return _reduced("Sum", data, indices, segment_ids, name, num_segments)


def sparse_segment_mean(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
) -> Tensor:
    """Return the means of the rows of `data` at `indices` that have the same segment id.

    See `sparse_segment_sum` for the arguments and errors.
    """
    return _reduced("Mean", data, indices, segment_ids, name, num_segments)


def sparse_segment_sqrt_n(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
) -> Tensor:
    """Return the sums of rows that have the same segment id, divided by the square root of the
    number of rows.

    See `sparse_segment_sum` for the arguments and errors.
    """
    return _reduced("SqrtN", data, indices, segment_ids, name, num_segments)
