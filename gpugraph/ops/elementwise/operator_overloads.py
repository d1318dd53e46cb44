"""Python's operators on tensors. Importing this module fills the table `OPERATORS`, in which
`Tensor` looks them up.

An operand that is not a tensor is converted to the dtype of the other operand. The operations are
named after the operator. For example, `x + y` adds an AddV2 named "add".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, bool as boolean, string
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_library import OPERATORS
from gpugraph.ops.elementwise.comparison_and_select import logical_xor
from gpugraph.ops.elementwise.division import truediv
from gpugraph.ops.elementwise.unary_functions import abs as absolute
from gpugraph.ops.framework.composite_tensors import Composite
from gpugraph.ops.framework.numpy_conversion import constant_array
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

Binary = Callable[..., Any]

_add_v2, _multiply = raw_ops.AddV2, raw_ops.Mul


def _named(function: Binary, name: str) -> tuple[Binary, Binary]:
    """Return two functions for an operator, here written as `.`, with a tensor x: one for `x . y`,
    and one for `y . x`, which Python calls if y is not a tensor.

    Args:
      name: the name of the operations that `function(x, y, name=name)` adds.
    """

    def forward(x: Any, y: Any) -> Any:
        try:
            return function(x, y, name=name)
        except TypeError as error:
            raise _in_operator(error, function, x, y) from error

    def backward(x: Any, y: Any) -> Any:
        return function(y, x, name=name)

    return forward, backward


def _in_operator(error: TypeError, function: Binary, x: Any, y: Any) -> TypeError:
    """Return a TypeError that names both dtypes, if the default dtype of y differs from the dtype
    of x.

    Otherwise, return `error` unchanged.
    """
    op_def = getattr(_OPS.get(function, function), "op_def", None)
    if op_def is None or isinstance(getattr(y, "dtype", None), DType):
        return error
    try:
        dtype = as_dtype(constant_array(y).dtype)
    except (TypeError, ValueError):
        return error
    if dtype is x.dtype.base_dtype:
        return error
    first, second = (arg.name for arg in op_def.inputs)
    return TypeError(
        f"Input '{second}' of '{op_def.name}' Op has type {dtype.name} that does not match type "
        f"{x.dtype.base_dtype.name} of argument '{first}'. {error}"
    )


def _matmul(x: Any, y: Any, name: str) -> Tensor:
    """Add a MatMul if both tensors are known to have rank 2, otherwise a BatchMatMulV2."""
    with op_scope(name, name, x, y) as scope:
        known = (x if isinstance(x, Tensor) else y).dtype.base_dtype
        left = convert_to_tensor(x, known, "x")
        right = convert_to_tensor(y, None, "y", known)
        matrices = left.shape.rank == 2 and right.shape.rank == 2
        return (raw_ops.MatMul if matrices else raw_ops.BatchMatMulV2)(left, right, name=scope)


def _xor(x: Any, y: Any, name: str) -> Tensor:
    with op_scope(name, name, x, y) as scope:
        left = x if isinstance(x, Tensor) else convert_to_tensor(x, boolean, "x")
        right = y if isinstance(y, Tensor) else convert_to_tensor(y, boolean, "y")
        return logical_xor(left, right, name=scope)


def _add(x: Any, y: Any, name: str) -> Any:
    """Add an AddV2. For strings, which AddV2 does not accept, add an Add."""
    beside = x if isinstance(x, Tensor) else y
    return (raw_ops.Add if beside.dtype is string else _add_v2)(x, y, name=name)


def _mul(x: Any, y: Any, name: str) -> Any:
    """Add a Mul. If y is a SparseTensor or another composite tensor, return the product that y
    defines.
    """
    return y * x if isinstance(y, Composite) else _multiply(x, y, name=name)


_OPS = {_add: _add_v2, _mul: _multiply}
"""By operator function that chooses between several ops, the most common of these ops."""


def _fill() -> None:
    arithmetic: dict[str, tuple[Binary, str]] = {
        "add": (_add, "add"),
        "sub": (raw_ops.Sub, "sub"),
        "mul": (_mul, "mul"),
        "truediv": (truediv, "truediv"),
        "floordiv": (raw_ops.FloorDiv, "floordiv"),
        "mod": (raw_ops.FloorMod, "mod"),
        "pow": (raw_ops.Pow, "pow"),
        "matmul": (_matmul, "matmul"),
        "and": (raw_ops.LogicalAnd, "and"),
        "or": (raw_ops.LogicalOr, "or"),
        "xor": (_xor, "xor"),
    }
    for key, (function, name) in arithmetic.items():
        OPERATORS[f"__{key}__"], OPERATORS[f"__r{key}__"] = _named(function, name)
    OPERATORS["__lt__"] = raw_ops.Less
    OPERATORS["__le__"] = raw_ops.LessEqual
    OPERATORS["__gt__"] = raw_ops.Greater
    OPERATORS["__ge__"] = raw_ops.GreaterEqual
    OPERATORS["__neg__"] = raw_ops.Neg
    OPERATORS["__abs__"] = absolute
    OPERATORS["__invert__"] = raw_ops.LogicalNot


_fill()
