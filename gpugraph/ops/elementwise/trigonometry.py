"""Inverse and hyperbolic functions of each element, and the arc of a quotient, with gradients."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call
from gpugraph.ops.elementwise.arithmetic_functions import BINARY
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.unary_functions import from_slope, unary
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.public_function import public_function
from gpugraph.ops.framework.unbroadcasting import unbroadcast_pair


def _asin_slope(x: Any) -> Any:
    """1 / sqrt(1 - x x)."""
    return raw_ops.Reciprocal(raw_ops.Sqrt(raw_ops.Sub(1, raw_ops.Square(x))))


def _acos_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.Neg(raw_ops.Mul(dy, _asin_slope(conj(op.inputs[0]))))


def _asinh_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.RealDiv(dy, raw_ops.Cosh(conj(op.outputs[0])))


def _acosh_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.RealDiv(dy, raw_ops.Sinh(conj(op.outputs[0])))


asin = unary(
    "Asin",
    np.arcsin,
    "asin(x)",
    from_slope(_asin_slope),
    "The angle in [-pi / 2, pi / 2] whose sine is x, NaN outside [-1, 1]",
    sparse=True,
)
acos = unary(
    "Acos",
    np.arccos,
    "acos(x)",
    _acos_gradient,
    "The angle in [0, pi] whose cosine is x, NaN outside [-1, 1]",
)
atan = unary(
    "Atan",
    np.arctan,
    "atan(x)",
    from_slope(lambda x: raw_ops.Reciprocal(raw_ops.AddV2(1, raw_ops.Square(x)))),
    "The angle in (-pi / 2, pi / 2) whose tangent is x",
    sparse=True,
)
sinh = unary(
    "Sinh", np.sinh, "sinh(x)", from_slope(lambda x: raw_ops.Cosh(x)), "(exp(x) - exp(-x)) / 2"
)
cosh = unary(
    "Cosh", np.cosh, "cosh(x)", from_slope(lambda x: raw_ops.Sinh(x)), "(exp(x) + exp(-x)) / 2"
)
asinh = unary(
    "Asinh",
    np.arcsinh,
    "asinh(x)",
    _asinh_gradient,
    "The number whose hyperbolic sine is x",
    sparse=True,
)
acosh = unary(
    "Acosh",
    np.arccosh,
    "acosh(x)",
    _acosh_gradient,
    "The number of at least 0 whose hyperbolic cosine is x, NaN below 1",
)
atanh = unary(
    "Atanh",
    np.arctanh,
    "atanh(x)",
    from_slope(lambda x: raw_ops.Reciprocal(raw_ops.Sub(1, raw_ops.Square(x)))),
    "The number whose hyperbolic tangent is x, NaN outside [-1, 1]",
    sparse=True,
)


def _atan2_gradient(op: Any, dz: Any) -> list[Any]:
    """dz x / (x x + y y), and -dz y / (x x + y y)."""
    y, x = op.inputs
    share = raw_ops.RealDiv(dz, raw_ops.AddV2(raw_ops.Square(x), raw_ops.Square(y)))
    return unbroadcast_pair(op, raw_ops.Mul(x, share), raw_ops.Neg(raw_ops.Mul(y, share)))


class AngleFunction(Protocol):
    """A function of the coordinates `y` and `x`."""

    def __call__(self, y: Any, x: Any, name: str | None = None) -> Tensor:
        """Adds the operation `name` to the graph of `y` and `x`."""


atan2: AngleFunction = public_function(
    op(
        "Atan2",
        **{**BINARY, "inputs": "y: T, x: T"},
        attrs={"T": FLOATING},
        cpu=Call(np.arctan2),
        elementwise="atan2(x, y)",
        grad=_atan2_gradient,
        doc="The angle of the point (x, y) in [-pi, pi], elementwise, of shapes that broadcast.",
    )
)
