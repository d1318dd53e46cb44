"""Distributions over real numbers, such as Cauchy, Logistic, HalfNormal and InverseGamma."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from gpugraph.building.checks import assert_positive
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution import Distribution, tensor_parameter
from gpugraph.library.distributions.distribution_parameters import FULLY_REPARAMETERIZED
from gpugraph.library.distributions.gamma_family_distributions import Beta, Gamma
from gpugraph.library.distributions.kullback_leibler import RegisterKL
from gpugraph.ops.arrays.constants_and_placeholders import fill, ones, ones_like, zeros_like
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.elementwise.comparison_and_select import where_v2
from gpugraph.ops.elementwise.trigonometry import atan
from gpugraph.ops.elementwise.unary_functions import (
    abs as absolute,
    erf,
    exp,
    expm1,
    log,
    log1p,
    sigmoid,
    softplus,
    sqrt,
    square,
    tan,
)
from gpugraph.ops.elementwise.xlogy_and_nextafter import xlogy
from gpugraph.ops.random.gamma_and_poisson import random_gamma
from gpugraph.ops.random.random_ops import random_normal, random_uniform
from gpugraph.ops.special_functions.gamma_and_zeta import digamma, lgamma
from gpugraph.ops.special_functions.incomplete_gamma_and_beta import igammac
from gpugraph.ops.special_functions.inverse_error_function import erfinv


class _Located(Distribution):
    """Base class of distributions of loc + scale * z, where z has a fixed distribution."""

    event_ranks: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}
    loc = tensor_parameter("loc", "The location.")
    scale = tensor_parameter("scale", "The scale.")

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def _whole(self, value: Any) -> Any:
        """Return a value, broadcast to the shape of the batch."""
        return value + zeros_like(self.loc + self.scale)


class Cauchy(_Located):
    """The Cauchy distribution, with density 1 / (pi * scale * (1 + z**2)), z = (x - loc) / scale.
    It has no mean.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["scale"])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        chances = random_uniform(self._noise_shape(n), 0.0, 1.0, self.dtype, seed)
        return self._quantile(chances)

    def _log_prob(self, x: Any) -> Any:
        return -log1p(square(self._z(x))) - (math.log(math.pi) + log(self.scale))

    def _cdf(self, x: Any) -> Any:
        return atan(self._z(x)) / math.pi + 0.5

    def _log_cdf(self, x: Any) -> Any:
        return log1p(2 / math.pi * atan(self._z(x))) - math.log(2)

    def _quantile(self, p: Any) -> Any:
        return self.loc + self.scale * tan(math.pi * (p - 0.5))

    def _entropy(self) -> Any:
        return self._whole(math.log(4 * math.pi) + log(self.scale))

    def _mode(self) -> Any:
        return self._whole(self.loc)

    def _undefined(self, name: str) -> Any:
        if self.allow_nan_stats:
            return fill(self.batch_shape_tensor(), np.array(np.nan, self.dtype.as_numpy_dtype))
        raise ValueError(f"`{name}` is undefined for Cauchy distribution.")

    def _mean(self) -> Any:
        return self._undefined("mean")

    def _stddev(self) -> Any:
        return self._undefined("stddev")


