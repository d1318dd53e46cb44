"""Ops that compute sums, maxima, minima, reductions and the softmax of sparse tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import NUMERIC, REAL, float32, float64
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, raw_ops
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis, of_rank
from gpugraph.ops.sparse.native_sparse_sources import (
    LARGER,
    SMALLER,
    SUM,
    sparse_pair,
    sparse_sum_gradient,
)
from gpugraph.ops.sparse.sparse_positions import (
    PARTS,
    Runs,
    add_by_rank,
    check_parts,
    copy_by_row,
    positions,
    ranks_of,
    rows_of,
    sparse_op,
)

_ONE = np.array(1, np.int32)
_PAIR = f"{PARTS.format('a')}, {PARTS.format('b')}"

# -- two sparse tensors


def _infer_pair(context: InferContext) -> Sequence[TensorShape]:
    _, rank = check_parts(context)
    _, other = check_parts(context, 3)
    if rank is not None and other is not None and rank != other:
        raise ValueError(f"Ranks of SparseTensors must match, but are {rank} and {other}")
    rank = other if rank is None else rank
    shapes = [TensorShape.of((None, rank)), TensorShape.of((None,))]
    return [*shapes, TensorShape.of((rank,))][: context.num_outputs]


def _combine_pair(combine: Any, a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Combine two sparse tensors (indices, values, shape) of the same shape, element by element.

    Return three arrays. The first has the indices of the elements that are in at least one of the
    tensors, in row-major order. The second has the combined elements, where a missing element
    counts as 0. The third is a mask of the elements that are in both tensors.
    """
    if a[2].tolist() != b[2].tolist():
        raise invalid_argument(
            f"Operands' shapes do not match: {a[2].tolist()} and {b[2].tolist()}"
        )
    places = [positions(part[0], part[2]) for part in (a, b)]
    distinct, back = np.unique(np.concatenate(places), return_inverse=True)
    sides = np.zeros((2, distinct.size), a[1].dtype)
    np.add.at(sides[0], back[: places[0].size], a[1])
    np.add.at(sides[1], back[places[0].size :], b[1])
    both = np.isin(distinct, places[0]) & np.isin(distinct, places[1])
    return rows_of(distinct, a[2]), combine(sides[0], sides[1]), both


def _add(*arrays: Any) -> list[Any]:
    a, b, threshold = arrays[:3], arrays[3:6], arrays[6]
    rows, sums, both = _combine_pair(np.add, a, b)
    is_kept = ~both | (np.abs(sums) >= threshold)
    return [rows[is_kept], sums[is_kept], a[2].copy()]


def _add_back(op: Any, dindices: Any, dvalues: Any, dshape: Any) -> list[Any]:
    del dindices, dshape
    a, b = op.inputs[0], op.inputs[3]
    da, db = raw_ops.SparseAddGrad(dvalues, a, b, op.outputs[0])
    return [None, da, None, None, db, None, None]


sparse_op(
    "SparseAdd", _infer_pair, Call(_add, dynamic=True), _add_back,
    inputs=f"{_PAIR}, thresh: Treal",
    outputs="sum_indices: int64, sum_values: T, sum_shape: int64",
    attrs={"T": NUMERIC, "Treal": REAL},
    native=sparse_pair(SUM),
    doc=(
        "The sum of two sparse tensors of the same shape. A sum of two elements is omitted if its "
        "magnitude is below thresh."
    ),
)  # fmt: skip


def _infer_add_grad(context: InferContext) -> Sequence[TensorShape]:
    counts = [of_rank(context.shapes[index], 2, "indices")[0] for index in (1, 2)]
    return [TensorShape.of((count,)) for count in counts]


def _add_grad(dsum: Any, a: Any, b: Any, total: Any, da: Any, db: Any) -> None:
    for rows, out in ((a, da), (b, db)):
        copy_by_row(dsum, total, rows, out)


def _add_grad_back(op: Any, da: Any, db: Any) -> list[Any]:
    values, a, b, total = op.inputs
    ranks = raw_ops.SparseAddGrad(ranks_of(values), a, b, total)
    parts = [add_by_rank(*pair, values) for pair in zip((da, db), ranks, strict=True)]
    return [raw_ops.AddV2(*parts), None, None, None]


