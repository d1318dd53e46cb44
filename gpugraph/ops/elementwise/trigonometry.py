"""Inverse trigonometric and hyperbolic functions, elementwise, and atan2, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call
from gpugraph.ops.elementwise.arithmetic_functions import BINARY
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.unary_functions import from_slope, unary
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.public_function import UnaryFunction, public_function
from gpugraph.ops.framework.unbroadcasting import unbroadcast_pair


def _asin_slope(x: Any) -> Any:
    """Return 1 / sqrt(1 - x x)."""
    return raw_ops.Reciprocal(raw_ops.Sqrt(raw_ops.Sub(1, raw_ops.Square(x))))


def _acos_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.Neg(raw_ops.Mul(dy, _asin_slope(conj(op.inputs[0]))))


def _asinh_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.RealDiv(dy, raw_ops.Cosh(conj(op.outputs[0])))


def _acosh_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.RealDiv(dy, raw_ops.Sinh(conj(op.outputs[0])))


def _unary(
    op_type: str, function: Callable[..., Any], grad: Any, doc: str, sparse: bool = False
) -> UnaryFunction:
    """Declare a unary op. Its function in C's math library has the name of the op type in lower
    case.

    Args:
      function: the NumPy kernel.
      grad: the gradient function.
      doc: the op's description.
    """
    return unary(op_type, function, f"{op_type.lower()}(x)", grad, doc, sparse=sparse)


def _inverse_of(denominator: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a gradient function that computes dy / denominator(x x)."""
    return from_slope(lambda x: raw_ops.Reciprocal(denominator(raw_ops.Square(x))))


_ASIN = "The angle in [-pi / 2, pi / 2] whose sine is x, NaN outside [-1, 1]"
_ACOS = "The angle in [0, pi] whose cosine is x, NaN outside [-1, 1]"
_ATAN = "The angle in (-pi / 2, pi / 2) whose tangent is x"
_ASINH = "The number whose hyperbolic sine is x"
_ACOSH = "The number of at least 0 whose hyperbolic cosine is x, NaN below 1"
_ATANH = "The number whose hyperbolic tangent is x, NaN outside [-1, 1]"

asin = _unary("Asin", np.arcsin, from_slope(_asin_slope), _ASIN, sparse=True)
acos = _unary("Acos", np.arccos, _acos_gradient, _ACOS)
atan = _unary(
    "Atan", np.arctan, _inverse_of(lambda square: raw_ops.AddV2(1, square)), _ATAN, sparse=True
)
sinh = _unary("Sinh", np.sinh, from_slope(lambda x: raw_ops.Cosh(x)), "(exp(x) - exp(-x)) / 2")
cosh = _unary("Cosh", np.cosh, from_slope(lambda x: raw_ops.Sinh(x)), "(exp(x) + exp(-x)) / 2")
asinh = _unary("Asinh", np.arcsinh, _asinh_gradient, _ASINH, sparse=True)
acosh = _unary("Acosh", np.arccosh, _acosh_gradient, _ACOSH)
atanh = _unary(
    "Atanh", np.arctanh, _inverse_of(lambda square: raw_ops.Sub(1, square)), _ATANH, sparse=True
)


def _atan2_gradient(op: Any, dz: Any) -> list[Any]:
    """Return the gradient of y, dz x / (x x + y y), and the gradient of x, -dz y / (x x + y y)."""
    y, x = op.inputs
    share = raw_ops.RealDiv(dz, raw_ops.AddV2(raw_ops.Square(x), raw_ops.Square(y)))
    return unbroadcast_pair(op, raw_ops.Mul(x, share), raw_ops.Neg(raw_ops.Mul(y, share)))


class AngleFunction(Protocol):
    """The type of `atan2`: a function of the coordinates `y` and `x`, in this order."""

    def __call__(self, y: Any, x: Any, name: str | None = None) -> Tensor:
        """Return the angle of each point (x, y) in radians, elementwise."""


atan2: AngleFunction = public_function(
    op(
        "Atan2",
        **{**BINARY, "inputs": "y: T, x: T"},
        attrs={"T": FLOATING},
        cpu=Call(np.arctan2),
        elementwise="atan2(x, y)",
        grad=_atan2_gradient,
        doc="The angle of the point (x, y) in [-pi, pi], elementwise, with broadcasting.",
    )
)
