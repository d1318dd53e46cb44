"""Ops that reorder elements (roll, sort, argsort), NthElement, and searchsorted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, REAL, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, OpMemory, RowSource, Signature, Source
from gpugraph.ops.arrays.reshape_and_transpose import INDEX, reshape, transpose
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.kernel_helpers import Pairs, copying, ints
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import public_function
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.indexing.sort_launches import nth_in_order

# -- roll


def _infer_roll(context: InferContext) -> Sequence[TensorShape]:
    source, shift, axis = context.shapes
    if source.rank == 0:
        raise ValueError("Shape must be at least rank 1 but is rank 0: input")
    for vector, what in ((shift, "shift"), (axis, "axis")):
        if vector.rank is not None and vector.rank > 1:
            raise ValueError(
                f"{what} must be a scalar or a vector, but has shape {shape_text(vector)}"
            )
    if not shift.is_compatible_with(axis):
        raise ValueError(
            f"shift and axis must have one shape, but have {shape_text(shift)} and "
            f"{shape_text(axis)}"
        )
    return [source]


def _roll_views(signature: Signature, source: Any, out: Any) -> Pairs:
    """Return pairs of views to copy. For each axis with a shift, two copies exchange the elements
    before and after the position at which the axis is split.
    """
    sizes = signature.input_shapes[0]
    shifts = dict.fromkeys(range(len(sizes)), 0)
    for shift, axis in zip(ints(signature.value(1)), ints(signature.value(2)), strict=True):
        try:
            shifts[normalize_axis(axis, len(sizes))] += shift
        except ValueError as error:
            raise invalid_argument(str(error)) from error
    pairs = [(source, out)]
    for axis, shift in shifts.items():
        by = shift % sizes[axis] if sizes[axis] else 0
        if by:
            cuts = [(slice(None, -by), slice(by, None)), (slice(-by, None), slice(None, by))]
            before = (slice(None),) * axis
            pairs = [(x[(*before, a)], y[(*before, b)]) for x, y in pairs for a, b in cuts]
    return pairs


def _roll_back(op: Any, dy: Any) -> list[Any]:
    return [raw_ops.Roll(dy, raw_ops.Neg(op.inputs[1]), op.inputs[2]), None, None]


roll: Callable[..., Tensor] = public_function(
    op(
        "Roll",
        inputs="input: T, shift: Tshift, axis: Taxis",
        outputs="output: T",
        attrs={"T": ALL, "Tshift": INDEX, "Taxis": INDEX},
        infer=_infer_roll,
        memory=OpMemory(host_inputs=[1, 2]),
        **copying(_roll_views),
        grad=_roll_back,
        doc=(
            "The input, in which the elements are rotated by `shift` positions along `axis`. A "
            "negative shift rotates towards the front. Both arguments are ints or vectors of "
            "equal length. Shifts along the same axis are added. Raises ValueError if the "
            "arguments' shapes differ or the input is a scalar. A run raises InvalidArgumentError "
            "if an axis is out of range."
        ),
    )
)


# -- sort


def _mirror(values: Tensor) -> Tensor:
    """Return f(values) for a function f that reverses the order (if x < y, then f(x) > f(y)) and is
    its own inverse.
    """
    if values.dtype.is_unsigned:
        top = np.array(np.iinfo(values.dtype.as_numpy_dtype).max, values.dtype.as_numpy_dtype)
        return raw_ops.Sub(top, values, name="sub")
    if values.dtype.is_integer:  # f(x) = -x - 1 never overflows
        return raw_ops.Invert(values)
    return raw_ops.Neg(values)


def _axes_swapped(rank: int, axis: int) -> Any:
    order = np.arange(rank, dtype=np.int32)
    order[[axis, rank - 1]] = [rank - 1, axis]
    return order


def _sort(values: Any, axis: Any, direction: str, indices: bool, name: str | None) -> Tensor:
    what = "argsort" if indices else "sort"
    with op_scope(name, what, values):
        if direction not in ("ASCENDING", "DESCENDING"):
            raise ValueError(f"direction is ASCENDING or DESCENDING, but it is {direction!r}")
        place = constant_value(convert_to_tensor(axis, name="axis"))
        if place is None or place.shape:
            raise ValueError("axis must be a constant scalar")
        tensor = convert_to_tensor(values, name="values")
        rank = tensor.shape.rank
        if rank is None and int(place) != -1:
            raise ValueError(f"An axis of {int(place)} needs values of known rank")
        last = -1 if rank is None else normalize_axis(place, rank)
        swapped = rank is not None and last != rank - 1
        if swapped:
            order = constant(_axes_swapped(rank or 0, last), name="transposition")
            tensor = transpose(tensor, order)
        rising = direction == "ASCENDING"
        top = raw_ops.TopKV2(_mirror(tensor) if rising else tensor, shape(tensor)[-1])
        result: Tensor = top[1] if indices else top[0]
        if rising and not indices:
            result = _mirror(result)
        return transpose(result, order) if swapped else result


def sort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Sort `values` along `axis`, by default the last.

    Raises ValueError if the direction is unknown, if the axis is not a constant, or if the rank is
    unknown and the axis is not the last.

    Args:
      direction: "ASCENDING" or "DESCENDING".

    >>> session.run(tf.sort([3, 1, 2]))
    array([1, 2, 3], dtype=int32)
    """
    return _sort(values, axis, direction, False, name)


