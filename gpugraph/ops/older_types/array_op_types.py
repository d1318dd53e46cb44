"""Array ops as older graphs have them: Concat, ConjugateTranspose, TileGrad, BatchToSpace, ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, INTEGRAL, NUMERIC
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import ints, numpy_kernels
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import UNKNOWN, from_attr, same_shape
from gpugraph.ops.indexing.gather import check_inside


def _reordered(context: InferContext, order: Sequence[int], extra: Any = None) -> InferContext:
    """The context of the newer op: its inputs are these, and `extra`."""
    shapes = [context.shapes[index] for index in order]
    types = [context.dtypes[index] for index in order]
    values = [context.value(index) for index in order]
    partials = [context.partial(index) for index in order]
    if extra is not None:
        shapes.append(TensorShape.of(np.shape(extra)))
        values.append(extra)
        partials.append(None)
    return InferContext(
        shapes, context.attrs, types, context.num_outputs, values.__getitem__, partials.__getitem__
    )


def _infer_as(op_type: str, context: InferContext) -> Sequence[TensorShape]:
    infer = DECLARATIONS[op_type].op_def.infer
    assert infer is not None
    return infer(context)


# -- Concat


def _infer_concat(context: InferContext) -> Sequence[TensorShape]:
    last = list(range(1, len(context.shapes)))
    return _infer_as("ConcatV2", _reordered(context, [*last, 0]))


def _bind_concat(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    *parts, out = arrays
    axis = ints(context.value(0))[0]
    return lambda: np.concatenate(parts, axis, out)


def _concat_back(op: Any, dy: Any) -> list[Any]:
    axis, *parts = op.inputs
    shapes = raw_ops.ShapeN(parts)
    offsets = raw_ops.ConcatOffset(axis, shapes)
    pieces = [raw_ops.Slice(dy, *place) for place in zip(offsets, shapes, strict=True)]
    return [None, *pieces]


op(
    "Concat",
    inputs="concat_dim: int32, values: N * T",
    outputs="output: T",
    attrs={"N": Attr("int", required=True, minimum=2), "T": ALL},
    infer=_infer_concat,
    host=[0],
    **numpy_kernels(Call(make=_bind_concat)),
    grad=_concat_back,
    doc="As ConcatV2, with the axis in front: the tensors joined along an axis.",
)


# -- Gather, ConjugateTranspose


def _infer_gather(context: InferContext) -> Sequence[TensorShape]:
    attrs = {**context.attrs, "batch_dims": 0}
    whole = _reordered(context, [0, 1], np.array(0, np.int32))
    whole.attrs = attrs
    return _infer_as("GatherV2", whole)


def _gather(params: Any, indices: Any, out: Any) -> None:
    check_inside(indices, params.shape[0])
    np.copyto(out, params[indices])


op(
    "Gather",
    inputs="params: Tparams, indices: Tindices",
    outputs="output: Tparams",
    attrs={"validate_indices": Attr("bool", True), "Tparams": ALL, "Tindices": INDEX},
    infer=_infer_gather,
    **numpy_kernels(Call(_gather)),
    grad=lambda op, dy: [
        raw_ops.ScatterNd(
            raw_ops.ExpandDims(op.inputs[1], -1),
            dy,
            raw_ops.Shape(op.inputs[0], out_type=op.inputs[1].dtype.base_dtype),
        ),
        None,
    ],
    doc="The rows of params at `indices`.",
)


def _infer_transposed(context: InferContext) -> Sequence[TensorShape]:
    return _infer_as("Transpose", context)


def _bind_conjugate(context: KernelContext, x: Any, y: Any) -> Callable[[], Any]:
    turned = x.transpose([axis % max(x.ndim, 1) for axis in ints(context.value(1))])
    if x.dtype.kind == "c":
        return lambda: np.conj(turned, out=y)
    return lambda: np.copyto(y, turned)


op(
    "ConjugateTranspose",
    inputs="x: T, perm: Tperm",
    outputs="y: T",
    attrs={"T": ALL, "Tperm": INDEX},
    infer=_infer_transposed,
    host=[1],
    **numpy_kernels(Call(make=_bind_conjugate)),
    grad=lambda op, dy: [
        raw_ops.ConjugateTranspose(dy, raw_ops.InvertPermutation(op.inputs[1])),
        None,
    ],
    doc="The conjugates of x's elements, with dimension i taken from dimension perm[i].",
)


# -- TileGrad


def _infer_tile_grad(context: InferContext) -> Sequence[TensorShape]:
    sizes, value = context.shapes[0].sizes, context.value(1)
    if sizes is None:
        return [UNKNOWN]
    if value is None:
        return [TensorShape.of((None,) * len(sizes))]
    times = ints(value)
    if len(times) != len(sizes) or min(times, default=1) < 1:
        raise ValueError(f"multiples must be {len(sizes)} numbers of 1 or more, but are {times}")
    pairs = zip(sizes, times, strict=True)
    return [TensorShape.of(tuple(None if n is None else n // count for n, count in pairs))]


def _bind_tile_grad(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    split: list[int] = []
    for count, size in zip(ints(context.value(1)), out.shape, strict=True):
        split += [count, size]
    axes = tuple(range(0, len(split), 2))
    return lambda: np.sum(source.reshape(split), axis=axes, out=out)


op(
    "TileGrad",
    inputs="input: T, multiples: int32",
    outputs="output: T",
    attrs={"T": NUMERIC},
    infer=_infer_tile_grad,
    host=[1],
    **numpy_kernels(Call(make=_bind_tile_grad)),
    grad=lambda op, dy: [raw_ops.Tile(dy, op.inputs[1]), None],
    doc="The sum of the tiles of which the input has multiples[i] along dimension i.",
)


# -- AccumulateNV2, PopulationCount, CompareAndBitpack


def _sum_all(*arrays: Any) -> None:
    *terms, out = arrays
    np.copyto(out, terms[0])
    for term in terms[1:]:
        np.add(out, term, out=out)


op(
    "AccumulateNV2",
    inputs="inputs: N * T",
    outputs="sum: T",
    attrs={"T": NUMERIC, "shape": Attr("shape", required=True)},
    infer=from_attr("shape"),
    commutative=True,
    **numpy_kernels(Call(_sum_all)),
    grad=lambda op, dy: [dy] * len(op.inputs),
    doc="The sum of N tensors of the shape `shape`.",
)


def _count_bits(x: Any, y: Any) -> None:
    words = np.ascontiguousarray(x).reshape(-1, 1).view(np.uint8)
    np.copyto(y, np.unpackbits(words, axis=1).sum(axis=1, dtype=np.uint8).reshape(y.shape))


op(
    "PopulationCount",
    inputs="x: T",
    outputs="y: uint8",
    attrs={"T": INTEGRAL},
    infer=same_shape(0),
    **numpy_kernels(Call(_count_bits)),
    grad=NO_GRADIENT,
    doc="How many bits of each integer are 1, in two's complement.",
)


_PACKED = (
    dtypes.bool,
    *(dtypes.float16, dtypes.float32, dtypes.float64),
    *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
)


def _infer_packed(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].with_rank_at_least(1).sizes
    if sizes is None:
        return [UNKNOWN]
    if sizes[-1] is not None and sizes[-1] % 8:
        raise ValueError(f"Inner dimension must be divisible by 8, but is {sizes[-1]}")
    return [TensorShape.of((*sizes[:-1], None if sizes[-1] is None else sizes[-1] // 8))]


def _bind_packed(_: KernelContext, source: Any, threshold: Any, out: Any) -> Callable[[], Any]:
    def run() -> None:
        if source.shape[-1] % 8:
            raise invalid_argument(f"Inner dimension must be divisible by 8: {source.shape}")
        np.copyto(out, np.packbits(source > threshold, axis=-1))

    return run


op(
    "CompareAndBitpack",
    inputs="input: T, threshold: T",
    outputs="output: uint8",
    attrs={"T": _PACKED},
    infer=_infer_packed,
    **numpy_kernels(Call(make=_bind_packed)),
    grad=NO_GRADIENT,
    doc="Whether elements are above the threshold, eight to a byte, the first in the highest bit.",
)
