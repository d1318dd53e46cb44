"""Elementwise checks: comparisons of two tensors, and the sign of all elements of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.bfloat16 import finfo
from gpugraph.base.errors import invalid_argument
from gpugraph.base.named_function import named, with_parameters_of
from gpugraph.building.checks.build_time_values import prefix, static_value
from gpugraph.building.control_flow import Assert
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


def _comparison(
    type_name: str, sign: str, compare: Callable[..., Tensor], compare_arrays: Callable[..., Any]
) -> Callable[..., Operation]:
    """Return the function named `type_name`, which checks `x sign y` for all elements.

    Args:
      sign: the comparison operator.
      compare: the comparison of tensors.
      compare_arrays: the comparison of NumPy arrays.
    """

    @named(type_name, f"Do as `assert_equal`, for x {sign} y.")
    def check(
        x: Any,
        y: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, type_name, _values(x, y, data)):
            x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
            if data is None:
                data = [
                    f"Condition x {sign} y did not hold element-wise:",
                    *_shown("x", x),
                    *_shown("y", y),
                ]
            if message is not None:
                data = [message, *data]
            condition = reduce_all(compare(x, y))
            known = static_value(x), static_value(y)
            if all(array is not None for array in known) and not np.all(compare_arrays(*known)):
                raise invalid_argument("\n".join(map(_format, data)))
            return Assert(condition, data, summarize=summarize)

    return check


def _values(*arguments: Any) -> list[Any]:
    """Return the arguments as a flat list of values for a name scope. An argument that is a list is
    replaced by its items.
    """
    values: list[Any] = []
    for argument in arguments:
        values += argument if isinstance(argument, (list, tuple)) else [argument]
    return values


def _shown(name: str, tensor: Tensor) -> list[Any]:
    """Return two entries for the data of an Assert: a label with the tensor's name, and the
    tensor.
    """
    return [f"{name} ({tensor.name}) = ", tensor]


def _format(item: Any) -> str:
    """Return an entry of an Assert's data as text, for an error at graph construction."""
    if isinstance(item, Tensor):
        known = static_value(item)
        return str(item if known is None else known)
    return str(item)


_assert_equal = _comparison("assert_equal", "==", equal, np.equal)
assert_none_equal = _comparison("assert_none_equal", "!=", not_equal, np.not_equal)
assert_less = _comparison("assert_less", "<", less, np.less)
assert_less_equal = _comparison("assert_less_equal", "<=", less_equal, np.less_equal)
assert_greater = _comparison("assert_greater", ">", greater, np.greater)
assert_greater_equal = _comparison("assert_greater_equal", ">=", greater_equal, np.greater_equal)


@with_parameters_of(_assert_equal)
def assert_equal(x: Any, y: Any, data: Any, name: str | None, **options: Any) -> Operation:
    """Return an operation that fails unless x == y for all elements, after broadcasting. NaN is not
    equal to any value.

    Raises InvalidArgumentError at graph construction if both values are constant, otherwise in the
    run. If `x` and `y` are the same object, nothing is checked.

    Args:
      data: tensors that the error shows instead of x and y. It shows the first `summarize` elements
        of each tensor, 3 by default.

    >>> check = tf.assert_equal([1, 2], [1, 2])
    >>> session.run(check)
    """
    with name_scope(name, "assert_equal", _values(x, y, data)):
        if x is y:
            return no_op()
    return _assert_equal(x, y, data, name=name, **options)


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
    """Return an operation that fails in the run unless |x - y| < atol + rtol |y| for all elements.

    `rtol` and `atol` default to 10 times `finfo.eps` of x's dtype. Raises ValueError unless `x` and
    `y` have a float or complex dtype.
    """
    with name_scope(name, "assert_near", _values(x, y, rtol, atol, data)):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        default = 10 * finfo(x.dtype.as_numpy_dtype).eps
        kind = x.dtype.real_dtype.base_dtype
        rtol = convert_to_tensor(default if rtol is None else rtol, kind, name="rtol")
        atol = convert_to_tensor(default if atol is None else atol, kind, name="atol")
        if data is None:
            data = [
                prefix(message),
                f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
                *_shown("x", x),
                *_shown("y", y),
            ]
        allowed = atol + rtol * magnitude(y)
        condition = reduce_all(less(magnitude(x - y), allowed))
        return Assert(condition, data, summarize=summarize)


def _sign_check(type_name: str, sign: str) -> Callable[..., Operation]:
    """Return the function named `type_name`, which checks `x sign 0` for all elements.

    Args:
      sign: the comparison operator.
    """
    check_order = assert_less_equal if sign.endswith("=") else assert_less

    @named(type_name, f"Do as `assert_equal`, for x {sign} 0; an empty tensor passes.")
    def check(
        x: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, type_name, _values(x, data)):
            x = convert_to_tensor(x, name="x")
            if data is None:
                data = [
                    prefix(message),
                    f"Condition x {sign} 0 did not hold element-wise:",
                    *_shown("x", x),
                ]
            zero = constant(0, x.dtype.base_dtype)
            low, high = (zero, x) if sign.startswith(">") else (x, zero)
            return check_order(low, high, data=data, summarize=summarize)

    return check


assert_positive = _sign_check("assert_positive", ">")
assert_negative = _sign_check("assert_negative", "<")
assert_non_negative = _sign_check("assert_non_negative", ">=")
assert_non_positive = _sign_check("assert_non_positive", "<=")
