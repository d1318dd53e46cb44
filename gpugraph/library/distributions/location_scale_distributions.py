"""Distributions with a location and a scale: Normal, Laplace and StudentT. The module also has
Uniform.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from gpugraph.building.checks import assert_less
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution import Distribution, derived_seed, tensor_parameter
from gpugraph.library.distributions.distribution_parameters import FULLY_REPARAMETERIZED
from gpugraph.library.distributions.kullback_leibler import RegisterKL
from gpugraph.library.distributions.normal_tail_functions import log_normal_cdf, normal_cdf
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros_like
from gpugraph.ops.arrays.masks_and_coordinates import broadcast_dynamic_shape
from gpugraph.ops.elementwise.comparison_and_select import logical_or, where_v2
from gpugraph.ops.elementwise.unary_functions import (
    abs as absolute,
    exp,
    is_nan,
    log,
    log1p,
    rsqrt,
    sign,
    square,
)
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.random.gamma_and_poisson import random_gamma
from gpugraph.ops.random.random_ops import random_normal, random_uniform
from gpugraph.ops.special_functions.gamma_and_zeta import digamma, lgamma
from gpugraph.ops.special_functions.incomplete_gamma_and_beta import betainc
from gpugraph.ops.special_functions.inverse_error_function import ndtri


class _LocationScale(Distribution):
    """Base class of distributions of loc + scale * z, where z has a fixed distribution."""

    event_ranks: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}
    loc = tensor_parameter("loc", "The location.")
    scale = tensor_parameter("scale", "The scale.")

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def _mean(self) -> Any:
        return self.loc + zeros_like(self.scale)

    def _mode(self) -> Any:
        return self._mean()

    def _whole_scale(self) -> Any:
        """Return the scale, broadcast to the shape of the batch."""
        return self.scale + zeros_like(self.loc)


class Normal(_LocationScale):
    """The normal distribution with mean `loc` and standard deviation `scale`."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["scale"])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        noise = random_normal(self._noise_shape(n), 0.0, 1.0, self.dtype, seed)
        return noise * self.scale + self.loc

    def _log_prob(self, x: Any) -> Any:
        normalization = 0.5 * math.log(2.0 * math.pi) + log(self.scale)
        return -0.5 * square(self._z(x)) - normalization

    def _cdf(self, x: Any) -> Any:
        return normal_cdf(self._z(x))

    def _log_cdf(self, x: Any) -> Any:
        return log_normal_cdf(self._z(x))

    def _survival_function(self, x: Any) -> Any:
        return normal_cdf(-self._z(x))

    def _log_survival_function(self, x: Any) -> Any:
        return log_normal_cdf(-self._z(x))

    def _quantile(self, p: Any) -> Any:
        return ndtri(p) * self.scale + self.loc

    def _entropy(self) -> Any:
        return 0.5 * math.log(2.0 * math.pi * math.e) + log(self._whole_scale())

    def _stddev(self) -> Any:
        return self.scale * (zeros_like(self.loc) + 1.0)


