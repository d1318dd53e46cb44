"""Checks of elements: that two tensors compare so, or that one has such signs, everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.bfloat16 import finfo
from gpugraph.base.errors import invalid_argument
from gpugraph.checks.build_time_values import prefix, static_value
from gpugraph.control_flow import Assert
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.elementwise.comparison_and_select import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
)
from gpugraph.ops.elementwise.unary_functions import abs as magnitude
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import reduce_all

# -- two tensors

_COMPARISONS: dict[str, tuple[Callable[..., Tensor], Callable[..., Any]]] = {
    "==": (equal, np.equal),
    "!=": (not_equal, np.not_equal),
    "<": (less, np.less),
    "<=": (less_equal, np.less_equal),
    ">": (greater, np.greater),
    ">=": (greater_equal, np.greater_equal),
}


def _compared(
    sign: str,
    default: str,
    x: Any,
    y: Any,
    data: Any,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> Operation:
    """The check that x and y compare by `sign` everywhere."""
    function, at_once = _COMPARISONS[sign]
    with name_scope(name, default, _values(x, y, data)):
        x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
        if data is None:
            data = [
                f"Condition x {sign} y did not hold element-wise:",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        if message is not None:
            data = [message, *data]
        condition = reduce_all(function(x, y))
        known = static_value(x), static_value(y)
        if known[0] is not None and known[1] is not None and not np.all(at_once(*known)):
            raise invalid_argument("\n".join(map(_shown, data)))
        return Assert(condition, data, summarize=summarize)


def _values(*given: Any) -> list[Any]:
    """What a scope is told of: the arguments, and what is in lists among them."""
    found: list[Any] = []
    for each in given:
        found += each if isinstance(each, (list, tuple)) else [each]
    return found


def _shown(item: Any) -> str:
    """A piece of data in the message of a check that fails while the graph is built."""
    if isinstance(item, Tensor):
        known = static_value(item)
        return str(item if known is None else known)
    return str(item)


def assert_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails unless x == y everywhere, broadcast; nothing is equal to NaN.

    data: tensors for the message, instead of x and y; of each the first `summarize` elements.

    InvalidArgumentError: at once where both are constant, else in the run.
    """
    with name_scope(name, "assert_equal", _values(x, y, data)):
        if x is y:
            return no_op()
    return _compared("==", "assert_equal", x, y, data, summarize, message, name)


def assert_none_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_equal`, that x != y everywhere."""
    return _compared("!=", "assert_none_equal", x, y, data, summarize, message, name)


def assert_less(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_equal`, that x < y everywhere."""
    return _compared("<", "assert_less", x, y, data, summarize, message, name)


def assert_less_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_equal`, that x <= y everywhere."""
    return _compared("<=", "assert_less_equal", x, y, data, summarize, message, name)


def assert_greater(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_equal`, that x > y everywhere."""
    return _compared(">", "assert_greater", x, y, data, summarize, message, name)


def assert_greater_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_equal`, that x >= y everywhere."""
    return _compared(">=", "assert_greater_equal", x, y, data, summarize, message, name)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails in the run unless |x - y| < atol + rtol |y| everywhere.

    `rtol` and `atol` are 10 units in the last place of 1 by default. For floats and complex
    numbers; ValueError for others.
    """
    with name_scope(name, "assert_near", _values(x, y, rtol, atol, data)):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        least = 10 * finfo(x.dtype.as_numpy_dtype).eps
        kind = x.dtype.real_dtype.base_dtype
        rtol = convert_to_tensor(least if rtol is None else rtol, kind, name="rtol")
        atol = convert_to_tensor(least if atol is None else atol, kind, name="atol")
        if data is None:
            data = [
                prefix(message),
                f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        allowed = atol + rtol * magnitude(y)
        condition = reduce_all(less(magnitude(x - y), allowed))
        return Assert(condition, data, summarize=summarize)


# -- signs


def _signed(
    sign: str,
    default: str,
    x: Any,
    data: Any,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> Operation:
    """The check that x compares with 0 by `sign` everywhere."""
    with name_scope(name, default, _values(x, data)):
        x = convert_to_tensor(x, name="x")
        if data is None:
            data = [
                prefix(message),
                f"Condition x {sign} 0 did not hold element-wise:",
                f"x ({x.name}) = ",
                x,
            ]
        zero = constant(0, x.dtype.base_dtype)
        low, high = (zero, x) if sign.startswith(">") else (x, zero)
        check = assert_less_equal if sign.endswith("=") else assert_less
        return check(low, high, data=data, summarize=summarize)


def assert_positive(
    x: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_equal`, that x > 0 everywhere; so it is in an empty tensor."""
    return _signed(">", "assert_positive", x, data, summarize, message, name)


def assert_negative(
    x: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_equal`, that x < 0 everywhere."""
    return _signed("<", "assert_negative", x, data, summarize, message, name)


def assert_non_negative(
    x: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_equal`, that x >= 0 everywhere."""
    return _signed(">=", "assert_non_negative", x, data, summarize, message, name)


def assert_non_positive(
    x: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """As `assert_equal`, that x <= 0 everywhere."""
    return _signed("<=", "assert_non_positive", x, data, summarize, message, name)