sparse_op(
    "SparseAddGrad", _infer_add_grad, Call(_add_grad), _add_grad_back,
    inputs="backprop_val_grad: vector T, a_indices: matrix int64, b_indices: matrix int64, "
    "sum_indices: matrix int64",
    outputs="a_val_grad: T, b_val_grad: T",
    attrs={"T": NUMERIC},
    native=sparse_sum_gradient(),
    doc=(
        "The gradient of SparseAdd. For each element, it is the gradient of its sum, or 0 if the "
        "sum was omitted."
    ),
)  # fmt: skip


def _extreme(combine: Any, *arrays: Any) -> list[Any]:
    return list(_combine_pair(combine, arrays[:3], arrays[3:6])[:2])


for _name, _combine, _rule, _what in (
    ("SparseSparseMaximum", np.maximum, LARGER, "larger"),
    ("SparseSparseMinimum", np.minimum, SMALLER, "smaller"),
):
    sparse_op(
        _name, _infer_pair, Call(partial(_extreme, _combine), dynamic=True),
        inputs=_PAIR,
        outputs="output_indices: int64, output_values: T",
        attrs={"T": REAL},
        native=sparse_pair(_rule),
        doc=f"The {_what} of the elements of two sparse tensors, elementwise. A missing "
        "element counts as 0.",
    )  # fmt: skip

# -- reductions


def _infer_reduce(context: InferContext) -> Sequence[TensorShape]:
    check_parts(context)
    shape, axes = context.value_as_shape(2).sizes, context.value(3)
    if shape is None or axes is None:
        return [UNKNOWN]
    chosen = {normalize_axis(axis, len(shape)) for axis in ints(axes)}
    if context.attrs["keep_dims"]:
        return [TensorShape.of(tuple(1 if axis in chosen else n for axis, n in enumerate(shape)))]
    return [TensorShape.of(tuple(n for axis, n in enumerate(shape) if axis not in chosen))]


def _kept_axes(shape: Any, axes: Any) -> list[int]:
    """Return the dimensions that are not reduced.

    Raises InvalidArgumentError if an axis is out of range.
    """
    rank = len(shape)
    for axis in ints(axes):
        if not -rank <= axis < rank:
            raise invalid_argument(
                f"Invalid reduction dimension {axis}, for input with {rank} dimensions."
            )
    chosen = {axis % rank for axis in ints(axes)}
    return [axis for axis in range(rank) if axis not in chosen]


def _groups(indices: Any, shape: Any, axes: Any) -> tuple[Any, list[int]]:
    """Return, for each element, the row-major position in the result to which it belongs, and the
    sizes of the result.
    """
    positions(indices, shape)
    axes_left = _kept_axes(shape, axes)
    sizes = [int(shape[axis]) for axis in axes_left]
    return positions(indices[:, axes_left], sizes), sizes


def _reduce_groups(combine: Any, values: Any, groups: Any) -> tuple[Any, Any]:
    """Return the distinct numbers in `groups` in ascending order, and the combined `values` of each
    group.

    Args:
      groups: for each value, the number of the group to which it belongs.
    """
    runs = Runs.of(groups)
    if not groups.size:
        return runs.distinct, values[:0]
    results = combine.reduceat(runs.ordered(values), runs.starts)
    return runs.distinct, results.astype(values.dtype, copy=False)


def _bind_reduce(
    combine: Any, context: KernelContext, indices: Any, values: Any, out: Any
) -> Callable[[], Any]:
    shape, axes = context.value(2), context.value(3)
    flat = out.reshape(-1)

    def run() -> None:
        groups, _ = _groups(indices, shape, axes)
        group_numbers, results = _reduce_groups(combine, values, groups)
        out.fill(0)
        flat[group_numbers] = results

    return run


def _sum_back(op: Any, dy: Any) -> list[Any]:
    """Return the gradient of SparseReduceSum. The gradient of an element is the gradient of the sum
    to which the element belongs.
    """
    indices, _, shape, axes = op.inputs
    rank = raw_ops.Shape(shape)[0]
    chosen = raw_ops.FloorMod(raw_ops.Reshape(axes, np.array([-1], np.int32)), rank)
    hits = raw_ops.Equal(
        raw_ops.ExpandDims(raw_ops.Range(0, rank, 1), _ONE),
        raw_ops.ExpandDims(chosen, np.array(0, np.int32)),
    )
    gone = raw_ops.Any(hits, np.array([1], np.int32))
    sizes = raw_ops.Select(gone, raw_ops.OnesLike(shape), shape)
    whole = raw_ops.Reshape(dy, sizes)
    places = raw_ops.Minimum(indices, raw_ops.Sub(sizes, np.array(1, np.int64)))
    return [None, raw_ops.GatherNd(whole, places), None, None]


