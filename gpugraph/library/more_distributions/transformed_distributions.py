"""Distributions of y = bijector.forward(x), given the distribution of x."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import int32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.bijectors import elementwise_bijectors
from gpugraph.library.bijectors.affine_bijectors import AffineScalar
from gpugraph.library.bijectors.bijector import Bijector
from gpugraph.library.bijectors.combined_bijectors import Chain, rank_of_event
from gpugraph.library.bijectors.elementwise_bijectors import Exp, Identity, Sigmoid
from gpugraph.library.distributions.counting_distributions import logits_and_probs
from gpugraph.library.distributions.distribution import Distribution
from gpugraph.library.distributions.location_scale_distributions import Normal
from gpugraph.library.more_distributions.continuous_distributions import Logistic
from gpugraph.library.more_distributions.relaxed_one_hot import ExpRelaxedOneHotCategorical
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.elementwise.unary_functions import exp
from gpugraph.ops.framework.identity_and_shape import rank, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_logsumexp, reduce_prod, reduce_sum


class TransformedDistribution(Distribution):
    """The distribution of bijector.forward(x), where x has the distribution `distribution`.

    Args:
      distribution: the distribution of x.
      bijector: by default the identity.
      batch_shape: the shape of the batch, if `distribution` is not a batch. x is then drawn once
        for each element of the batch.
      event_shape: the shape of an event x, if the events of `distribution` are scalars.

    Raises:
      ValueError: a shape is passed but the distribution already has one.
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Bijector | None = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        default = ("" if bijector is None else bijector.name) + distribution.name
        self._distribution = distribution
        self._bijector = bijector or Identity(validate_args=validate_args)
        with name_scope(name or default) as scope:
            self._own_batch = _override(batch_shape, "batch_shape", distribution.batch_shape)
            self._own_event = _override(event_shape, "event_shape", distribution.event_shape)
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=distribution._graph_parents + self._bijector.graph_parents,
            name=scope,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of x."""
        return self._distribution

    @property
    def bijector(self) -> Bijector:
        """The bijector that is applied to x."""
        return self._bijector

    def _batch_shape(self) -> TensorShape:
        known = self._distribution.batch_shape
        return known if self._own_batch is None else TensorShape(self._own_batch)

    def _batch_shape_tensor(self) -> Tensor:
        if self._own_batch is None:
            return self._distribution.batch_shape_tensor()
        return convert_to_tensor(self._own_batch, int32)

    def _base_event(self) -> TensorShape:
        known = self._distribution.event_shape
        return known if self._own_event is None else TensorShape(self._own_event)

    def _event_shape(self) -> TensorShape:
        return self._bijector.forward_event_shape(self._base_event())

    def _event_shape_tensor(self) -> Tensor:
        sizes = (
            self._distribution.event_shape_tensor()
            if self._own_event is None
            else convert_to_tensor(self._own_event, int32)
        )
        return self._bijector.forward_event_shape_tensor(sizes)

    def _turns(self) -> bool:
        """Return whether samples of `distribution` have the axes of the event before the batch
        axes.
        """
        return self._own_event is not None and self._own_batch is None and self._has_batch()

    def _has_batch(self) -> bool:
        return self._distribution.batch_shape.ndims != 0

    def _sample_n(self, n: Any, seed: int | None = None, **kwargs: Any) -> Tensor:
        batch, event = self._own_batch or [], self._own_event or []
        sizes = [[*event], [n]] if self._turns() else [[n], [*batch], [*event]]
        x = self._distribution.sample(
            concat([convert_to_tensor(part, int32) for part in sizes], 0), seed=seed
        )
        if self._turns():
            x = _rotated(x, len(event))
        y: Tensor = self._bijector.forward(x, **kwargs)
        return y

    def _fibers(self, y: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return (x, log |det dx/dy|) for each x that the bijector maps to y."""
        ndims = rank_of_event(self.event_shape_tensor(), self.event_shape)
        x = self._bijector.inverse(y, **kwargs)
        logs = self._bijector.inverse_log_det_jacobian(y, event_ndims=ndims, **kwargs)
        return list(zip(x, logs)) if isinstance(x, tuple) else [(x, logs)]

    def _log_prob(self, y: Any, **kwargs: Any) -> Any:
        terms = []
        for x, logs in self._fibers(y, **kwargs):
            if self._turns():
                x = _rotated(x, -len(self._own_event or ()))
            density = self._distribution.log_prob(x)
            if self._own_event is not None:
                axes = range(-len(self._own_event), 0)
                axes = range(len(self._own_event)) if self._turns() else axes
                density = reduce_sum(density, list(axes))
            terms.append(density + cast(logs, density.dtype))
        return terms[0] if len(terms) == 1 else reduce_logsumexp(stack(terms), 0)

    def _of_x(self, method: str, y: Any) -> Any:
        if self._own_event is not None:
            raise NotImplementedError(f"{method} is not implemented when overriding event_shape")
        if not self._bijector._is_injective:
            raise NotImplementedError(
                f"{method} is not implemented when bijector is not injective."
            )
        return getattr(self._distribution, method)(self._bijector.inverse(y))

    def _log_cdf(self, y: Any) -> Any:
        return self._of_x("log_cdf", y)

    def _cdf(self, y: Any) -> Any:
        return self._of_x("cdf", y)

    def _log_survival_function(self, y: Any) -> Any:
        return self._of_x("log_survival_function", y)

    def _survival_function(self, y: Any) -> Any:
        return self._of_x("survival_function", y)

    def _quantile(self, p: Any) -> Any:
        if self._own_event is not None:
            raise NotImplementedError("quantile is not implemented when overriding event_shape")
        return self._bijector.forward(self._distribution.quantile(p))

    def _entropy(self) -> Any:
        if not self._bijector.is_constant_jacobian or not self._bijector._is_injective:
            raise NotImplementedError("entropy is not implemented")
        entropy = self._distribution.entropy()
        if self._own_event is not None:
            count = reduce_prod(convert_to_tensor(self._own_event, int32))
            entropy = entropy * cast(count, entropy.dtype)
        if self._own_batch is not None:
            entropy = entropy + zeros(self._own_batch, entropy.dtype)
        whole = concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        ndims = rank_of_event(self.event_shape_tensor(), self.event_shape)
        logs = self._bijector.inverse_log_det_jacobian(zeros(whole, self.dtype), event_ndims=ndims)
        return entropy - cast(logs, entropy.dtype)


