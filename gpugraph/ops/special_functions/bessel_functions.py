"""Modified Bessel functions of the first kind, of order 0 and 1, unscaled and scaled by exp(-|x|).

For |x| up to 20, they are computed by their power series, whose terms are all positive. For larger
|x|, they are computed by the asymptotic series. See Abramowitz, Stegun, Handbook of Mathematical
Functions, 9.6.10 and 9.7.1. All computations are in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.public_function import UnaryFunction, scoped_function
from gpugraph.ops.special_functions.gamma_and_zeta import unary_in_double
from gpugraph.ops.special_functions.native_special_source import special_elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


_FAR = 20.0


def _near(order: int, x: Array) -> Array:
    """Return the function, computed by its power series. This is the sum of (x / 2)^(2k + order) /
    (k! (k + order)!) over k.
    """
    square = x * x / 4
    term = np.ones_like(x) if order == 0 else x / 2
    total = term.copy()
    for k in range(1, 60):
        term = term * square / (k * (k + order))
        total += term
    return total


def _far(order: int, x: Array) -> Array:
    """Return exp(-x) times the function, computed by the asymptotic series for large x."""
    term = np.ones_like(x)
    total = term.copy()
    for k in range(1, 36):
        term = term * ((2 * k - 1) ** 2 - 4 * order) / (8 * k * x)
        total += term
    return total / np.sqrt(2 * np.pi * x)


def _function(order: int, scaled: bool) -> Callable[[Array], Array]:
    def compute(x: Array) -> Array:
        size = np.abs(x)
        small = np.minimum(size, _FAR)
        large = np.maximum(size, _FAR)
        bell = np.exp(-small) if scaled else 1.0
        far = _far(order, np.where(np.isinf(large), _FAR, large))
        if not scaled:  # in two factors, because exp(size) may overflow where the product does not
            far = far * np.exp(large / 2) * np.exp(large / 2)
        far = np.where(
            np.isinf(large), 0.0 if scaled else np.nan, far
        )  # TensorFlow computes 0 * inf here
        value = np.where(np.isnan(x), x, np.where(size <= _FAR, _near(order, small) * bell, far))
        return np.where(x == 0, 0.0, np.copysign(value, x)) if order else value

    return compute


def _except_at_zero(x: Any, other: Any, number: float) -> Any:
    """Return `number` where x is 0, and the tensor `other` elsewhere."""
    zero = raw_ops.Equal(x, raw_ops.ZerosLike(x))
    return raw_ops.SelectV2(zero, raw_ops.Mul(raw_ops.OnesLike(x), number), other)


def _nonzero(x: Any) -> Any:
    """Return x with each 0 replaced by 1, so that a division by x has finite gradients."""
    return _except_at_zero(x, x, 1.0)


def _i0_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.Mul(dy, raw_ops.BesselI1(op.inputs[0]))


def _i0e_gradient(op: Any, dy: Any) -> Any:
    x = op.inputs[0]
    lost = raw_ops.Mul(raw_ops.Sign(x), op.outputs[0])
    return raw_ops.Mul(dy, raw_ops.Sub(raw_ops.BesselI1e(x), lost))


def _i1_gradient(op: Any, dy: Any) -> Any:
    """Return the gradient dy (I0(x) - y / x), which is dy / 2 at x = 0."""
    x, y = op.inputs[0], op.outputs[0]
    slope = raw_ops.Sub(raw_ops.BesselI0(x), raw_ops.RealDiv(y, _nonzero(x)))
    return raw_ops.Mul(dy, _except_at_zero(x, slope, 0.5))


def _i1e_gradient(op: Any, dy: Any) -> Any:
    """Return the gradient dy (I0e(x) - y (sign(x) + 1 / x)), which is dy / 2 at x = 0."""
    x, y = op.inputs[0], op.outputs[0]
    lost = raw_ops.AddV2(raw_ops.Sign(x), raw_ops.Reciprocal(_nonzero(x)))
    slope = raw_ops.Sub(raw_ops.BesselI0e(x), raw_ops.Mul(y, lost))
    return raw_ops.Mul(dy, _except_at_zero(x, slope, 0.5))


def _declare(op_type: str, order: int, scaled: bool, grad: Any, doc: str) -> UnaryFunction:
    """Declare an op of a Bessel function. Return its public function, whose docstring is `doc`.

    Args:
      scaled: whether the function is multiplied by exp(-|x|).
    """
    times = " times exp(-|x|)" if scaled else ""
    op_doc = f"The modified Bessel function of order {order}{times}, elementwise."
    native = special_elements(f"gg_bessel_i{order}{'e' * scaled}s", 15)
    op_function = unary_in_double(op_type, _function(order, scaled), grad, op_doc, native)
    return scoped_function(op_function, f"bessel_{op_type.removeprefix('Bessel').lower()}", doc)


bessel_i0 = _declare(
    "BesselI0", 0, False, _i0_gradient, "The modified Bessel function of order 0, elementwise."
)
bessel_i0e = _declare(
    "BesselI0e", 0, True, _i0e_gradient, "exp(-|x|) bessel_i0(x), elementwise, without overflow."
)
bessel_i1 = _declare(
    "BesselI1", 1, False, _i1_gradient, "The modified Bessel function of order 1, elementwise."
)
bessel_i1e = _declare(
    "BesselI1e", 1, True, _i1e_gradient, "exp(-|x|) bessel_i1(x), elementwise, without overflow."
)
