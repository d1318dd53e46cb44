"""Sums, products, maxima and minima by segment. A segment consists of the parts of a tensor with
the same segment id.

A part is a slice along the first axes, which are the axes of the ids. The ops `Segment...` receive
a vector of ascending ids, and the last id determines the number of segments. The ops
`UnsortedSegment...` receive ids in any order and the number of segments, and skip parts with a
negative id. The parts of a segment are combined in their order in the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.bfloat16 import finfo
from gpugraph.base.dtypes import NUMERIC, REAL, DType, int32
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit, value_error
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import (
    SEPARATE,
    Arg,
    Call,
    KernelContext,
    Launch,
    OpMemory,
    RowSource,
    Signature,
    Sized,
    Source,
)
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import Attr, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.row_update_launches import (
    ADD,
    MAX,
    MIN,
    MUL,
    UpdateRule,
    combine_changes,
    fill_array,
    sort_changes,
)
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank
from gpugraph.ops.indexing import row_sources
from gpugraph.ops.indexing.coordinate_gather_scatter import combine_rows
from gpugraph.ops.indexing.row_sources import ascending_segments, scattered_by_segment
from gpugraph.ops.segments.segment_gradients import (
    extreme_gradient,
    mean_gradient,
    prod_gradient,
    sum_gradient,
)
from gpugraph.ops.segments.segment_launches import SegmentReduction, sized_segments

# -- ids in any order


def _infer_unsorted(context: InferContext) -> Sequence[TensorShape]:
    data, ids = context.shapes[0].sizes, context.shapes[1].sizes
    value = context.value(2)
    count = None if value is None else ints(value)[0]
    if count is not None and count < 0:
        raise Misfit(
            f"Dimension size, given by scalar input 2, must be non-negative but is {count}",
            in_run=f"Input num_segments == {count} must not be negative.",
        )
    if data is None or ids is None:
        return [UNKNOWN]
    if not TensorShape.of(data[: len(ids)]).is_compatible_with(TensorShape.of(ids)):
        pairs = [(a, b) for a, b in zip(data, ids) if None not in (a, b) and a != b]
        raise value_error(
            f"data's shape {shape_text(TensorShape.of(data))} must start with that of segment_ids, "
            f"{shape_text(TensorShape.of(ids))}",
            f"Dimensions must be equal, but are {pairs[0][0]} and {pairs[0][1]}"
            if pairs and len(data) >= len(ids)
            else f"Shape must be at least rank {len(ids)} but is rank {len(data)}",
        )
    return [TensorShape.of((count, *data[len(ids) :]))]


def _limit(dtype: Any, lowest: bool) -> Any:
    limits = np.iinfo(dtype) if dtype.kind in "iu" else finfo(dtype)
    return limits.min if lowest else limits.max


def _launch_unsorted(
    rule: UpdateRule, start: Callable[[Any], Any], signature: Signature
) -> list[Launch]:
    ids, out = signature.input_shapes[1], signature.output_shapes[0]
    dtype, count, width = signature.output_types[0], prod(ids), prod(out[1:])
    index_type = signature.input_types[1]
    order, changes = sort_changes(Arg(1), index_type, count, width, out[:1], drops=1)
    neutral = fill_array(Arg(2), start(np.dtype(dtype.as_numpy_dtype)), prod(out), dtype)
    return [*order, neutral, *combine_changes(Arg(2), Arg(0), changes, dtype, rule)]


def _unsorted_kernel(combine: Any, start: Callable[[Any], Any], rule: UpdateRule) -> Source:
    """Return the kernel that combines the parts of each segment. Each segment starts with the value
    `start(dtype)`.

    Args:
      combine: the ufunc of the NumPy kernel.
      rule: the equivalent rule for GPUs.
    """
    is_extreme = combine in (np.maximum, np.minimum)

    def make(_: KernelContext, data: Any, segment_ids: Any, out: Any) -> Callable[[], Any]:
        ids = segment_ids.reshape(-1)
        count, rest = out.shape[0], prod(out.shape[1:])
        target, values = out.reshape(count, rest), data.reshape(ids.size, rest)
        neutral = start(out.dtype)

        def run() -> None:
            if ids.size and ids.max() >= count:
                position = tuple(np.argwhere(segment_ids >= count)[0].tolist())
                raise invalid_argument(
                    f"segment_ids[{','.join(map(str, position))}] = {segment_ids[position]} is out "
                    f"of range [0, {count})"
                )
            out.fill(neutral)
            if ids.size and ids.min() < 0:
                valid = ids >= 0
                combine_rows(combine, target, ids[valid], values[valid])
            else:
                combine_rows(combine, target, ids, values)

        return run

    host = Call(make=make, direct=is_extreme)
    return Source("scatter_combine.cu", partial(_launch_unsorted, rule, start), host)


def segment_op(
    op_type: str,
    inputs: str,
    types: Sequence[DType],
    index_types: Mapping[str, Any],
    infer: InferFunction,
    gpu: Source | Sized,
    grad: Any,
    doc: str,
    memory: OpMemory = SEPARATE,
    native: RowSource | None = None,
) -> OpFunction:
    """Declare an op on segments.

    Args:
      types: the dtypes of T.
      index_types: the other type attrs.
      gpu: the op's GPU kernel, which contains the NumPy kernel.
      native: the op's native code.
    """
    return op(
        op_type,
        inputs=inputs,
        outputs="output: T",
        attrs={"T": types, **index_types},
        infer=infer,
        memory=memory,
        cpu=gpu.host,
        gpu=gpu,
        native=native,
        grad=grad,
        doc=doc,
    )


def _unsorted_op(
    kind: str, types: Sequence[DType], kernel: Source, grad: Any, doc: str, native: RowSource
) -> OpFunction:
    return segment_op(
        f"UnsortedSegment{kind}",
        "data: T, segment_ids: Tindices, num_segments: scalar Tnumsegments",
        types,
        {"Tindices": INDEX, "Tnumsegments": Attr("type", int32, allowed=INDEX)},
        _infer_unsorted,
        kernel,
        grad,
        doc,
        memory=OpMemory(host_inputs=[2]),
        native=native,
    )


# -- ascending ids


def vector_size(shape: TensorShape, name: str) -> int | None:
    """Return the static size of a vector.

    Raises ValueError, or InvalidArgumentError in a run, if the rank is not 1.
    """
    return of_rank(shape, 1, name, f"{name} should be a vector.")[0]


def _infer_sorted(context: InferContext) -> Sequence[TensorShape]:
    data = context.shapes[0].sizes
    ids = vector_size(context.shapes[1], "segment_ids")
    value = (
        None if context.is_building else context.value(1)
    )  # not known at graph construction, as in TensorFlow
    count = None if value is None else max(0, int(value[-1]) + 1) if value.size else 0
    if data is None:
        return [UNKNOWN]
    if not data:
        raise ValueError("Shape must be at least rank 1 but is rank 0: data")
    if None not in (data[0], ids) and data[0] != ids:
        refusal = "segment_ids should be the same size as dimension 0 of input"
        raise Misfit(
            f"{refusal}, but they are {ids} and {data[0]}",
            shapes=[TensorShape.of((None, *data[1:]))],
        )
    return [TensorShape.of((count, *data[1:]))]


def run_starts(ids: Any, count: int | None = None) -> Any:
    """Return the positions at which sequences of equal segment ids start. `ids` must not be empty.

    Raises InvalidArgumentError, with the first wrong position, if ids descend or are outside [0,
    count).

    Args:
      count: the number of segments, by default one more than the last id.
    """
    if count is None and ids[-1] < 0:
        raise invalid_argument(f"segment ids must be >= 0, but the last one is {ids[-1]}")
    rows = int(ids[-1]) + 1 if count is None else count
    ends = np.flatnonzero(np.diff(ids))  # the ends of all runs except the last
    lasts = np.append(ends, ids.size - 1)
    falls = ends[ids[ends + 1] < ids[ends]]
    outside = lasts[(ids[lasts] < 0) | (ids[lasts] >= rows)]
    if falls.size and (not outside.size or falls[0] <= outside[0]):
        position = int(falls[0]) + 1
        order = f"{ids[position]} follows {ids[position - 1]} at {position}"
        raise invalid_argument(f"segment ids are not increasing: {order}")
    if outside.size:
        raise invalid_argument(
            f"Segment id {ids[outside[0]]} out of range [0, {rows}), possibly because "
            "'segment_ids' input is not sorted."
        )
    return np.concatenate([[0], ends + 1])


def _sorted_kernel(ufunc: Any, empty: int, mean: bool = False) -> Call:
    """Return the NumPy kernel that combines consecutive rows with the same segment id by `ufunc`.

    Args:
      empty: the value of segments without rows.
      mean: whether to divide the result by the number of rows.
    """

    def run(data: Any, ids: Any) -> list[Any]:
        if not ids.size:
            return [np.zeros((0, *data.shape[1:]), data.dtype)]
        starts = run_starts(ids)
        out = np.full((int(ids[-1]) + 1, *data.shape[1:]), empty, data.dtype)
        wide = np.float32 if data.dtype == np.float16 and ufunc is not np.maximum else data.dtype
        rows = ufunc.reduceat(data, starts, axis=0, dtype=wide)
        if mean:
            counts = np.diff(np.append(starts, ids.size)).reshape(-1, *(1,) * (data.ndim - 1))
            rows = _divide(rows, counts.astype(rows.dtype))
        out[ids[starts]] = rows
        return [out]

    return Call(run, dynamic=True)


def _divide(total: Any, counts: Any) -> Any:
    if total.dtype.kind not in "iu":
        return total / counts
    return (total - np.fmod(total, counts)) // counts


def _sorted_op(
    kind: str, types: Sequence[DType], kernel: Call, rule: SegmentReduction, grad: Any, doc: str
) -> OpFunction:
    inputs, index_types = "data: T, segment_ids: Tindices", {"Tindices": INDEX}
    gpu = sized_segments(rule, False, kernel)
    native = ascending_segments(
        getattr(row_sources, _RULES[kind]),
        empty=rule.empty,
        divided=rule.divided,
        counted=True,
        is_exact=kind not in _SUMS,  # inexact, because NumPy adds in another order
    )
    op_type = f"Segment{kind}"
    return segment_op(
        op_type, inputs, types, index_types, _infer_sorted, gpu, grad, doc, native=native
    )


_SUMS = ("Sum", "Mean")
_RULES = {"Sum": "ADD", "Mean": "ADD", "Prod": "MUL", "Max": "MAX", "Min": "MIN"}
"""The name of the native code's rule, by kind of reduction."""


