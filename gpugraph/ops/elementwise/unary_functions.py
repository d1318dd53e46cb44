"""The public functions of elementwise mathematics, under TensorFlow's names.

TypeError for a dtype that the op does not take. NaN and infinity follow IEEE 754. Functions that
are 0 at 0 take a SparseTensor too, and give one.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.complex_parts import complex_abs
from gpugraph.ops.framework.composite_tensors import of_values
from gpugraph.ops.framework.identity_and_shape import op_scope
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

__all__ = [
    "abs",
    "ceil",
    "cos",
    "erf",
    "exp",
    "expm1",
    "floor",
    "is_finite",
    "is_inf",
    "is_nan",
    "log",
    "log1p",
    "log_sigmoid",
    "negative",
    "reciprocal",
    "rint",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "tan",
    "tanh",
]


@of_values
def negative(x: Any, name: str | None = None) -> Tensor:
    """-x, elementwise."""
    made: Tensor = raw_ops.Neg(x, name=name)
    return made


@of_values
def abs(x: Any, name: str | None = None) -> Tensor:
    """|x|, elementwise; of complex numbers, real ones: their distances from 0."""
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")
    if tensor._dtype.is_complex:
        return complex_abs(tensor, name or "Abs")
    made: Tensor = raw_ops.Abs(tensor, name=name)
    return made


@of_values
def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1 as x is negative, zero or positive, elementwise."""
    made: Tensor = raw_ops.Sign(x, name=name)
    return made


@of_values
def square(x: Any, name: str | None = None) -> Tensor:
    """x x, elementwise."""
    made: Tensor = raw_ops.Square(x, name=name)
    return made


@of_values
def sqrt(x: Any, name: str | None = None) -> Tensor:
    """The square root of x, elementwise; NaN for negative numbers."""
    made: Tensor = raw_ops.Sqrt(x, name=name)
    return made


def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """1 / sqrt(x), elementwise."""
    made: Tensor = raw_ops.Rsqrt(x, name=name)
    return made


def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """1 / x, elementwise."""
    made: Tensor = raw_ops.Reciprocal(x, name=name)
    return made


def exp(x: Any, name: str | None = None) -> Tensor:
    """e to the power x, elementwise."""
    made: Tensor = raw_ops.Exp(x, name=name)
    return made


def expm1(x: Any, name: str | None = None) -> Tensor:
    """exp(x) - 1, elementwise, precise near 0."""
    made: Tensor = raw_ops.Expm1(x, name=name)
    return made


def log(x: Any, name: str | None = None) -> Tensor:
    """The natural logarithm, elementwise; -inf of 0, NaN of negative numbers."""
    made: Tensor = raw_ops.Log(x, name=name)
    return made


def log1p(x: Any, name: str | None = None) -> Tensor:
    """log(1 + x), elementwise, precise near 0."""
    made: Tensor = raw_ops.Log1p(x, name=name)
    return made


@of_values
def sin(x: Any, name: str | None = None) -> Tensor:
    """sin(x), elementwise."""
    made: Tensor = raw_ops.Sin(x, name=name)
    return made


def cos(x: Any, name: str | None = None) -> Tensor:
    """cos(x), elementwise."""
    made: Tensor = raw_ops.Cos(x, name=name)
    return made


@of_values
def tan(x: Any, name: str | None = None) -> Tensor:
    """tan(x), elementwise."""
    made: Tensor = raw_ops.Tan(x, name=name)
    return made


@of_values
def tanh(x: Any, name: str | None = None) -> Tensor:
    """tanh(x), elementwise."""
    made: Tensor = raw_ops.Tanh(x, name=name)
    return made


def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)), elementwise."""
    made: Tensor = raw_ops.Sigmoid(x, name=name)
    return made


def softplus(features: Any, name: str | None = None) -> Tensor:
    """log(exp(features) + 1), elementwise, without overflow."""
    made: Tensor = raw_ops.Softplus(features, name=name)
    return made


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(1 / (1 + exp(-x))), elementwise, without overflow."""
    with op_scope(name, "LogSigmoid", x) as scope:
        given = convert_to_tensor(x, name="x")
        made: Tensor = raw_ops.Neg(raw_ops.Softplus(raw_ops.Neg(given)), name=scope)
        return made


@of_values
def erf(x: Any, name: str | None = None) -> Tensor:
    """The error function, elementwise."""
    made: Tensor = raw_ops.Erf(x, name=name)
    return made


def floor(x: Any, name: str | None = None) -> Tensor:
    """x rounded down, elementwise."""
    made: Tensor = raw_ops.Floor(x, name=name)
    return made


def ceil(x: Any, name: str | None = None) -> Tensor:
    """x rounded up, elementwise."""
    made: Tensor = raw_ops.Ceil(x, name=name)
    return made


def rint(x: Any, name: str | None = None) -> Tensor:
    """x rounded to the nearest integer, halves to the even one, elementwise."""
    made: Tensor = raw_ops.Rint(x, name=name)
    return made


def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Whether x is NaN, elementwise: a bool tensor."""
    made: Tensor = raw_ops.IsNan(x, name=name)
    return made


def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Whether x is positive or negative infinity, elementwise: a bool tensor."""
    made: Tensor = raw_ops.IsInf(x, name=name)
    return made


def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Whether x is neither infinite nor NaN, elementwise: a bool tensor."""
    made: Tensor = raw_ops.IsFinite(x, name=name)
    return made


def round(x: Any, name: str | None = None) -> Tensor:
    """x rounded to the nearest integer, halves to the even one; integers as they are."""
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")
    if tensor._dtype.is_integer:
        return tensor
    made: Tensor = raw_ops.Round(tensor, name=name)
    return made
