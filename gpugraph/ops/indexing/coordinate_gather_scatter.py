"""gather_nd and scatter_nd, which read and write elements of a tensor at given coordinates.

All coordinates are checked before anything is written. A run raises InvalidArgumentError if
coordinates are out of range. If several updates have the same position, they are applied in the
order in which `updates` contains them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, NUMERIC, DType
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, OpMemory, Signature, Source
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import value_shape
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope, shape_of
from gpugraph.ops.framework.public_function import public_function
from gpugraph.ops.framework.row_update_launches import (
    ADD,
    Changes,
    combine_changes,
    fill_array,
    gather_rows,
    sort_changes,
)
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.indexing.batch_coordinates import whole_coordinates
from gpugraph.ops.indexing.row_sources import gathered, scattered_in_zeros

# -- gather and scatter by coordinates


def _depth(indices: tuple[int | None, ...] | None) -> int | None:
    if indices is None:
        return None
    if not indices:
        raise ValueError("Shape must be at least rank 1 but is rank 0: indices")
    return indices[-1]


def _infer_gather_nd(context: InferContext) -> Sequence[TensorShape]:
    params, indices = context.shapes[0].sizes, context.shapes[1].sizes
    depth = _depth(indices)
    if params is None or indices is None or depth is None:
        return [UNKNOWN]
    if depth > len(params):
        raise ValueError(f"indices has {depth} coordinates for params of rank {len(params)}")
    return [TensorShape.of((*indices[:-1], *params[depth:]))]


class Coordinates:
    """A callable that converts coordinates in `sizes` to row numbers of a tensor of shape
    [prod(sizes), rest].
    """

    def __init__(
        self, context: KernelContext, indices: Any, sizes: Sequence[int], noun: str = ""
    ) -> None:
        depth = indices.shape[-1]
        self.whole, self.outer, self.noun = sizes, indices.shape[:-1], noun
        self.sizes = np.array(sizes[:depth], np.int64)
        self.steps = [prod(sizes[axis + 1 : depth]) for axis in range(depth)]
        self.indices = indices.reshape(prod(indices.shape[:-1]), depth)
        self.rows = context.scratch((self.indices.shape[0],), dtypes.int64)

    def __call__(self) -> Any:
        """Return the row numbers. Raises InvalidArgumentError if coordinates are out of range."""
        rows = self.rows
        rows.fill(0)
        for column, (step, size) in enumerate(zip(self.steps, self.sizes.tolist(), strict=True)):
            values = self.indices[:, column]
            if values.size and (values.min() < 0 or values.max() >= size):
                self._refuse()
            rows += values.astype(np.int64) * step
        return rows

    def _refuse(self) -> None:
        outside = ((self.indices < 0) | (self.indices >= self.sizes)).any(axis=1)
        row = int(np.flatnonzero(outside)[0])
        place = ",".join(map(str, np.unravel_index(row, self.outer)))
        values = ", ".join(map(str, self.indices[row].tolist()))
        raise invalid_argument(
            f"indices[{place}] = [{values}] does not index into {self.noun}shape "
            f"{shape_text(self.whole)}"
        )


def _bind_gather_nd(
    context: KernelContext, params: Any, indices: Any, out: Any
) -> Callable[[], Any]:
    if out.size and not params.size:
        return partial(_refuse_empty, params.shape)
    find_rows = Coordinates(context, indices, params.shape, "param ")
    source = _as_matrix(params, indices.shape[-1])
    target = out.reshape(find_rows.rows.size, source.shape[1])
    return lambda: np.copyto(target, source[find_rows()])


def _refuse_empty(shape: Sequence[int]) -> None:
    raise invalid_argument(
        "Requested more than 0 entries, but params is empty.  Params shape: " + shape_text(shape)
    )


def _as_matrix(array: Any, depth: int) -> Any:
    """Return the array as a matrix. Its first `depth` axes become the rows, and the remaining axes
    become the columns.
    """
    return array.reshape(prod(array.shape[:depth]), prod(array.shape[depth:]))


def _launch_gather_nd(signature: Signature) -> list[Launch]:
    params, indices = signature.input_shapes[:2]
    depth = indices[-1]
    count, width = prod(indices[:-1]), prod(params[depth:])
    types = signature.input_types[1], signature.output_types[0]
    return [gather_rows(Arg(0), Arg(1), Arg(2), *types, params[:depth], count, width)]


def _matrices(signature: Signature) -> tuple[int, Sequence[int], int, int, int]:
    """Return the sizes that the native kernel requires (see `row_sources.gathered`)."""
    params, indices = signature.input_shapes
    depth, count = indices[-1], prod(indices[:-1])
    return count, params[:depth], 1, count, prod(params[depth:])


def by_coordinates(
    indices: Arg, index_type: DType, shape: Sequence[int], sizes: Sequence[int]
) -> tuple[list[Launch], Changes]:
    """Return the launches that sort changes by row, and the sorted `Changes`.

    Args:
      sizes: the sizes of the changed tensor's leading axes, one for each coordinate.
      shape: the shape of `indices`, whose last axis holds the coordinates.
    """
    depth = shape[-1]
    return sort_changes(
        indices, index_type, prod(shape[:-1]), prod(sizes[depth:]), tuple(sizes[:depth])
    )


def _gather_nd_back(op: Any, dy: Any) -> list[Any]:
    """Return the gradient of params.

    The gradient is IndexedSlices if the static shape of the coordinates is [n, 1] with a known n,
    so that each coordinate is a row number. Otherwise it is a dense tensor.
    """
    params, indices = op.inputs
    sizes = indices.shape.sizes
    if sizes is not None and len(sizes) == 2 and sizes[0] is not None and sizes[1] == 1:
        rows = raw_ops.Squeeze(indices, squeeze_dims=[-1])
        return [IndexedSlices(dy, rows, value_shape(params)), None]
    return [raw_ops.ScatterNd(indices, dy, shape_of(params, indices.dtype)), None]


_gather_nd = op(
    "GatherNd",
    inputs="params: Tparams, indices: Tindices",
    outputs="output: Tparams",
    attrs={"Tparams": ALL, "Tindices": INDEX},
    infer=_infer_gather_nd,
    cpu=Call(make=_bind_gather_nd),
    gpu=Source("scatter_combine.cu", _launch_gather_nd, Call(make=_bind_gather_nd)),
    grad=_gather_nd_back,
    native=gathered(_matrices),
    doc="The elements or slices of params at the coordinates in the last axis of `indices`.",
)


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: Any = 0) -> Tensor:
    """Gather the elements or slices of `params` at the coordinates in the last axis of `indices`.

    The result has shape indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1]:]. Raises
    ValueError if `batch_dims` is invalid. A run raises InvalidArgumentError if coordinates are out
    of range.

    Args:
      batch_dims: the number of leading axes that params and indices have in common, as an int or a
        constant tensor. The coordinates then refer to elements within each batch entry.

    >>> session.run(tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]))
    array([2, 3], dtype=int32)
    """
    count = constant_value(batch_dims) if isinstance(batch_dims, Tensor) else batch_dims
    if count is None:
        raise ValueError(f"batch_dims must be an int or a constant tensor, but is {batch_dims}")
    count = whole_number("batch_dims", count)
    if count:
        with op_scope(name, "BatchGatherND", params, indices) as scope:
            return _gather_nd(params, whole_coordinates(indices, count), name=scope)
    if hasattr(params, "_after_change"):
        return params.gather_nd(indices, name=name)  # reads only these parts of the variable
    return _gather_nd(params, indices, name=name)


def _infer_scatter_nd(context: InferContext) -> Sequence[TensorShape]:
    shape = context.value_as_shape(2)
    check_updates(shape, context.shapes[0], context.shapes[1], "shape")
    return [shape]


def check_updates(
    shape: TensorShape, indices: TensorShape, updates: TensorShape, target_name: str
) -> None:
    """Raise ValueError if indices and updates do not fit a tensor of this shape.

    Args:
      target_name: the name of the tensor in the message.
    """
    depth = _depth(indices.sizes)
    if shape.sizes is None or indices.sizes is None or depth is None:
        return
    if depth > len(shape.sizes):
        raise ValueError(
            f"indices has {depth} coordinates for a {target_name} of rank {len(shape.sizes)}"
        )
    wanted = TensorShape.of((*indices.sizes[:-1], *shape.sizes[depth:]))
    if not wanted.is_compatible_with(updates):
        raise ValueError(
            f"updates must be of shape {shape_text(wanted)}, but are {shape_text(updates)}"
        )


_LONG_ROW = 256
"""The row width from which a loop over rows is faster than a loop over elements."""
_BLOCK = 1 << 16


_UNCHANGING = {np.maximum: -np.inf, np.minimum: np.inf}


def _without_nan(values: Any, number: float) -> Any:
    """Return `values` with `number` in place of each NaN."""
    is_nan = values != values
    if is_nan.any():
        values = values.copy()
        values[is_nan] = number
    return values


def combine_rows(combine: Any, target: Any, rows: Any, values: Any) -> None:
    """Set target[rows[i]] = combine(target[rows[i]], values[i]), in order of i.

    `target` and `values` are matrices. If `combine` is `np.maximum` or `np.minimum`, NaN in
    `values` has no effect.

    Args:
      combine: a ufunc.
    """
    if combine in _UNCHANGING and values.dtype.kind not in "iu":
        values = _without_nan(values, _UNCHANGING[combine])
    width = values.shape[1]
    if width >= _LONG_ROW:
        for row, value in zip(rows.tolist(), values, strict=True):
            combine(target[row], value, out=target[row])
        return
    if width == 1:
        combine.at(target[:, 0], rows.astype(np.intp), values[:, 0])
        return
    flat, columns = target.reshape(-1), np.arange(width)
    step = max(1, _BLOCK // max(width, 1))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        where = rows[block, None].astype(np.intp) * width + columns
        combine.at(flat, where.reshape(-1), values[block].reshape(-1))


def scattering(combine: Any) -> Call:
    """Return the NumPy kernel of updates by coordinates.

    The updates are applied to a copy of the input before the indices or, if there is no such input,
    to zeros.

    Args:
      combine: a ufunc. If it is None, an update replaces the row, and the last of several updates
        of a row is used.
    """

    def make(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        *tensors, indices, updates, out = arrays
        find_rows = Coordinates(context, indices, out.shape)
        target = _as_matrix(out, indices.shape[-1])
        values = updates.reshape(find_rows.rows.size, target.shape[1])

        def run() -> None:
            rows = find_rows()
            if tensors:
                np.copyto(out, tensors[0])
            else:
                out.fill(0)
            if combine is None:
                target[rows] = values
            else:
                combine_rows(combine, target, rows, values)

        return run

    return Call(make=make)


def _launch_scatter_nd(signature: Signature) -> list[Launch]:
    indices, out = signature.input_shapes[0], signature.output_shapes[0]
    dtype = signature.output_types[0]
    order, changes = by_coordinates(Arg(0), signature.input_types[0], indices, out)
    empty = fill_array(Arg(2), 0, prod(out), dtype)
    return [*order, empty, *combine_changes(Arg(2), Arg(1), changes, dtype, ADD)]


scatter_nd: Callable[..., Tensor] = public_function(
    op(
        "ScatterNd",
        inputs="indices: Tindices, updates: T, shape: Tindices",
        outputs="output: T",
        attrs={"T": NUMERIC, "Tindices": INDEX},
        infer=_infer_scatter_nd,
        memory=OpMemory(host_inputs=[2]),
        cpu=scattering(np.add),
        gpu=Source("scatter_combine.cu", _launch_scatter_nd, scattering(np.add)),
        native=scattered_in_zeros(),
        grad=lambda op, dy: [None, raw_ops.GatherNd(dy, op.inputs[0]), None],
        doc=(
            "Zeros of shape `shape`, to which `updates` are added at the coordinates in the last "
            "axis of `indices`. If several updates have the same coordinates, all of them are "
            "added. A run raises InvalidArgumentError if coordinates are out of range."
        ),
    )
)
