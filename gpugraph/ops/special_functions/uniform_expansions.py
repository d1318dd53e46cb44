"""The incomplete gamma function for large parameters a and for x near a.

See Temme, "The asymptotic expansion of the incomplete gamma functions", 1979, and NIST Digital
Library of Mathematical Functions, 8.12. Let m = x / a - 1 and e^2 / 2 = m - log(1 + m), where e has
the sign of m. Then

    Q(a, x) = erfc(e sqrt(a / 2)) / 2 + exp(-a e^2 / 2) / sqrt(2 pi a) S(a, e)
    S(a, e) = c0(e) + c1(e) / a + c2(e) / a^2 + ...

The functions c0, c1, ... are power series in e. The coefficients of these series and of their
derivatives follow from the coefficients of m = e + e^2 / 3 + ... Four terms of the sum are enough
for a >= 10000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugraph.ops.elementwise.error_function import erfc_into

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


_LARGE = 1e4
_POWERS = 40
"""The number of powers of e in a series. |e| is at most 0.8 here, and the radius of convergence is
3.5.
"""
_STIRLING = (1.0, 1 / 12, 1 / 288, -139 / 51840)
"""Stirling's series: gamma(a) = sqrt(2 pi / a) (a / exp(1))^a (1 + 1 / (12 a) + ...)."""


def _inverse_powers(count: int) -> Array:
    """Return the first `count` coefficients of m as a power series in e. The coefficient of e^0 is
    0.
    """
    powers = np.zeros(count)
    powers[1] = 1.0
    for n in range(2, count):
        inner = sum(j * powers[j] * powers[n - j + 1] for j in range(2, n))
        powers[n] = (powers[n - 1] - inner) / (n + 1)
    return powers


def _corrections(ratio: Array) -> list[Array]:
    """Return the coefficients of the power series c0, c1, ... in e.

    Args:
      ratio: the coefficients of m.
    """
    orders = np.arange(len(ratio) - 2)
    first = (orders + 2) * ratio[2:]
    first[0] -= 1
    series = [first]
    for k in range(1, len(_STIRLING)):
        previous = series[-1]
        size = len(previous) - 2
        shifted = (orders[:size] + 2) * previous[2:]
        series.append((-1) ** k * _STIRLING[k] * first[:size] + shifted)
    return series


_RATIO = _inverse_powers(_POWERS)
_C = _corrections(_RATIO)


def _series(coefficients: Array, e: Array) -> Array:
    total = np.zeros_like(e)
    for coefficient in coefficients[::-1]:
        total = total * e + coefficient
    return total


def _over(a: Array, terms: Any) -> Array:
    """Return terms[0] + terms[1] / a + terms[2] / a^2 + ..."""
    total = np.zeros_like(a)
    for term in list(terms)[::-1]:
        total = total / a + term
    return total


class _Near(NamedTuple):
    """The terms that all functions of this module use, for each pair of a and x.

    Args:
      e: e as defined in the module's docstring.
      root: e sqrt(a / 2).
      bell: exp(-a e^2 / 2) / sqrt(2 pi a).
      sum: S(a, e).
    """

    e: Array
    root: Array
    bell: Array
    sum: Array


def _near(a: Array, x: Array) -> _Near:
    m = (x - a) / a
    r = m / (2 + m)
    # log(1 + m) = 2 (r + r^3 / 3 + r^5 / 5 + ...) and m - 2 r = r m, without cancellation
    odd = _series(np.array([1 / (2 * k + 3) for k in range(20)]), r * r)
    half = r * m - 2 * r**3 * odd
    e = np.sign(m) * np.sqrt(2 * half)
    bell = np.exp(-a * half) / np.sqrt(2 * np.pi * a)
    return _Near(e, e * np.sqrt(a / 2), bell, _over(a, [_series(c, e) for c in _C]))


def is_near(a: Array, x: Array) -> Array:
    """Return a mask of the pairs for which the functions of this module are valid. a and x must be
    above 0.
    """
    return (a > _LARGE) & (x > a / 2) & (x < 2 * a)


def _erfc(x: Array) -> Array:
    out = np.empty_like(x)
    erfc_into(x, out)
    return out


def upper(a: Array, x: Array) -> Array:
    """Return Q(a, x), the upper regularized incomplete gamma function."""
    near = _near(a, x)
    return _erfc(near.root) / 2 + near.bell * near.sum


def lower(a: Array, x: Array) -> Array:
    """Return P(a, x) = 1 - Q(a, x), the lower regularized incomplete gamma function."""
    near = _near(a, x)
    return _erfc(-near.root) / 2 - near.bell * near.sum


def _slope(a: Array, near: _Near) -> Array:
    """Return (dP / da) / `bell`, by the chain rule through e and through a e^2 / 2."""
    ratio = _series(_RATIO[1:], near.e)
    log_over_e = ratio - near.e / 2
    by_e = [_series(np.arange(1, len(c)) * c[1:], near.e) for c in _C]
    by_power = [k * _series(c, near.e) for k, c in enumerate(_C)]
    logarithm = log_over_e * near.e
    result: Array = -log_over_e - near.sum * (logarithm - 0.5 / a)
    result += (ratio * _over(a, by_e) + _over(a, by_power)) / a
    return result


def lower_slope(a: Array, x: Array) -> Array:
    """Return the derivative of P(a, x) with respect to a."""
    near = _near(a, x)
    return near.bell * _slope(a, near)


def sample_slope(a: Array, x: Array) -> Array:
    """Return the derivative of x with respect to a, at constant P(a, x)."""
    near = _near(a, x)
    return -(x / a) * _over(a, _STIRLING) * _slope(a, near)
