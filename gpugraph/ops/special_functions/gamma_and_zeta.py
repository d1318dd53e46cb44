"""Special functions: erfc, the logarithm of the gamma function and its derivatives, and the Hurwitz
zeta function.

The approximation of erfc is from Cody, Rational Chebyshev approximations for the error function,
1969. For digamma and zeta, a recurrence moves the argument into the range where the asymptotic
series (with Bernoulli numbers) has double precision. See Abramowitz, Stegun, Handbook of
Mathematical Functions, 6.3.18 and 23.2.9. All computations are in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call, RowSource
from gpugraph.ops.elementwise.arithmetic_functions import BINARY
from gpugraph.ops.elementwise.element_launches import special_pair_source, special_source
from gpugraph.ops.elementwise.error_function import erfc_into
from gpugraph.ops.elementwise.unary_functions import unary
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.public_function import UnaryFunction, public_function
from gpugraph.ops.framework.shape_functions import IN_PLACE
from gpugraph.ops.framework.unbroadcasting import unbroadcast
from gpugraph.ops.special_functions.native_special_source import special_elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


_DOUBLE = (dtypes.float32, dtypes.float64)


def in_double(function: Callable[..., Array]) -> Call:
    """Return a NumPy kernel that computes `function` in double precision and rounds the result."""

    def run(*arrays: Any) -> None:
        *inputs, out = arrays
        wide = [array.astype(np.float64, copy=False) for array in inputs]
        with np.errstate(all="ignore"):
            np.copyto(out, function(*wide), casting="same_kind")

    return Call(run)


def unary_in_double(
    name: str,
    function: Callable[[Array], Array],
    grad: Any,
    doc: str,
    native: RowSource,
    source: str = "",
) -> Any:
    """Declare an elementwise op that is computed in double precision.

    The op has no C expression, because the results of C's library differ from the results of
    `function` by more than rounding errors.

    Args:
      function: a function of float64 arrays.
      native: the name of the same function in C.
      source: the name of the CUDA function, if there is one.
    """
    call = in_double(function)
    return op(
        name,
        inputs="x: T",
        outputs="y: T",
        attrs={"T": FLOATING},
        **IN_PLACE,
        cpu=call,
        gpu=special_source(source, call) if source else call,
        native=native,
        grad=grad,
        doc=doc,
    )


# -- erfc


def _erfc_gradient(op: Any, dy: Any) -> Any:
    slope = raw_ops.Exp(raw_ops.Neg(raw_ops.Square(op.inputs[0])))
    return raw_ops.Mul(dy, raw_ops.Mul(slope, -2 / math.sqrt(math.pi)))


_erfc = unary("Erfc", erfc_into, "erfc(x)", _erfc_gradient, "1 - erf(x)", FLOATING)


def erfc(x: Any, name: str | None = None) -> Tensor:
    """Return 1 - erf(x), elementwise. The result is also precise where erf(x) is almost 1."""
    return _erfc(x, name=name)


# -- gamma


def _log_gamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


log_gamma_of = np.vectorize(_log_gamma, otypes=[np.float64])

_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330, 854513 / 138,
)  # fmt: skip
"""The Bernoulli numbers B2, B4, ..., B22."""
_FAR = 10


def _positive_digamma(x: Array) -> Array:
    """Return digamma(x) for x > 0.

    The recurrence psi(x) = psi(x + 1) - 1 / x is applied until x >= 10. Then the asymptotic series
    is used.
    """
    total = np.zeros_like(x)
    for _ in range(_FAR):
        near = x < _FAR
        total = np.where(near, total - 1 / x, total)
        x = np.where(near, x + 1, x)
    inverse = 1 / (x * x)
    power, series = inverse, np.zeros_like(x)
    for k, number in enumerate(_BERNOULLI, 1):
        series += number / (2 * k) * power
        power = power * inverse
    return total + (np.log(x) - 0.5 / x - series)


def digamma_of(x: Array) -> Array:
    """Return digamma(x). For x <= 0, the reflection formula is used. At the poles 0, -1, -2, ...,
    the result is NaN.
    """
    below = x <= 0
    value = _positive_digamma(np.where(below, 1 - x, x))
    whole = np.rint(x)
    reflected = value - np.pi / np.tan(np.pi * (x - whole))
    return np.where(below, np.where(x == whole, np.nan, reflected), value)


# -- zeta


def _zeta(x: Array, q: Array) -> Array:
    """Return the sum of 1 / (q + k) ** x over k = 0, 1, ...

    The first terms are added, and the remainder is computed by the Euler-Maclaurin formula. As in
    TensorFlow, the result is NaN for x < 1 and infinite for x = 1. For x > 1, it is infinite if q
    is an integer <= 0. It is NaN at any other q <= 0, unless x is an integer.
    """
    x, q = np.broadcast_arrays(x, q)
    total, base = np.zeros(x.shape), q
    for _ in range(_FAR):
        total = total + np.power(base, -x)
        base = base + 1
    last = np.power(base, -x)
    total = total + last * base / (x - 1) + last / 2
    factor, scale = x, last / base
    faculty = 2.0
    for k, number in enumerate(_BERNOULLI, 1):
        total = total + number / faculty * factor * scale
        factor = factor * (x + 2 * k - 1) * (x + 2 * k)
        scale = scale / (base * base)
        faculty *= (2 * k + 1) * (2 * k + 2)
    total = np.where((x > 1) & (q == np.inf), 0.0, total)
    limit = np.where(q < 1, np.inf, np.where(q == 1, 1.0, 0.0))
    total = np.where((x == np.inf) & (q > 0), limit, total)
    total = np.where(x == 1, np.inf, np.where(x < 1, np.nan, total))
    pole = np.where(q == np.floor(q), np.inf, np.where(x == np.floor(x), total, np.nan))
    return np.where((q <= 0) & (x > 1), pole, total)


def _polygamma(a: Array, x: Array) -> Array:
    """Return (-1) ** (a + 1) a! zeta(a + 1, x). For a = 0, return digamma(x). If a is not an
    integer, the result is NaN.
    """
    a, x = np.broadcast_arrays(a, x)
    size = np.exp(log_gamma_of(a + 1)) * _zeta(a + 1, x)
    signed = np.where(np.fmod(a, 2) == 0, -size, size)
    whole = (a >= 0) & (a == np.floor(a))
    return np.where(whole, np.where(a == 0, digamma_of(x), signed), np.nan)


def _digamma_gradient(op: Any, dy: Any) -> Any:
    x = op.inputs[0]
    wide = raw_ops.Cast(x, DstT=dtypes.float32) if x.dtype.size == 2 else x
    slope = raw_ops.Polygamma(raw_ops.OnesLike(wide), wide)
    return raw_ops.Mul(dy, slope if wide is x else raw_ops.Cast(slope, DstT=x.dtype))


lgamma: UnaryFunction = public_function(
    unary_in_double(
        "Lgamma",
        log_gamma_of,
        lambda op, dy: raw_ops.Mul(dy, raw_ops.Digamma(op.inputs[0])),
        "The logarithm of |gamma(x)|, elementwise; infinite at 0, -1, -2, ...",
        special_elements("gg_lgammas", 10),
        "gg_lgamma",
    )
)
digamma: UnaryFunction = public_function(
    unary_in_double(
        "Digamma",
        digamma_of,
        _digamma_gradient,
        "The derivative of lgamma, elementwise; NaN at 0, -1, -2, ...",
        special_elements("gg_digammas", 15),
        "gg_digamma",
    )
)


def _zeta_gradient(op: Any, dz: Any) -> list[Any]:
    """Return the gradient for q, which is -dz x zeta(x + 1, q). As in TensorFlow, the gradient for
    x is None.
    """
    x, q = op.inputs
    slope = raw_ops.Neg(raw_ops.Mul(x, raw_ops.Zeta(raw_ops.AddV2(x, 1), q)))
    return [None, unbroadcast(raw_ops.Mul(dz, slope), q, x)]


def _polygamma_gradient(op: Any, dz: Any) -> list[Any]:
    """Return the gradient for x, which is dz polygamma(a + 1, x). The gradient for `a` is None,
    because `a` must be an integer.
    """
    a, x = op.inputs
    slope = raw_ops.Polygamma(raw_ops.AddV2(a, 1), x)
    return [None, unbroadcast(raw_ops.Mul(dz, slope), x, a)]


def _declare_binary(name: str, inputs: str, call: Call, grad: Any, doc: str) -> Any:
    shared = {**BINARY, "inputs": inputs, "attrs": {"T": _DOUBLE}}
    kernel = special_pair_source(f"gg_{name.lower()}", call)
    native = special_elements(f"gg_{name.lower()}s", 30)
    return public_function(
        op(name, **shared, cpu=call, gpu=kernel, native=native, grad=grad, doc=doc)
    )


zeta: Callable[..., Tensor] = _declare_binary(
    "Zeta",
    "x: T, q: T",
    in_double(_zeta),
    _zeta_gradient,
    """Hurwitz's zeta function, elementwise: the sum of (q + k) ** -x over k = 0, 1, ...

    Infinite for x = 1, NaN below. Its gradient is by q only, as in TensorFlow.""",
)
polygamma: Callable[..., Tensor] = _declare_binary(
    "Polygamma",
    "a: T, x: T",
    in_double(_polygamma),
    _polygamma_gradient,
    "The derivative `a` of digamma at x, elementwise; NaN where a is no whole number.",
)
