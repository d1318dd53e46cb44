"""OneHotCategorical: the distribution of one of several classes, as a one-hot vector."""

from __future__ import annotations

from typing import Any, ClassVar

from gpugraph.base import dtypes
from gpugraph.building.checks import assert_equal, assert_non_negative
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.counting_distributions import ClassDistribution
from gpugraph.library.distributions.kullback_leibler import RegisterKL
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.indexing.one_hot_where_unique import one_hot
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_set_diag
from gpugraph.ops.nn.activations.softmax import log_softmax
from gpugraph.ops.reductions.argmax_and_argmin import argmax
from gpugraph.ops.reductions.reduction_functions import reduce_sum


class OneHotCategorical(ClassDistribution):
    """The distribution of one of k classes with probabilities [..., k]. Events are one-hot vectors
    [..., k].
    """

    event_ranks: ClassVar[dict[str, int]] = {"logits": 1}

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        self._start_discrete(locals(), classes=True)
        self.logits.shape.with_rank_at_least(1)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return one_hot(self._sample_classes(n, seed), self.event_size, dtype=self.dtype)

    def _log_prob(self, x: Any) -> Any:
        if self.validate_args:
            message = "sample must be 1 for one class and 0 for the others"
            checks = [assert_non_negative(x, message=message)]
            total = cast(reduce_sum(x, -1), dtypes.int64)
            checks.append(assert_equal(total, cast(1, dtypes.int64), message=message))
            x = with_dependencies(checks, x)
        return reduce_sum(cast(x, self.logits.dtype) * log_softmax(self.logits), -1)

    def _mean(self) -> Any:
        return identity(self.probs)

    def _mode(self) -> Any:
        return one_hot(argmax(self.logits, axis=-1), self.event_size, dtype=self.dtype)

    def _variance(self) -> Any:
        return self.probs * (1.0 - self.probs)

    def _covariance(self) -> Any:
        products = -self.probs[..., None] * self.probs[..., None, :]
        return matrix_set_diag(products, self._variance())


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _one_hot_divergence(
    a: OneHotCategorical, b: OneHotCategorical, name: str | None = None
) -> Tensor:
    return a.class_divergence(b, name or "kl_one_hot_categorical_one_hot_categorical")
