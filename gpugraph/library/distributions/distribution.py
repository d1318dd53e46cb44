"""Distribution: the base class of distributions.

A subclass defines the functions that it can compute directly (`_log_prob` or `_prob`, `_variance`
or `_stddev`, ...). The public methods derive the other functions from these functions. Names and
behaviour are the same as in `tf.distributions` of TensorFlow 1.15.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_less
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution_parameters import DistributionParameters
from gpugraph.library.distributions.kullback_leibler import kl_divergence
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import fill
from gpugraph.ops.arrays.masks_and_coordinates import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
)
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.elementwise.comparison_and_select import less, logical_and, where_v2
from gpugraph.ops.elementwise.unary_functions import exp, log, log1p, sqrt, square
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import reduce_prod

Option = tuple[str, Callable[[Any], Any]]
"""The name of a method that a subclass may define, and a function that converts its result."""


def derived_seed(seed: int | None, salt: str) -> int | None:
    """Return a seed derived from `seed` and `salt`. If `seed` is None, return None."""
    if seed is None:
        return None
    digest = hashlib.md5((str(seed) + salt).encode(), usedforsecurity=False)
    return int(digest.hexdigest()[:8], 16) & 0x7FFFFFFF


def tensor_parameter(name: str, doc: str) -> Any:
    """Return a property for the tensor parameter `name`, with the docstring `doc`."""
    return property(lambda self: self._tensors[name], doc=doc)


def _same(value: Any) -> Any:
    return value


def _one_minus(value: Any) -> Any:
    return 1.0 - value


class Distribution(DistributionParameters):
    """A distribution over events, or a batch of such distributions.

    Args:
      dtype: the dtype of the events.
      reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
      validate_args: whether runs check parameters and events.
      allow_nan_stats: whether an undefined statistic is NaN. Otherwise an undefined statistic is an
        error.
      parameters: the constructor's arguments, which `copy` passes on.
      graph_parents: tensors on which the distribution depends.
      name: the name scope of the distribution's operations; by default the name of the class.
    """

    def _batch_shape(self) -> TensorShape:
        shapes = [
            tensor.shape[: tensor.shape.ndims - rank] if tensor.shape.ndims is not None else None
            for tensor, rank in self._ranked()
        ]
        if not shapes or any(some is None for some in shapes):
            return TensorShape(None if shapes else [])
        return TensorShape(functools.reduce(broadcast_static_shape, shapes))

    def _batch_shape_tensor(self) -> Tensor:
        sizes = [shape(t)[:-rank] if rank else shape(t) for t, rank in self._ranked()]
        return functools.reduce(broadcast_dynamic_shape, sizes)

    def _ranked(self) -> list[tuple[Tensor, int]]:
        return [(self._tensors[name], rank) for name, rank in self.event_ranks.items()]

    def _event_shape(self) -> TensorShape:
        for tensor, rank in self._ranked():
            if rank:
                return tensor.shape[-rank:] if tensor.shape.ndims else TensorShape([None] * rank)
        return TensorShape([])

    def _event_shape_tensor(self) -> Tensor:
        return next(shape(tensor)[-rank:] for tensor, rank in self._ranked() if rank)

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the batch of distributions. The shape is () for a single
        distribution.
        """
        return TensorShape(self._batch_shape())

    @property
    def event_shape(self) -> TensorShape:
        """The static shape of one event."""
        return TensorShape(self._event_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the shape of the batch, an int32 vector."""
        return self._sizes(name, self.batch_shape, self._batch_shape_tensor)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Return the shape of one event, an int32 vector."""
        return self._sizes(name, self.event_shape, self._event_shape_tensor)

    def _sizes(self, name: str, static: TensorShape, dynamic: Callable[[], Tensor]) -> Tensor:
        with self._name_scope(name):
            if static.is_fully_defined():
                return convert_to_tensor(static.as_list(), dtype=dtypes.int32, name=name)
            return dynamic()

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Return whether an event is a scalar, as a bool tensor."""
        with self._name_scope(name):
            return convert_to_tensor(self.event_shape.ndims == 0, name="is_scalar_event")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Return whether the object is a single distribution, not a batch, as a bool tensor."""
        with self._name_scope(name):
            return convert_to_tensor(self.batch_shape.ndims == 0, name="is_scalar_batch")

    # Samples.

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        raise NotImplementedError(f"sample is not implemented: {type(self).__name__}")

    def _noise_shape(self, n: Any) -> Tensor:
        """Return the shape of n samples of scalar events: [n] + batch_shape."""
        return concat([[n], self.batch_shape_tensor()], 0)

    def sample(
        self, sample_shape: Any = (), seed: int | None = None, name: str = "sample"
    ) -> Tensor:
        """Draw random events: a tensor of shape sample_shape + batch_shape + event_shape."""
        with self._name_scope(name):
            sizes = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            if sizes.shape.ndims not in (None, 0, 1):
                raise ValueError("Input is neither scalar nor vector.")
            sizes = reshape(sizes, [-1])
            known = constant_value(sizes)
            count = reduce_prod(sizes) if known is None else int(np.prod(known))
            samples = convert_to_tensor(self._sample_n(count, seed))
            result = reshape(samples, concat([sizes, shape(samples)[1:]], 0))
            if known is not None:
                static = TensorShape(known.tolist()).concatenate(self.batch_shape)
                result.set_shape(static.concatenate(self.event_shape))
            return result

    # Functions of events.

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """Return the log of the density (or probability) at each event in `value`.

        The result has the shape of `value` without the axes of event_shape.
        """
        return self._of_event(name, value, ("_log_prob", _same), ("_prob", log))

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """Return the density (or probability) at each event in `value`.

        The result has the shape of `value` without the axes of event_shape.
        """
        return self._of_event(name, value, ("_prob", _same), ("_log_prob", exp))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """Return log P[X <= value], elementwise."""
        return self._of_event(name, value, ("_log_cdf", _same), ("_cdf", log))

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """Return P[X <= value], elementwise."""
        return self._of_event(name, value, ("_cdf", _same), ("_log_cdf", exp))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """Return log P[X > value], elementwise."""
        options = ("_log_survival_function", _same), ("_cdf", lambda cdf: log1p(-cdf))
        return self._of_event(name, value, *options)

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """Return P[X > value], elementwise."""
        return self._of_event(name, value, ("_survival_function", _same), ("_cdf", _one_minus))

    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        """Return, for each probability p in `value`, the x with P[X <= x] = p."""
        return self._of_event(name, value, ("_quantile", _same))

    # Statistics.

    def entropy(self, name: str = "entropy") -> Tensor:
        """Return the Shannon entropy in nats, of shape batch_shape."""
        return self._statistic(name, ("_entropy", _same))

    def mean(self, name: str = "mean") -> Tensor:
        """Return the mean, of shape batch_shape + event_shape."""
        return self._statistic(name, ("_mean", _same))

    def variance(self, name: str = "variance") -> Tensor:
        """Return the variance, of shape batch_shape + event_shape."""
        return self._statistic(name, ("_variance", _same), ("_stddev", square))

    def stddev(self, name: str = "stddev") -> Tensor:
        """Return the standard deviation, of shape batch_shape + event_shape."""
        return self._statistic(name, ("_stddev", _same), ("_variance", sqrt))

    def covariance(self, name: str = "covariance") -> Tensor:
        """Return the covariance matrix of the elements of a vector event, of shape batch_shape +
        [k, k].
        """
        return self._statistic(name, ("_covariance", _same))

    def mode(self, name: str = "mode") -> Tensor:
        """Return the mode, of shape batch_shape + event_shape."""
        return self._statistic(name, ("_mode", _same))

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """Return the cross entropy of this distribution and `other`, of shape batch_shape."""
        with self._name_scope(name):
            return self.entropy() + kl_divergence(self, other, self._allow_nan_stats)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """Return the Kullback-Leibler divergence KL(self || other), of shape batch_shape."""
        with self._name_scope(name):
            return kl_divergence(self, other, self._allow_nan_stats)

    def _defined(self, statistic: Any, conditions: Sequence[tuple[Any, Any, str]]) -> Tensor:
        """Return `statistic` where it is defined. Elsewhere the result is NaN, or a run raises an
        error.

        Args:
          conditions: triples (low, high, message). The statistic is defined where low < high is
            true for all triples.
        """
        if not self._allow_nan_stats:
            checks = [assert_less(low, high, message=words) for low, high, words in conditions]
            return with_dependencies(checks, statistic)
        holds = functools.reduce(logical_and, [less(low, high) for low, high, _ in conditions])
        nan = fill(self.batch_shape_tensor(), np.array(np.nan, self.dtype.as_numpy_dtype))
        return where_v2(holds, statistic, nan)

    # Helpers of the public methods.

    @contextmanager
    def _name_scope(self, name: str, values: Sequence[Any] = ()) -> Iterator[str]:
        with name_scope(self._name), name_scope(name, values=list(values)) as scope:
            yield scope

    def _of_event(self, name: str, value: Any, *options: Option) -> Tensor:
        with self._name_scope(name, [value]):
            event = convert_to_tensor(value, name="value", preferred_dtype=self._dtype)
            method, finish = self._first(name, options)
            return finish(method(event))

    def _statistic(self, name: str, *options: Option) -> Tensor:
        with self._name_scope(name):
            method, finish = self._first(name, options)
            return finish(method())

    def _first(self, name: str, options: Sequence[Option]) -> tuple[Any, Callable[[Any], Any]]:
        for attribute, finish in options:
            if hasattr(self, attribute):
                return getattr(self, attribute), finish
        what = name.rstrip("/").rpartition("/")[2]
        raise NotImplementedError(f"{what} is not implemented: {type(self).__name__}")

    def _described(self, form: str) -> str:
        dtype = None if self._dtype is None else self._dtype.name
        return form.format(
            type(self).__name__, self.name, self.batch_shape, self.event_shape, dtype
        )

    def __str__(self) -> str:
        form = 'tfp.distributions.{}("{}", batch_shape={}, event_shape={}, dtype={})'
        return self._described(form)

    def __repr__(self) -> str:
        form = "<tfp.distributions.{} '{}' batch_shape={} event_shape={} dtype={}>"
        return self._described(form)
