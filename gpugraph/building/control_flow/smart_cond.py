"""Choices that are made at graph construction if possible, otherwise in each run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.control_flow.cond import cond
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def static_bool(value: Any) -> bool | None:
    """Return the truth of `value`. Return None if only a run determines it, for example because
    `value` depends on a variable.
    """
    if hasattr(value, "_as_graph_element"):
        return None
    if isinstance(value, Tensor):
        known = constant_value(value)
        return None if known is None else bool(known)
    return bool(value)


def smart_cond(chosen: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Return the result of `true_fn` if `chosen` is true, otherwise the result of `false_fn`.

    The choice is made now if the value of `chosen` is known, otherwise in each run, by `cond`.
    """
    known = static_bool(chosen)
    if known is None:
        return cond(convert_to_tensor(chosen), true_fn, false_fn)
    return true_fn() if known else false_fn()
