"""Distributions of a single value, and quantized distributions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution import Distribution, tensor_parameter
from gpugraph.library.distributions.distribution_parameters import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros, zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import broadcast_to
from gpugraph.ops.elementwise.comparison_and_select import where_v2
from gpugraph.ops.elementwise.unary_functions import abs as absolute, ceil, exp, floor, log1p
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import reduce_all


class Deterministic(Distribution):
    """The distribution that has a single value. prob(x) is 1 if |x - loc| <= atol + rtol * |loc|,
    else 0.
    """

    event_ranks: ClassVar[dict[str, int]] = {"loc": 0}
    loc = tensor_parameter("loc", "The value.")

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        self._start(locals(), FULLY_REPARAMETERIZED)
        self._tolerances = [
            convert_to_tensor(0 if value is None else value, self.dtype) for value in (atol, rtol)
        ]

    def _slack(self) -> Any:
        return self._tolerances[0] + self._tolerances[1] * absolute(self.loc)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return broadcast_to(self.loc, concat([[n], shape(self.loc)], 0))

    def _prob(self, x: Any) -> Any:
        return cast(absolute(x - self.loc) <= self._slack(), self.dtype)

    def _cdf(self, x: Any) -> Any:
        return cast(x >= self.loc - self._slack(), self.dtype)

    def _entropy(self) -> Any:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self) -> Any:
        return self.loc * 1

    def _variance(self) -> Any:
        return zeros_like(self.loc)

    def _mode(self) -> Any:
        return self._mean()


class VectorDeterministic(Deterministic):
    """The distribution whose only value is a vector. prob(x) is 1 if all elements of x are within
    the tolerances.
    """

    event_ranks: ClassVar[dict[str, int]] = {"loc": 1}

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def _prob(self, x: Any) -> Any:
        return cast(reduce_all(absolute(x - self.loc) <= self._slack(), -1), self.dtype)


class QuantizedDistribution(Distribution):
    """The distribution of ceil(x), limited to the range from `low` to `high`, where x has the
    distribution `distribution`.

    Raises ValueError unless `low` is less than `high`.

    Args:
      low, high: integers, or None for no limit.
    """

    def __init__(
        self,
        distribution: Distribution,
        low: Any = None,
        high: Any = None,
        validate_args: bool = False,
        name: str = "QuantizedDistribution",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self._distribution = distribution
        with name_scope(name, values=[low, high]) as scope:
            dtype = distribution.dtype
            self._low = None if low is None else convert_to_tensor(low, dtype, name="low")
            self._high = None if high is None else convert_to_tensor(high, dtype, name="high")
        super().__init__(
            dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            distribution._graph_parents,
            scope,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of x."""
        return self._distribution

    @property
    def low(self) -> Any:
        """The minimum value, or None."""
        return self._low

    @property
    def high(self) -> Any:
        """The maximum value, or None."""
        return self._high

    def _batch_shape(self) -> TensorShape:
        return self._distribution.batch_shape

    def _batch_shape_tensor(self) -> Tensor:
        return self._distribution.batch_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self._distribution.event_shape

    def _event_shape_tensor(self) -> Tensor:
        return self._distribution.event_shape_tensor()

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        samples = ceil(self._distribution.sample(n, seed=seed))
        if self._low is not None:
            samples = where_v2(samples < self._low, self._low * ones_like(samples), samples)
        if self._high is not None:
            samples = where_v2(samples > self._high, self._high * ones_like(samples), samples)
        return samples

    def _within(self, values: Any, j: Any, below: float, above: float) -> Any:
        """Return values, replaced by `below` where j < low and by `above` where j >= high."""
        j = j + zeros_like(values)
        if self._low is not None:
            values = where_v2(j < self._low, below * ones_like(values), values)
        if self._high is not None:
            values = where_v2(j >= self._high, above * ones_like(values), values)
        return values

    def _cdf(self, y: Any) -> Any:
        j = floor(y)
        return self._within(self._distribution.cdf(j), j, 0.0, 1.0)

    def _log_cdf(self, y: Any) -> Any:
        j = floor(y)
        return self._within(self._distribution.log_cdf(j), j, -np.inf, 0.0)

    def _survival_function(self, y: Any) -> Any:
        j = ceil(y)
        return self._within(self._distribution.survival_function(j), j, 1.0, 0.0)

    def _log_survival_function(self, y: Any) -> Any:
        j = ceil(y)
        return self._within(self._distribution.log_survival_function(j), j, 0.0, -np.inf)

    def _prob(self, y: Any) -> Any:
        cdf, survival = self._cdf(y), self._survival_function(y)
        upper = self._survival_function(y - 1.0) - survival
        return where_v2(survival < cdf, upper, cdf - self._cdf(y - 1.0))

    def _log_prob(self, y: Any) -> Any:
        logs, upper = self._log_cdf(y), self._log_survival_function(y)
        is_upper = upper < logs
        big = where_v2(is_upper, self._log_survival_function(y - 1.0), logs)
        small = where_v2(is_upper, upper, self._log_cdf(y - 1.0))
        return big + log1p(-exp(small - big))