def _infer_reduce_sparse(context: InferContext) -> Sequence[TensorShape]:
    check_parts(context)
    return [TensorShape.of((None, None)), TensorShape.of((None,)), TensorShape.of((None,))]


def _bind_reduce_sparse(
    combine: Any, context: KernelContext, indices: Any, values: Any, shape: Any, axes: Any
) -> Callable[[], Any]:
    keep = context.attrs["keep_dims"]

    def run() -> list[Any]:
        groups, sizes = _groups(indices, shape, axes)
        group_numbers, results = _reduce_groups(combine, values, groups)
        if keep:
            axes_left = _kept_axes(shape, axes)
            sizes = [int(n) if axis in axes_left else 1 for axis, n in enumerate(shape)]
        return [rows_of(group_numbers, sizes), results, np.array(sizes, np.int64)]

    return run


for _name, _reduction, _types, _back, _what in (
    ("Sum", np.add, NUMERIC, _sum_back, "sums"),
    ("Max", np.maximum, REAL, NO_GRADIENT, "largest"),
):
    _declared: dict[str, Any] = {
        "inputs": f"{PARTS.format('input')}, reduction_axes: int32",
        "attrs": {"keep_dims": Attr("bool", False), "T": _types},
    }
    _doc = f"The {_what} of the elements present along axes (without axes: the elements), "
    sparse_op(
        f"SparseReduce{_name}", _infer_reduce, Call(make=partial(_bind_reduce, _reduction)), _back,
        **_declared,
        outputs="output: T",
        memory=OpMemory(host_inputs=[2, 3]),
        doc=f"{_doc}dense; 0 without elements.",
    )  # fmt: skip
    sparse_op(
        f"SparseReduce{_name}Sparse", _infer_reduce_sparse,
        Call(make=partial(_bind_reduce_sparse, _reduction), dynamic=True),
        **_declared,
        outputs="output_indices: int64, output_values: T, output_shape: int64",
        doc=f"{_doc}sparse.",
    )  # fmt: skip

# -- softmax


def _infer_softmax(context: InferContext) -> Sequence[TensorShape]:
    count, rank = check_parts(context)
    if rank is not None and rank < 2:
        raise ValueError(f"sp_shape must have at least 2 elements, but has {rank}")
    return [TensorShape.of((count,))]


def _softmax(indices: Any, values: Any, shape: Any, out: Any) -> None:
    positions(indices, shape)
    if not values.size:
        return
    runs = Runs.of(positions(indices[:, :-1], shape[:-1]))
    ordered = runs.ordered(values)
    largest = np.maximum.reduceat(ordered, runs.starts)
    shares = np.exp(ordered - np.repeat(largest, runs.counts))
    totals = np.add.reduceat(shares, runs.starts)
    np.copyto(out, runs.unordered(shares / np.repeat(totals, runs.counts)))


def _softmax_back(op: Any, dy: Any) -> list[Any]:
    indices, _, shape = op.inputs
    y = op.outputs[0]
    before = raw_ops.Sub(raw_ops.Shape(shape), np.array([1], np.int32))
    sizes = raw_ops.Slice(shape, np.array([0], np.int32), before)
    last = np.array(0, np.int32)
    steps = raw_ops.Cumprod(sizes, last, exclusive=True, reverse=True)
    columns = raw_ops.Slice(
        indices, np.array([0, 0], np.int32), raw_ops.ConcatV2([np.array([-1], np.int32), before], 0)
    )
    numbers = raw_ops.Sum(raw_ops.Mul(columns, steps), np.array([1], np.int32))
    distinct, row = raw_ops.Unique(numbers)
    totals = raw_ops.UnsortedSegmentSum(raw_ops.Mul(dy, y), row, raw_ops.Shape(distinct)[0])
    mean = raw_ops.GatherNd(totals, raw_ops.ExpandDims(row, _ONE))
    return [None, raw_ops.Mul(raw_ops.Sub(dy, mean), y), None]


sparse_op(
    "SparseSoftmax", _infer_softmax, Call(_softmax), _softmax_back,
    inputs=PARTS.format("sp"),
    outputs="output: T",
    attrs={"T": (float64, float32)},
    doc=(
        "exp(value) / sum(exp(values)), where the sum is over the elements that are present in "
        "the row."
    ),
)  # fmt: skip
