"""Ops that create or use indices (one_hot, where, unique, dynamic_stitch), and linspace.

The sizes of the results of Where, Unique and DynamicStitch depend on input values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, FLOATING, NUMERIC, DType, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, OpMemory, RowSource, Signature, Source
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.cuda_grids import item_type
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.numpy_conversion import zero_of
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import public_function
from gpugraph.ops.framework.row_update_launches import columns_and_rows
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN, normalize_axis, of_rank
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.indexing.partition_and_stitch_launches import stitched
from gpugraph.ops.indexing.row_sources import (
    coordinates_of_nonzero,
    different_elements,
    merged_rows,
)
from gpugraph.ops.indexing.where_and_unique_launches import unique_elements, where_nonzero_elements

# -- one hot


def _infer_one_hot(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [UNKNOWN]
    value = context.value(1)
    depth = None if value is None else ints(value)[0]
    if depth is not None and depth < 0:
        raise ValueError(f"depth must be non-negative, but is {depth}")
    axis = normalize_axis(context.attrs["axis"], len(sizes) + 1)
    return [TensorShape.of((*sizes[:axis], depth, *sizes[axis:]))]


def _bind_one_hot(
    context: KernelContext, indices: Any, on_value: Any, off_value: Any, out: Any
) -> Callable[[], Any]:
    axis = normalize_axis(context.attrs["axis"], out.ndim)
    places = np.arange(out.shape[axis], dtype=indices.dtype, like=indices)
    places = places.reshape((-1, *(1,) * (out.ndim - axis - 1)))
    chosen = indices.reshape((*out.shape[:axis], 1, *out.shape[axis + 1 :]))
    hot = context.scratch(out.shape, dtypes.bool)

    def run() -> None:
        np.equal(chosen, places, out=hot)
        np.copyto(out, off_value)
        np.copyto(out, on_value, where=hot)

    return run


def _launch_one_hot(signature: Signature) -> list[Launch]:
    shape = signature.output_shapes[0]
    axis = normalize_axis(signature.attrs["axis"], len(shape))
    outer, depth, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    defines: dict[str, str | int] = {"ITEM": item_type(signature.output_types[0])}
    options: dict[str, Any] = {"types": {"INDEX": signature.input_types[0]}, "defines": defines}
    arrays = Arg(0), Arg(1), Arg(2), Arg(3)
    if inner == 1:
        grid, block = columns_and_rows(outer, depth)
        return [Launch("gg_one_hot_rows", grid, block, (*arrays, outer, depth), **options)]
    grid, block = columns_and_rows(outer * depth, inner)
    return [Launch("gg_one_hot", grid, block, (*arrays, outer * depth, depth, inner), **options)]


def _hot_terms(signature: Signature, indices: Term, on_value: Term, off_value: Term) -> list[Term]:
    shape = signature.output_shapes[0]
    axis = normalize_axis(signature.attrs["axis"], len(shape))
    depth, inner = shape[axis], shape[axis + 1 :]
    wide = dtypes.int64 if indices.dtype is dtypes.int64 else dtypes.int32
    places = indices.index(depth, wide).expanded((depth, *(1,) * len(inner)))
    chosen = indices.expanded((*shape[:axis], 1, *inner))
    hot = places.apply("x == y", chosen, dtype=dtypes.bool)
    return [hot.apply("x ? y : z", on_value, off_value, dtype=on_value.dtype)]


def _hot_numbers(signature: Signature) -> list[int]:
    shape, dtype = signature.output_shapes[0], signature.output_types[0].base_dtype
    index = signature.input_types[0].base_dtype
    if normalize_axis(signature.attrs["axis"], len(shape)) != len(shape) - 1:
        raise NotImplementedError("the new axis is not the last one")
    if dtype.size not in (1, 2, 4, 8) or dtype is dtypes.string:
        raise NotImplementedError(f"elements of {dtype.name} are not moved as one word")
    if index not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError("indices are of 8 bits")
    return [prod(shape[:-1]), shape[-1], dtype.size, int(index.size == 8)]


_one_hot = op(
    "OneHot",
    inputs="indices: TI, depth: scalar int32, on_value: scalar T, off_value: scalar T",
    outputs="output: T",
    attrs={
        "axis": Attr("int", -1),
        "T": ALL,
        "TI": (dtypes.uint8, dtypes.int8, dtypes.int32, dtypes.int64),
    },
    infer=_infer_one_hot,
    memory=OpMemory(host_inputs=[1]),
    cpu=Call(make=_bind_one_hot),
    gpu=Source("one_hot.cu", _launch_one_hot, Call(make=_bind_one_hot)),
    native=decomposition(_hot_terms, RowSource("host_one_hot.h", "gg_one_hot", _hot_numbers, None)),
    grad=NO_GRADIENT,
    doc=(
        "A tensor with a new axis of size `depth`. Along this axis, the element at the index is "
        "on_value, and all other elements are off_value."
    ),
)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return a tensor that has the axes of `indices` and a new axis. Along the new axis, the
    element at the index is `on_value` (default 1), and all other elements are `off_value` (default
    0).

    Raises TypeError if the dtypes of `on_value`, `off_value` and `dtype` differ.

    Args:
      axis: the position of the new axis, by default the last. Its size is `depth`. For an index
        outside [0, depth), all elements are `off_value`.
      dtype: the dtype of the result. By default it is the dtype of `on_value` or `off_value`, or
        float32 if neither is passed.

    >>> session.run(tf.one_hot([0, 2], depth=3))
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    with op_scope(name, "one_hot", indices, depth, on_value, off_value) as scope:
        values = [(on_value, 1, "on_value"), (off_value, 0, "off_value")]
        tensors = [_convert(value, dtype, label) for value, _, label in values]
        types = [tensor.dtype.base_dtype for tensor in tensors if tensor is not None]
        element = types[0] if dtype is None and types else as_dtype(dtype or dtypes.float32)
        _check_types(tensors, dtype and element)
        if len(types) < 2 and element not in (*NUMERIC, dtypes.bool):
            raise TypeError(f"on_value and off_value must both be given for {element.name}")
        numbers = [
            constant(element.as_numpy_dtype(default), name=label) if tensor is None else tensor
            for tensor, (_, default, label) in zip(tensors, values, strict=True)
        ]
        return _one_hot(indices, depth, *numbers, axis=-1 if axis is None else axis, name=scope)


def _convert(value: Any, dtype: Any, name: str) -> Tensor | None:
    if value is None or isinstance(value, Tensor):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return convert_to_tensor(value, name=name)  # an array keeps its own dtype
    return convert_to_tensor(value, name=name, dtype_hint=dtype)


def _check_types(tensors: Sequence[Tensor | None], dtype: DType | None) -> None:
    """Raise TypeError unless on_value, off_value and `dtype` have the same dtype. Values of None
    are ignored.
    """
    labels = ("on_value", "off_value")
    known = [
        (label, tensor.dtype.base_dtype)
        for label, tensor in zip(labels, tensors, strict=True)
        if tensor is not None
    ]
    for label, other in known:
        if dtype is not None and other is not dtype:
            raise TypeError(f"dtype {other!r} of {label} does not match dtype parameter {dtype!r}")
    if len({other for _, other in known}) > 1:
        (_, on_type), (_, off_type) = known
        raise TypeError(
            f"dtype {on_type!r} of on_value does not match dtype {off_type!r} of off_value"
        )


# -- where


def _infer_where(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    return [TensorShape.of((None, None if sizes is None else len(sizes)))]


def _find(condition: Any) -> list[Any]:
    if condition.ndim == 0:
        return [np.zeros((int(bool(condition)), 0), np.int64)]
    return [np.argwhere(condition)]


where_nonzero = op(
    "Where",
    inputs="input: T",
    outputs="index: int64",
    attrs={"T": (*NUMERIC, dtypes.bool)},
    infer=_infer_where,
    cpu=Call(_find, dynamic=True),
    gpu=where_nonzero_elements(Call(_find, dynamic=True)),
    native=coordinates_of_nonzero(),
    grad=NO_GRADIENT,
    doc=(
        "The coordinates of the elements that are true or not zero, one row for each element, in "
        "row-major order."
    ),
)


# -- unique


def _infer_unique(context: InferContext) -> Sequence[TensorShape]:
    length = of_rank(context.shapes[0], 1, "x")
    different = TensorShape.of((None,))
    return [different, TensorShape.of(length), different][: context.num_outputs]


def _in_order_of_appearance(x: Any, index_type: Any) -> tuple[Any, Any]:
    """Return (distinct elements of a vector in order of appearance, index of each element among the
    distinct elements).

    Each NaN is a distinct element, because NaN is not equal to itself.
    """
    if x.dtype == object:
        numbers: dict[Any, int] = {}
        indices = [numbers.setdefault(text, len(numbers)) for text in x.tolist()]
        found = np.empty(len(numbers), object)
        found[:] = list(numbers)
        return found, np.array(indices, index_type)
    values, first, inverse = np.unique(x, return_index=True, return_inverse=True, equal_nan=False)
    order = np.argsort(first)
    place = np.empty(order.size, index_type)
    place[order] = np.arange(order.size)
    return values[order], place[inverse.reshape(-1)]


def _bind_unique(context: KernelContext, x: Any) -> Callable[[], Any]:
    index_type = context.output_types[1].as_numpy_dtype
    counts = len(context.output_types) > 2

    def run() -> list[Any]:
        values, indices = _in_order_of_appearance(x, index_type)
        if not counts:
            return [values, indices]
        return [values, indices, np.bincount(indices, minlength=len(values)).astype(index_type)]

    return run


def declare_unique(op_type: str, outputs: str, doc: str) -> OpFunction:
    """Declare Unique, or UniqueWithCounts, which has a third output for the counts."""
    return op(
        op_type,
        inputs="x: T",
        outputs=outputs,
        attrs={"T": ALL, "out_idx": Attr("type", dtypes.int32, allowed=INDEX)},
        infer=_infer_unique,
        cpu=Call(make=_bind_unique, dynamic=True),
        gpu=unique_elements(Call(make=_bind_unique, dynamic=True)),
        native=different_elements(),
        grad=NO_GRADIENT,
        doc=doc,
    )


_unique = declare_unique(
    "Unique",
    "y: T, idx: out_idx",
    "The distinct elements of a vector, in order of appearance, and the index of each x.",
)


def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return (y, idx). y has the distinct elements of the vector x, in the order of their first
    appearance, and x = y[idx].

    Args:
      out_idx: the dtype of idx, int32 or int64.

    >>> session.run(tf.unique([5, 7, 5]))
    Unique(y=array([5, 7], dtype=int32), idx=array([0, 1, 0], dtype=int32))

    Raises ValueError if x is not a vector.
    """
    return _unique(x, out_idx=out_idx, name=name)


