"""Distributions over counts: Binomial, Geometric, Poisson and NegativeBinomial."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.counting_distributions import logits_and_probs
from gpugraph.library.distributions.distribution import Distribution, derived_seed, tensor_parameter
from gpugraph.library.distributions.distribution_parameters import NOT_REPARAMETERIZED
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.elementwise.comparison_and_select import where_v2
from gpugraph.ops.elementwise.unary_functions import exp, floor, log, log1p, softplus
from gpugraph.ops.elementwise.xlogy_and_nextafter import xlogy
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.gamma_and_poisson import random_gamma, random_poisson
from gpugraph.ops.random.random_ops import random_uniform
from gpugraph.ops.special_functions.gamma_and_zeta import lgamma
from gpugraph.ops.special_functions.incomplete_gamma_and_beta import betainc, igammac


class _CountDistribution(Distribution):
    """Base class of distributions that require `logits` or `probs`."""

    logits = tensor_parameter("logits", "The logarithms of the odds.")
    probs = tensor_parameter("probs", "The probabilities.")

    def _start_counts(self, arguments: dict[str, Any]) -> None:
        parameters = {k: v for k, v in arguments.items() if k not in ("self", "__class__")}
        with name_scope(arguments["name"]) as scope:
            logits, probs = logits_and_probs(arguments, False)
        values = {**parameters, "name": scope, "logits": logits, "probs": probs}
        self._start(values, NOT_REPARAMETERIZED)
        self._parameters = parameters


class Binomial(_CountDistribution):
    """The distribution of the number of successes in `total_count` trials."""

    event_ranks: ClassVar[dict[str, int]] = {"total_count": 0, "logits": 0, "probs": 0}
    total_count = tensor_parameter("total_count", "The number of trials.")

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        self._start_counts(locals())

    def _log_prob(self, k: Any) -> Any:
        n = self.total_count
        choices = lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)
        return choices + xlogy(k, self.probs) + (n - k) * log1p(-self.probs)

    def _cdf(self, k: Any) -> Any:
        k = floor(k) + zeros_like(self.total_count * self.probs)
        inside = where_v2(k < 0, zeros_like(k), k)
        n = self.total_count + zeros_like(k)
        rest = where_v2(n > inside, n - inside, ones_like(n))
        value = betainc(rest, inside + 1.0, 1.0 - self.probs + zeros_like(k))
        value = where_v2(k >= n, ones_like(value), value)
        return where_v2(k < 0, zeros_like(value), value)

    def _mean(self) -> Any:
        return self.total_count * self.probs

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Any:
        return floor((1.0 + self.total_count) * self.probs)


class Geometric(_CountDistribution):
    """The distribution of the number of failures before the first success."""

    event_ranks: ClassVar[dict[str, int]] = {"logits": 0, "probs": 0}

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        self._start_counts(locals())

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        chances = random_uniform(self._noise_shape(n), tiny, 1.0, self.dtype, seed)
        return floor(log(chances) / log1p(-self.probs))

    def _log_prob(self, k: Any) -> Any:
        return xlogy(k, 1.0 - self.probs) + log(self.probs)

    def _cdf(self, k: Any) -> Any:
        k = floor(k)
        value = 1.0 - exp((k + 1.0) * log1p(-self.probs))
        return where_v2(k < 0, zeros_like(value), value)

    def _entropy(self) -> Any:
        failure = 1.0 - self.probs
        return -(xlogy(failure, failure) + xlogy(self.probs, self.probs)) / self.probs

    def _mean(self) -> Any:
        return exp(-self.logits)

    def _variance(self) -> Any:
        return self._mean() / self.probs

    def _mode(self) -> Any:
        return zeros_like(self.probs)


class NegativeBinomial(_CountDistribution):
    """The distribution of the number of successes before `total_count` failures."""

    event_ranks: ClassVar[dict[str, int]] = {"total_count": 0, "logits": 0, "probs": 0}
    total_count = tensor_parameter("total_count", "The number of failures.")

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        self._start_counts(locals())

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        rates = random_gamma(
            [n], self.total_count + zeros_like(self.logits), exp(-self.logits), self.dtype, seed
        )
        seed = derived_seed(seed, "negative_binom")
        return random_poisson(rates, [], self.dtype, seed)

    def _log_prob(self, k: Any) -> Any:
        n = self.total_count
        powers = -n * softplus(self.logits) - k * softplus(-self.logits)
        return powers + lgamma(n + k) - lgamma(1.0 + k) - lgamma(n)

    def _cdf(self, k: Any) -> Any:
        k = floor(k) + zeros_like(self.total_count * self.probs)
        inside = where_v2(k < 0, zeros_like(k), k)
        n = self.total_count + zeros_like(k)
        value = betainc(n, inside + 1.0, 1.0 - self.probs + zeros_like(k))
        return where_v2(k < 0, zeros_like(value), value)

    def _mean(self) -> Any:
        return self.total_count * exp(self.logits)

    def _variance(self) -> Any:
        return self._mean() / (1.0 - self.probs)

    def _mode(self) -> Any:
        mode = floor((self.total_count - 1.0) * exp(self.logits))
        return where_v2(self.total_count > 1.0, mode, zeros_like(mode))


class Poisson(Distribution):
    """The Poisson distribution with the rate `rate`, or with the logarithm of the rate,
    `log_rate`.
    """

    event_ranks: ClassVar[dict[str, int]] = {"rate": 0, "log_rate": 0}
    rate = tensor_parameter("rate", "The mean.")
    log_rate = tensor_parameter("log_rate", "The logarithm of the mean.")

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        with name_scope(name, values=[rate, log_rate]) as scope:
            if rate is None:
                log_rate = convert_to_tensor(log_rate, name="log_rate")
                rate = exp(log_rate)
            else:
                rate = convert_to_tensor(rate, name="rate")
                log_rate = log(rate)
        values = {**parameters, "rate": rate, "log_rate": log_rate, "name": scope}
        self._start(values, NOT_REPARAMETERIZED, positive=["rate"])
        self._parameters = parameters

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_poisson(self.rate, [n], self.dtype, seed)

    def _log_prob(self, k: Any) -> Any:
        return k * self.log_rate - lgamma(1.0 + k) - self.rate

    def _cdf(self, k: Any) -> Any:
        k = floor(k)
        inside = where_v2(k < 0, zeros_like(k), k) + zeros_like(self.rate)
        value = igammac(1.0 + inside, self.rate + zeros_like(inside))
        return where_v2(k < 0, zeros_like(value), value)

    def _mean(self) -> Any:
        return self.rate * 1.0

    def _variance(self) -> Any:
        return self.rate * 1.0

    def _mode(self) -> Any:
        return floor(self.rate)