def _override(sizes: Any, name: str, base: TensorShape) -> list[int] | None:
    """Return the shape argument as a list, or None if it is empty. Raises ValueError if the
    distribution already has this shape.
    """
    if sizes is None:
        return None
    numbers = [int(size or 0) for size in TensorShape(sizes).as_list()]
    if not numbers:
        return None
    if base.ndims != 0:
        raise ValueError("base distribution not scalar")
    if any(size <= 0 for size in numbers):
        raise ValueError(f"shape override must have positive elements: {name} {numbers}")
    return numbers


def _rotated(x: Tensor, count: int) -> Tensor:
    """Return x with its first `count` axes moved to the end. If `count` is negative, its last axes
    are moved to the front.
    """
    known = x.shape.ndims
    if known is not None:
        order: Any = [*range(count % known, known), *range(count % known)]
    else:
        start = convert_to_tensor(count) if count >= 0 else rank(x) + count
        order = concat([range_of(start, rank(x)), range_of(0, start)], 0)
    return transpose(x, order)


class ConditionalDistribution(Distribution):
    """A distribution whose methods pass additional keyword arguments to `_log_prob` and similar
    methods.
    """

    def sample(
        self, sample_shape: Any = (), seed: int | None = None, name: str = "sample", **kwargs: Any
    ) -> Tensor:
        """Draw random events, as `Distribution.sample` does."""
        method = self._sample_n
        if not kwargs:
            return super().sample(sample_shape, seed, name)
        with self._name_scope(name):
            sizes = convert_to_tensor(sample_shape, dtype=int32, name="sample_shape")
            sizes = reshape(sizes, [-1])
            samples = method(reduce_prod(sizes), seed, **kwargs)
            return reshape(samples, concat([sizes, shape(samples)[1:]], 0))

    def log_prob(self, value: Any, name: str = "log_prob", **kwargs: Any) -> Tensor:
        """Return the log of the density, as `Distribution.log_prob` does."""
        if not kwargs:
            return super().log_prob(value, name)
        with self._name_scope(name, [value]):
            event = convert_to_tensor(value, name="value", preferred_dtype=self._dtype)
            logs: Tensor = self._log_prob(event, **kwargs)  # type: ignore[attr-defined]
            return logs

    def prob(self, value: Any, name: str = "prob", **kwargs: Any) -> Tensor:
        """Return the density, as `Distribution.prob` does."""
        return exp(self.log_prob(value, name, **kwargs)) if kwargs else super().prob(value, name)