@RegisterKL(Normal, Normal)
def _normal_divergence(a: Normal, b: Normal, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        ratio = square(a.scale) / square(b.scale)
        return square(a.loc - b.loc) / (2.0 * square(b.scale)) + 0.5 * (ratio - 1.0 - log(ratio))


class Laplace(_LocationScale):
    """The Laplace distribution, with density exp(-|x - loc| / scale) / (2 scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["scale"])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        dtype = self.dtype.as_numpy_dtype
        low = np.nextafter(dtype(-1.0), dtype(0.0))  # starts above -1, since log1p(-1) is infinite
        uniform = random_uniform(self._noise_shape(n), low, 1.0, self.dtype, seed)
        return self.loc - self.scale * sign(uniform) * log1p(-absolute(uniform))

    def _log_prob(self, x: Any) -> Any:
        return -absolute(self._z(x)) - math.log(2.0) - log(self.scale)

    def _cdf(self, x: Any) -> Any:
        z = self._z(x)
        return 0.5 + 0.5 * sign(z) * (1.0 - exp(-absolute(z)))

    def _log_cdf(self, x: Any) -> Any:
        return self._log_tail(self._z(x))

    def _log_survival_function(self, x: Any) -> Any:
        return self._log_tail(-self._z(x))

    @staticmethod
    def _log_tail(z: Any) -> Any:
        return where_v2(z < 0.0, z - math.log(2.0), log1p(-0.5 * exp(-absolute(z))))

    def _entropy(self) -> Any:
        return math.log(2.0) + 1.0 + log(self._whole_scale())

    def _stddev(self) -> Any:
        return math.sqrt(2.0) * self._whole_scale()


class StudentT(_LocationScale):
    """Student's t-distribution with `df` degrees of freedom, a location and a scale."""

    event_ranks: ClassVar[dict[str, int]] = {"df": 0, "loc": 0, "scale": 0}
    df = tensor_parameter("df", "The degrees of freedom.")

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["df"])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        normal = random_normal(self._noise_shape(n), dtype=self.dtype, seed=seed)
        df = self.df * ones(self.batch_shape_tensor(), dtype=self.dtype)
        gamma = random_gamma([n], 0.5 * df, 0.5, self.dtype, derived_seed(seed, "student_t"))
        return normal * rsqrt(gamma / df) * self.scale + self.loc

    def _log_prob(self, x: Any) -> Any:
        half, half_above = 0.5 * self.df, 0.5 * (self.df + 1.0)
        normalization = log(absolute(self.scale)) + 0.5 * log(self.df) + 0.5 * math.log(math.pi)
        return (
            -half_above * log1p(square(self._z(x)) / self.df)
            - normalization
            - lgamma(half)
            + lgamma(half_above)
        )

    def _cdf(self, x: Any) -> Any:
        y = (x - self.loc) / absolute(self.scale)
        share = self.df / (square(y) + self.df)
        whole = ones(broadcast_dynamic_shape(shape(share), shape(self.df)), self.dtype)
        tail = 0.5 * betainc(0.5 * self.df * whole, 0.5 * whole, share * whole)
        return where_v2(y < 0.0, tail, 1.0 - tail)

    def _entropy(self) -> Any:
        half, half_above = 0.5 * self.df, 0.5 * (self.df + 1.0)
        beta = lgamma(half) + math.lgamma(0.5) - lgamma(half_above)
        scale = log(absolute(self._whole_scale())) + 0.5 * log(self.df)
        return scale + beta + half_above * (digamma(half_above) - digamma(half))

    def _mean(self) -> Any:
        mean = self.loc * ones(self.batch_shape_tensor(), dtype=self.dtype)
        message = "mean not defined for components of df <= 1"
        return self._defined(mean, [(ones([], self.dtype), self.df, message)])

    def _variance(self) -> Any:
        finite = self.df > 2.0
        below = where_v2(
            finite, self.df - 2.0, 1.0
        )  # a divisor that is never 0, so that the gradient of the unselected branch is not NaN
        whole = ones(self.batch_shape_tensor(), dtype=self.dtype)
        variance = where_v2(finite, whole * square(self.scale) * self.df / below, np.inf)
        message = "variance not defined for components of df <= 1"
        return self._defined(variance, [(ones([], self.dtype), self.df, message)])

    def _mode(self) -> Any:
        return identity(self.loc)


class Uniform(Distribution):
    """The uniform distribution over [low, high)."""

    event_ranks: ClassVar[dict[str, int]] = {"low": 0, "high": 0}
    low = tensor_parameter("low", "The lower bound.")
    high = tensor_parameter("high", "The upper bound, which is not drawn.")

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        arguments = locals()
        message = "uniform not defined when low >= high."
        checks = [assert_less(low, high, message=message)] if validate_args else []
        with control_dependencies(checks):
            self._start({k: v for k, v in arguments.items() if k != "arguments"})

    def range(self, name: str = "range") -> Tensor:
        """Return the width of the range: high - low."""
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        samples = random_uniform(self._noise_shape(n), dtype=self.dtype, seed=seed)
        return self.low + samples * self.range()

    def _prob(self, x: Any) -> Any:
        outside = logical_or(x < self.low, x >= self.high)
        density = where_v2(outside, zeros_like(x), ones([], self.dtype) / self.range())
        return where_v2(is_nan(x), x, density)

    def _cdf(self, x: Any) -> Any:
        inside = where_v2(x >= self.high, 1.0, (x - self.low) / self.range())
        return where_v2(x < self.low, 0.0, inside)

    def _entropy(self) -> Any:
        return log(self.range())

    def _mean(self) -> Any:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Any:
        return square(self.range()) / 12.0

    def _stddev(self) -> Any:
        return self.range() / math.sqrt(12.0)
