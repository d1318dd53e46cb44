"""The weights of monotonic attention (Raffel et al., 2017, arXiv:1704.00784)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.building.control_flow.map_fold_scan import scan
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import transpose
from gpugraph.ops.elementwise.unary_functions import exp, log
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.clip_by_norm import clip_by_value
from gpugraph.ops.reductions.ranges_and_running_sums import cumprod, cumsum


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Return cumulative products of numbers in [0, 1]. They are computed from logarithms, so that
    gradients are finite.

    For further arguments, see `cumprod`.
    """
    with name_scope(None, "SafeCumprod", [x]):
        values = convert_to_tensor(x, name="x")
        tiny = np.finfo(values.dtype.as_numpy_dtype).tiny
        return exp(cumsum(log(clip_by_value(values, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Tensor:
    """Return the attention [batch, inputs], given the probability that each input is chosen.

    Raises ValueError if `mode` is unknown.

    Args:
      previous_attention: the attention of the previous output. For the first output, it is 1 at the
        first input and 0 elsewhere.
      mode: "recursive", "parallel" or "hard". "recursive" is exact and slow. "parallel" clips the
        divisors. "hard" requires probabilities that are 0 or 1.
    """
    chosen = convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        skipped = concat([ones_like(chosen[:, :1]), 1.0 - chosen[:, :-1]], 1)
        steps = (transpose(skipped), transpose(previous))
        reached = scan(lambda x, now: now[0] * x + now[1], steps, zeros_like(chosen[:, 0]))
        return chosen * transpose(reached)
    if mode == "parallel":
        passed = safe_cumprod(1.0 - chosen, axis=1, exclusive=True)
        return chosen * passed * cumsum(previous / clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        reached = chosen * cumsum(previous, axis=1)
        return reached * cumprod(1.0 - reached, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")
