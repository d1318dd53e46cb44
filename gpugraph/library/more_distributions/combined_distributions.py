"""Distributions that combine other distributions: Independent and Mixture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution import Distribution, derived_seed
from gpugraph.library.distributions.distribution_parameters import NOT_REPARAMETERIZED
from gpugraph.library.distributions.kullback_leibler import RegisterKL, kl_divergence
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.elementwise.comparison_and_select import where_v2
from gpugraph.ops.elementwise.unary_functions import square
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.indexing.one_hot_where_unique import one_hot
from gpugraph.ops.nn.activations.softmax import log_softmax, softmax
from gpugraph.ops.reductions.reduction_functions import reduce_logsumexp, reduce_sum


class Independent(Distribution):
    """A batch of distributions as one distribution. The last axes of the batch become axes of the
    event.

    Raises ValueError if the batch has fewer axes than `reinterpreted_batch_ndims`.

    Args:
      reinterpreted_batch_ndims: the number of batch axes that become axes of the event. By default,
        these are all axes except the first.
    """

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        ndims = distribution.batch_shape.ndims
        if reinterpreted_batch_ndims is None:
            if ndims is None:
                raise ValueError("reinterpreted_batch_ndims must be passed for an unknown batch")
            reinterpreted_batch_ndims = max(0, ndims - 1)
        if ndims is not None and reinterpreted_batch_ndims > ndims:
            raise ValueError(
                f"reinterpreted_batch_ndims({reinterpreted_batch_ndims}) cannot exceed "
                f"distribution.batch_ndims({ndims})"
            )
        self._distribution, self._count = distribution, reinterpreted_batch_ndims
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            distribution._graph_parents,
            name or "Independent" + distribution.name,
        )

    @property
    def distribution(self) -> Distribution:
        """The batch of distributions."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """The number of batch axes that are axes of the event."""
        return self._count

    def _batch_shape(self) -> TensorShape:
        known = self._distribution.batch_shape
        return known if known.ndims is None else known[: known.ndims - self._count]

    def _batch_shape_tensor(self) -> Tensor:
        sizes = self._distribution.batch_shape_tensor()
        return sizes[: shape(sizes)[0] - self._count]

    def _event_shape(self) -> TensorShape:
        known = self._distribution.batch_shape
        if known.ndims is None:
            return TensorShape(None)
        return known[known.ndims - self._count :].concatenate(self._distribution.event_shape)

    def _event_shape_tensor(self) -> Tensor:
        sizes = self._distribution.batch_shape_tensor()
        last = sizes[shape(sizes)[0] - self._count :]
        return concat([last, self._distribution.event_shape_tensor()], 0)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._distribution.sample(n, seed=seed)

    def _total(self, values: Any) -> Any:
        return reduce_sum(values, list(range(-self._count, 0))) if self._count else values

    def _log_prob(self, x: Any) -> Any:
        return self._total(self._distribution.log_prob(x))

    def _entropy(self) -> Any:
        return self._total(self._distribution.entropy())

    def _mean(self) -> Any:
        return self._distribution.mean()

    def _variance(self) -> Any:
        return self._distribution.variance()

    def _stddev(self) -> Any:
        return self._distribution.stddev()

    def _mode(self) -> Any:
        return self._distribution.mode()


@RegisterKL(Independent, Independent)
def _independent_divergence(a: Independent, b: Independent, name: str | None = None) -> Tensor:
    first, second = a.distribution, b.distribution
    if a.event_shape != b.event_shape:
        raise ValueError("Event shapes do not match.")
    if first.event_shape != second.event_shape:
        raise NotImplementedError(
            "KL between Independents with different event shapes not supported."
        )
    total: Tensor = a._total(kl_divergence(first, second, name=name))
    return total


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last axis of a batch of distributions.

    Raises ValueError if the events of `mixture_distribution` are not integer scalars, or if the
    batch shapes of the two distributions do not match.

    Args:
      mixture_distribution: a Categorical over the indices of the components.
      components_distribution: the batch of distributions.
    """

    def __init__(
        self,
        mixture_distribution: Any,
        components_distribution: Distribution,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        if not mixture_distribution.dtype.is_integer:
            raise ValueError(
                f"`mixture_distribution.dtype` ({mixture_distribution.dtype.name}) is not over "
                "integers"
            )
        if mixture_distribution.event_shape.ndims not in (None, 0):
            raise ValueError("`mixture_distribution` must have scalar `event_dim`s")
        batch = components_distribution.batch_shape.with_rank_at_least(1)[:-1]
        own = mixture_distribution.batch_shape
        if own.is_fully_defined() and batch.is_fully_defined() and own.ndims and own != batch:
            raise ValueError(
                f"`mixture_distribution.batch_shape` (`{own.as_list()}`) is not compatible with "
                f"`components_distribution.batch_shape` (`{batch.as_list()}`)"
            )
        self._mixture, self._parts = mixture_distribution, components_distribution
        super().__init__(
            components_distribution.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [*mixture_distribution._graph_parents, *components_distribution._graph_parents],
            name,
        )

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the index of the component."""
        return self._mixture

    @property
    def components_distribution(self) -> Distribution:
        """The batch of distributions that are combined. The last axis of the batch has the
        components.
        """
        return self._parts

    def _batch_shape(self) -> TensorShape:
        return self._parts.batch_shape.with_rank_at_least(1)[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return self._parts.batch_shape_tensor()[:-1]

    def _event_shape(self) -> TensorShape:
        return self._parts.event_shape

    def _event_shape_tensor(self) -> Tensor:
        return self._parts.event_shape_tensor()

    def _event_rank(self) -> int:
        known = self._parts.event_shape.ndims
        if known is None:
            raise ValueError("The rank of the components' events must be known.")
        return known

    def _padded(self, weights: Any) -> Any:
        """Return weights with an additional axis of size 1 for each axis of an event."""
        for _ in range(self._event_rank()):
            weights = expand_dims(weights, -1)
        return weights

    def _component_axis(self) -> int:
        return -1 - self._event_rank()

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        parts = self._parts.sample(n, seed=derived_seed(seed, "MixtureSameFamily"))
        numbers = self._mixture.sample(n, seed=seed)
        count = self._parts.batch_shape_tensor()[-1]
        mask = self._padded(one_hot(numbers, count, dtype=self.dtype))
        if self._mixture.batch_shape.ndims == 0 and self.batch_shape.ndims:
            sizes = [n, *([1] * self.batch_shape.ndims), count, *([1] * self._event_rank())]
            mask = reshape(mask, stack(sizes))
        return reduce_sum(parts * mask, self._component_axis())

    def _log_weights(self) -> Any:
        return log_softmax(self._mixture.logits, axis=-1)

    def _with_component(self, x: Any) -> Any:
        return expand_dims(x, self._component_axis())

    def _log_prob(self, x: Any) -> Any:
        logs = self._parts.log_prob(self._with_component(x))
        return reduce_logsumexp(logs + self._log_weights(), -1)

    def _log_cdf(self, x: Any) -> Any:
        logs = self._parts.log_cdf(self._with_component(x))
        return reduce_logsumexp(logs + self._log_weights(), -1)

    def _mean(self) -> Any:
        return reduce_sum(self._weights() * self._parts.mean(), self._component_axis())

    def _weights(self) -> Any:
        return self._padded(softmax(self._mixture.logits))

    def _variance(self) -> Any:
        axis, weights = self._component_axis(), self._weights()
        within = reduce_sum(weights * self._parts.variance(), axis)
        distance = square(self._parts.mean() - expand_dims(self._mean(), axis))
        return within + reduce_sum(weights * distance, axis)

    def _covariance(self) -> Any:
        weights = softmax(self._mixture.logits)[..., None, None]
        within = reduce_sum(weights * self._parts.covariance(), -3)
        distance = self._parts.mean() - expand_dims(self._mean(), self._component_axis())
        products = distance[..., None] * distance[..., None, :]
        return within + reduce_sum(weights * products, -3)


class Mixture(Distribution):
    """A mixture of distributions. A Categorical chooses one of the distributions.

    Raises TypeError if `cat` or a component has the wrong type, or if the components have different
    dtypes. Raises ValueError if there are no components, or if `cat` does not have one class for
    each component.
    """

    def __init__(
        self,
        cat: Any,
        components: Sequence[Distribution],
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        if not hasattr(cat, "logits"):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        listed = list(components)
        if not all(isinstance(part, Distribution) for part in listed):
            raise TypeError(
                f"all entries in components must be Distribution instances but saw: {components}"
            )
        if any(part.dtype != listed[0].dtype for part in listed):
            pairs = [(part.name, part.dtype) for part in listed]
            raise TypeError(f"All components must have the same dtype: {pairs}")
        count = cat.logits.shape.as_list()[-1] if cat.logits.shape.ndims else None
        if count is not None and count != len(listed):
            raise ValueError(
                f"cat.num_classes ({count}) must be the number of components ({len(listed)})"
            )
        self._cat, self._components = cat, listed
        parents = [parent for part in [cat, *listed] for parent in part._graph_parents]
        super().__init__(
            listed[0].dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            parents,
            name,
        )

    @property
    def cat(self) -> Any:
        """The distribution of the index of the component."""
        return self._cat

    @property
    def components(self) -> list[Distribution]:
        """The distributions that are mixed."""
        return self._components

    @property
    def num_components(self) -> int:
        """The number of components."""
        return len(self._components)

    def _batch_shape(self) -> TensorShape:
        return TensorShape(self._cat.batch_shape)

    def _batch_shape_tensor(self) -> Tensor:
        sizes: Tensor = self._cat.batch_shape_tensor()
        return sizes

    def _event_shape(self) -> TensorShape:
        return self._components[0].event_shape

    def _event_shape_tensor(self) -> Tensor:
        return self._components[0].event_shape_tensor()

    def _padded(self, weights: Any) -> Any:
        for _ in range(self.event_shape.ndims or 0):
            weights = expand_dims(weights, -1)
        return weights

    def _weights(self) -> list[Any]:
        weights = softmax(self._cat.logits)
        return [weights[..., number] for number in range(self.num_components)]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        numbers = self._cat.sample(n, seed=seed)
        samples = [
            part.sample(n, seed=derived_seed(seed, f"mixture{number}"))
            for number, part in enumerate(self._components)
        ]
        result = samples[0]
        for number, sample in enumerate(samples[1:], 1):
            result = where_v2(self._padded(numbers) >= number, sample, result)
        return result

    def _mixed(self, method: str, x: Any) -> Any:
        logs = log_softmax(self._cat.logits)
        terms = [
            getattr(part, method)(x) + logs[..., number]
            for number, part in enumerate(self._components)
        ]
        return reduce_logsumexp(stack(terms), 0)

    def _log_prob(self, x: Any) -> Any:
        return self._mixed("log_prob", x)

    def _log_cdf(self, x: Any) -> Any:
        return self._mixed("log_cdf", x)

    def _sum(self, values: Sequence[Any]) -> Any:
        terms = [self._padded(w) * value for w, value in zip(self._weights(), values)]
        return reduce(lambda a, b: a + b, terms)

    def _mean(self) -> Any:
        return self._sum([part.mean() for part in self._components])

    def _variance(self) -> Any:
        squares = [part.variance() + square(part.mean()) for part in self._components]
        return self._sum(squares) - square(self._mean())

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Tensor:
        """Return a lower bound of the entropy: the mean of the components' entropies."""
        with self._name_scope(name):
            terms = [
                weight * part.entropy() for weight, part in zip(self._weights(), self._components)
            ]
            total: Tensor = reduce(lambda a, b: a + b, terms)
            return total
