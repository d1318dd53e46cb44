"""Ops that join strings at the same index of several tensors, along axes, or by segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import OutOfRangeError, invalid_argument as _refusal
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.identity_and_shape import rank
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.strings.native_texts import joined, segments
from gpugraph.ops.strings.string_ops import host_op

_SEPARATOR = Attr("string", "")


# -- of several tensors


def _infer_join(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape of the result. All inputs that are not scalars must have the same shape."""
    if any(shape.sizes is None for shape in context.shapes):
        return [UNKNOWN]
    result = SCALAR
    for shape in context.shapes:
        if shape.sizes:
            result = result.merge_with(shape) if result.sizes else shape
    return [result]


def _bind_join(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    *inputs, out = arrays
    separator = context.attrs["separator"].encode("utf-8")

    def run() -> None:
        spread = [np.broadcast_to(array, out.shape) for array in inputs]
        for index in np.ndindex(out.shape):
            out[index] = separator.join([array[index] for array in spread])

    return run


_string_join = host_op(
    "StringJoin",
    Call(make=_bind_join),
    "The strings at each index of all inputs, joined; scalars are joined at every index.",
    inputs="inputs: N * string",
    infer=_infer_join,
    native=joined(),
    N=Attr("int", required=True, minimum=1),
    separator=_SEPARATOR,
)


def string_join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Join the strings at each index of the tensors `inputs`, with `separator` between them.

    The tensors must have the same shape, except for scalars, which are joined at every index.
    Raises ValueError if the shapes differ.

    >>> session.run(tf.string_join(["a", "b"], separator="-"))
    b'a-b'
    """
    return _string_join(inputs, separator=separator, name=name)


# -- along axes


def _axes(value: Any, rank: int) -> list[int]:
    """Return the axes in the order of `value`, as non-negative numbers.

    Raises a Misfit if an axis is out of range. The Misfit is a ValueError at graph construction,
    and an OutOfRangeError in a run.
    """
    for axis in ints(value):
        if not -rank <= axis < rank:
            words = f"Invalid reduction dimension {axis} for input with {rank} dimension"
            raise Misfit(f"{words}s", f"{words}(s)", error_class=OutOfRangeError)
    return [axis % rank for axis in ints(value)]


def _infer_reduce(context: InferContext) -> Sequence[TensorShape]:
    source, axes = context.shapes
    if context.is_building and axes.sizes is not None and len(axes.sizes) > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {len(axes.sizes)}")
    value = context.value(1)
    if source.sizes is None:
        return [UNKNOWN]
    if value is None:
        keeps = context.attrs["keep_dims"]
        return [TensorShape.of((None,) * len(source.sizes)) if keeps else UNKNOWN]
    joined, sizes = _axes(value, len(source.sizes)), enumerate(source.sizes)
    if context.attrs["keep_dims"]:
        return [TensorShape.of(tuple(1 if axis in joined else size for axis, size in sizes))]
    return [TensorShape.of(tuple(size for axis, size in sizes if axis not in joined))]


def _bind_reduce(context: KernelContext, source: Any, axes: Any) -> Callable[[], Any]:
    separator = context.attrs["separator"].encode("utf-8")
    keeps = context.attrs["keep_dims"]

    def run() -> list[Any]:
        joined = _axes(axes, source.ndim)
        for index, axis in enumerate(joined):
            if axis in joined[:index]:
                raise _refusal(f"Duplicate reduction dimension {ints(axes)[index]}")
        others = [axis for axis in range(source.ndim) if axis not in joined]
        rows = source.transpose([*others, *reversed(joined)])
        shape = tuple(source.shape[axis] for axis in others)
        out = np.empty(shape, object)
        for place in np.ndindex(shape):
            out[place] = separator.join(np.asarray(rows[place], object).reshape(-1).tolist())
        if keeps:
            sizes = [1 if axis in joined else size for axis, size in enumerate(source.shape)]
            return [out.reshape(sizes)]
        return [out]

    return run


_reduce_join = host_op(
    "ReduceJoin",
    Call(make=_bind_reduce, dynamic=True),
    "The strings along the axes joined: along the first one, the results along the next.",
    inputs="inputs: string, reduction_indices: int32",
    infer=_infer_reduce,
    keep_dims=Attr("bool", False),
    separator=_SEPARATOR,
)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Join the strings along `axis`, with `separator` between them. `axis` is one axis, several
    axes, or by default all axes.

    Strings are first joined along the first of the axes, the results are then joined along the next
    axis, and so on. The default order is from the last axis to the first, which is row by row. The
    axes are removed, or kept with size 1 if `keepdims` is true. `reduction_indices` and `keep_dims`
    are older names of `axis` and `keepdims`.

    Raises ValueError if an axis is out of range. If the axes are known only in a run, the run
    raises OutOfRangeError instead. A run raises InvalidArgumentError if an axis is named twice.
    """
    if axis is not None and reduction_indices is not None:
        raise ValueError("Cannot specify both 'axis' and 'reduction_indices'")
    if keepdims is not None and keep_dims is not None:
        raise ValueError("Cannot specify both 'keepdims' and 'keep_dims'")
    source = convert_to_tensor(inputs, dtypes.string)
    axes = axis if axis is not None else reduction_indices
    keeps = bool(keepdims if keepdims is not None else keep_dims)
    with op_scope(name, "ReduceJoin", source):
        if axes is None:
            axes = _all_axes(source)
        elif isinstance(axes, (list, tuple)) and not axes:
            axes = np.zeros(0, np.int32)
        return _reduce_join(source, axes, keep_dims=keeps, separator=separator)


def _all_axes(source: Tensor) -> Tensor:
    """Return all axes from the last to the first, which is the order for joining strings row by
    row.
    """
    sizes = source.shape.sizes
    if sizes is not None:
        return constant(np.arange(len(sizes) - 1, -1, -1, dtype=np.int32))
    return range_of(rank(source) - 1, -1, -1)


# -- by segments


def _infer_segments(context: InferContext) -> Sequence[TensorShape]:
    source, segments, _ = context.shapes
    count = context.value(2)
    if count is not None:
        if np.ndim(count) != 0:
            raise ValueError("Number of segments must be a scalar")
        if count < 0:
            raise ValueError(f"Number of segments must be non-negative but got {count}")
    if source.sizes is None or segments.sizes is None:
        return [UNKNOWN]
    depth = len(segments.sizes)
    if len(source.sizes) < depth:
        raise ValueError(
            f"segment_ids {shape_text(segments)} have more dimensions than the inputs "
            f"{shape_text(source)}"
        )
    TensorShape.of(source.sizes[:depth]).merge_with(segments)
    first = None if count is None else int(count)
    return [TensorShape.of((first, *source.sizes[depth:]))]


def _bind_segments(
    context: KernelContext, source: Any, segments: Any, count: Any
) -> Callable[[], Any]:
    separator = context.attrs["separator"].encode("utf-8")

    def run() -> list[Any]:
        if count.ndim:
            raise _refusal("Number of segments must be a scalar")
        number, depth = int(count), segments.ndim
        if number < 0:
            raise _refusal(f"Number of segments must be non-negative but got {number}")
        if source.shape[:depth] != segments.shape:
            raise _refusal(
                f"segment_ids {shape_text(segments.shape)} must be a prefix of the inputs' shape "
                f"{shape_text(source.shape)}"
            )
        return [_by_segments(source, segments, number, separator)]

    return run


def _by_segments(source: Any, segments: Any, number: int, separator: bytes) -> Any:
    """Return the joined strings of each segment, [number, ...]. There is no separator after leading
    empty strings.
    """
    rest = source.shape[segments.ndim :]
    width = int(np.prod(rest, dtype=np.int64))
    rows = source.reshape(segments.size, width)
    texts = np.full((number, width), b"", object)
    for segment, row in zip(segments.reshape(-1).tolist(), rows):
        if not 0 <= segment < number:
            raise _refusal(
                "segment_ids are not allowed to exceed num_segments or to have negative values: "
                f"one is {segment}, and num_segments is {number}"
            )
        for column, text in enumerate(row):
            before = texts[segment, column]
            texts[segment, column] = before + separator + text if before else text
    return texts.reshape((number, *rest))


_INDEX = (dtypes.int32, dtypes.int64)
host_op(
    "UnsortedSegmentJoin",
    Call(make=_bind_segments, dynamic=True),
    "The strings of each segment joined; output[i] has those whose segment_ids are i.",
    inputs="inputs: string, segment_ids: Tindices, num_segments: Tnumsegments",
    infer=_infer_segments,
    native=segments(),
    separator=_SEPARATOR,
    Tindices=_INDEX,
    Tnumsegments=_INDEX,
)


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """Join the strings with the same segment id, with `separator` between them.

    Element i of the result joins the strings with the segment id i. The shape of the result is
    [num_segments], followed by the remaining axes of `inputs`. A run raises InvalidArgumentError if
    an id is outside [0, num_segments).

    Args:
      segment_ids: a tensor whose shape is the shape of the first axes of `inputs`.
    """
    return raw_ops.UnsortedSegmentJoin(
        inputs, segment_ids, num_segments, separator=separator, name=name
    )
