"""Static shapes of concatenated and stacked tensors, and the errors for incompatible shapes."""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.base.misfit import Misfit, misfit_of
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.shape_functions import UNKNOWN


def merge_all(shapes: Sequence[TensorShape]) -> TensorShape:
    """Merge all shapes into one. A size of the result is known if it is known in any of the shapes.
    Raises a Misfit (a ValueError) if two shapes are incompatible.

    Shapes are merged from the last to the first, so that the error message names the same shape as
    TensorFlow's message.
    """
    whole = shapes[-1]
    for index, other in reversed(list(enumerate(shapes[:-1]))):
        try:
            whole = other.merge_with(whole)
        except ValueError as error:
            words = misfit_of(error).in_graph
            fits = [part.is_compatible_with(shapes[0]) for part in shapes]
            unlike = fits.index(False) if False in fits else index
            in_run = (
                f"Shapes of all inputs must match: values[0].shape = {shape_text(shapes[0])} "
                f"!= values[{unlike}].shape = {shape_text(shapes[unlike])}"
            )
            merging = f"{words}\n\tFrom merging shape {index} with other shapes."
            raise Misfit(merging, in_run) from error
    return whole


def infer_concat(context: InferContext) -> Sequence[TensorShape]:
    """Return the static shape of ConcatV2, whose last input is the axis."""
    parts = [shape.sizes for shape in context.shapes[:-1]]
    rank = next((len(sizes) for sizes in parts if sizes is not None), None)
    if rank is None:
        return [UNKNOWN]
    for index, sizes in enumerate(parts):
        if sizes is not None and len(sizes) != rank:
            raise Misfit(
                f"Shape must be rank {rank} but is rank {len(sizes)}",
                "ConcatOp : Ranks of all input tensors should match: shape[0] = "
                f"{shape_text(parts[0])} vs. shape[{index}] = {shape_text(sizes)}",
                detail=f"input {index}",
            )
    if rank == 0:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    value = context.value(len(parts))
    if value is None:
        return [TensorShape.of((None,) * rank)]
    axis = ints(value)[0]
    min_rank = axis + 1 if axis >= 0 else -axis
    if min_rank > rank:
        raise Misfit(
            f"Shape must be at least rank {min_rank} but is rank {rank}",
            "ConcatOp : Expected concatenating dimensions in the range "
            f"[-{rank}, {rank}), but got {axis}",
            detail=f"axis {axis} is not in the range [-{rank}, {rank})",
        )
    return [_concatenated(context.shapes[:-1], axis % rank, rank)]


def _concatenated(parts: Sequence[TensorShape], axis: int, rank: int) -> TensorShape:
    """Return the shape of `parts`, all of rank `rank`, concatenated along `axis`.

    The sizes along all other axes are merged from the last part to the first, so that the error
    message names the same part as TensorFlow's message.
    """
    known = [part.sizes or (None,) * rank for part in parts]
    before = after = UNKNOWN
    for index, sizes in reversed(list(enumerate(known))):
        try:
            before = TensorShape.of(sizes[:axis]).merge_with(before)
            after = TensorShape.of(sizes[axis + 1 :]).merge_with(after)
        except ValueError as error:
            rests = [(*sizes[:axis], *sizes[axis + 1 :]) for sizes in known]
            unlike = next((i for i, rest in enumerate(rests) if rest != rests[0]), 0)
            in_run = (
                f"ConcatOp : Dimensions of inputs should match: shape[0] = {shape_text(known[0])} "
                f"vs. shape[{unlike}] = {shape_text(known[unlike])}"
            )
            detail = f"input {index} and those behind it"
            raise Misfit(misfit_of(error).in_graph, in_run, detail=detail) from error
    lengths = [sizes[axis] for sizes in known]
    total = None if None in lengths else sum(lengths)  # type: ignore[arg-type]
    return before + TensorShape.of((total,)) + after
