"""GatherTree, which returns the sequences of a beam search. The sequences are followed back from
the last step through their parents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call
from gpugraph.ops.arrays.reshape_and_transpose import index_op
from gpugraph.ops.framework.public_function import public_function
from gpugraph.ops.framework.shape_functions import of_rank


def _infer(context: InferContext) -> Sequence[TensorShape]:
    steps, parents, lengths, end = context.shapes
    of_rank(steps, 3, "step_ids")
    of_rank(lengths, 1, "max_sequence_lengths")
    of_rank(end, 0, "end_token")
    return [steps.merge_with(parents)]


def _gather_tree(step_ids: Any, parent_ids: Any, lengths: Any, end: Any, out: Any) -> None:
    """Follow all beams backwards in time. Then replace all ids after the first end token of a beam
    with the end token.
    """
    steps, batches, width = step_ids.shape
    if parent_ids.shape != step_ids.shape or lengths.shape != (batches,):
        raise invalid_argument(
            f"step_ids {step_ids.shape}, parent_ids {parent_ids.shape} and max_sequence_lengths "
            f"{lengths.shape} must be [time, batch, beam] twice, and [batch]"
        )
    entries = np.arange(batches)[:, None]
    beams = np.broadcast_to(np.arange(width), (batches, width))
    for time in range(steps - 1, -1, -1):
        inside = np.broadcast_to((time < lengths)[:, None], beams.shape)
        out[time] = np.where(inside, step_ids[time, entries, beams], end)
        parents = parent_ids[time, entries, beams]
        if np.any(inside & ((parents < 0) | (parents >= width))):
            raise invalid_argument(f"Saw invalid parent id at step {time}: outside of [0, {width})")
        beams = np.where(inside, parents, beams)
    ended = np.zeros((batches, width), bool)
    for time in range(steps):
        out[time][ended] = end
        ended |= out[time] == end


gather_tree = public_function(
    index_op(
        "GatherTree",
        "step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T",
        "beams: T",
        _infer,
        Call(_gather_tree),
        "The ids [time, batch, beam] of whole beams, from the ids and parents of their steps. "
        "Behind a first end_token, and behind max_sequence_lengths, there is end_token. "
        "InvalidArgumentError for a parent that is no beam.",
    ),
    "gather_tree",
)
