"""Monotonic attention: each output attends to inputs at or after the inputs of the previous output.

Source: Raffel et al., Online and Linear-Time Attention by Enforcing Monotonic Alignments, 2017
(arXiv:1704.00784).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.variable_scope import get_variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.seq2seq.attention_mechanisms import (
    AttentionMechanism,
    BahdanauAttention,
    LuongAttention,
)
from gpugraph.library.seq2seq.monotonic_weights import monotonic_attention
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.elementwise.unary_functions import sigmoid
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.indexing.one_hot_where_unique import one_hot
from gpugraph.ops.random.random_ops import random_normal
from gpugraph.ops.random.variable_initializers import Constant


def monotonic_probabilities(
    sigmoid_noise: float, mode: str, seed: int | None = None
) -> Callable[[Any, Any], Any]:
    """Return a function that computes alignments from scores and the previous alignments. All of
    them have the shape [batch, time].

    Args:
      sigmoid_noise: the standard deviation of the noise that is added to scores. The noise makes
        the choices almost discrete in training.
      mode: "recursive", "parallel" or "hard". In the mode "hard", an input is chosen if its score
        is positive.
      seed: the seed of the noise.
    """

    def alignments(score: Any, previous: Any) -> Any:
        if sigmoid_noise > 0:
            score = score + sigmoid_noise * random_normal(
                shape(score), dtype=score.dtype, seed=seed
            )
        chosen = cast(score > 0, score.dtype) if mode == "hard" else sigmoid(score)
        return monotonic_attention(chosen, previous, mode)

    return alignments


class MonotonicMechanism(AttentionMechanism):
    """The base class of monotonic mechanisms. Before the first step, the alignment is 1 at the
    first input and 0 at all others.
    """

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """Return the alignments before the first step: 1 at the first input, and 0 elsewhere."""
        first = zeros([batch_size], dtypes.int32)
        return one_hot(first, self._alignments_size, dtype=dtype)


class BahdanauMonotonicAttention(MonotonicMechanism, BahdanauAttention):
    """Monotonic attention. A score is the score of `BahdanauAttention` plus a bias, which is a
    variable.

    Args:
      num_units: the depth of keys and queries.
      normalize: whether v is scaled so that its norm is a variable g, and a bias is added to keys +
        query.
      sigmoid_noise: the standard deviation of the noise that is added to scores.
      sigmoid_noise_seed: the seed of the noise.
      score_bias_init: the initial value of the bias. With a negative value, the attention moves
        through more inputs at the beginning of the training.
      mode: the method that computes alignments from scores: "recursive", "parallel" or "hard".
    """

    _scope_name = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            normalize,
            score_mask_value=score_mask_value,
            dtype=dtype,
            name=name,
        )
        self._use(monotonic_probabilities(sigmoid_noise, mode, sigmoid_noise_seed))
        self._score_bias_init = score_bias_init

    def _score(self, query: Any) -> Any:
        score = super()._score(query)
        return score + _bias(score, self._score_bias_init)


class LuongMonotonicAttention(MonotonicMechanism, LuongAttention):
    """Monotonic attention. A score is the score of `LuongAttention` plus a bias, which is a
    variable.

    Args:
      num_units: the depth of keys and queries.
      scale: whether scores are multiplied by a variable g.
      sigmoid_noise: the standard deviation of the noise that is added to scores.
      sigmoid_noise_seed: the seed of the noise.
      score_bias_init: the initial value of the bias. With a negative value, the attention moves
        through more inputs at the beginning of the training.
      mode: the method that computes alignments from scores: "recursive", "parallel" or "hard".
    """

    _scope_name = "luong_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            scale,
            score_mask_value=score_mask_value,
            dtype=dtype,
            name=name,
        )
        self._use(monotonic_probabilities(sigmoid_noise, mode, sigmoid_noise_seed))
        self._score_bias_init = score_bias_init

    def _score(self, query: Any) -> Any:
        score = super()._score(query)
        return score + _bias(score, self._score_bias_init)


def _bias(score: Any, initial: float) -> Any:
    """Create the variable that is added to scores."""
    return get_variable("attention_score_bias", (), score.dtype, Constant(initial))
