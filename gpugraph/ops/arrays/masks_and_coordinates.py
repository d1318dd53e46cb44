"""Sequence masks, coordinate grids, conversion of flat indices to coordinates, and the shape to
which two shapes broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape, broadcast_shapes, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones
from gpugraph.ops.arrays.reshape_and_transpose import index_op, reshape
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import size
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None
) -> Tensor:
    """Return a mask for each length: mask[..., j] = j < lengths[...].

    The shape of the result is lengths.shape + (maxlen,). `maxlen` defaults to the largest length.
    If `dtype` is not bool, the elements are 1 and 0. Raises ValueError if maxlen is not a scalar.

    >>> session.run(tf.sequence_mask([1, 3]))
    array([[ True, False, False],
           [ True,  True,  True]])
    """
    with op_scope(name, "SequenceMask", lengths, maxlen):
        counts = convert_to_tensor(lengths)
        if maxlen is None:
            kind = counts.dtype.base_dtype
            width = raw_ops.Maximum(constant(0, kind), raw_ops.Max(counts, _all_axes(counts)))
        else:
            width = convert_to_tensor(maxlen)
            kind = width.dtype.base_dtype
        if width.shape.rank not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        row = raw_ops.Range(constant(0, kind), width, constant(1, kind))
        ends = raw_ops.Cast(raw_ops.ExpandDims(counts, -1), DstT=kind)
        mask: Tensor = raw_ops.Less(row, ends)
        known = constant_value(counts)
        if maxlen is None and known is not None:
            mask.set_shape((*known.shape, max(0, int(known.max(initial=0)))))
        return mask if dtype is None else cast(mask, as_dtype(dtype))


def _all_axes(tensor: Tensor) -> Tensor:
    if tensor.shape.rank is not None:
        return constant(np.arange(tensor.shape.rank, dtype=np.int32))
    return raw_ops.Range(0, raw_ops.Rank(tensor), 1)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Return the coordinates of the points of a grid whose axes are the vectors `args`. The result
    has one tensor for each vector.

    The result for two vectors of n and m elements consists of two tensors. Their shape is (m, n)
    with the default `indexing="xy"`, or (n, m) with `indexing="ij"`. In grids of higher rank, "xy"
    exchanges the first two axes. Raises ValueError if `indexing` has another value, and TypeError
    for keywords other than `indexing` and `name`.

    >>> session.run(tf.meshgrid([1, 2], [3, 4])[1])
    array([[3, 3],
           [4, 4]], dtype=int32)
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(
            f"meshgrid() got an unexpected keyword argument '{next(iter(kwargs))}'. Its keywords "
            "are indexing and name."
        )
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing parameter must be either 'xy' or 'ij', but is {indexing!r}")
    with op_scope(name, "meshgrid", *args):
        count = len(args)
        vectors = [
            reshape(convert_to_tensor(vector, name="stack"), _shape_along(index, count))
            for index, vector in enumerate(args)
        ]
        sizes = [size(vector) for vector in args]
        if indexing == "xy" and count > 1:
            vectors[0] = reshape(vectors[0], _shape_along(1, count))
            vectors[1] = reshape(vectors[1], _shape_along(0, count))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        if not vectors:
            return []
        whole = ones(sizes, vectors[0].dtype.base_dtype)
        return [vector * whole for vector in vectors]


def _shape_along(axis: int, count: int) -> tuple[int, ...]:
    """Return the shape to which a vector is reshaped for rank `count`: -1 at `axis`, 1
    elsewhere.
    """
    return tuple([-1 if dimension == axis else 1 for dimension in range(count)])


# -- flat indices as coordinates


def _infer_unravel(context: InferContext) -> Sequence[TensorShape]:
    indices, dims = context.shapes
    count = of_rank(dims, 1, "dims")[0]
    if indices.sizes is None:
        return [UNKNOWN]
    if len(indices.sizes) > 1:
        raise ValueError(
            f"indices must be a scalar or a vector, but has shape {shape_text(indices)}"
        )
    return [TensorShape.of((count, *indices.sizes))]


def _unravel(indices: Any, dims: Any, out: Any) -> None:
    count = int(np.prod(dims, dtype=np.int64))
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        what = f"index is out of bound as with dims: {dims.tolist()} has {count} elements"
        raise invalid_argument(what)
    rest = indices
    for axis in range(len(dims) - 1, -1, -1):
        out[axis] = rest % max(int(dims[axis]), 1)
        rest = rest // max(int(dims[axis]), 1)


_unravel_index = index_op(
    "UnravelIndex",
    "indices: Tidx, dims: Tidx",
    "output: Tidx",
    _infer_unravel,
    Call(_unravel),
    "The coordinates, one row an axis, of indices into a flat tensor of shape `dims`.",
)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Return the coordinates of elements of a tensor of shape `dims`, given their flat indices.

    The result has the shape (len(dims),) + indices.shape. `indices` is a scalar or a vector. A run
    raises InvalidArgumentError if an index is out of range.
    """
    return _unravel_index(indices, dims, name=name)


# -- shapes that broadcast


def _infer_args(context: InferContext) -> Sequence[TensorShape]:
    lengths = [of_rank(shape, 1, f"s{index}")[0] for index, shape in enumerate(context.shapes)]
    known = [length for length in lengths if length is not None]
    return [TensorShape.of((max(known) if len(known) == 2 else None,))]


def _bind_args(_: KernelContext, s0: Any, s1: Any, out: Any) -> Callable[[], Any]:
    def run() -> None:
        try:
            out[...] = np.broadcast_shapes(tuple(s0.tolist()), tuple(s1.tolist()))
        except ValueError as error:
            what = f"Incompatible shapes: {s0.tolist()} vs. {s1.tolist()}"
            raise invalid_argument(what) from error

    return run


_broadcast_args = index_op(
    "BroadcastArgs",
    "s0: T, s1: T",
    "r0: T",
    _infer_args,
    Call(make=_bind_args),
    "The shape to which shapes s0 and s1 broadcast.",
)


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """Return the shape to which two shapes, int vectors, broadcast, as an int vector.

    A run raises InvalidArgumentError if the shapes are incompatible.
    """
    return _broadcast_args(shape_x, shape_y)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the shape to which two `TensorShape`s broadcast. Raises ValueError if the shapes are
    incompatible.
    """
    return broadcast_shapes(as_shape(shape_x), as_shape(shape_y))
