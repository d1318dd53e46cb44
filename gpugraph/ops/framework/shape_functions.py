"""Shape inference functions that many ops share. They are passed to `op(infer=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from gpugraph.base.misfit import Misfit, value_error
from gpugraph.base.shapes import TensorShape, broadcast_shapes
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.inference_context import (
    InferContext,
    InferFunction,
    ShapeRule,
    as_output_shape as as_output_shape,
)
from gpugraph.graph.op_def import ArgDef
from gpugraph.kernel import OpMemory

RANKS = {"scalar": 0, "vector": 1, "matrix": 2}
"""For each word in a declaration, as in `op(inputs="x: T, axis: scalar Tidx")`, the rank that it
requires.
"""

SCALAR = TensorShape.of(())
UNKNOWN = TensorShape.of(None)


def same_shape(index: int) -> InferFunction:
    """Return a shape inference function that gives every output the shape of input `index`."""
    return ShapeRule(itemgetter(index))


IN_PLACE: dict[str, Any] = {"infer": same_shape(0), "memory": OpMemory(alias={0: 0})}
"""Arguments of `op` for ops whose output has the shape of input 0 and may overwrite its memory."""


def _broadcast(shapes: Sequence[TensorShape]) -> TensorShape:
    shape = shapes[0]
    for other in shapes[1:]:
        shape = broadcast_shapes(shape, other)
    return shape


broadcast: InferFunction = ShapeRule(_broadcast)
"""Inference: the output has the shape of all inputs broadcast against each other."""

scalar: InferFunction = ShapeRule(lambda _: SCALAR)
"""Inference: every output is a scalar."""


def unknown(context: InferContext) -> Sequence[TensorShape]:
    """Return an unknown shape for each output, because only the kernel determines the sizes."""
    return [UNKNOWN] * context.num_outputs


def no_outputs(_: InferContext) -> Sequence[TensorShape]:
    """Return no shapes, for an op without outputs."""
    return []


def from_attr(key: str) -> InferFunction:
    """Return an inference function that gives every output the shape in the attr `key`."""

    def infer(context: InferContext) -> Sequence[TensorShape]:
        return [context.attrs[key]] * context.num_outputs

    return infer


def from_value(index: int) -> InferFunction:
    """Return an inference function for an output whose shape is the value of input `index`, a
    vector of sizes.
    """

    def infer(context: InferContext) -> Sequence[TensorShape]:
        return [context.value_as_shape(index)]

    return infer


def of_rank(shape: TensorShape, rank: int, what: str, in_run: str = "") -> tuple[int | None, ...]:
    """Return the sizes of `shape`. Raises a Misfit (a ValueError) unless the shape has `rank` axes.

    Args:
      what: the name of the shape in messages.
      in_run: the message in a run, if it differs from the message at graph construction.
    """
    if shape.sizes is None:
        return (None,) * rank
    if len(shape.sizes) != rank:
        words = f"Shape must be rank {rank} but is rank {len(shape.sizes)}"
        raise Misfit(words, in_run, detail=what)
    return shape.sizes


def merge_sizes(first: int | None, second: int | None) -> int | None:
    """Return the size of an axis that two inputs have in common, or None if both sizes are unknown.

    Raises ValueError if both sizes are known and differ. The message is TensorFlow's message for
    dimensions, which differs from its message for shapes.
    """
    if None not in (first, second) and first != second:
        raise value_error(
            f"Shapes ({first},) and ({second},) are not compatible",
            f"Dimensions must be equal, but are {first} and {second}",
        )
    return second if first is None else first


def is_old_scalar(context: InferContext, index: int) -> bool:
    """Return whether this is a run and input `index` is a vector of one element.

    In a run, some older ops accept a vector of one element instead of a scalar. At graph
    construction they do not.
    """
    return not context.is_building and context.shapes[index].sizes == (1,)


def normalize_axis(axis: Any, rank: int, what: str = "axis") -> int:
    """Return `axis` as a number in [0, rank). A negative axis counts from the end. Raises
    ValueError if `axis` is outside [-rank, rank).

    Args:
      what: the axis's name in the error's message.
    """
    value = whole_number(what, axis)
    if not -rank <= value < rank:
        raise ValueError(f"{what} {value} is not in the range [{-rank}, {rank})")
    return value % rank


def with_ranks(infer: InferFunction, args: Sequence[ArgDef]) -> InferFunction:
    """Wrap `infer` so that the ranks of the inputs are checked against the declarations `args`.

    Inference runs when the graph is built and when a run is compiled. For steps whose shapes are
    known only during a run, it also runs then. So no kernel receives an input of a wrong rank. If
    `infer` itself accepts a wrong rank, the graph can still be built, and the run raises the error,
    as with TensorFlow's kernels.
    """
    wanted = [(index, arg.rank) for index, arg in enumerate(args) if arg.rank is not None]
    lists = [index for index, arg in enumerate(args) if arg.is_list]
    if not wanted:
        return infer

    def checked(context: InferContext) -> Sequence[TensorShape]:
        shapes = context.shapes
        for index, rank in wanted:
            # inputs after a list are at a fixed distance from the end
            slot = index - len(args) if lists and index > lists[0] else index
            sizes = shapes[slot].sizes
            if sizes is not None and len(sizes) != rank:
                raise _misfit(infer, context, args[index], f"{rank} but is rank {len(sizes)}")
        return infer(context)

    return checked


def _misfit(infer: InferFunction, context: InferContext, arg: ArgDef, ranks: str) -> ValueError:
    try:
        shapes = infer(context)
    except Exception:  # `infer` rejects the rank
        shapes = None
    return Misfit(f"Shape must be rank {ranks}", shapes=shapes, detail=f"the input '{arg.name}'")
