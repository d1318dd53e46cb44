"""Samples of functions that are integrals, and of their inverses; the references integrate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .samples_of_mathematics import POSITIVE, digamma_by_sum, vectorized
from .sampling import add, case, elementwise

__all__ = ["NODES"]

NODES, _WEIGHTS = np.polynomial.legendre.leggauss(160)
_S = (NODES + 1) / 2
_POWER = 8  # t = x s^8: a function singular at 0 is smooth in s


def _integral(x: float, of: Any) -> float:
    t = x * _S**_POWER
    return float((_WEIGHTS / 2 * _POWER * _S ** (_POWER - 1) * of(t)).sum() * x)


def _lower(a: float, x: float) -> float:
    return _integral(x, lambda t: t ** (a - 1) * np.exp(-t)) / math.gamma(a)


def _lower_slope(a: float, x: float) -> float:
    part = _integral(x, lambda t: np.log(t) * t ** (a - 1) * np.exp(-t)) / math.gamma(a)
    return part - _lower(a, x) * digamma_by_sum(a)


def _sample_slope(a: float, x: float) -> float:
    return -_lower_slope(a, x) / (x ** (a - 1) * math.exp(-x) / math.gamma(a))


def _beta(a: float, b: float, x: float) -> float:
    whole = math.gamma(a) * math.gamma(b) / math.gamma(a + b)
    return _integral(x, lambda t: t ** (a - 1) * (1 - t) ** (b - 1)) / whole


_ROUGH: dict[str, Any] = {**POSITIVE, "tolerance": 8}
elementwise("Igamma", vectorized(_lower), **_ROUGH)
elementwise("Igammac", vectorized(lambda a, x: 1 - _lower(a, x)), **_ROUGH)
elementwise("IgammaGradA", vectorized(_lower_slope), **_ROUGH)
elementwise("RandomGammaGrad", vectorized(_sample_slope), **{**_ROUGH, "low": 1.0})
add(
    "Betainc",
    lambda v: case(v(2, 3), 2 * v(2, 3), v(2, 3) / 2),
    lambda v: case(v(), v(), v()),
    lambda v: case(v(), v(), v(3)),
    lambda v: case(v(4), v(), v(4)),
    lambda v: case(v(0, 3), v(), v(0, 3)),
    reference=vectorized(_beta),
    tolerance=8,
    low=0.35,
    high=0.9,
    signed=False,
)

# -- Bessel functions

_ANGLES = (np.arange(256) + 0.5) * (np.pi / 256)


def _bessel(order: int, scaled: bool) -> Any:
    def value(x: float) -> float:
        less = abs(x) if scaled else 0.0
        return float((np.exp(x * np.cos(_ANGLES) - less) * np.cos(order * _ANGLES)).mean())

    return vectorized(value)


for _order in (0, 1):
    for _end in ("", "e"):
        _name, _reference = f"BesselI{_order}{_end}", _bessel(_order, bool(_end))
        elementwise(_name, _reference, tolerance=4)
        add(
            _name,
            lambda v: case(np.array([-30, -19, 21, 25], v.dtype.as_numpy_dtype)),
            reference=_reference,
            types=[dtypes.float64, dtypes.float32],
            tolerance=4,
        )

# -- inverses


def _bisected(function: Any, low: float, high: float) -> Any:
    def value(y: float) -> float:
        below, above = low, high
        for _ in range(80):
            middle = (below + above) / 2
            below, above = (middle, above) if function(middle) < y else (below, middle)
        return below

    return vectorized(value)


elementwise("Erfinv", _bisected(math.erf, -6, 6), low=0.1, high=0.9)
elementwise(
    "Ndtri",
    _bisected(lambda x: math.erfc(-x / math.sqrt(2)) / 2, -40, 40),
    low=0.05,
    high=0.95,
    signed=False,
)


# -- logarithms of sums


def _zeros(v: Any, *shape: int) -> Any:
    x = v(*shape)
    x.reshape(-1)[::2] = 0
    return x


def _x_log1p_y(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where(x == 0, 0, x * np.log1p(y))


elementwise("Xlog1py", _x_log1p_y, **POSITIVE)
add(
    "Xlog1py",
    lambda v: case(_zeros(v, 4), np.array([-1, 0, 2, 3], v.dtype.as_numpy_dtype), smooth=False),
    reference=_x_log1p_y,
)


def _logs_of_sums(x: Any, axis: Any, exclusive: bool = False, reverse: bool = False) -> Any:
    x = np.moveaxis(x, int(axis), 0)
    x = x[::-1] if reverse else x
    result = np.log(np.cumsum(np.exp(x), axis=0))
    if exclusive:
        result = np.concatenate([np.full_like(x[:1], -np.inf), result[:-1]])
    return np.moveaxis(result[::-1] if reverse else result, 0, int(axis))


add(
    "CumulativeLogsumexp",
    lambda v: case(v(2, 3), np.array(1, np.int32)),
    lambda v: case(v(4), np.array(-1, np.int32), reverse=True),
    lambda v: case(v(3, 2), np.array(0), exclusive=True, smooth=False),
    lambda v: case(v(3, 0), np.array(0, np.int32)),
    reference=_logs_of_sums,
)
