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


@of_values
def negative(x: Any, name: str | None = None) -> Tensor:
    """-x, elementwise."""
    return raw_ops.Neg(x, name=name)


@of_values
def abs(x: Any, name: str | None = None) -> Tensor:
    """|x|, elementwise; of complex numbers, real ones: their distances from 0."""
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")
    if tensor._dtype.is_complex:
        return complex_abs(tensor, name or "Abs")
    return raw_ops.Abs(tensor, name=name)


@of_values
def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1 as x is negative, zero or positive, elementwise."""
    return raw_ops.Sign(x, name=name)


@of_values
def square(x: Any, name: str | None = None) -> Tensor:
    """x x, elementwise."""
    return raw_ops.Square(x, name=name)


@of_values
def sqrt(x: Any, name: str | None = None) -> Tensor:
    """The square root of x, elementwise; NaN for negative numbers."""
    return raw_ops.Sqrt(x, name=name)


def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """1 / sqrt(x), elementwise."""
    return raw_ops.Rsqrt(x, name=name)


def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """1 / x, elementwise."""
    return raw_ops.Reciprocal(x, name=name)


def exp(x: Any, name: str | None = None) -> Tensor:
    """e to the power x, elementwise."""
    return raw_ops.Exp(x, name=name)


def expm1(x: Any, name: str | None = None) -> Tensor:
    """exp(x) - 1, elementwise, precise near 0."""
    return raw_ops.Expm1(x, name=name)


def log(x: Any, name: str | None = None) -> Tensor:
    """The natural logarithm, elementwise; -inf of 0, NaN of negative numbers."""
    return raw_ops.Log(x, name=name)


def log1p(x: Any, name: str | None = None) -> Tensor:
    """log(1 + x), elementwise, precise near 0."""
    return raw_ops.Log1p(x, name=name)


@of_values
def sin(x: Any, name: str | None = None) -> Tensor:
    """sin(x), elementwise."""
    return raw_ops.Sin(x, name=name)


def cos(x: Any, name: str | None = None) -> Tensor:
    """cos(x), elementwise."""
    return raw_ops.Cos(x, name=name)


@of_values
def tan(x: Any, name: str | None = None) -> Tensor:
    """tan(x), elementwise."""
    return raw_ops.Tan(x, name=name)


@of_values
def tanh(x: Any, name: str | None = None) -> Tensor:
    """tanh(x), elementwise."""
    return raw_ops.Tanh(x, name=name)


def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)), elementwise."""
    return raw_ops.Sigmoid(x, name=name)


def softplus(features: Any, name: str | None = None) -> Tensor:
    """log(exp(features) + 1), elementwise, without overflow."""
    return raw_ops.Softplus(features, name=name)


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(1 / (1 + exp(-x))), elementwise, without overflow."""
    with op_scope(name, "LogSigmoid", x) as scope:
        given = convert_to_tensor(x, name="x")
        return raw_ops.Neg(raw_ops.Softplus(raw_ops.Neg(given)), name=scope)


@of_values
def erf(x: Any, name: str | None = None) -> Tensor:
    """The error function, elementwise."""
    return raw_ops.Erf(x, name=name)


def floor(x: Any, name: str | None = None) -> Tensor:
    """x rounded down, elementwise."""
    return raw_ops.Floor(x, name=name)


def ceil(x: Any, name: str | None = None) -> Tensor:
    """x rounded up, elementwise."""
    return raw_ops.Ceil(x, name=name)


def rint(x: Any, name: str | None = None) -> Tensor:
    """x rounded to the nearest integer, halves to the even one, elementwise."""
    return raw_ops.Rint(x, name=name)


def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Whether x is NaN, elementwise: a bool tensor."""
    return raw_ops.IsNan(x, name=name)


def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Whether x is positive or negative infinity, elementwise: a bool tensor."""
    return raw_ops.IsInf(x, name=name)


def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Whether x is neither infinite nor NaN, elementwise: a bool tensor."""
    return raw_ops.IsFinite(x, name=name)


def round(x: Any, name: str | None = None) -> Tensor:
    """x rounded to the nearest integer, halves to the even one; integers as they are."""
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")
    if tensor._dtype.is_integer:
        return tensor
    return raw_ops.Round(tensor, name=name)
