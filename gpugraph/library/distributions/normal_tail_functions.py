"""The cumulative distribution function of the standard normal distribution, and its log, accurate
in both tails.
"""

from __future__ import annotations

import math
from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.arithmetic_functions import maximum, minimum
from gpugraph.ops.elementwise.comparison_and_select import where_v2
from gpugraph.ops.elementwise.unary_functions import abs as absolute, erf, log
from gpugraph.ops.special_functions.gamma_and_zeta import erfc

_TERMS = 3
"""The number of terms of the asymptotic series for the lower tail."""

_LOWER = {dtypes.float32: (-10.0, 5.0), dtypes.float64: (-20.0, 8.0)}
"""For each dtype, two bounds of x: below the first, the asymptotic series is used; above the
second, Phi(x) rounds to 1.
"""


def normal_cdf(x: Any) -> Tensor:
    """Return P[X <= x] of a standard normal X: half of erfc(-x / sqrt(2))."""
    w = x * (0.5 * math.sqrt(2.0))
    z = absolute(w)
    far = where_v2(w > 0.0, 2.0 - erfc(z), erfc(z))
    return 0.5 * where_v2(z < 0.5 * math.sqrt(2.0), 1.0 + erf(w), far)


def log_normal_cdf(x: Any) -> Tensor:
    """Return log P[X <= x] of a standard normal X.

    For x far below 0, the result is computed with the asymptotic series of Mills' ratio (Abramowitz
    and Stegun, 26.2.12). For each x, one of several formulas is selected. Each formula receives
    only arguments in its own range, so that gradients are finite.
    """
    lower, upper = _LOWER.get(x.dtype.base_dtype, _LOWER[dtypes.float32])
    tail = minimum(x, lower)
    series: Any = 1.0
    for n in range(1, _TERMS + 1):
        odd = math.prod(range(2 * n - 1, 0, -2))
        series = series + (-1.0) ** n * odd / tail ** (2.0 * n)
    far = -0.5 * tail * tail - log(-tail) - 0.5 * math.log(2 * math.pi) + log(series)
    middle = log(normal_cdf(maximum(minimum(x, upper), lower)))
    return where_v2(x > upper, -normal_cdf(-x), where_v2(x > lower, middle, far))
