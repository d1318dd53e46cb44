"""The error function of arrays, which NumPy lacks. P and Q are polynomials.

In float64, the error is below 2e-16 of the result's scale. The rational approximations are from
Cody, "Rational Chebyshev approximation for the error function", Math. Comp. 23 (1969). For |x| up
to 0.46875, the approximation is x P(x^2) / Q(x^2). Above, it is 1 - exp(-x^2) P(|x|) / Q(|x|), with
|x| clipped at 6, where the result is 1.

In float32 and float16, the error is 3 units in the last place of float32. The approximation is x
P(x^2) / Q(x^2) with x clipped to [-3.92, 3.92] and degrees 5 and 5. It was fitted for this module
to minimize the maximum relative error (2e-8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

_SMALL = (
    (3.20937758913846947e3, 3.77485237685302021e2, 1.13864154151050156e2, 3.16112374387056560,
     1.85777706184603153e-1),
    (2.84423683343917062e3, 1.28261652607737228e3, 2.44024637934444173e2, 2.36012909523441209e1,
     1.0),
)  # fmt: skip
_LARGE = (
    (1.23033935479799725e3, 2.05107837782607147e3, 1.71204761263407058e3, 8.81952221241769090e2,
     2.98635138197400131e2, 6.61191906371416295e1, 8.88314979438837594, 5.64188496988670089e-1,
     2.15311535474403846e-8),
    (1.23033935480374942e3, 3.43936767414372164e3, 4.36261909014324716e3, 3.29079923573345963e3,
     1.62138957456669019e3, 5.37181101862009858e2, 1.17693950891312499e2, 1.57449261107098347e1,
     1.0),
)  # fmt: skip
_TAIL = (
    (6.58749161529837803e-4, 1.60837851487422766e-2, 1.25781726111229246e-1,
     3.60344899949804439e-1, 3.05326634961232344e-1, 1.63153871373020978e-2),
    (2.33520497626869185e-3, 6.05183413124413191e-2, 5.27905102951428412e-1,
     1.87295284992346725, 2.56852019228982242, 1.0),
)  # fmt: skip
_SINGLE = (
    (1.1283791463196264, 0.1903938320387794, 0.05274685749085937, 0.003765026822895152,
     0.0002848615899488898, 2.0500789478297434e-06),
    (1.0, 0.502064884265787, 0.11410371493748281, 0.014968034043999483, 0.0011623781253628567,
     3.80905281602109e-05),
)  # fmt: skip
_BLOCK = 16384

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def erf_into(x: Array, out: Array) -> None:
    """Write erf(x) into `out`, which has the same shape, 16384 elements at a time. `out` may be
    `x`.
    """
    source, target = x.reshape(-1), out.reshape(-1)
    function = _double if x.dtype == np.float64 else _single
    for start in range(0, source.size, _BLOCK):
        target[start : start + _BLOCK] = function(source[start : start + _BLOCK])


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    value = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += x.dtype.type(coefficient)
    return value


def _single(x: Array) -> Array:
    inside = np.clip(x.astype(np.float32, copy=False), np.float32(-3.92), np.float32(3.92))
    square = inside * inside
    value: Array = _polynomial(square, _SINGLE[0])
    value /= _polynomial(square, _SINGLE[1])
    value *= inside
    return np.clip(value, np.float32(-1), np.float32(1), out=value)


def _double(x: Array) -> Array:
    size = np.minimum(np.abs(x), 6.0)
    small = size <= 0.46875
    near = np.where(small, size, 0.0)
    square = near * near
    inner = near * _polynomial(square, _SMALL[0]) / _polynomial(square, _SMALL[1])
    tail = _polynomial(size, _LARGE[0]) / _polynomial(size, _LARGE[1])
    outer = 1.0 - np.exp(-size * size) * tail
    return np.copysign(np.where(small, inner, outer), x)


def erfc_into(x: Array, out: Array) -> None:
    """Write 1 - erf(x) into `out`, which has the same shape, 16384 elements at a time. `out` may be
    `x`.
    """
    source, target = x.reshape(-1), out.reshape(-1)
    for start in range(0, source.size, _BLOCK):
        wide = source[start : start + _BLOCK].astype(np.float64, copy=False)
        target[start : start + _BLOCK] = _complement(wide)


def _complement(x: Array) -> Array:
    """Return 1 - erf(x) in double precision, without cancellation for large x.

    For |x| > 0.46875, erfc(|x|) is exp(-x x) times a rational function of |x|. For negative x, the
    result is 2 - erfc(|x|).
    """
    size = np.minimum(np.abs(x), 28.0)
    coarse = (
        np.trunc(size * 16) / 16
    )  # the square of `coarse` is exact, so that exp loses no precision
    bell = np.exp(-coarse * coarse) * np.exp(-(size - coarse) * (size + coarse))
    middle = _polynomial(size, _LARGE[0]) / _polynomial(size, _LARGE[1])
    inverse = 1 / np.square(np.maximum(size, 4.0))
    far = inverse * _polynomial(inverse, _TAIL[0]) / _polynomial(inverse, _TAIL[1])
    far = (1 / np.sqrt(np.pi) - far) / np.maximum(size, 4.0)
    tail = bell * np.where(size <= 4.0, middle, far)
    near = 1 - _double(np.where(np.abs(x) <= 0.46875, x, 0.0))
    return np.where(np.abs(x) <= 0.46875, near, np.where(x < 0, 2 - tail, tail))
