"""The selection of slices by position along an axis: gather and boolean_mask.

All indices are checked before anything is written. A run raises InvalidArgumentError if an index is
out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.resource_handles import value_static_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, ErrorFlag, KernelContext, Launch, OpMemory, Signature, Source
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, item_type
from gpugraph.ops.framework.identity_and_shape import size, value_shape
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.row_sources import gathered


def check_inside(indices: Any, size: int, what: str = "indices") -> None:
    """Raise InvalidArgumentError if an index is outside [0, size). The message names the first such
    index.

    Args:
      what: the name of the indices in the message.
    """
    if indices.size == 0 or (indices.min() >= 0 and indices.max() < size):
        return
    outside = np.argwhere((indices < 0) | (indices >= size))[0].tolist()
    place = f"[{','.join(map(str, outside))}]" if outside else ""
    value = indices[tuple(outside)]
    raise invalid_argument(f"{what}{place} = {value} is not in [0, {size})")


# -- gather


def _infer_gather(context: InferContext) -> Sequence[TensorShape]:
    params, indices = context.shapes[0].sizes, context.shapes[1].sizes
    value, batch = context.value(2), context.attrs["batch_dims"]
    if params is not None and not params:
        raise ValueError("Shape must be at least rank 1 but is rank 0: params")
    if indices is None or params is None:
        return [UNKNOWN]
    if not -len(indices) <= batch <= len(indices):
        raise ValueError(f"batch_dims {batch} is not in [-{len(indices)}, {len(indices)}]")
    batch = batch + len(indices) if batch < 0 else batch
    if value is None:
        return [TensorShape.of((None,) * (len(params) + len(indices) - 1 - batch))]
    axis = _gathered_axis(ints(value)[0], len(params))
    if batch > axis:
        raise ValueError(f"batch_dims {batch} must be at most axis {axis}")
    shared = TensorShape.of(params[:batch]).merge_with(TensorShape.of(indices[:batch])).sizes
    assert shared is not None
    return [TensorShape.of((*shared, *params[batch:axis], *indices[batch:], *params[axis + 1 :]))]


def _gathered_axis(axis: int, rank: int) -> int:
    """Return the axis as a non-negative number.

    Raises a Misfit (a ValueError) if the axis is outside [-rank, rank).
    """
    if -rank <= axis < rank:
        return axis % rank
    min_rank = axis + 1 if axis >= 0 else -axis
    raise Misfit(
        f"Shape must be at least rank {min_rank} but is rank {rank}",
        in_run=f"Expected axis in the range [{-rank}, {rank}), but got {axis}",
    )


def _batch_dims(attrs: Any, indices_rank: int) -> int:
    batch: int = attrs["batch_dims"]
    return batch + indices_rank if batch < 0 else batch


def _batch_parts(batch: int, *arrays: Any) -> list[tuple[Any, ...]]:
    """Return, for each batch entry, a view of the slice of each array in `batch`.

    The NumPy indices end in `...`, so that a single element is also an array.
    """
    entries = np.ndindex(*arrays[1].shape[:batch])
    return [tuple(array[entry + (...,)] for array in arrays) for entry in entries]


def _bind_gather(
    by_take: bool, context: KernelContext, params: Any, indices: Any, out: Any
) -> Callable[[], Any]:
    """Bind a callable that gathers. If `by_take` is true, it uses `np.take`. Otherwise it uses
    indexing, which also works for arrays on a GPU.
    """
    axis = normalize_axis(ints(context.value(2))[0], params.ndim)
    batch = _batch_dims(context.attrs, indices.ndim)
    size = params.shape[axis]
    before = (slice(None),) * (axis - batch)
    parts = _batch_parts(batch, params, indices, out)

    def take() -> None:
        check_inside(indices, size)
        for source, where, target in parts:
            np.take(source, where, axis - batch, target, "clip")

    def index() -> None:
        check_inside(indices, size)
        for source, where, target in parts:
            np.copyto(target, source[before + (where,)])

    return take if by_take else index


def _launch_gather(signature: Signature) -> list[Launch]:
    params, indices = signature.input_shapes[:2]
    axis = normalize_axis(ints(signature.value(2))[0], len(params))
    batch = _batch_dims(signature.attrs, len(indices))
    size, total = params[axis], prod(signature.output_shapes[0])
    outer, inner = prod(params[batch:axis]), prod(params[axis + 1 :])
    count = prod(indices[batch:])
    failed = ErrorFlag(f"an index is not in [0, {size})")
    return [
        Launch(
            "gg_gather",
            grid_of(total),
            (THREADS, 1, 1),
            (Arg(0), Arg(1), Arg(2), failed, total, outer, size, count, inner),
            {"INDEX": signature.input_types[1]},
            {"ITEM": item_type(signature.output_types[0])},
        )
    ]


def _matrices(signature: Signature) -> tuple[int, Sequence[int], int, int, int]:
    """Return the sizes that the native kernel requires (see `row_sources.gathered`)."""
    params, indices = signature.input_shapes[:2]
    axis = normalize_axis(ints(signature.value(2))[0], len(params))
    batch = _batch_dims(signature.attrs, len(indices))
    width, count = prod(params[axis + 1 :]), prod(indices)
    return count, [params[axis]], prod(params[batch:axis]), prod(indices[batch:]), width


def _gather_back(op: Any, dy: Any) -> list[Any]:
    params, indices, axis = op.inputs
    value = constant_value(axis)
    first = value is not None and int(value) == 0
    if first and op.attrs["batch_dims"] == 0:
        return [gathered_rows(params, indices, dy), None, None]
    dx = _gather_back_anywhere(op, dy)
    dx.set_shape(params.shape)
    return [dx, None, None]


def gathered_rows(params: Tensor, indices: Tensor, dy: Tensor) -> IndexedSlices:
    """Return the gradient of `params` as IndexedSlices with one row of `dy` for each of `indices`.

    Args:
      params: a tensor, or the handle of a resource variable.
    """
    with params.graph.colocate_with(
        params.op
    ):  # on the device of params, because params may be large
        whole = value_shape(params)
    count: Any = raw_ops.ExpandDims(size(indices), 0)
    sizes = raw_ops.ConcatV2([count, whole[1:]], 0, name="concat")
    rows = raw_ops.Reshape(dy, sizes)
    known = TensorShape.of((indices.shape.num_elements(),))
    rows.set_shape(known.concatenate(value_static_shape(params)[1:]))
    return IndexedSlices(rows, raw_ops.Reshape(indices, count), whole)


def _gather_back_anywhere(op: Any, dy: Any) -> Any:
    """Return the gradient of params as a dense tensor, for any axis and batch_dims.

    `params` is viewed as [batch, outer, size, inner], and dy as [batch, outer, count, inner]. The
    gathered axis is moved in front of `outer`. Each batch entry has its own range of row numbers,
    so that a single segment sum computes all entries.
    """
    params, indices, axis = op.inputs
    shape = raw_ops.Shape(params)
    axis = raw_ops.FloorMod(cast(axis, dtypes.int32), raw_ops.Rank(params))
    batch: Any = np.array(op.attrs["batch_dims"], np.int32)
    if batch < 0:
        batch = raw_ops.Add(raw_ops.Rank(indices), batch)
    sizes = raw_ops.SplitV(
        shape, raw_ops.Pack([batch, raw_ops.Sub(axis, batch), 1, -1]), 0, num_split=4
    )
    batches, outer, size, inner = (raw_ops.Prod(part, 0) for part in sizes)
    count = raw_ops.FloorDiv(raw_ops.Size(indices), raw_ops.Maximum(batches, 1))
    swap = np.array([0, 2, 1, 3], np.int32)
    rows = raw_ops.Transpose(
        raw_ops.Reshape(dy, raw_ops.Pack([batches, outer, count, inner])), swap
    )
    rows = raw_ops.Reshape(rows, raw_ops.Pack([raw_ops.Mul(batches, count), outer, inner]))
    starts = raw_ops.Mul(raw_ops.ExpandDims(raw_ops.Range(0, batches, 1), 1), size)
    ids = raw_ops.Reshape(indices, raw_ops.Pack([batches, count]))
    ids = raw_ops.Reshape(raw_ops.Add(cast(ids, dtypes.int32), starts), np.array([-1], np.int32))
    summed = raw_ops.UnsortedSegmentSum(rows, ids, raw_ops.Mul(batches, size))
    summed = raw_ops.Reshape(summed, raw_ops.Pack([batches, size, outer, inner]))
    return raw_ops.Reshape(raw_ops.Transpose(summed, swap), shape)


_gather = op(
    "GatherV2",
    inputs="params: Tparams, indices: Tindices, axis: scalar Taxis",
    outputs="output: Tparams",
    attrs={"batch_dims": Attr("int", 0), "Tparams": ALL, "Tindices": INDEX, "Taxis": INDEX},
    infer=_infer_gather,
    memory=OpMemory(host_inputs=[2]),
    cpu=Call(make=partial(_bind_gather, True)),
    gpu=Source("gather.cu", _launch_gather, Call(make=partial(_bind_gather, False))),
    native=gathered(_matrices),
    grad=_gather_back,
    doc="The slices of params at `indices` along an axis.",
)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """Gather the slices of `params` at `indices` along `axis`, by default `batch_dims`.

    The result has shape params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:].
    A run raises InvalidArgumentError if an index is outside [0, size of the axis).

    Args:
      batch_dims: the number of leading axes that params and indices have in common.
      validate_indices: ignored.

    >>> session.run(tf.gather([10, 20, 30], [2, 0]))
    array([30, 10], dtype=int32)
    """
    del validate_indices
    first = constant_value(axis) if isinstance(axis, Tensor) else axis or batch_dims
    if hasattr(params, "_after_change") and not batch_dims and first == 0:
        return params.sparse_read(indices, name=name)
    return _gather(
        params, indices, batch_dims if axis is None else axis, batch_dims=batch_dims, name=name
    )


# -- masks


def boolean_mask(
    tensor: Any, mask: Any, name: str | None = "boolean_mask", axis: int | None = None
) -> Tensor:
    """Return the slices of `tensor` where `mask` is true, or a nonzero number, in the same order as
    in `tensor`.

    Args:
      axis: the first axis of `tensor` that the mask covers, by default 0. The mask's shape must
        equal the sizes of this axis and the following axes.

    >>> session.run(tf.boolean_mask([1, 2, 3], [True, False, True]))
    array([1, 3], dtype=int32)

    Raises ValueError if the mask has any other shape, is a scalar, or has an unknown rank.
    """
    with op_scope(name, "boolean_mask", tensor, mask):
        source = convert_to_tensor(tensor, name="tensor")
        chosen = convert_to_tensor(mask, name="mask")
        rank = chosen.shape.rank
        if rank is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None: "
                "give the mask a shape by set_shape"
            )
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        first = axis or 0
        source.shape[first : first + rank].assert_is_compatible_with(chosen.shape)
        if rank > 1:
            source = _merge_axes(source, first, rank)
            chosen = raw_ops.Reshape(chosen, np.array([-1], np.int32))
        where = raw_ops.Squeeze(raw_ops.Where(chosen), squeeze_dims=[1])
        return gather(source, where, axis=first)


def _merge_axes(tensor: Tensor, first: int, count: int) -> Tensor:
    """Return `tensor` with `count` axes, starting at `first`, merged into one."""
    sizes = tensor.shape.sizes
    if sizes is not None and None not in sizes:
        product = prod(sizes[first : first + count])  # type: ignore[arg-type]
        wanted: Any = np.array((*sizes[:first], product, *sizes[first + count :]), np.int32)
    else:
        shape = raw_ops.Shape(tensor)
        lengths = np.array([first, count, -1], np.int32)
        before, middle, after = raw_ops.SplitV(shape, lengths, 0, num_split=3)
        size = raw_ops.Prod(middle, np.array([0], np.int32), keep_dims=True)
        wanted = raw_ops.ConcatV2([before, size, after], 0)
    merged: Tensor = raw_ops.Reshape(tensor, wanted)
    if sizes is not None:
        merged.set_shape((*sizes[:first], None, *sizes[first + count :]))
    return merged
