"""EditDistance, which counts the insertions, deletions and replacements between two sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument as _refusal
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, RowSource, Signature
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.sparse.sparse_positions import check_parts
from gpugraph.ops.sparse.sparse_tensor import expect_sparse
from gpugraph.ops.strings.native_texts import text_numbers


def _infer(context: InferContext) -> Sequence[TensorShape]:
    for shape, rank in zip(context.shapes, (2, 1, 1, 2, 1, 1), strict=True):
        of_rank(shape, rank, "A part of a sparse tensor")
    if not context.is_building:
        for first in (0, 3):
            check_parts(context, first)
    one, other = context.value(2), context.value(5)
    if one is not None and other is not None and len(one) == len(other):
        sizes = np.maximum(one, other)[:-1]
        return [TensorShape.of(tuple(int(size) for size in sizes))]
    for shape in (context.shapes[2], context.shapes[5]):
        if shape.sizes is not None and shape.sizes[0]:
            return [TensorShape.of((None,) * (shape.sizes[0] - 1))]
    return [TensorShape.of(None)]


def _sequences(indices: Any, values: Any) -> dict[tuple[int, ...], list[Any]]:
    """Return a dict of the sequences. The key of a sequence consists of the indices that all its
    elements have in common, which are all indices except the last.
    """
    sequences: dict[tuple[int, ...], list[Any]] = {}
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        sequences.setdefault(tuple(index[:-1]), []).append(value)
    return sequences


def _distance(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return the Levenshtein distance of two sequences. The table of distances is computed row by
    row.
    """
    row = list(range(len(other) + 1))
    for count, element in enumerate(one, 1):
        last, row[0] = row[0], count
        for column, wanted in enumerate(other, 1):
            replaced = last + (element != wanted)
            last = row[column]
            row[column] = min(replaced, row[column] + 1, row[column - 1] + 1)
    return row[-1]


def _check(indices: Sequence[Any], values: Sequence[Any], sizes: Sequence[Any]) -> None:
    if len(sizes[0]) != len(sizes[1]):
        raise _refusal(
            "truth_shape and hypothesis_shape must have the same rank, but are of "
            f"{len(sizes[1])} and {len(sizes[0])}"
        )
    if len(sizes[0]) < 2:
        raise _refusal(
            "Input SparseTensors must have rank at least 2, but truth_shape rank is: "
            f"{len(sizes[1])}"
        )
    for rows, elements, shape in zip(indices, values, sizes, strict=True):
        if len(rows) != len(elements) or rows.shape[1] != len(shape):
            raise _refusal(
                f"{len(elements)} values in shape {shape.tolist()} don't go with indices of shape "
                f"{shape_text(rows.shape)}"
            )
        if rows.size and ((rows < 0) | (rows >= shape)).any():
            raise _refusal(f"Some of the indices are outside of the shape {shape.tolist()}")


def _bind(context: KernelContext, *parts: Any) -> Callable[[], Any]:
    normalizes = context.attrs["normalize"]
    indices, values, sizes = parts[0::3], parts[1::3], parts[2::3]

    def run() -> list[Any]:
        _check(indices, values, sizes)
        out = np.zeros(np.maximum(*sizes)[:-1], np.float32)
        hypotheses, truths = map(_sequences, indices, values)
        for place in hypotheses.keys() | truths.keys():
            hypothesis, truth = hypotheses.get(place, []), truths.get(place, [])
            distance: float = _distance(hypothesis, truth)
            if normalizes:
                distance = distance / len(truth) if truth else np.inf
            out[place] = distance
        return [out]

    return run


def _native() -> RowSource:
    """Return the native kernel (host_edit_distance.h)."""

    def parameters(signature: Signature) -> list[int]:
        shape, dtype = signature.output_shapes[0], signature.input_types[1].base_dtype
        if dtype not in _KINDS:
            raise NotImplementedError(f"elements of {dtype.name} are compared by Python")
        one, other = (signature.input_shapes[slot] for slot in (0, 3))
        if len(shape) + 1 != one[1] or one[1] != other[1]:
            raise NotImplementedError("the ranks differ")
        normalizes = int(bool(signature.attrs["normalize"]))
        head = text_numbers(signature)
        return [*head, one[0], other[0], len(shape), *shape, _KINDS[dtype], normalizes]

    def sizes(_: Signature, *parts: Any) -> list[tuple[int, ...]]:
        if len(parts[2]) != len(parts[5]):
            raise NotImplementedError("the ranks differ")
        return [tuple(np.maximum(parts[2], parts[5])[:-1].tolist())]

    return RowSource("host_edit_distance.h", "gg_edit_distance", parameters, None, sizes=sizes)


_KINDS = {
    dtypes.int8: 0,
    dtypes.int16: 1,
    dtypes.int32: 2,
    dtypes.int64: 3,
    dtypes.float32: 4,
    dtypes.float64: 5,
    dtypes.string: 6,
}
"""The kind of an element in host_edit_distance.h, by dtype."""

_edit_distance = op(
    "EditDistance",
    inputs="hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64",
    outputs="output: float32",
    attrs={"normalize": Attr("bool", True), "T": ALL},
    infer=_infer,
    cpu=Call(make=_bind, dynamic=True),
    native=_native(),
    gpu=HostOnly("which elements are a sequence depends on indices, which the host must read"),
    grad=NO_GRADIENT,
    doc=(
        "The Levenshtein distances of sequences, which are along the last axis of two sparse "
        "tensors. If normalize is true, a distance is divided by the length of the truth."
    ),
)


def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
) -> Tensor:
    """Count the insertions, deletions and replacements that turn hypotheses into truths, as
    float32.

    The result has all dimensions of the inputs except the last. Raises TypeError if an input is not
    sparse. A run raises InvalidArgumentError if the ranks differ or indices are out of bounds.

    Args:
      hypothesis, truth: SparseTensors of the same rank and dtype, in row-major order. The sequences
        are along the last dimension.
      normalize: whether to divide each count by the length of the truth. If this length is 0, the
        result is infinite.
    """
    one, other = expect_sparse(hypothesis), expect_sparse(truth)
    return _edit_distance(*one._parts(), *other._parts(), normalize=normalize, name=name)
