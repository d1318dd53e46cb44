"""The inverses of the error function and of the normal distribution's cumulative function.

An approximation (Abramowitz, Stegun, Handbook of Mathematical Functions, 26.2.23) is refined
by steps of Halley's method. Each step triples the number of correct digits. The steps evaluate erf
where the result is near 0, and erfc in the tails. Small results and small probabilities therefore
keep their relative precision. All computations are in double precision.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.error_function import erf_into, erfc_into
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import scoped_function
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.special_functions.gamma_and_zeta import unary_in_double
from gpugraph.ops.special_functions.native_special_source import special_elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


_ROOT = math.sqrt(math.pi)
_SMALLEST = 5e-324


def _guess(p: Array) -> Array:
    """Return x for which the normal distribution has P(X <= x) = p. p must be in (0, 1 / 2]. The
    error is below 5e-4.
    """
    t = np.sqrt(-2 * np.log(p))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    return above / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t


def _tail(p: Array) -> Array:
    """Return x with erfc(x) = 2 p. p must be in (0, 1 / 2]."""
    x = -_guess(p) / math.sqrt(2)
    value = np.empty_like(x)
    for _ in range(3):
        erfc_into(x, value)
        step = (value - 2 * p) * (_ROOT / 2) * np.exp(np.minimum(x * x, 709))
        x = x + step / (1 + x * step)
    return x


def _middle(y: Array) -> Array:
    """Return x with erf(x) = y. |y| must be at most 1 / 2."""
    x = y * (_ROOT / 2) * (1 + y * y * (math.pi / 12))
    value = np.empty_like(x)
    for _ in range(3):
        erf_into(x, value)
        step = (value - y) * (_ROOT / 2) * np.exp(x * x)
        x = x - step / (1 + x * step)
    return x


def _erfinv(y: Array) -> Array:
    """Return x with erf(x) = y. It is infinite for y = -1 and y = 1, and NaN for |y| > 1."""
    size = np.abs(y)
    middle = _middle(np.where(size <= 0.5, y, 0.0))
    outer = _tail(np.where((size > 0.5) & (size < 1), (1 - size) / 2, 0.25))
    inner = np.where(size <= 0.5, middle, np.copysign(outer, y))
    inner = inner + 0.0  # adding 0 turns -0 into 0, as TensorFlow returns
    return np.where(size < 1, inner, np.where(size == 1, np.copysign(np.inf, y), np.nan))


def _ndtri(p: Array) -> Array:
    """Return x for which the normal distribution has P(X <= x) = p. It is infinite for p = 0 and p
    = 1, and NaN outside [0, 1].
    """
    small = np.minimum(p, 1 - p)
    near = small > 0.25
    middle = _middle(np.where(near, 2 * p - 1, 0.0))
    outer = _tail(np.where(near | ~(small > 0), 0.25, np.maximum(small, _SMALLEST)))
    inner = math.sqrt(2) * np.where(near, middle, np.where(p < 0.5, -outer, outer))
    edge = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.nan))
    return np.where(small > 0, inner, edge)


def _inverse(name: str, function: Any, slope: float, power: float, doc: str) -> Any:
    """Declare an inverse function y = f(x). Its gradient is dy * slope * exp(power * y^2)."""

    def back(op: Any, dy: Any) -> Any:
        square = raw_ops.Square(op.outputs[0])
        bell = raw_ops.Exp(square if power == 1 else raw_ops.Mul(square, power))
        return raw_ops.Mul(raw_ops.Mul(dy, slope), bell)

    native = special_elements(f"gg_{name.lower()}s", 15)
    return unary_in_double(name, function, back, f"{doc}, elementwise.", native)


erfinv = scoped_function(
    _inverse("Erfinv", _erfinv, _ROOT / 2, 1.0, "The inverse of the error function"),
    "erfinv",
    "The inverse of erf, elementwise: infinite at -1 and 1, NaN beyond.",
)
ndtri = scoped_function(
    _inverse(
        "Ndtri", _ndtri, math.sqrt(2) * _ROOT, 0.5, "The quantile x of the normal distribution"
    ),
    "ndtri",
    "The inverse of the normal distribution's function, elementwise: infinite at 0 and 1.",
)


def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """Return the inverse of erfc, elementwise. It is infinite at 0 and 2, and NaN outside [0,
    2].
    """
    with op_scope(name, "erfcinv", x):
        source = convert_to_tensor(x, name="start")
        return -ndtri(0.5 * source) * math.sqrt(0.5)