_UNSORTED_SUM = """Return the sum of the parts of `data` for each of `num_segments` segment ids.

    Parts with negative ids are dropped; for an id of num_segments or more,
    a run raises InvalidArgumentError. Shape: (num_segments,) + data.shape[segment_ids.rank:]."""
_UNSORTED = "{} of each segment of `data`, {} if empty; see `unsorted_segment_sum`."
_SORTED_SUM = """Return the sums of the runs of `data` along axis 0 whose `segment_ids` are equal.

    segment_ids: a vector of data.shape[0] nonnegative numbers in ascending order. Skipped numbers
    have 0. Shape: (last id + 1,) + data.shape[1:]. A run raises InvalidArgumentError for ids that
    descend or are negative."""
_SORTED = "{} of runs of `data`{}; see `segment_sum`."
_EXTREMES = {
    "Max": (np.maximum, MAX, "The largest elements", "the lowest number"),
    "Min": (np.minimum, MIN, "The smallest elements", "the highest number"),
}

UNSORTED: dict[str, OpFunction] = {
    "Sum": _unsorted_op(
        "Sum",
        NUMERIC,
        _unsorted_kernel(np.add, lambda _: 0, ADD),
        sum_gradient,
        _UNSORTED_SUM,
        scattered_by_segment(row_sources.ADD, lambda _: 0),
    ),
    "Prod": _unsorted_op(
        "Prod",
        NUMERIC,
        _unsorted_kernel(np.multiply, lambda _: 1, MUL),
        prod_gradient,
        _UNSORTED.format("The products", "1"),
        scattered_by_segment(row_sources.MUL, lambda _: 1),
    ),
}
"""The ops for ids in any order, by kind of reduction."""

