"""Distributions over integers and counts: Bernoulli, Categorical, Multinomial,
DirichletMultinomial.

All except DirichletMultinomial require exactly one of `logits` and `probs`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.building.checks import (
    assert_equal,
    assert_less_equal,
    assert_near,
    assert_non_negative,
)
from gpugraph.building.control_flow.map_fold_scan import map_fn
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution import Distribution, derived_seed, tensor_parameter
from gpugraph.library.distributions.distribution_parameters import NOT_REPARAMETERIZED
from gpugraph.library.distributions.kullback_leibler import RegisterKL
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.arrays.masks_and_coordinates import sequence_mask
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.elementwise.comparison_and_select import less
from gpugraph.ops.elementwise.unary_functions import floor, log, log1p, sigmoid, softplus, sqrt
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.one_hot_where_unique import one_hot
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_set_diag
from gpugraph.ops.nn.activations.softmax import log_softmax, softmax
from gpugraph.ops.nn.losses.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from gpugraph.ops.random.gamma_and_poisson import random_gamma
from gpugraph.ops.random.multinomial_and_shuffle import multinomial
from gpugraph.ops.random.random_ops import random_uniform
from gpugraph.ops.reductions.argmax_and_argmin import argmax
from gpugraph.ops.reductions.composed_reductions import lbeta
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.special_functions.gamma_and_zeta import lgamma


def logits_and_probs(arguments: dict[str, Any], classes: bool) -> tuple[Tensor, Tensor]:
    """Return (logits, probs). One of the two is an argument of the constructor, and the other is
    computed from it.

    Raises ValueError unless exactly one of `logits` and `probs` is not None.

    Args:
      arguments: the constructor's arguments by name.
      classes: whether the last axis contains the probabilities of classes. Otherwise each element
        is a separate probability.
    """
    logits, probs, validate = (arguments[k] for k in ("logits", "probs", "validate_args"))
    if (probs is None) == (logits is None):
        raise ValueError("Must pass probs or logits, but not both.")
    name = "logits" if probs is None else "probs"
    tensor = convert_to_tensor(logits if probs is None else probs, name=name)
    if not tensor.dtype.is_floating:
        raise TypeError(f"{name} must having floating type.")
    if probs is None:
        return tensor, (softmax if classes else sigmoid)(tensor, name="probs")
    if validate:
        one = ones_like(tensor)
        checks = [assert_non_negative(tensor)]
        if classes:
            total = reduce_sum(tensor, -1)
            message = "probs does not sum to 1."
            checks.append(assert_near(total, ones_like(total), message=message))
        else:
            message = "probs has components greater than 1."
            checks.append(assert_less_equal(tensor, one, message=message))
        tensor = with_dependencies(checks, tensor)
    with name_scope("logits"):
        return log(tensor) if classes else log(tensor) - log1p(-tensor), tensor


def log_combinations(n: Any, counts: Any, name: str = "log_combinations") -> Tensor:
    """Return log(n! / (counts[0]! counts[1]! ...)), where `counts` are along the last axis."""
    with name_scope(name, values=[n, counts]):
        return lgamma(n + 1.0) - reduce_sum(lgamma(counts + 1.0), -1)


class _Discrete(Distribution):
    """Base class of distributions with the parameters `logits` and `probs`."""

    logits = tensor_parameter("logits", "The log odds, or unnormalized log probabilities.")
    probs = tensor_parameter("probs", "The probabilities.")

    def _start_discrete(self, arguments: dict[str, Any], classes: bool, **others: Any) -> None:
        arguments = {k: v for k, v in arguments.items() if k not in ("self", "__class__")}
        values = [arguments["logits"], arguments["probs"]]
        with name_scope(arguments["name"], values=values) as scope:
            self._tensors = {k: identity(v, name=k) for k, v in others.items()}
            logits, probs = logits_and_probs(arguments, classes)
            self._tensors |= {"logits": logits, "probs": probs}
        Distribution.__init__(
            self,
            dtype=arguments.get("dtype", probs.dtype),
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=arguments["validate_args"],
            allow_nan_stats=arguments["allow_nan_stats"],
            parameters=arguments,
            graph_parents=list(self._tensors.values()),
            name=scope,
        )


def _whole(event: Any, kind: DType) -> Any:
    """Return `event`. If arguments are validated, a run checks its values.

    The values must be non-negative integers, or only 0 and 1 if `kind` is bool.
    """
    if event.dtype.is_bool:
        return event
    checks = [assert_non_negative(event, message="Elements must be non-negative.")]
    if event.dtype.is_floating:
        message = f"Elements must be {kind.name}-equivalent."
        whole = cast(cast(event, kind), event.dtype)
        checks.append(assert_equal(event, whole, message=message))
    elif kind == dtypes.bool:
        message = "Elements cannot exceed 1."
        checks.append(assert_less_equal(event, ones_like(event), message=message))
    return with_dependencies(checks, event)


class Bernoulli(_Discrete):
    """The Bernoulli distribution: an event is 1 with probability `probs`, otherwise 0."""

    event_ranks: ClassVar[dict[str, int]] = {"logits": 0}

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        self._start_discrete(locals(), classes=False)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        uniform = random_uniform(self._noise_shape(n), dtype=self.probs.dtype, seed=seed)
        return cast(less(uniform, self.probs), self.dtype)

    def _log_prob(self, event: Any) -> Any:
        if self.validate_args:
            event = _whole(event, dtypes.bool)
        event = cast(event, self.logits.dtype)
        logits = self.logits + zeros_like(event)
        return -sigmoid_cross_entropy_with_logits(labels=event + zeros_like(logits), logits=logits)

    def _entropy(self) -> Any:
        return softplus(-self.logits) - self.logits * (sigmoid(self.logits) - 1.0)

    def _mean(self) -> Any:
        return identity(self.probs)

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Any:
        return cast(self.probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _bernoulli_divergence(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_bernoulli_bernoulli", [a.logits, b.logits]):
        fails = softplus(b.logits) - softplus(a.logits)
        hits = softplus(-b.logits) - softplus(-a.logits)
        return sigmoid(a.logits) * hits + sigmoid(-a.logits) * fails


class ClassDistribution(_Discrete):
    """Base class of distributions that choose one of k classes, each with its own probability."""

    @property
    def event_size(self) -> Tensor:
        """The number of classes, an int32 scalar."""
        return shape(self.logits)[-1]

    def _sample_classes(self, n: Any, seed: int | None) -> Tensor:
        """Draw n classes for each distribution of the batch. Return the indices of the classes, [n,
        ...].
        """
        rows = reshape(self.logits, [-1, self.event_size])
        wide = dtypes.int64 if self.dtype.size > 4 else dtypes.int32
        draws = multinomial(rows, n, seed=seed, output_dtype=wide)
        return reshape(transpose(draws), concat([[n], shape(self.logits)[:-1]], 0))

    def _entropy(self) -> Any:
        return -reduce_sum(log_softmax(self.logits) * self.probs, -1)

    def class_divergence(self, other: ClassDistribution, name: str) -> Tensor:
        """Return the Kullback-Leibler divergence KL(self || other), a tensor of shape
        batch_shape.
        """
        with name_scope(name, values=[self.logits, other.logits]):
            difference = log_softmax(self.logits) - log_softmax(other.logits)
            return reduce_sum(softmax(self.logits) * difference, -1)


class Categorical(ClassDistribution):
    """The distribution of one of k classes with probabilities [..., k]. Events are integers from 0
    to k - 1.
    """

    event_ranks: ClassVar[dict[str, int]] = {"logits": 1}

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        self._start_discrete(locals(), classes=True)
        self.logits.shape.with_rank_at_least(1)

    def _event_shape(self) -> Any:
        return []

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return cast(self._sample_classes(n, seed), self.dtype)

    def _with_event(self, k: Any, parameter: Any) -> tuple[Any, Any]:
        """Return the class indices `k` and the distribution's `parameter`, broadcast to a common
        batch shape.
        """
        if self.validate_args:
            k = _whole(k, dtypes.int32)
        k = cast(k, k.dtype if k.dtype.is_integer else dtypes.int32)
        whole = k + zeros_like(parameter[..., 0], dtype=k.dtype)
        return whole, parameter + zeros_like(whole, dtype=parameter.dtype)[..., None]

    def _log_prob(self, k: Any) -> Any:
        k, logits = self._with_event(k, self.logits)
        return -sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _cdf(self, k: Any) -> Any:
        k, probs = self._with_event(k, self.probs)
        below = cast(sequence_mask(k, self.event_size), probs.dtype)
        return reduce_sum(below * probs, -1)

    def _mode(self) -> Any:
        return cast(argmax(self.logits, axis=-1), self.dtype)


@RegisterKL(Categorical, Categorical)
def _categorical_divergence(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
    return a.class_divergence(b, name or "kl_categorical_categorical")


class _Counts(Distribution):
    """Base class of distributions whose event contains the number of occurrences of each of k
    classes.

    The counts of an event add up to `total_count`, the number of trials.
    """

    total_count = tensor_parameter("total_count", "The number of trials.")

    def _checked(self, counts: Any) -> Any:
        if not self.validate_args:
            return counts
        message = "counts must sum to `self.total_count`"
        checks = [
            assert_non_negative(counts, message="counts must be non-negative."),
            assert_equal(counts, floor(counts), message="cannot contain fractional components."),
            assert_equal(self.total_count, reduce_sum(counts, -1), message=message),
        ]
        return with_dependencies(checks, counts)


class Multinomial(_Discrete, _Counts):
    """The distribution of the numbers of occurrences of k classes in `total_count` trials. Events
    are counts [..., k].
    """

    event_ranks: ClassVar[dict[str, int]] = {"total_count": 0, "logits": 1}

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        self._start_discrete(locals(), classes=True, total_count=total_count)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        classes = self.event_shape_tensor()[0]
        trials = cast(self.total_count, dtypes.int32)
        trials = trials + zeros_like(self.logits[..., 0], dtype=dtypes.int32)
        logits = self.logits + zeros_like(trials, dtype=self.logits.dtype)[..., None]

        def draw(row: Any) -> Tensor:
            drawn = multinomial(row[0][None], n * row[1], seed=seed)
            return reduce_sum(one_hot(reshape(drawn, [n, -1]), classes, dtype=self.dtype), -2)

        rows = reshape(logits, [-1, classes]), reshape(trials, [-1])
        counts = map_fn(draw, rows, dtype=self.dtype)
        sizes = concat([[n], self.batch_shape_tensor(), [classes]], 0)
        return reshape(transpose(counts, [1, 0, 2]), sizes)

    def _log_prob(self, counts: Any) -> Any:
        counts = self._checked(counts)
        powers = reduce_sum(counts * log_softmax(self.logits), -1)
        return powers + log_combinations(self.total_count, counts)

    def _mean(self) -> Any:
        return self.total_count[..., None] * self.probs

    def _covariance(self) -> Any:
        products = -self._mean()[..., None] * self.probs[..., None, :]
        return matrix_set_diag(products, self._variance())

    def _variance(self) -> Any:
        mean = self._mean()
        return mean - mean * self.probs


class DirichletMultinomial(_Counts):
    """A multinomial distribution of counts whose class probabilities are drawn from a Dirichlet
    distribution.
    """

    event_ranks: ClassVar[dict[str, int]] = {"total_count": 0, "concentration": 1}
    concentration = tensor_parameter("concentration", "A concentration for each class.")

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        self._start(locals(), NOT_REPARAMETERIZED, positive=["concentration"])

    @property
    def total_concentration(self) -> Tensor:
        """The sum of the concentrations, of shape batch_shape."""
        return reduce_sum(self.concentration, -1)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        classes = self.event_shape_tensor()[0]
        gammas = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        draws = multinomial(
            reshape(log(gammas), [-1, classes]),
            cast(self.total_count, dtypes.int32),
            seed=derived_seed(seed, "dirichlet_multinomial"),
        )
        counts = reduce_sum(one_hot(draws, classes, dtype=self.dtype), -2)
        return reshape(counts, concat([[n], self.batch_shape_tensor(), [classes]], 0))

    def _log_prob(self, counts: Any) -> Any:
        counts = self._checked(counts)
        ordered = lbeta(self.concentration + counts) - lbeta(self.concentration)
        return ordered + log_combinations(self.total_count, counts)

    def _mean(self) -> Any:
        return self.total_count[..., None] * self._shares()

    def _shares(self) -> Any:
        return self.concentration / self.total_concentration[..., None]

    def _scale(self) -> Any:
        """Return the standard deviation of a count, divided by the standard deviation that a
        multinomial distribution with the same mean has.

        The shape of the result is [..., 1].
        """
        total = self.total_concentration[..., None]
        return sqrt((1.0 + total / self.total_count[..., None]) / (1.0 + total))

    def _covariance(self) -> Any:
        scaled = self._scale() * self._mean()
        return matrix_set_diag(-scaled[..., None] * scaled[..., None, :], self._variance())

    def _variance(self) -> Any:
        scaled = self._scale() * self._mean()
        return scaled * (self.total_count[..., None] * self._scale() - scaled)
