"""Array functions under older or rarer names: bits as another type, repeats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import NUMERIC, as_dtype
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, Signature, Source
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.row_update_launches import copied
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.reductions.argmax_and_argmin import argmax, argmin

# -- the same bits


def _infer_bitcast(context: InferContext) -> Sequence[TensorShape]:
    source, target = context.attrs["T"].size, context.attrs["type"].size
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [UNKNOWN]
    if source == target:
        return [context.shapes[0]]
    if source > target:
        return [TensorShape.of((*sizes, source // target))]
    ratio = target // source
    if not sizes or sizes[-1] not in (None, ratio):
        shape = context.shapes[0]
        raise ValueError(f"Cannot bitcast: the last size of {shape} must be {ratio}, and it goes")
    return [TensorShape.of(sizes[:-1])]


def _bind_bitcast(_: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    given, made = source.reshape(-1).view(np.uint8), out.reshape(-1).view(np.uint8)
    return lambda: np.copyto(made, given)


def _launch_bitcast(signature: Signature) -> list[Launch]:
    """By the largest of the elements that fit."""
    given, made = signature.input_types[0], signature.output_types[0]
    if given.size > made.size:
        return [copied(Arg(0), Arg(1), prod(signature.input_shapes[0]), given)]
    return [copied(Arg(0), Arg(1), prod(signature.output_shapes[0]), made)]


_bitcast = op(
    "Bitcast",
    inputs="input: T",
    outputs="output: type",
    attrs={"T": NUMERIC, "type": NUMERIC},
    infer=_infer_bitcast,
    cpu=Call(make=_bind_bitcast, direct=True),
    gpu=Source("row_gather_and_put.cu", _launch_bitcast, Call(make=_bind_bitcast, direct=True)),
    grad=NO_GRADIENT,
    doc="The bits of the input as another type: a further axis of its parts, or one axis less.",
)


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The bits of `input` as numbers of another dtype.

    Of a smaller dtype there is a further last axis; of a larger one the last axis, which must be
    of so many elements (ValueError), goes.
    """
    return _bitcast(input, type=as_dtype(type), name=name)


# -- made of other ops


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """`gather` of each batch by itself: all but the last axis of `indices` are batches.

    ValueError where the rank of `indices` is unknown, or it is a scalar.
    """
    with op_scope(name, "BatchGather", params, indices):
        where = convert_to_tensor(indices, name="indices")
        if not where.shape.rank:
            raise ValueError("batch_gather needs indices of known rank, of 1 or more")
        batches = where.shape.rank - 1
        return gather(convert_to_tensor(params, name="params"), where, batch_dims=batches)


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Each part along `axis` so many times: `repeats` is a number, or one for each part.

    Without an axis, of the elements laid flat. ValueError for an axis that `input` hasn't.
    """
    with op_scope(name, "Repeat", input, repeats):
        data = convert_to_tensor(input, name="input")
        if axis is None:
            data, axis = raw_ops.Reshape(data, np.array([-1], np.int32)), 0
        rank = data.shape.rank
        if rank is None:
            raise ValueError("repeat needs an input of known rank")
        at = normalize_axis(axis, rank)
        times = convert_to_tensor(repeats, dtypes.int32, name="repeats")
        one = np.array([1], np.int32)
        size = raw_ops.StridedSlice(
            raw_ops.Shape(data), one * at, one * (at + 1), one, shrink_axis_mask=1
        )
        counts = raw_ops.BroadcastTo(times, raw_ops.ExpandDims(size, 0))
        ends = raw_ops.Cumsum(counts, 0)
        total = raw_ops.Sum(counts, np.array([0], np.int32))
        places = raw_ops.Range(0, total, 1)
        rows = raw_ops.UpperBound(raw_ops.ExpandDims(ends, 0), raw_ops.ExpandDims(places, 0))
        made = gather(data, raw_ops.Squeeze(rows, squeeze_dims=[0]), axis=at)
        known, sizes = constant_value(times), list(data.shape.sizes or ())
        parts = sizes[at]
        if known is not None and parts is not None:
            sizes[at] = int(np.broadcast_to(known, parts).sum())
            made.set_shape(sizes)
        return made


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`cast`, but what the dtype can't hold becomes its largest or smallest number."""
    with op_scope(name, "saturate_cast", value) as scope:
        given, wanted = convert_to_tensor(value, name="value"), as_dtype(dtype).base_dtype
        kind = given.dtype.base_dtype
        made = given
        if kind.min < wanted.min:
            made = raw_ops.Maximum(made, np.array(wanted.min, kind.as_numpy_dtype))
        if kind.max > wanted.max:
            made = raw_ops.Minimum(made, np.array(wanted.max, kind.as_numpy_dtype))
        return cast(made, wanted, scope)


def to_complex64(x: Any, name: str = "ToComplex64") -> Tensor:
    """`cast(x, complex64)`."""
    return cast(x, dtypes.complex64, name)


def to_complex128(x: Any, name: str = "ToComplex128") -> Tensor:
    """`cast(x, complex128)`."""
    return cast(x, dtypes.complex128, name)


def arg_max(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """`argmax` along `dimension`."""
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """`argmin` along `dimension`."""
    return argmin(input, dimension, name, output_type=output_type)