SORTED: dict[str, OpFunction] = {
    kind: _sorted_op(kind, NUMERIC, _sorted_kernel(*kernel), rule, grad, doc)
    for kind, kernel, rule, grad, doc in (
        ("Sum", (np.add, 0), SegmentReduction(ADD.combine), sum_gradient, _SORTED_SUM),
        (
            "Mean",
            (np.add, 0, True),
            SegmentReduction(ADD.combine, divided="mean"),
            mean_gradient,
            _SORTED.format("The means", ""),
        ),
        (
            "Prod",
            (np.multiply, 1),
            SegmentReduction(MUL.combine, empty=1),
            prod_gradient,
            _SORTED.format("The products", ", 1 for skipped ids"),
        ),
    )
}
"""By kind of reduction, the op for ascending ids.

A segment without rows is 0, or 1 for products.
"""

for _kind, (_ufunc, _combine, _result, _none) in _EXTREMES.items():
    _start = partial(_limit, lowest=_kind == "Max")
    _kernel = _unsorted_kernel(_ufunc, _start, _combine)
    _native = scattered_by_segment(getattr(row_sources, _kind.upper()), _start)
    _doc = _UNSORTED.format(_result, _none)
    UNSORTED[_kind] = _unsorted_op(_kind, REAL, _kernel, extreme_gradient, _doc, _native)
    _rule, _doc = SegmentReduction(_combine.combine), _SORTED.format(_result, "")
    SORTED[_kind] = _sorted_op(
        _kind, REAL, _sorted_kernel(_ufunc, 0), _rule, extreme_gradient, _doc
    )
