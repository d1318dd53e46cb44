"""Ranks that an op's declaration asks of its inputs, held wherever the op's shapes are inferred.

`op(inputs="x: T, axis: scalar Tidx")`: inference is asked when the graph is built, when a run is
compiled, and in a run by steps whose shapes are known only there. So no kernel meets another rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.graph.op_def import ArgDef

RANKS = {"scalar": 0, "vector": 1, "matrix": 2}
"""The words of declarations."""


def with_ranks(infer: InferFunction, args: Sequence[ArgDef]) -> InferFunction:
    """`infer`, for inputs of the ranks of `args`.

    Where `infer` does not mind another rank, building the graph doesn't either: the run refuses it,
    as a kernel of TensorFlow does.
    """
    wanted = [(index, arg.rank) for index, arg in enumerate(args) if arg.rank is not None]
    lists = [index for index, arg in enumerate(args) if arg.is_list]
    if not wanted:
        return infer

    def checked(context: InferContext) -> Sequence[TensorShape]:
        shapes = context.shapes
        for index, rank in wanted:
            # what follows lists is counted from the end
            slot = index - len(args) if lists and index > lists[0] else index
            sizes = shapes[slot].sizes
            if sizes is not None and len(sizes) != rank:
                raise _misfit(infer, context, args[index], f"{rank} but is rank {len(sizes)}")
        return infer(context)

    return checked


def _misfit(infer: InferFunction, context: InferContext, arg: ArgDef, ranks: str) -> ValueError:
    try:
        shapes = infer(context)
    except Exception:  # of the wrong rank
        shapes = None
    return Misfit(f"Shape must be rank {ranks}", shapes=shapes, detail=f"the input '{arg.name}'")
