"""Functions of `tf.compat.v2` whose results differ from the results of version 1."""

from __future__ import annotations

from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.building.gradients import UnconnectedGradients, gradients as gradients_of_version_1
from gpugraph.ops.framework.op_declaration import raw_ops


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return the elements of x where the condition is true, and the elements of y where it is
    false. The three arguments are broadcast to a common shape.

    If x and y are None, the result is the indices of the true elements of the condition.
    """
    if x is None and y is None:
        return tf.where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return raw_ops.SelectV2(condition, x, y, name=name)


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> Any:
    """Call `tf.gradients`. The parameters have the order of version 2."""
    return gradients_of_version_1(
        ys,
        xs,
        grad_ys,
        name,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        stop_gradients=stop_gradients,
        unconnected_gradients=unconnected_gradients,
    )
