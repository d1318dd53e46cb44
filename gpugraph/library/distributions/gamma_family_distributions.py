"""Distributions whose samples are computed from gamma variables: Gamma, Exponential, Beta,
Dirichlet.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gpugraph.building.checks import assert_less, assert_near, assert_positive
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution import Distribution, derived_seed, tensor_parameter
from gpugraph.library.distributions.distribution_parameters import FULLY_REPARAMETERIZED
from gpugraph.library.distributions.kullback_leibler import RegisterKL
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones, ones_like
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.elementwise.comparison_and_select import where_v2
from gpugraph.ops.elementwise.unary_functions import log, log1p, sqrt, square
from gpugraph.ops.elementwise.xlogy_and_nextafter import xlogy
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_set_diag
from gpugraph.ops.random.gamma_and_poisson import random_gamma
from gpugraph.ops.random.random_ops import random_uniform
from gpugraph.ops.reductions.composed_reductions import lbeta
from gpugraph.ops.reductions.reduction_functions import reduce_all, reduce_sum
from gpugraph.ops.special_functions.gamma_and_zeta import digamma, lgamma
from gpugraph.ops.special_functions.incomplete_gamma_and_beta import betainc, igamma


class Gamma(Distribution):
    """The gamma distribution with shape `concentration` and inverse scale `rate`."""

    event_ranks: ClassVar[dict[str, int]] = {"concentration": 0, "rate": 0}
    concentration = tensor_parameter("concentration", "The shape parameter.")
    rate = tensor_parameter("rate", "The inverse scale.")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["concentration", "rate"])

    def _checked(self, x: Any) -> Any:
        return with_dependencies([assert_positive(x)], x) if self.validate_args else x

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_gamma([n], self.concentration, self.rate, self.dtype, seed)

    def _log_prob(self, x: Any) -> Any:
        x = self._checked(x)
        normalization = lgamma(self.concentration) - self.concentration * log(self.rate)
        return xlogy(self.concentration - 1.0, x) - self.rate * x - normalization

    def _cdf(self, x: Any) -> Any:
        whole = ones(self.batch_shape_tensor(), self.dtype) * ones_like(x)
        return igamma(self.concentration * whole, self.rate * self._checked(x) * whole)

    def _entropy(self) -> Any:
        alpha = self.concentration
        return alpha - log(self.rate) + lgamma(alpha) + (1.0 - alpha) * digamma(alpha)

    def _mean(self) -> Any:
        return self.concentration / self.rate

    def _variance(self) -> Any:
        return self.concentration / square(self.rate)

    def _stddev(self) -> Any:
        return sqrt(self.concentration) / self.rate

    def _mode(self) -> Any:
        message = "mode not defined when any concentration <= 1"
        mode = (self.concentration - 1.0) / self.rate
        return self._defined(mode, [(ones([], self.dtype), self.concentration, message)])


@RegisterKL(Gamma, Gamma)
def _gamma_divergence(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_gamma_gamma", [a.concentration, a.rate, b.concentration, b.rate]):
        alpha, beta = a.concentration, b.concentration
        shapes = (alpha - beta) * digamma(alpha) + lgamma(beta) - lgamma(alpha)
        return shapes + beta * (log(a.rate) - log(b.rate)) + alpha * (b.rate / a.rate - 1.0)


class Exponential(Gamma):
    """The exponential distribution: a gamma distribution with concentration 1."""

    event_ranks: ClassVar[dict[str, int]] = {"rate": 0}
    concentration = property(
        lambda self: ones_like(self.rate), doc="The shape parameter of the gamma distribution: 1."
    )

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["rate"])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = np.finfo(
            self.dtype.as_numpy_dtype
        ).tiny  # keeps the argument of log away from 0, whose logarithm is infinite
        sampled = random_uniform(self._noise_shape(n), tiny, 1.0, self.dtype, seed)
        return -log(sampled) / self.rate

    def _log_survival_function(self, x: Any) -> Any:
        return self._log_prob(x) - log(self.rate)


class Beta(Distribution):
    """The beta distribution over (0, 1), with the parameters `concentration1` and
    `concentration0`.
    """

    event_ranks: ClassVar[dict[str, int]] = {"concentration1": 0, "concentration0": 0}
    concentration1 = tensor_parameter("concentration1", "The concentration of successes.")
    concentration0 = tensor_parameter("concentration0", "The concentration of failures.")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=list(self.event_ranks))

    @property
    def total_concentration(self) -> Tensor:
        """The sum concentration1 + concentration0."""
        return self.concentration1 + self.concentration0

    def _checked(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        one = ones([], self.dtype)
        checks = [
            assert_positive(x, message="sample must be positive"),
            assert_less(x, one, message="sample must be less than `1`."),
        ]
        return with_dependencies(checks, x)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        whole = ones_like(self.total_concentration)
        seeds = (seed, derived_seed(seed, "beta"))
        successes, failures = (
            random_gamma([n], whole * some, dtype=self.dtype, seed=number)
            for some, number in zip((self.concentration1, self.concentration0), seeds)
        )
        return successes / (successes + failures)

    def _log_prob(self, x: Any) -> Any:
        x = self._checked(x)
        powers = xlogy(self.concentration1 - 1.0, x) + (self.concentration0 - 1.0) * log1p(-x)
        return powers - self._log_normalization()

    def _log_normalization(self) -> Any:
        parts = lgamma(self.concentration1) + lgamma(self.concentration0)
        return parts - lgamma(self.total_concentration)

    def _cdf(self, x: Any) -> Any:
        whole = ones_like(self.total_concentration) * ones_like(x)
        a, b = self.concentration1 * whole, self.concentration0 * whole
        return betainc(a, b, self._checked(x) * whole)

    def _entropy(self) -> Any:
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        parts = (a - 1.0) * digamma(a) + (b - 1.0) * digamma(b)
        return self._log_normalization() - parts + (total - 2.0) * digamma(total)

    def _mean(self) -> Any:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self) -> Any:
        one = ones([], self.dtype)
        conditions = [
            (one, getattr(self, name), f"Mode undefined for {name} <= 1.")
            for name in self.event_ranks
        ]
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        return self._defined(mode, conditions)


@RegisterKL(Beta, Beta)
def _beta_divergence(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    pairs = [(a.concentration1, b.concentration1), (a.concentration0, b.concentration0)]
    with name_scope(name, "kl_beta_beta", [tensor for pair in pairs for tensor in pair]):
        total_a, total_b = a.total_concentration, b.total_concentration
        result = b._log_normalization() - a._log_normalization()
        for first, second in pairs:
            result -= digamma(first) * (second - first)
        return result + digamma(total_a) * (total_b - total_a)


class Dirichlet(Distribution):
    """The Dirichlet distribution over vectors that sum to 1, with concentrations [..., k]."""

    event_ranks: ClassVar[dict[str, int]] = {"concentration": 1}
    concentration = tensor_parameter("concentration", "A concentration for each element.")

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED, positive=["concentration"])

    @property
    def total_concentration(self) -> Tensor:
        """The sum of the concentrations, of shape batch_shape."""
        return reduce_sum(self.concentration, -1)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        gammas = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return gammas / reduce_sum(gammas, -1, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        if self.validate_args:
            one = ones([], self.dtype)
            checks = [
                assert_positive(x, message="samples must be positive"),
                assert_near(
                    one, reduce_sum(x, -1), message="sample last-dimension must sum to `1`"
                ),
            ]
            x = with_dependencies(checks, x)
        return reduce_sum(xlogy(self.concentration - 1.0, x), -1) - lbeta(self.concentration)

    def _entropy(self) -> Any:
        total = self.total_concentration
        spread = (total - self._event_size()) * digamma(total)
        parts = reduce_sum((self.concentration - 1.0) * digamma(self.concentration), -1)
        return lbeta(self.concentration) + spread - parts

    def _event_size(self) -> Tensor:
        return cast(self.event_shape_tensor()[0], self.dtype)

    def _mean(self) -> Any:
        return self.concentration / self.total_concentration[..., None]

    def _covariance(self) -> Any:
        mean = self._scale() * self._mean()
        products = -mean[..., None] * mean[..., None, :]
        return matrix_set_diag(products, self._variance())

    def _variance(self) -> Any:
        mean = self._mean()
        scaled = self._scale() * mean
        return scaled * (self._scale() - scaled)

    def _scale(self) -> Any:
        """Return 1 / sqrt(1 + total concentration), which is a factor of the standard deviations.

        The shape of the result is [..., 1].
        """
        return 1.0 / sqrt(1.0 + self.total_concentration[..., None])

    def _mode(self) -> Any:
        spread = self.total_concentration - self._event_size()
        mode = (self.concentration - 1.0) / spread[..., None]
        if not self.allow_nan_stats:
            message = "Mode undefined when any concentration <= 1"
            check = assert_less(ones([], self.dtype), self.concentration, message=message)
            return with_dependencies([check], mode)
        defined = reduce_all(self.concentration > 1.0, -1, keepdims=True)
        return where_v2(defined, mode, np.array(np.nan, self.dtype.as_numpy_dtype))


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlet_divergence(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_dirichlet_dirichlet", [a.concentration, b.concentration]):
        sums = digamma(reduce_sum(a.concentration, -1, keepdims=True))
        steps = (a.concentration - b.concentration) * (digamma(a.concentration) - sums)
        return reduce_sum(steps, -1) - lbeta(a.concentration) + lbeta(b.concentration)