# -- dynamic stitch


def _infer_stitch(context: InferContext) -> Sequence[TensorShape]:
    count = context.attrs["N"]
    rest, size = UNKNOWN, 0
    for index in range(count):
        where, data = context.shapes[index].sizes, context.shapes[count + index].sizes
        value = context.value(index)
        size = -1 if value is None or size < 0 else max(size, int(np.max(value, initial=-1)) + 1)
        if where is None or data is None:
            continue
        if not TensorShape.of(data[: len(where)]).is_compatible_with(TensorShape.of(where)):
            raise ValueError(
                f"data[{index}] of shape {shape_text(context.shapes[count + index])} must "
                "start with the "
                f"shape of indices[{index}], {shape_text(context.shapes[index])}"
            )
        rest = rest.merge_with(TensorShape.of(data[len(where) :]))
    return [TensorShape.of((None if size < 0 else size,)).concatenate(rest)]


def _stitch(*arrays: Any) -> list[Any]:
    count = len(arrays) // 2
    indices, data = arrays[:count], arrays[count:]
    size = max(int(np.max(where, initial=-1)) for where in indices) + 1
    shape, dtype = (size, *data[0].shape[indices[0].ndim :]), data[0].dtype
    merged = np.full(shape, zero_of(dtype), dtype)
    for where, values in zip(indices, data, strict=True):
        if where.size and where.min() < 0:
            raise invalid_argument(f"indices can't be negative: {where.min()}")
        flat = where.reshape(-1)
        merged[flat] = values.reshape(flat.shape + merged.shape[1:])
    return [merged]


