"""The incomplete gamma and beta functions, and derivatives with respect to their parameters.

Series are used where they converge quickly, and continued fractions elsewhere. See Abramowitz,
Stegun, Handbook of Mathematical Functions, 6.5.29, 6.5.31 and 26.5.8. A fraction is evaluated
backwards, starting with a negligible term. The derivatives are computed at the same time, by the
quotient rule. If the parameter of the gamma function is large, series and fractions converge
slowly. Then separate expansions are used (`uniform_expansions`). All computations are in double
precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import SEPARATE
from gpugraph.ops.elementwise.arithmetic_functions import BINARY
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.public_function import public_function
from gpugraph.ops.framework.unbroadcasting import unbroadcast, unbroadcast_pair
from gpugraph.ops.special_functions import uniform_expansions
from gpugraph.ops.special_functions.gamma_and_zeta import digamma_of, in_double, log_gamma_of
from gpugraph.ops.special_functions.native_special_source import special_elements
from gpugraph.ops.special_functions.uniform_expansions import is_near

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Function = Callable[[Array, Array], Array]


_DOUBLE = (dtypes.float32, dtypes.float64)
_MAX_TERMS = 20000
"""The maximum number of terms, which is enough for parameters of beta up to ten million."""


def _terms(*parameters: Array) -> int:
    """Return the number of terms of a continued fraction that affect the result.

    Args:
      parameters: the array a, and the array b if there is one. Their largest element determines the
        number.
    """
    largest = max((float(parameter.max(initial=0.0)) for parameter in parameters), default=0.0)
    return int(min(_MAX_TERMS, 120 + 6 * np.sqrt(min(largest, 1e12))))


# -- gamma


def _series(a: Array, x: Array) -> tuple[Array, Array]:
    """Return the sum of x^n / ((a + 1) ... (a + n)) over n >= 0, and its derivative with respect to
    a.

    It is used for x below a + 1.
    """
    term, slope = np.ones_like(a), np.zeros_like(a)
    total, change = term.copy(), slope.copy()
    for n in range(1, _MAX_TERMS):
        ratio = x / (a + n)
        slope = slope * ratio - term * ratio / (a + n)
        term = term * ratio
        total += term
        change += slope
        small = np.abs(slope) <= 1e-17 * np.abs(change)
        if (small & (term <= 1e-17 * total)).all():
            break
    return total, change


def _fraction(a: Array, x: Array) -> tuple[Array, Array]:
    """Return the continued fraction h and its derivative with respect to a.

    h is 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)). It is used for x above a.
    """
    count = _terms(a)
    value, slope = x + (2 * count + 1) - a, np.full_like(x, -1.0)
    for k in range(count, 0, -1):
        above = k * (a - k)
        slope = -1 + k / value - above * slope / (value * value)
        value = x + (2 * k - 1) - a + above / value
    return 1 / value, -slope / (value * value)


def _by_half(a: Array, x: Array, near: Function, far: Function, at_bend: Function) -> Array:
    """Apply, to each pair of a and x, the function that converges quickly for this pair.

    `near` is applied where the series converges quickly, `far` where the fraction does, and
    `at_bend` where a is large and x is close to a. If a or x is not above 0, or is infinite, the
    result is NaN.
    """
    a, x = np.broadcast_arrays(a, x)
    result = np.full(a.shape, np.nan)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    series, bend = (x <= 1) | (x <= a), inside & is_near(a, x)
    rest = inside & ~bend
    for chosen, function in ((rest & series, near), (rest & ~series, far), (bend, at_bend)):
        if chosen.any():
            result[chosen] = function(a[chosen], x[chosen])
    return result


def _power(a: Array, x: Array, of: Array) -> Array:
    """Return x^a exp(-x) / gamma(of)."""
    return np.exp(a * np.log(x) - x - log_gamma_of(of))


def _lower_near(a: Array, x: Array) -> Array:
    return _power(a, x, a + 1) * _series(a, x)[0]


def _upper_far(a: Array, x: Array) -> Array:
    return _power(a, x, a) * _fraction(a, x)[0]


def _edges(a: Array, x: Array, inner: Array, at_zero: float) -> Array:
    """Return `inner`, except where x is 0 or infinite, or a is infinite. At these points, return
    the exact values.

    Args:
      at_zero: the value at x = 0, which is 0 for the lower function and 1 for the upper function.
        As in TensorFlow, the lower function is 0 at x = 0 for all a, and both functions are 0 where
        both a and x are infinite.
    """
    a, x = np.broadcast_arrays(a, x)
    inner = np.where((a > 0) & (x == np.inf), (1 - at_zero) * np.isfinite(a), inner)
    is_edge = (x == 0) | ((a == np.inf) & (x > 0) & (x < np.inf))
    return np.where(((a > 0) | (at_zero == 0)) & is_edge, at_zero, inner)


def _lower(a: Array, x: Array) -> Array:
    inner = _by_half(a, x, _lower_near, lambda a, x: 1 - _upper_far(a, x), uniform_expansions.lower)
    return _edges(a, x, inner, 0.0)


def _upper(a: Array, x: Array) -> Array:
    inner = _by_half(a, x, lambda a, x: 1 - _lower_near(a, x), _upper_far, uniform_expansions.upper)
    return _edges(a, x, inner, 1.0)


def _slope_near(a: Array, x: Array) -> Array:
    """Return dP / da divided by x^a exp(-x) / gamma(a + 1), where P is the lower function. It is
    computed from the series.
    """
    total, change = _series(a, x)
    return total * (np.log(x) - digamma_of(a + 1)) + change


def _slope_far(a: Array, x: Array) -> Array:
    """Return dP / da divided by x^a exp(-x) / gamma(a), where P is the lower function. It is
    computed from the fraction.
    """
    value, change = _fraction(a, x)
    return -(value * (np.log(x) - digamma_of(a)) + change)


def _lower_slope(a: Array, x: Array) -> Array:
    inner = _by_half(
        a,
        x,
        lambda a, x: _power(a, x, a + 1) * _slope_near(a, x),
        lambda a, x: _power(a, x, a) * _slope_far(a, x),
        uniform_expansions.lower_slope,
    )
    a, x = np.broadcast_arrays(a, x)
    return np.where((a > 0) & ((x == 0) | (x == np.inf)), 0.0, inner)


def _sample_slope(alpha: Array, sample: Array) -> Array:
    """Return the derivative dx / da of a gamma sample x. The probability P is constant, so the
    derivative is -(dP / da) / (dP / dx).
    """
    return _by_half(
        alpha,
        sample,
        lambda a, x: -(x / a) * _slope_near(a, x),
        lambda a, x: -x * _slope_far(a, x),
        uniform_expansions.sample_slope,
    )


def _density(a: Any, x: Any) -> Any:
    """Return a tensor with the density of the gamma distribution, which is x^(a - 1) exp(-x) /
    gamma(a).
    """
    power = raw_ops.Mul(raw_ops.Sub(a, 1), raw_ops.Log(x))
    return raw_ops.Exp(raw_ops.Sub(raw_ops.AddV2(raw_ops.Neg(x), power), raw_ops.Lgamma(a)))


def _igamma_gradient(op: Any, dz: Any) -> list[Any]:
    a, x = op.inputs
    by_a = raw_ops.Mul(dz, raw_ops.IgammaGradA(a, x))
    return unbroadcast_pair(op, by_a, raw_ops.Mul(dz, _density(a, x)))


def _igammac_gradient(op: Any, dz: Any) -> list[Any]:
    return _igamma_gradient(op, raw_ops.Neg(dz))


def _refuse(op: Any, dz: Any) -> Any:
    del dz
    raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")


def _declare(
    name: str, function: Any, grad: Any, native: str, doc: str, **declaration: Any
) -> OpFunction:
    """Declare a broadcasting op.

    Args:
      native: the name of the op's function in host_special.h.
    """
    kernels = {**numpy_kernels(in_double(function)), "native": special_elements(native, 40)}
    shared = {**BINARY, "inputs": "a: T, x: T", "attrs": {"T": _DOUBLE}, **declaration}
    return op(name, **shared, **kernels, grad=grad, doc=doc)


igamma: Callable[..., Tensor] = public_function(
    _declare(
        "Igamma",
        _lower,
        _igamma_gradient,
        "gg_igammas",
        """The lower regularized incomplete gamma function P(a, x), elementwise: the integral of
    t^(a - 1) exp(-t) from 0 to x over gamma(a), of float32 or float64; NaN for a <= 0, x < 0.""",
    )
)
igammac: Callable[..., Tensor] = public_function(
    _declare(
        "Igammac",
        _upper,
        _igammac_gradient,
        "gg_igammacs",
        "The upper regularized incomplete gamma function 1 - P(a, x), elementwise; see `igamma`.",
    )
)
_declare(
    "IgammaGradA",
    _lower_slope,
    _refuse,
    "gg_igamma_slopes",
    "The derivative of Igamma by a, elementwise.",
)
_declare(
    "RandomGammaGrad",
    _sample_slope,
    _refuse,
    "gg_gamma_sample_slopes",
    "The derivative by alpha of a gamma sample at constant probability, elementwise.",
    inputs="alpha: T, sample: T",
    outputs="output: T",
)


# -- beta


def _beta_fraction(a: Array, b: Array, x: Array) -> Array:
    """Return the continued fraction 1 + d1 / (1 + d2 / (1 + ...)). It is used for x below (a + 1) /
    (a + b + 2).
    """
    value = np.ones_like(x)
    for k in range(2 * (_terms(a, b) // 2), 0, -1):
        m = k // 2
        if k % 2:
            above = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            above = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + above / value
    return value


def _beta(a: Array, b: Array, x: Array) -> Array:
    """Return betainc(a, b, x). It is NaN unless a and b are above 0 and x is in [0, 1]."""
    a, b, x = np.broadcast_arrays(a, b, x)
    result = np.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), x, np.nan)
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    a, b, x = a[inside], b[inside], x[inside]
    is_reflected = x > (a + 1) / (a + b + 2)
    p, q = np.where(is_reflected, b, a), np.where(is_reflected, a, b)
    z = np.where(is_reflected, 1 - x, x)
    logs = p * np.log(z) + q * np.log1p(-z)
    front = np.exp(logs + log_gamma_of(p + q) - log_gamma_of(p) - log_gamma_of(q)) / p
    part = front / _beta_fraction(p, q, z)
    result[inside] = np.where(is_reflected, 1 - part, part)
    return result


def _infer_beta(context: InferContext) -> Sequence[TensorShape]:
    """Return the common shape of all inputs that are not scalars. Raises ValueError if their shapes
    differ.
    """
    shapes = [shape for shape in context.shapes if shape.rank != 0]
    return [reduce(TensorShape.merge_with, shapes) if shapes else TensorShape.of(())]


def _beta_gradient(op: Any, dz: Any) -> list[Any]:
    """Return the gradient for x, which is dz x^(a - 1) (1 - x)^(b - 1) / beta(a, b). As in
    TensorFlow, the gradients for a and b are None.
    """
    a, b, x = op.inputs
    log_beta = raw_ops.Sub(
        raw_ops.AddV2(raw_ops.Lgamma(a), raw_ops.Lgamma(b)), raw_ops.Lgamma(raw_ops.AddV2(a, b))
    )
    right = raw_ops.Xlog1py(raw_ops.Sub(b, 1), raw_ops.Neg(x))
    left = raw_ops.Xlogy(raw_ops.Sub(a, 1), x)
    slope = raw_ops.Exp(raw_ops.Sub(raw_ops.AddV2(right, left), log_beta))
    return [None, None, unbroadcast(raw_ops.Mul(dz, slope), x, op.outputs[0])]


betainc: Callable[..., Tensor] = public_function(
    _declare(
        "Betainc",
        _beta,
        _beta_gradient,
        "gg_betaincs",
        """The regularized incomplete beta function I(a, b; x), elementwise: the integral of
    t^(a - 1) (1 - t)^(b - 1) from 0 to x over that to 1, of float32 or float64.

    All have one shape (else ValueError), or are scalars. NaN where a or b is not above 0, and for x
    outside of [0, 1]. Its gradient is by x only, as in TensorFlow.""",
        inputs="a: T, b: T, x: T",
        infer=_infer_beta,
        memory=SEPARATE,
    )
)