def argsort(
    values: Any,
    axis: Any = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the int32 indices that sort `values` along `axis`. Equal elements keep their order.

    See `sort` for `axis`, `direction` and the errors.
    """
    del stable  # sorting is always stable
    return _sort(values, axis, direction, True, name)


# -- the n-th element


def _infer_nth(context: InferContext) -> Sequence[TensorShape]:
    sizes, value = context.shapes[0].sizes, context.value(1)
    if context.shapes[1].rank not in (None, 0):
        raise ValueError(f"n must be a scalar, but has shape {shape_text(context.shapes[1])}")
    if value is not None and ints(value)[0] < 0:
        raise ValueError(f"n must be non-negative, but is {ints(value)[0]}")
    if sizes is None:
        return [UNKNOWN]
    if not sizes:
        raise ValueError("Shape must be at least rank 1 but is rank 0: input")
    if value is not None and sizes[-1] is not None and ints(value)[0] >= sizes[-1]:
        raise ValueError(f"input must have more than n={ints(value)[0]} columns, not {sizes[-1]}")
    return [TensorShape.of(sizes[:-1])]


def _bind_nth(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    n, size = ints(context.value(1))[0], source.shape[-1]
    if n < 0 or n >= size:
        raise invalid_argument(f"n must be in [0, {size}), but is {n}")
    place = size - 1 - n if context.attrs["reverse"] else n
    return lambda: np.copyto(out, np.partition(source, place, axis=-1)[..., place])


def _launch_nth(signature: Signature) -> list[Launch]:
    sizes, n = signature.input_shapes[0], ints(signature.value(1))[0]
    rows, dtype = prod(sizes[:-1]), signature.input_types[0]
    if not 0 <= n < sizes[-1]:
        raise NotImplementedError(f"n must be in [0, {sizes[-1]}), but is {n}")
    return nth_in_order(Arg(0), Arg(1), rows, sizes[-1], n, dtype, signature.attrs["reverse"])


def _nth_back(op: Any, dy: Any) -> list[Any]:
    """Return the gradient, which divides dy equally among all elements that are equal to the n-th
    element.
    """
    value, dy = raw_ops.ExpandDims(op.outputs[0], -1), raw_ops.ExpandDims(dy, -1)
    chosen = raw_ops.Cast(raw_ops.Equal(value, op.inputs[0]), DstT=dy.dtype.base_dtype)
    count = raw_ops.Sum(chosen, np.array(-1, np.int32), keep_dims=True)
    return [raw_ops.Mul(raw_ops.RealDiv(chosen, count), dy), None]


op(
    "NthElement",
    inputs="input: T, n: int32",
    outputs="values: T",
    attrs={"reverse": Attr("bool", False), "T": REAL},
    infer=_infer_nth,
    memory=OpMemory(host_inputs=[1]),
    cpu=Call(make=_bind_nth),
    gpu=Source("sort_and_select.cu", _launch_nth, Call(make=_bind_nth)),
    grad=_nth_back,
    doc=(
        "The element at index `n` of each row after sorting in ascending order or, if reverse is "
        "true, in descending order."
    ),
)


# -- search in sorted rows


def _infer_bound(context: InferContext) -> Sequence[TensorShape]:
    for matrix, what in zip(context.shapes, ("sorted_inputs", "values"), strict=True):
        if matrix.rank not in (None, 2):
            raise ValueError(f"{what} must be a matrix, but has shape {shape_text(matrix)}")
    rows = [matrix.sizes[0] for matrix in context.shapes if matrix.sizes is not None]
    if len(rows) == 2 and None not in rows and rows[0] != rows[1]:
        raise ValueError(f"sorted_inputs and values have {rows[0]} and {rows[1]} rows")
    return [context.shapes[1]]


def _launch_bound(side: str, signature: Signature) -> list[Launch]:
    (rows, size), count = signature.input_shapes[0], signature.input_shapes[1][1]
    total = rows * count
    arguments = (Arg(0), Arg(1), Arg(2), total, size, count, int(side == "right"))
    types = {"ELEMENT": signature.input_types[0]}
    defines = {"OUTPUT": f"int{8 * signature.output_types[0].size}_t"}
    block = (THREADS, 1, 1)
    return [Launch("gg_bound", grid_of(total), block, arguments, types, defines)]


def _bound_numbers(side: str, signature: Signature) -> list[int]:
    """Return the parameters of the native kernel (host_bounds.h)."""
    (rows, size), count = signature.input_shapes[0], signature.input_shapes[1][1]
    if size >= _MAX_ROW:
        raise NotImplementedError(f"rows of {size} elements are searched by NumPy")
    return [rows, size, count, int(side == "right"), int(signature.output_types[0].size == 8)]


_MAX_ROW = 1 << 30


def _find_by_halves(row: Any, wanted: Any, side: str) -> Any:
    """Return `np.searchsorted(row, wanted, side)`, computed by bisection. Comparisons with NaN are
    false, as in C.

    NumPy's function treats NaN as the largest number.
    """
    low, high = np.zeros(wanted.shape, np.int64), np.full(wanted.shape, row.size)
    while (low < high).any():
        middle = (low + high) // 2
        seen = row[np.minimum(middle, row.size - 1)]
        is_after = ~(wanted < seen) if side == "right" else seen < wanted
        low = np.where((low < high) & is_after, middle + 1, low)
        high = np.where((low < high) & ~is_after, middle, high)
    return low


def _declare_bound(name: str, side: Any, doc: str) -> Any:
    def find(rows: Any, values: Any, out: Any) -> None:
        ordered = (rows == rows).all() and (values == values).all()
        search = np.searchsorted if ordered else _find_by_halves
        for row, wanted, target in zip(rows, values, out, strict=True):
            target[...] = search(row, wanted, side)

    return op(
        name,
        inputs="sorted_inputs: T, values: T",
        outputs="output: out_type",
        attrs={"T": REAL, "out_type": Attr("type", dtypes.int32, allowed=INDEX)},
        infer=_infer_bound,
        cpu=Call(find),
        gpu=Source("searchsorted_bounds.cu", partial(_launch_bound, side), Call(find)),
        native=RowSource("host_bounds.h", "gg_bounds", partial(_bound_numbers, side)),
        grad=NO_GRADIENT,
        doc=f"The first index in each value's row of sorted_inputs whose element is {doc}.",
    )


_BOUNDS = {
    "left": _declare_bound("LowerBound", "left", "not less"),
    "right": _declare_bound("UpperBound", "right", "greater"),
}


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Return, for each of `values`, the index at which it would be inserted into the corresponding
    sorted row.

    Raises ValueError if `side` is neither "left" nor "right".

    Args:
      sorted_sequence: a tensor of shape [..., n] with sorted rows.
      values: a tensor of shape [..., m] with the same leading sizes.
      side: "left" for an index before equal elements, "right" for an index after equal elements.
      out_type: int32 or int64.
    """
    if side not in _BOUNDS:
        raise ValueError(f"side must be either 'right' or 'left', but it is {side!r}")
    rows = convert_to_tensor(sorted_sequence)
    wanted = convert_to_tensor(values, rows.dtype.base_dtype)
    matrices = [reshape(tensor, [-1, shape(tensor)[-1]]) for tensor in (rows, wanted)]
    bounds = _BOUNDS[side](*matrices, out_type=as_dtype(out_type), name=name)
    return reshape(bounds, shape(wanted))