def _stitch_back(op: Any, dy: Any) -> list[Any]:
    indices = op.inputs[: len(op.inputs) // 2]
    return [None] * len(indices) + [raw_ops.GatherV2(dy, where, 0) for where in indices]


def _declare_stitch(op_type: str, doc: str) -> Any:
    return op(
        op_type,
        inputs="indices: N * int32, data: N * T",
        outputs="merged: T",
        attrs={"N": Attr("int", required=True, minimum=1), "T": ALL},
        infer=_infer_stitch,
        cpu=Call(_stitch, dynamic=True),
        gpu=stitched(Call(_stitch, dynamic=True)),
        native=merged_rows(),
        grad=_stitch_back,
        doc=doc,
    )


dynamic_stitch_op = _declare_stitch(
    "DynamicStitch", "merged[indices[m][i]] = data[m][i]; later ones win, gaps are zero."
)
_declare_stitch("ParallelDynamicStitch", "DynamicStitch of indices that are all different.")


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """Interleave the tensors in `data` into one tensor: merged[indices[m][i, ...]] = data[m][i,
    ...].

    The size of the first axis is the largest index + 1. If an index occurs several times, the last
    slice with this index is used. Slices at missing indices are 0. Raises ValueError if the lists
    are empty.

    >>> session.run(tf.dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]))
    array([10, 20, 30], dtype=int32)
    """
    return dynamic_stitch_op(list(indices), list(data), name=name)


# -- linspace


def _infer_lin_space(context: InferContext) -> Sequence[TensorShape]:
    for shape in context.shapes:
        if not shape.is_compatible_with(SCALAR):
            raise ValueError(
                f"start, stop and num must be scalars, but one has shape {shape_text(shape)}"
            )
    value = context.value(2)
    count = None if value is None else ints(value)[0]
    if count is not None and count <= 0:
        raise ValueError(f"Requires num > 0: {count}")
    return [TensorShape.of((count,))]


def _bind_lin_space(_: KernelContext, start: Any, stop: Any, out: Any) -> Callable[[], Any]:
    steps = max(out.size - 1, 1)
    ramp = np.arange(out.size, dtype=out.dtype)

    def run() -> None:
        np.multiply(ramp, (stop - start) / out.dtype.type(steps), out=out)
        np.add(out, start, out=out)
        out[0] = start  # exact, even if `stop` is not finite
        if out.size > 1:
            out[-1] = stop

    return run


def _lin_space_terms(signature: Signature, start: Term, stop: Term) -> list[Term]:
    size = signature.output_shapes[0][0]
    ramp = start.index(size, start.dtype)
    values = ramp * ((stop - start) / max(size - 1, 1)) + start
    values = values.apply("y ? z : x", ramp.apply("x == (T)0", dtype=dtypes.bool), start)
    if size < 2:
        return [values]
    is_last = ramp.apply(f"x == (T){size - 1}", dtype=dtypes.bool)
    return [values.apply("y ? z : x", is_last, stop)]


lin_space: Callable[..., Tensor] = public_function(
    op(
        "LinSpace",
        inputs="start: T, stop: T, num: Tidx",
        outputs="output: T",
        attrs={"T": FLOATING, "Tidx": INDEX},
        infer=_infer_lin_space,
        memory=OpMemory(host_inputs=[2]),
        cpu=Call(make=_bind_lin_space),
        gpu=Call(make=_bind_lin_space),
        native=decomposition(_lin_space_terms),
        grad=NO_GRADIENT,
        doc=(
            "`num` evenly spaced values from `start` to `stop`, including both. Raises ValueError "
            "if num is below 1."
        ),
    )
)
linspace = lin_space
