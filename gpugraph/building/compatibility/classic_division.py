"""The division of Python 2, where the quotient of two integers is an integer, rounded down."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.division import div


def _is_integer(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iub"
    return isinstance(value, numbers.Integral)


def classic_division(left: Any, right: Any) -> Any:
    """Return `left / right` as Python 2 computes it without `from __future__ import division`."""
    if _is_integer(left) and _is_integer(right):
        return left // right
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return div(left, right)
    return left / right
