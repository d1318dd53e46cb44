"""Ops that reorder, reshape, slice, concatenate and split sparse tensors, and fill their empty
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.sparse.native_sparse_sources import (
    filled_rows,
    filled_rows_gradient,
    sparse_slice,
    sparse_slice_gradient,
)
from gpugraph.ops.sparse.sparse_positions import (
    PARTS,
    add_by_rank,
    check_parts,
    copy_by_row,
    keys_of_rows,
    positions,
    ranks_of,
    rows_of,
    same_size,
    sparse_op,
    stable_order,
)


def _vector(size: int | None) -> TensorShape:
    return TensorShape.of((size,))


# -- order


def _infer_reorder(context: InferContext) -> Sequence[TensorShape]:
    count, rank = check_parts(context)
    return [TensorShape.of((count, rank)), _vector(count)]


def _reorder(indices: Any, values: Any, shape: Any, out_indices: Any, out_values: Any) -> None:
    order = stable_order(positions(indices, shape))
    np.copyto(out_indices, indices[order])
    np.copyto(out_values, values[order])


def _reorder_back(op: Any, dindices: Any, dvalues: Any) -> list[Any]:
    del dindices
    indices, values, shape = op.inputs
    count = raw_ops.Shape(values)[0]
    _, order = raw_ops.SparseReorder(indices, raw_ops.Range(0, count, 1), shape)
    back = raw_ops.InvertPermutation(order)
    return [None, raw_ops.GatherV2(dvalues, back, np.array(0, np.int32)), None]


sparse_op(
    "SparseReorder", _infer_reorder, Call(_reorder), _reorder_back,
    inputs=PARTS.format("input"),
    outputs="output_indices: int64, output_values: T",
    attrs={"T": ALL},
    doc=(
        "The elements of a sparse tensor in row-major order. Raises InvalidArgumentError if "
        "indices are out of bounds."
    ),
)  # fmt: skip

# -- shapes


def _infer_reshape(context: InferContext) -> Sequence[TensorShape]:
    count, _ = of_rank(context.shapes[0], 2, "The indices of a SparseTensor")
    of_rank(context.shapes[1], 1, "The dense_shape of a SparseTensor")
    (rank,) = of_rank(context.shapes[2], 1, "The new shape")
    return [TensorShape.of((count, rank)), _vector(rank)]


def _resolve_sizes(shape: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Return the sizes `wanted`, with -1 replaced by the size that keeps the number of elements.

    Raises InvalidArgumentError if no such size exists.
    """
    total, known = prod(shape), prod(size for size in wanted if size != -1)
    if list(wanted).count(-1) > 1:
        raise invalid_argument(f"Only one output dimension may be -1, but they are {list(wanted)}")
    if any(size < -1 for size in wanted):
        raise invalid_argument(f"Sizes can't be negative, but the new ones are {list(wanted)}")
    if -1 in wanted and (known == 0 or total % known):
        raise invalid_argument(
            f"Input to reshape is a SparseTensor with {total} dense values, but the requested "
            f"shape requires a multiple of {known}"
        )
    sizes = [total // known if size == -1 else size for size in wanted]
    if prod(sizes) != total:
        raise invalid_argument(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape has "
            f"{prod(sizes)}"
        )
    return sizes


def _reshape(indices: Any, shape: Any, wanted: Any, out_indices: Any, out_shape: Any) -> None:
    sizes = _resolve_sizes(ints(shape), ints(wanted))
    np.copyto(out_indices, rows_of(positions(indices, shape), sizes))
    np.copyto(out_shape, np.array(sizes, np.int64))


sparse_op(
    "SparseReshape", _infer_reshape, Call(_reshape),
    inputs="input_indices: int64, input_shape: int64, new_shape: int64",
    outputs="output_indices: int64, output_shape: int64",
    doc=(
        "The indices of a sparse tensor after a reshape, and the new shape. One size may be -1. "
        "Raises InvalidArgumentError if the number of elements would change."
    ),
)  # fmt: skip

# -- slices


def _infer_slice(context: InferContext) -> Sequence[TensorShape]:
    _, rank = check_parts(context)
    for index in (3, 4):
        of_rank(context.shapes[index], 1, "start and size")
    return [TensorShape.of((None, rank)), _vector(None), _vector(rank)]


def _slice(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> list[Any]:
    if not start.shape == size.shape == shape.shape:
        raise invalid_argument(
            f"start and size need {shape.size} elements: {start.tolist()}, {size.tolist()}"
        )
    positions(indices, shape)
    last = np.minimum(start + size, shape)
    inside = np.ones(len(indices), bool)
    for column, first, end in zip(indices.T, start.tolist(), last.tolist(), strict=True):
        inside &= (column >= first) & (column < end)
    places = np.flatnonzero(inside)
    return [indices[places] - start, values[places], np.maximum(last - start, 0)]


def _slice_back(op: Any, dindices: Any, dvalues: Any, dshape: Any) -> list[Any]:
    del dindices, dshape
    indices, _, _, start, _ = op.inputs
    back = raw_ops.SparseSliceGrad(dvalues, indices, start, op.outputs[0])
    return [None, back, None, None, None]


sparse_op(
    "SparseSlice", _infer_slice, Call(_slice, dynamic=True), _slice_back,
    inputs="indices: matrix int64, values: vector T, shape: vector int64, start: vector int64, "
    "size: vector int64",
    outputs="output_indices: int64, output_values: T, output_shape: int64",
    attrs={"T": ALL},
    native=sparse_slice(),
    doc="The slice of a sparse tensor that begins at `start` and has the sizes `size`.",
)  # fmt: skip


def _infer_slice_grad(context: InferContext) -> Sequence[TensorShape]:
    count, _ = of_rank(context.shapes[1], 2, "input_indices")
    return [_vector(count)]


def _slice_grad(dvalues: Any, indices: Any, start: Any, slice_indices: Any, out: Any) -> None:
    copy_by_row(dvalues, slice_indices + start, indices, out)


def _slice_grad_back(op: Any, dy: Any) -> list[Any]:
    values, indices, start, slice_indices = op.inputs
    ranks = raw_ops.SparseSliceGrad(ranks_of(values), indices, start, slice_indices)
    return [add_by_rank(dy, ranks, values), None, None, None]


sparse_op(
    "SparseSliceGrad", _infer_slice_grad, Call(_slice_grad), _slice_grad_back,
    inputs="backprop_val_grad: vector T, input_indices: matrix int64, input_start: vector int64, "
    "output_indices: matrix int64",
    outputs="val_grad: T",
    attrs={"T": NUMERIC},
    native=sparse_slice_gradient(),
    doc=(
        "The gradient of SparseSlice. For an element in the slice, it is the element's gradient, "
        "and otherwise 0."
    ),
)  # fmt: skip

# -- concatenation and splits


def _axis_of(function: str, axis: int, rank: int) -> int:
    """Return the axis as a non-negative number.

    Raises InvalidArgumentError if it is out of range.
    """
    if not -rank <= axis < rank:
        raise invalid_argument(
            f"{function} dimension must be in range [{-rank}, {rank}), got {axis}"
        )
    return axis % rank


def _infer_concat(context: InferContext) -> Sequence[TensorShape]:
    number = context.attrs["N"]
    parts = [check_parts(context, index, number) for index in range(number)]
    counts, ranks = zip(*parts)
    count = None if None in counts else sum(counts)
    rank = reduce(partial(same_size, what="dimensions"), ranks)
    return [TensorShape.of((count, rank)), _vector(count), _vector(rank)]


def _bind_concat(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    number, dim = context.attrs["N"], context.attrs["concat_dim"]
    indices, values, shapes = (arrays[kind * number : (kind + 1) * number] for kind in range(3))

    def run() -> list[Any]:
        rank = shapes[0].size
        axis = _axis_of("Concat", dim, rank)
        others = [np.delete(shape, axis).tolist() for shape in shapes]
        if any(sizes != others[0] for sizes in others):
            raise invalid_argument(
                f"Input shapes must match except for dimension {axis}: "
                f"{[s.tolist() for s in shapes]}"
            )
        whole = shapes[0].copy()
        whole[axis] = sum(int(shape[axis]) for shape in shapes)
        moved, begin = [], 0
        for rows, shape in zip(indices, shapes, strict=True):
            step = np.zeros(rank, np.int64)
            step[axis] = begin
            moved.append(rows + step)
            begin += int(shape[axis])
        joined, elements = np.concatenate(moved), np.concatenate(values)
        keys, _ = keys_of_rows(joined)
        if (keys[1:] < keys[:-1]).any():
            order = stable_order(keys)
            joined, elements = joined[order], elements[order]
        return [joined, elements, whole]

    return run


sparse_op(
    "SparseConcat", _infer_concat, Call(make=_bind_concat, dynamic=True),
    inputs="indices: N * int64, values: N * T, shapes: N * int64",
    outputs="output_indices: int64, output_values: T, output_shape: int64",
    attrs={
        "concat_dim": Attr("int", required=True),
        "N": Attr("int", required=True, minimum=2),
        "T": ALL,
    },
    doc=(
        "Sparse tensors, concatenated along an axis, with elements in row-major order. Raises "
        "InvalidArgumentError if they have different sizes along another axis."
    ),
)  # fmt: skip


def _infer_split(context: InferContext) -> Sequence[TensorShape]:
    _, rank = check_parts(context, 1)
    number = context.attrs["num_split"]
    one = TensorShape.of((None, rank))
    return [*[one] * number, *[_vector(None)] * number, *[_vector(rank)] * number]


def _bind_split(
    context: KernelContext, axis: Any, indices: Any, values: Any, shape: Any
) -> Callable[[], Any]:
    number = context.attrs["num_split"]

    def run() -> list[Any]:
        dim = _axis_of("Split", int(axis), shape.size)
        size = int(shape[dim])
        if not 1 <= number <= size:
            raise invalid_argument(f"num_split must be in [1, {size}], but is {number}")
        positions(indices, shape)
        lengths = [size // number + (part < size % number) for part in range(number)]
        starts = np.cumsum([0, *lengths])
        part_of = np.searchsorted(starts[1:-1], indices[:, dim].copy(), side="right")
        if number < 1 << 16:
            part_of = part_of.astype(np.uint16)  # which NumPy sorts by counting
        order = np.argsort(part_of, kind="stable")
        rows, elements, part_of = indices.take(order, axis=0), values[order], part_of[order]
        rows[:, dim] -= starts[part_of]
        ends = np.searchsorted(part_of, np.arange(1, number))
        sizes = [np.where(np.arange(shape.size) == dim, length, shape) for length in lengths]
        return [*np.split(rows, ends), *np.split(elements, ends), *sizes]

    return run


sparse_op(
    "SparseSplit", _infer_split, Call(make=_bind_split, dynamic=True),
    inputs="split_dim: scalar int64, indices: matrix int64, values: vector T, shape: vector int64",
    outputs="output_indices: num_split * int64, output_values: num_split * T, "
    "output_shape: num_split * int64",
    attrs={"num_split": Attr("int", required=True, minimum=1), "T": ALL},
    doc=(
        "A sparse tensor, split along an axis into num_split parts. If the size is not divisible "
        "by num_split, the first parts are larger by one."
    ),
)  # fmt: skip

# -- empty rows


def _infer_fill(context: InferContext) -> Sequence[TensorShape]:
    count, rank = check_parts(context)
    of_rank(context.shapes[3], 0, "default_value")
    sizes = context.value_as_shape(2).sizes
    rows = None if sizes is None or not sizes else sizes[0]
    return [TensorShape.of((None, rank)), _vector(None), _vector(rows), _vector(count)]


def _fill(indices: Any, values: Any, shape: Any, default: Any) -> list[Any]:
    if shape.size == 0:
        raise invalid_argument("Dense shape cannot be empty.")
    positions(indices, shape)
    empty = np.ones(int(shape[0]), bool)
    empty[indices[:, 0]] = False
    if not empty.any() and (indices[1:, 0] >= indices[:-1, 0]).all():
        return [indices.copy(), values.copy(), empty, np.arange(len(indices))]
    added = np.zeros((int(empty.sum()), shape.size), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    rows = np.concatenate([indices, added])
    filled = np.concatenate([values, np.full(added.shape[0], default, values.dtype)])
    order = np.argsort(rows[:, 0], kind="stable")
    where = np.empty(order.size, np.int64)
    where[order] = np.arange(order.size)
    return [rows[order], filled[order], empty, where[: indices.shape[0]]]


def _fill_back(op: Any, dindices: Any, dvalues: Any, dempty: Any, dmap: Any) -> list[Any]:
    del dindices, dempty, dmap
    dfilled, ddefault = raw_ops.SparseFillEmptyRowsGrad(op.outputs[3], dvalues)
    return [None, dfilled, None, ddefault]


sparse_op(
    "SparseFillEmptyRows", _infer_fill, Call(_fill, dynamic=True), _fill_back,
    inputs="indices: int64, values: T, dense_shape: int64, default_value: T",
    outputs="output_indices: int64, output_values: T, empty_row_indicator: bool, "
    "reverse_index_map: int64",
    native=filled_rows(),
    attrs={"T": ALL},
    doc=(
        "A sparse tensor with default_value in the first column of each row that had no elements. "
        "Also a vector that tells which rows were empty, and the new index of each original "
        "element."
    ),
)  # fmt: skip


def _infer_fill_grad(context: InferContext) -> Sequence[TensorShape]:
    (count,) = of_rank(context.shapes[0], 1, "reverse_index_map")
    of_rank(context.shapes[1], 1, "grad_values")
    return [_vector(count), TensorShape.of(())]


def _fill_grad(where: Any, grads: Any, dvalues: Any, ddefault: Any) -> None:
    if where.size and (where.min() < 0 or where.max() >= grads.size):
        raise invalid_argument(f"Elements in reverse index must be in [0, {grads.size})")
    np.copyto(dvalues, grads[where])
    others = np.ones(grads.size, bool)
    others[where] = False
    np.copyto(ddefault, grads[others].sum(dtype=grads.dtype))


def _fill_grad_back(op: Any, dvalues: Any, ddefault: Any) -> list[Any]:
    where, grads = op.inputs
    count = raw_ops.Shape(grads)[0]
    counts = raw_ops.UnsortedSegmentSum(raw_ops.OnesLike(dvalues), where, count)
    others = raw_ops.Mul(ddefault, raw_ops.Sub(raw_ops.OnesLike(counts), counts))
    return [None, raw_ops.AddV2(raw_ops.UnsortedSegmentSum(dvalues, where, count), others)]


sparse_op(
    "SparseFillEmptyRowsGrad", _infer_fill_grad, Call(_fill_grad), _fill_grad_back,
    inputs="reverse_index_map: int64, grad_values: T",
    outputs="d_values: T, d_default_value: T",
    native=filled_rows_gradient(),
    attrs={"T": NUMERIC},
    doc=(
        "The gradients of SparseFillEmptyRows: the gradient of each original element, and the sum "
        "of the gradients of the elements that were added."
    ),
)  # fmt: skip
