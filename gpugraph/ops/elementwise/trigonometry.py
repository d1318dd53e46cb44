"""Inverse and hyperbolic functions of each element, and the arc of a quotient, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call
from gpugraph.ops.elementwise.arithmetic_ops import BINARY
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.unary_ops import unary
from gpugraph.ops.framework.composite_tensors import of_values
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.unbroadcasting import unbroadcast_pair


def _x(op: Any) -> Any:
    return conj(op.inputs[0])


def _asin_slope(op: Any) -> Any:
    """1 / sqrt(1 - x x)."""
    return raw_ops.Reciprocal(raw_ops.Sqrt(raw_ops.Sub(1, raw_ops.Square(_x(op)))))


def _atan_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.Mul(dy, raw_ops.Reciprocal(raw_ops.AddV2(1, raw_ops.Square(_x(op)))))


def _atanh_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.Mul(dy, raw_ops.Reciprocal(raw_ops.Sub(1, raw_ops.Square(_x(op)))))


def _acos_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.Neg(raw_ops.Mul(dy, _asin_slope(op)))


def _asinh_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.RealDiv(dy, raw_ops.Cosh(conj(op.outputs[0])))


def _acosh_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.RealDiv(dy, raw_ops.Sinh(conj(op.outputs[0])))


_asin = unary(
    "Asin",
    np.arcsin,
    "asin(x)",
    lambda op, dy: raw_ops.Mul(dy, _asin_slope(op)),
    "The angle of sine x",
)
_acos = unary("Acos", np.arccos, "acos(x)", _acos_gradient, "The angle of cosine x")
_atan = unary("Atan", np.arctan, "atan(x)", _atan_gradient, "The angle of tangent x")
_sinh = unary(
    "Sinh", np.sinh, "sinh(x)", lambda op, dy: raw_ops.Mul(dy, raw_ops.Cosh(_x(op))), "sinh(x)"
)
_cosh = unary(
    "Cosh", np.cosh, "cosh(x)", lambda op, dy: raw_ops.Mul(dy, raw_ops.Sinh(_x(op))), "cosh(x)"
)
_asinh = unary("Asinh", np.arcsinh, "asinh(x)", _asinh_gradient, "The y of which sinh(y) = x")
_acosh = unary("Acosh", np.arccosh, "acosh(x)", _acosh_gradient, "The y >= 0 of which cosh(y) = x")
_atanh = unary("Atanh", np.arctanh, "atanh(x)", _atanh_gradient, "The y of which tanh(y) = x")


def _atan2_gradient(op: Any, dz: Any) -> list[Any]:
    """dz x / (x x + y y), and -dz y / (x x + y y)."""
    y, x = op.inputs
    share = raw_ops.RealDiv(dz, raw_ops.AddV2(raw_ops.Square(x), raw_ops.Square(y)))
    return unbroadcast_pair(op, raw_ops.Mul(x, share), raw_ops.Neg(raw_ops.Mul(y, share)))


_atan2 = op(
    "Atan2",
    **{**BINARY, "inputs": "y: T, x: T"},
    attrs={"T": FLOATING},
    cpu=Call(np.arctan2),
    elementwise="atan2(x, y)",
    grad=_atan2_gradient,
    doc="The angle of the point (x, y), in [-pi, pi], elementwise.",
)


@of_values
def asin(x: Any, name: str | None = None) -> Tensor:
    """The angle in [-pi / 2, pi / 2] whose sine is x, elementwise; NaN outside [-1, 1]."""
    return _asin(x, name=name)


def acos(x: Any, name: str | None = None) -> Tensor:
    """The angle in [0, pi] whose cosine is x, elementwise; NaN outside [-1, 1]."""
    return _acos(x, name=name)


@of_values
def atan(x: Any, name: str | None = None) -> Tensor:
    """The angle in (-pi / 2, pi / 2) whose tangent is x, elementwise."""
    return _atan(x, name=name)


def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y) in [-pi, pi], elementwise, of shapes that broadcast."""
    return _atan2(y, x, name=name)


def sinh(x: Any, name: str | None = None) -> Tensor:
    """(exp(x) - exp(-x)) / 2, elementwise."""
    return _sinh(x, name=name)


def cosh(x: Any, name: str | None = None) -> Tensor:
    """(exp(x) + exp(-x)) / 2, elementwise."""
    return _cosh(x, name=name)


@of_values
def asinh(x: Any, name: str | None = None) -> Tensor:
    """The number whose hyperbolic sine is x, elementwise."""
    return _asinh(x, name=name)


def acosh(x: Any, name: str | None = None) -> Tensor:
    """The number of at least 0 whose hyperbolic cosine is x, elementwise; NaN below 1."""
    return _acosh(x, name=name)


@of_values
def atanh(x: Any, name: str | None = None) -> Tensor:
    """The number whose hyperbolic tangent is x, elementwise; NaN outside [-1, 1]."""
    return _atanh(x, name=name)
