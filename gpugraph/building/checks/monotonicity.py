"""Tests of whether the elements of a tensor are in ascending order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import bool as boolean
from gpugraph.building.checks.type_assertions import is_numeric_tensor
from gpugraph.building.control_flow import cond
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.comparison_and_select import greater, greater_equal, less
from gpugraph.ops.framework.identity_and_shape import shape, size
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.indexing.strided_slice import strided_slice
from gpugraph.ops.reductions.reduction_functions import reduce_all


def _is_ordered(x: Any, compare: Callable[..., Tensor]) -> Tensor:
    """Return a bool scalar: whether `compare(x[i], x[i - 1])` is true for each element but the
    first, in row-major order.
    """
    flat = reshape(x, [-1])
    if not is_numeric_tensor(flat):
        raise TypeError(f"Expected x to be numeric, instead found: {flat}")
    is_short = less(size(flat), 2)
    last = shape(flat) - 1

    def compared() -> Tensor:
        return compare(strided_slice(flat, [1], [1] + last), strided_slice(flat, [0], last))

    return reduce_all(cond(is_short, lambda: constant([], boolean), compared))


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Return a bool scalar: whether no element, in row-major order, is less than its predecessor.

    Raises TypeError if `x` is not numeric.
    """
    with name_scope(name, "is_non_decreasing", [x]):
        return _is_ordered(x, greater_equal)


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Return a bool scalar: whether each element, in row-major order, is greater than its
    predecessor.

    Raises TypeError if `x` is not numeric.
    """
    with name_scope(name, "is_strictly_increasing", [x]):
        return _is_ordered(x, greater)
