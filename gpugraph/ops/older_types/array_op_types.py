"""Array ops of older graphs: Concat, ConjugateTranspose, TileGrad, BatchToSpace and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, INTEGRAL, NUMERIC
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory, Signature, ViewCopies
from gpugraph.ops.arrays.concat_and_stack import joined_along
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.arrays.reverse import REVERSIBLE, backwards
from gpugraph.ops.elementwise.arithmetic_functions import sum_in_order
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import Pairs, copying, ints
from gpugraph.ops.framework.op_declaration import DECLARATIONS, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import UNKNOWN, from_attr, of_rank, same_shape
from gpugraph.ops.indexing.gather import check_inside, gathered_rows
from gpugraph.ops.indexing.row_sources import gathered
from gpugraph.ops.older_types.numpy_op import numpy_op


def _reordered(context: InferContext, order: Sequence[int], extra: Any = None) -> InferContext:
    """Return a context in which the shape inference of a newer op type can run for this op.

    Args:
      order: for each input of the newer op type, the index of the corresponding input of this op.
      extra: the value of an additional last input.
    """
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


def _joined(signature: Signature, *arrays: Any) -> Pairs:
    *parts, out = arrays
    return joined_along(ints(signature.value(0))[0], parts, out)


def _concat_back(op: Any, dy: Any) -> list[Any]:
    axis, *parts = op.inputs
    shapes = raw_ops.ShapeN(parts)
    offsets = raw_ops.ConcatOffset(axis, shapes)
    pieces = [raw_ops.Slice(dy, *place) for place in zip(offsets, shapes, strict=True)]
    return [None, *pieces]


numpy_op(
    "Concat", "concat_dim: int32, values: N * T -> output: T",
    {"N": Attr("int", required=True, minimum=2), "T": ALL}, _infer_concat,
    Call(make=_bind_concat),
    "As ConcatV2, with the axis in front: the tensors joined along an axis.",
    _concat_back, memory=OpMemory(host_inputs=[0]), native=ViewCopies(_joined),
)  # fmt: skip


# -- Gather, ConjugateTranspose


def _infer_gather(context: InferContext) -> Sequence[TensorShape]:
    attrs = {**context.attrs, "batch_dims": 0}
    whole = _reordered(context, [0, 1], np.array(0, np.int32))
    whole.attrs = attrs
    return _infer_as("GatherV2", whole)


def _gather(params: Any, indices: Any, out: Any) -> None:
    check_inside(indices, params.shape[0])
    np.copyto(out, params[indices])


def _rows(signature: Signature) -> tuple[int, Sequence[int], int, int, int]:
    params, indices = signature.input_shapes
    return prod(indices), [params[0]], 1, prod(indices), prod(params[1:])


numpy_op(
    "Gather", "params: Tparams, indices: Tindices -> output: Tparams",
    {"validate_indices": Attr("bool", True), "Tparams": ALL, "Tindices": INDEX}, _infer_gather,
    Call(_gather), "The rows of params at `indices`.",
    lambda op, dy: [gathered_rows(op.inputs[0], op.inputs[1], dy), None],
    native=gathered(_rows),
)  # fmt: skip


def _infer_transposed(context: InferContext) -> Sequence[TensorShape]:
    return _infer_as("Transpose", context)


def _bind_conjugate(context: KernelContext, x: Any, y: Any) -> Callable[[], Any]:
    turned = x.transpose([axis % max(x.ndim, 1) for axis in ints(context.value(1))])
    if x.dtype.kind == "c":
        return lambda: np.conj(turned, out=y)
    return lambda: np.copyto(y, turned)


numpy_op(
    "ConjugateTranspose", "x: T, perm: Tperm -> y: T", {"T": ALL, "Tperm": INDEX},
    _infer_transposed,
    Call(make=_bind_conjugate),
    "The conjugates of x's elements, with dimension i taken from dimension perm[i].",
    lambda op, dy: [
        raw_ops.ConjugateTranspose(dy, raw_ops.InvertPermutation(op.inputs[1])),
        None,
    ], memory=OpMemory(host_inputs=[1]),
)  # fmt: skip


# -- Reverse, by a bool for each axis


def _infer_flagged(context: InferContext) -> Sequence[TensorShape]:
    (count,) = of_rank(context.shapes[1], 1, "dims")
    rank = context.shapes[0].rank
    if rank is None:
        return [TensorShape.of(None if count is None else (None,) * count)]
    if rank > 8:
        raise ValueError(
            f"reverse does not work on tensors with more than 8 dimensions, but {rank}"
        )
    if count not in (None, rank):
        raise ValueError(f"dims must have an entry for each of {rank} dimensions, but has {count}")
    return [context.shapes[0]]


def _flagged(signature: Signature, source: Any, out: Any) -> Pairs:
    return [(backwards(source, np.flatnonzero(signature.value(1)).tolist()), out)]


op(
    "Reverse", inputs="tensor: T, dims: bool", outputs="output: T", attrs={"T": REVERSIBLE},
    infer=_infer_flagged, memory=OpMemory(host_inputs=[1]), **copying(_flagged),
    grad=lambda op, dy: [raw_ops.Reverse(dy, op.inputs[1]), None],
    doc=(
        "The tensor with its elements in reverse order along each axis whose entry of `dims` is "
        "true."
    ),
)  # fmt: skip


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


numpy_op(
    "TileGrad", "input: T, multiples: int32 -> output: T", {"T": NUMERIC}, _infer_tile_grad,
    Call(make=_bind_tile_grad),
    "The sum of the tiles of which the input has multiples[i] along dimension i.",
    lambda op, dy: [raw_ops.Tile(dy, op.inputs[1]), None], memory=OpMemory(host_inputs=[1]),
)  # fmt: skip


# -- AccumulateNV2, PopulationCount, CompareAndBitpack


def _sum_all(*arrays: Any) -> None:
    *terms, out = arrays
    np.copyto(out, terms[0])
    for term in terms[1:]:
        np.add(out, term, out=out)


numpy_op(
    "AccumulateNV2", "inputs: N * T -> sum: T", {"T": NUMERIC,
    "shape": Attr("shape", required=True)}, from_attr("shape"),
    Call(_sum_all), "The sum of N tensors of the shape `shape`.",
    lambda op, dy: [dy] * len(op.inputs), commutative=True, native=decomposition(sum_in_order),
)  # fmt: skip


def _bits_of(signature: Signature, x: Term) -> list[Term]:
    size = 8 * x.dtype.size
    if size > 32:
        return [x.apply("gg_set_bits((uint64_t)x)", dtype=dtypes.uint8)]
    return [x.apply(f"gg_set_bits((uint{size}_t)x)", dtype=dtypes.uint8)]


def _count_bits(x: Any, y: Any) -> None:
    words = np.ascontiguousarray(x).reshape(-1, 1).view(np.uint8)
    np.copyto(y, np.unpackbits(words, axis=1).sum(axis=1, dtype=np.uint8).reshape(y.shape))


numpy_op(
    "PopulationCount", "x: T -> y: uint8", {"T": INTEGRAL}, same_shape(0),
    Call(_count_bits), "The number of bits of each integer that are 1, in two's complement.",
    native=decomposition(_bits_of),
)  # fmt: skip


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


numpy_op(
    "CompareAndBitpack", "input: T, threshold: T -> output: uint8", {"T": _PACKED}, _infer_packed,
    Call(make=_bind_packed),
    "Whether elements are above the threshold, eight to a byte, the first in the highest bit.",
)  # fmt: skip