class Logistic(_Located):
    """The logistic distribution, whose distribution function is sigmoid((x - loc) / scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["scale"])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        chances = random_uniform(self._noise_shape(n), tiny, 1.0, self.dtype, seed)
        return (log(chances) - log1p(-chances)) * self.scale + self.loc

    def _log_prob(self, x: Any) -> Any:
        z = self._z(x)
        return -z - 2.0 * softplus(-z) - log(self.scale)

    def _cdf(self, x: Any) -> Any:
        return sigmoid(self._z(x))

    def _log_cdf(self, x: Any) -> Any:
        return -softplus(-self._z(x))

    def _survival_function(self, x: Any) -> Any:
        return sigmoid(-self._z(x))

    def _log_survival_function(self, x: Any) -> Any:
        return -softplus(self._z(x))

    def _quantile(self, p: Any) -> Any:
        return self.loc + self.scale * (log(p) - log1p(-p))

    def _entropy(self) -> Any:
        return self._whole(2.0 + log(self.scale))

    def _mean(self) -> Any:
        return self._whole(self.loc)

    def _stddev(self) -> Any:
        return self._whole(self.scale * (math.pi / math.sqrt(3)))

    def _mode(self) -> Any:
        return self._mean()


class HalfNormal(Distribution):
    """The distribution of the absolute value of a normal variable with mean 0."""

    event_ranks: ClassVar[dict[str, int]] = {"scale": 0}
    scale = tensor_parameter("scale", "The standard deviation of the normal variable.")

    def __init__(
        self,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["scale"])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        noise = random_normal(self._noise_shape(n), 0.0, 1.0, self.dtype, seed)
        return absolute(noise * self.scale)

    def _prob(self, x: Any) -> Any:
        factor = math.sqrt(2 / math.pi) / self.scale
        density = factor * exp(-0.5 * square(x / self.scale))
        return where_v2(x < 0, zeros_like(density), density)

    def _cdf(self, x: Any) -> Any:
        x = where_v2(x < 0, zeros_like(x), x)
        return erf(x / self.scale / math.sqrt(2.0))

    def _quantile(self, p: Any) -> Any:
        return math.sqrt(2.0) * self.scale * erfinv(p)

    def _entropy(self) -> Any:
        return 0.5 * log(math.pi * square(self.scale) / 2.0) + 0.5

    def _mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    def _mode(self) -> Any:
        return zeros_like(self.scale)

    def _variance(self) -> Any:
        return square(self.scale) * (1.0 - 2.0 / math.pi)


@RegisterKL(HalfNormal, HalfNormal)
def _half_normal_divergence(a: HalfNormal, b: HalfNormal, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_half_normal_half_normal", [a.scale, b.scale]):
        ratio = square(a.scale) / square(b.scale)
        return log(b.scale) - log(a.scale) + (ratio - 1) / 2.0


class InverseGamma(Distribution):
    """The distribution of 1 / x, where x has a gamma distribution."""

    event_ranks: ClassVar[dict[str, int]] = {"concentration": 0, "rate": 0}
    concentration = tensor_parameter("concentration", "The shape parameter.")
    rate = tensor_parameter("rate", "The scale, which is the inverse scale of 1 / x.")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["concentration", "rate"])

    def _checked(self, x: Any) -> Any:
        return with_dependencies([assert_positive(x)], x) if self.validate_args else x

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return 1.0 / random_gamma([n], self.concentration, self.rate, self.dtype, seed)

    def _log_prob(self, x: Any) -> Any:
        x = self._checked(x)
        normalization = lgamma(self.concentration) - self.concentration * log(self.rate)
        return -(1.0 + self.concentration) * log(x) - self.rate / x - normalization

    def _cdf(self, x: Any) -> Any:
        whole = ones(self.batch_shape_tensor(), self.dtype) * ones_like(x)
        return igammac(self.concentration * whole, self.rate / self._checked(x) * whole)

    def _entropy(self) -> Any:
        alpha = self.concentration
        return alpha + log(self.rate) + lgamma(alpha) - (1.0 + alpha) * digamma(alpha)

    def _mean(self) -> Any:
        message = "mean undefined when any concentration <= 1"
        mean = self.rate / (self.concentration - 1.0)
        return self._defined(mean, [(ones([], self.dtype), self.concentration, message)])

    def _variance(self) -> Any:
        message = "variance undefined when any concentration <= 2"
        alpha = self.concentration
        variance = square(self.rate / (alpha - 1.0)) / (alpha - 2.0)
        return self._defined(variance, [(2.0 * ones([], self.dtype), alpha, message)])

    def _mode(self) -> Any:
        return self.rate / (1.0 + self.concentration)


class Chi2(Gamma):
    """The distribution of the sum of the squares of `df` standard normal variables: Gamma(df / 2, 1
    / 2).
    """

    event_ranks: ClassVar[dict[str, int]] = {"df": 0}
    df = tensor_parameter("df", "The degrees of freedom.")
    concentration = property(lambda self: 0.5 * self.df, doc="Half the degrees of freedom.")
    rate = property(lambda self: 0.5 * ones_like(self.df), doc="The inverse scale: 1 / 2.")

    def __init__(
        self, df: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2"
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["df"])


class Kumaraswamy(Beta):
    """The distribution of (1 - u**(1 / concentration0))**(1 / concentration1), where u is uniform
    in (0, 1).
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Kumaraswamy",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=list(self.event_ranks))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        chances = random_uniform(self._noise_shape(n), tiny, 1.0, self.dtype, seed)
        return self._quantile(chances)

    def _quantile(self, p: Any) -> Any:
        inner = log1p(-exp(log1p(-p) / self.concentration0))
        return exp(inner / self.concentration1)

    def _log_prob(self, x: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return log(a) + log(b) + xlogy(a - 1.0, x) + xlogy(b - 1.0, -expm1(a * log(x)))

    def _cdf(self, x: Any) -> Any:
        return -expm1(self.concentration0 * log1p(-(x**self.concentration1)))

    def _moment(self, n: float) -> Any:
        a, b = self.concentration1, self.concentration0
        part = 1.0 + n / a
        return exp(log(b) + lgamma(part) + lgamma(b) - lgamma(part + b))

    def _entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        harmonic = digamma(b + 1.0) + np.euler_gamma
        return (1 - 1.0 / b) + (1 - 1.0 / a) * harmonic - log(a) - log(b)

    def _mean(self) -> Any:
        return self._moment(1.0)

    def _variance(self) -> Any:
        return self._moment(2.0) - square(self._moment(1.0))

    def _stddev(self) -> Any:
        return sqrt(self._variance())

    def _mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        one = ones([], self.dtype)
        mode = exp(log((a - 1.0) / (a * b - 1.0)) / a)
        message = "Mode undefined for concentration <= 1."
        return self._defined(mode, [(one, a, message), (one, b, message)])