class ConditionalTransformedDistribution(ConditionalDistribution, TransformedDistribution):
    """A TransformedDistribution whose methods pass additional keyword arguments to the bijector."""


class SinhArcsinh(TransformedDistribution):
    """The distribution of loc + scale * F(z). F is composed of sinh and asinh. Its parameters are a
    skewness and a tail weight.

    Source: Jones and Pewsey, Biometrika 2009.

    Args:
      distribution: the distribution of z, by default the standard normal distribution.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        skewness: Any = None,
        tailweight: Any = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "SinhArcsinh",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name, values=[loc, scale]) as scope:
            self._loc = convert_to_tensor(loc, name="loc")
            dtype = self._loc.dtype
            self._scale_of_z = convert_to_tensor(scale, dtype, name="scale")
            tails = convert_to_tensor(1.0 if tailweight is None else tailweight, dtype)
            self._skewness = convert_to_tensor(0.0 if skewness is None else skewness, dtype)
            self._tailweight = tails
            whole = zeros(shape(self._loc + self._scale_of_z + tails + self._skewness), dtype)
            if distribution is None:
                distribution = Normal(whole, whole + 1.0, allow_nan_stats=allow_nan_stats)
            unskewed = elementwise_bijectors.SinhArcsinh(0.0 * tails, tails)
            two = convert_to_tensor(2.0, dtype)
            factor = self._scale_of_z * 2.0 / unskewed.forward(two)
            bijector = Chain(
                [
                    AffineScalar(self._loc, factor),
                    elementwise_bijectors.SinhArcsinh(self._skewness, tails, validate_args),
                ]
            )
            super().__init__(distribution, bijector, validate_args=validate_args, name=scope)
        self._parameters = parameters

    @property
    def loc(self) -> Tensor:
        """The location, which is added to scale * F(z)."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The factor of F(z)."""
        return self._scale_of_z

    @property
    def skewness(self) -> Tensor:
        """The skewness. If it is 0, the distribution is as symmetric as the distribution of z."""
        return self._skewness

    @property
    def tailweight(self) -> Tensor:
        """The weight of the tails. If it is 1, the distribution has the same tails as the
        distribution of z.
        """
        return self._tailweight


class RelaxedBernoulli(TransformedDistribution):
    """The distribution of sigmoid(logistic variable), a differentiable approximation of a Bernoulli
    variable.

    Source: Maddison et al., arXiv:1611.00712.

    Args:
      temperature: if it is small, samples are close to 0 or 1.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name, values=[logits, probs, temperature]) as scope:
            arguments = {"logits": logits, "probs": probs, "validate_args": validate_args}
            self._logits, self._probs = logits_and_probs(arguments, False)
            self._temperature = convert_to_tensor(temperature, self._logits.dtype)
            base = Logistic(
                self._logits / self._temperature, 1.0 / self._temperature, validate_args
            )
            super().__init__(base, Sigmoid(), validate_args=validate_args, name=scope)
        self._parameters = parameters

    @property
    def temperature(self) -> Tensor:
        """The temperature. If it is small, samples are close to 0 or 1."""
        return self._temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of 1."""
        return self._probs


class RelaxedOneHotCategorical(TransformedDistribution):
    """The distribution of softmax(noisy logits), a differentiable approximation of a one-hot
    vector.

    Source: Maddison et al., arXiv:1611.00712.

    Args:
      temperature: if it is small, samples are close to one-hot vectors.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        base = ExpRelaxedOneHotCategorical(
            temperature, logits, probs, dtype, validate_args, allow_nan_stats
        )
        super().__init__(base, Exp(), name=name)
        self._parameters = parameters
