"""Values kept within limits."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.tensor import Tensor
from gpugraph.ops.arithmetic_functions import maximum, minimum
from gpugraph.ops.arrays import op_scope
from gpugraph.ops.convert import convert_to_tensor

__all__ = ["clip_by_value"]


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """`t` with what is below `clip_value_min` raised to it, and what is above the maximum lowered.

    The limits are scalars, or broadcast against `t`: ValueError when the result would be of
    another shape than `t`.
    """
    with op_scope(name, "clip_by_value", t, clip_value_min, clip_value_max) as scope:
        values = convert_to_tensor(t, name="t")
        lowered = minimum(values, clip_value_max)
        values.shape.assert_is_compatible_with(lowered.shape)
        clipped = maximum(lowered, clip_value_min, name=scope)
        values.shape.assert_is_compatible_with(clipped.shape)
        return clipped
