"""ExpRelaxedOneHotCategorical, the distribution of the logarithm of a relaxed one-hot vector."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.counting_distributions import logits_and_probs
from gpugraph.library.distributions.distribution import Distribution, tensor_parameter
from gpugraph.library.distributions.distribution_parameters import FULLY_REPARAMETERIZED
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.elementwise.unary_functions import log
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations.softmax import log_softmax
from gpugraph.ops.random.random_ops import random_uniform
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.special_functions.gamma_and_zeta import lgamma


class ExpRelaxedOneHotCategorical(Distribution):
    """The distribution of the logarithms of a RelaxedOneHotCategorical's elements. Logarithms of
    elements near 0 are more precise than the elements.

    Args:
      temperature: a number, or one number for each distribution of the batch.
    """

    event_ranks: ClassVar[dict[str, int]] = {"logits": 1}
    logits = tensor_parameter("logits", "The logarithms of the unnormalized probabilities.")

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name, values=[logits, probs, temperature]) as scope:
            logits, self._probs = logits_and_probs(parameters, True)
            self._temperature = cast(convert_to_tensor(temperature), logits.dtype)
        self._start({**parameters, "logits": logits, "name": scope}, FULLY_REPARAMETERIZED)
        self._parameters = parameters

    @property
    def temperature(self) -> Tensor:
        """The temperature. If it is small, samples are close to logarithms of one-hot vectors."""
        return self._temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._probs

    @property
    def event_size(self) -> Tensor:
        """The number of classes."""
        return shape(self.logits)[-1]

    def _spread(self) -> Tensor:
        """Return the temperature with an axis for the classes, unless it is a number."""
        is_number = self._temperature.shape.ndims == 0
        return self._temperature if is_number else self._temperature[..., None]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        sizes = concat([[n], shape(self.logits)], 0)
        noise = -log(-log(random_uniform(sizes, tiny, 1.0, self.dtype, seed)))
        return log_softmax((noise + self.logits) / self._spread())

    def _log_prob(self, x: Any) -> Any:
        count = cast(self.event_size, x.dtype)
        normalization = lgamma(count) + (count - 1.0) * log(self._temperature)
        return normalization + reduce_sum(log_softmax(self.logits - x * self._spread()), -1)
