"""Shape inference that many ops share: functions of an `InferContext`, for `op(infer=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, broadcast_shapes
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.inference_context import (
    InferContext,
    InferFunction,
    as_output_shape as as_output_shape,
)

SCALAR = TensorShape.of(())
UNKNOWN = TensorShape.of(None)


def same_shape(index: int) -> InferFunction:
    """Every output has the shape of input `index`."""

    def infer(context: InferContext) -> Sequence[TensorShape]:
        return [context.shapes[index]] * context.num_outputs

    return infer


IN_PLACE: dict[str, Any] = {"infer": same_shape(0), "alias": {0: 0}}
"""Of ops whose output has the shape of input 0, and may use its memory."""


def broadcast(context: InferContext) -> Sequence[TensorShape]:
    """The output has the shape of all inputs broadcast against each other."""
    shape = context.shapes[0]
    for other in context.shapes[1:]:
        shape = broadcast_shapes(shape, other)
    return [shape]


def scalar(context: InferContext) -> Sequence[TensorShape]:
    """Every output is a scalar."""
    return [SCALAR] * context.num_outputs


def unknown(context: InferContext) -> Sequence[TensorShape]:
    """Nothing is known of the outputs' shapes before the kernel has run."""
    return [UNKNOWN] * context.num_outputs


def no_outputs(_: InferContext) -> Sequence[TensorShape]:
    """The op has no outputs."""
    return []


def from_attr(key: str) -> InferFunction:
    """Every output has the shape in attr `key`."""

    def infer(context: InferContext) -> Sequence[TensorShape]:
        return [context.attrs[key]] * context.num_outputs

    return infer


def from_value(index: int) -> InferFunction:
    """The output has the shape that input `index`, a vector of sizes, holds."""

    def infer(context: InferContext) -> Sequence[TensorShape]:
        return [context.value_as_shape(index)]

    return infer


def of_rank(shape: TensorShape, rank: int, what: str, in_run: str = "") -> tuple[int | None, ...]:
    """The sizes of `shape`, which has `rank` dimensions; ValueError for another rank.

    in_run: what a run says of another rank.
    """
    if shape.sizes is None:
        return (None,) * rank
    if len(shape.sizes) != rank:
        words = f"Shape must be rank {rank} but is rank {len(shape.sizes)}"
        raise Misfit(words, in_run, detail=what)
    return shape.sizes


def normalize_axis(axis: Any, rank: int, what: str = "axis") -> int:
    """`axis` in [-rank, rank) counted from the front; ValueError outside."""
    value = whole_number(what, axis)
    if not -rank <= value < rank:
        raise ValueError(f"{what} {value} is not in the range [{-rank}, {rank})")
    return value % rank
