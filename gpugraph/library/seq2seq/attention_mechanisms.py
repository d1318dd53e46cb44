"""Attention mechanisms. They give each step of a memory a weight. The better a step matches a
query, the greater is its weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, map_structure
from gpugraph.building.checks import assert_positive
from gpugraph.building.variable_scope import get_variable, variable_scope
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.recurrent.state_sizes import zero_state_of_cell
from gpugraph.library.layers.layer_classes import Dense
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import fill, ones
from gpugraph.ops.arrays.masks_and_coordinates import sequence_mask
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, squeeze
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.elementwise.unary_functions import rsqrt, square, tanh
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.activations.softmax import softmax
from gpugraph.ops.random.variable_initializers import Constant, Ones, Zeros
from gpugraph.ops.reductions.reduction_functions import reduce_sum


class AttentionMechanism:
    """A memory of [batch, time, depth] that a decoder queries in each step.

    The constructor raises TypeError if a layer or a function is not callable, and ValueError if an
    inner size of the memory is unknown. A run raises InvalidArgumentError if a sequence of the
    memory is empty.

    Args:
      query_layer, memory_layer: the layers that are applied to queries and to the memory. Each may
        be None.
      memory: the encoder's outputs. If it is a structure of tensors, only the first tensor is used.
      probability_fn: a function from the scores and the previous state, both [batch, time], to
        probabilities.
      memory_sequence_length: the lengths of the sequences, int32 [batch]. The steps of the memory
        after the end of a sequence have the weight 0.
      check_inner_dims_defined: whether the sizes of the memory's axes after the second must be
        known.
      score_mask_value: the score of the steps after the end of a sequence, -inf by default.
      custom_key_value_fn: a function from (keys, values) of the memory to the (keys, values) to
        use.
    """

    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        probability_fn: Callable[[Any, Any], Any],
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
    ) -> None:
        for name, layer in (("query_layer", query_layer), ("memory_layer", memory_layer)):
            if layer is not None and not callable(layer):
                raise TypeError(f"{name} is not a Layer: {type(layer).__name__}")
        if not callable(probability_fn):
            raise TypeError(
                f"probability_fn must be callable, saw type: {type(probability_fn).__name__}"
            )
        self._query_layer, self._memory_layer = query_layer, memory_layer
        self._use(probability_fn)
        with name_scope(None, "BaseAttentionMechanismInit", flatten(memory)):
            self._lengths = memory_sequence_length
            if self._lengths is not None:
                self._lengths = convert_to_tensor(self._lengths, name="memory_sequence_length")
            self._check_inner_dims_defined = check_inner_dims_defined
            self._values = map_structure(self._masked_memory, memory)
            self._keys = memory_layer(self._values) if memory_layer is not None else self._values
            self.dtype = flatten(self._keys)[0].dtype
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self._score_mask_value = score_mask_value
            first = flatten(self._keys)[0]
            sizes = shape(first)
            self._batch_size = first.shape.dims[0].value or sizes[0]
            self._alignments_size = first.shape.dims[1].value or sizes[1]

    def _use(self, probability_fn: Callable[[Any, Any], Any]) -> None:
        """Set the function that computes probabilities from masked scores and the previous
        state.
        """
        self._probability_fn: Callable[[Any, Any], Any] = lambda score, state: probability_fn(
            self._masked(score), state
        )

    def _masked_memory(self, memory: Any) -> Tensor:
        """Return the memory with zeros after the ends of the sequences."""
        memory = convert_to_tensor(memory, name="memory")
        if self._check_inner_dims_defined and not memory.shape[2:].is_fully_defined():
            raise ValueError(
                f"Expected memory {memory.name} to have fully defined inner dims, but saw shape: "
                f"{memory.shape}"
            )
        if self._lengths is None:
            return memory
        mask = sequence_mask(self._lengths, shape(memory)[1], dtype=memory.dtype)
        inner = ones([memory.shape.ndims - 2], dtypes.int32)
        return memory * reshape(mask, concat([shape(mask), inner], 0))

    @property
    def memory_layer(self) -> Any:
        """The layer that computes keys from the memory, or None."""
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        """The layer that is applied to queries, or None."""
        return self._query_layer

    @property
    def values(self) -> Any:
        """The memory, with zeros after the ends of the sequences.

        The context is the weighted mean of the values.
        """
        return self._values

    @property
    def keys(self) -> Any:
        """The keys [batch, time, depth], which are compared with queries."""
        return self._keys

    @property
    def batch_size(self) -> Any:
        """The number of sequences in the memory."""
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        """The number of steps of the memory, which is also the size of alignments."""
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        """The size of the mechanism's state. By default, the alignments are the state, and this is
        their size.
        """
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """Return the alignments before the first step: zeros [batch, time]."""
        return zero_state_of_cell(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Tensor:
        """Return the state before the first step. It is the initial alignments, zeros [batch,
        time].
        """
        return self.initial_alignments(batch_size, dtype)

    def _masked(self, score: Tensor) -> Tensor:
        """Return `score` [batch, time], with the mask value after the ends of the sequences."""
        if self._lengths is None:
            return score
        value = self._score_mask_value
        if value is None:
            value = np.array(-np.inf, score.dtype.as_numpy_dtype)
        message = "All values in memory_sequence_length must be greater than zero."
        with control_dependencies([assert_positive(self._lengths, message=message)]):
            mask = sequence_mask(self._lengths, shape(score)[1])
        return where(mask, score, fill(shape(score), value))

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Return (the alignments [batch, time] for queries [batch, depth], the next state)."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


def _of_scores(probability_fn: Callable[[Any], Any] | None) -> Callable[[Any, Any], Any]:
    """Return a function of (scores, state) that applies `probability_fn` to the scores.

    Args:
      probability_fn: a function from scores to probabilities, softmax by default.
    """
    function = probability_fn or softmax
    return lambda score, _: function(score)


class BahdanauAttention(AttentionMechanism):
    """Additive attention: the score of a step is the sum of v * tanh(keys + query).

    Sources: Bahdanau et al., Neural Machine Translation by Jointly Learning to Align and Translate,
    2015, and for the normalization, Salimans and Kingma, Weight Normalization, 2016.

    Args:
      num_units: the depth of keys and queries.
      normalize: whether v is scaled so that its norm is a variable g, and a bias is added to keys +
        query.
    """

    _scope_name = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        options: dict[str, Any] = {"use_bias": False, "dtype": dtype or dtypes.float32}
        super().__init__(
            Dense(num_units, name="query_layer", **options),
            memory,
            _of_scores(probability_fn),
            memory_sequence_length,
            Dense(num_units, name="memory_layer", **options),
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
        )
        self._num_units, self._normalize, self._name = num_units, normalize, name

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with variable_scope(None, self._scope_name, [query]):
            score = self._score(query)
        alignments = self._probability_fn(score, state)
        return alignments, alignments

    def _score(self, query: Any) -> Any:
        """Return the scores [batch, time] of queries, whose variables are in the current scope."""
        query = expand_dims(self.query_layer(query), 1)
        v = get_variable("attention_v", [self._num_units], dtype=query.dtype)
        if self._normalize:
            initial = Constant(math.sqrt(1.0 / self._num_units))
            g = get_variable("attention_g", (), query.dtype, initial)
            b = get_variable("attention_b", [self._num_units], query.dtype, Zeros())
            v, query = g * v * rsqrt(reduce_sum(square(v))), query + b
        return reduce_sum(v * tanh(self.keys + query), [2])


class LuongAttention(AttentionMechanism):
    """Multiplicative attention: the score of a step is the inner product of its key and the query.

    Source: Luong et al., Effective Approaches to Attention-based Neural Machine Translation, 2015.

    Args:
      num_units: the depth of keys and queries.
      scale: whether scores are multiplied by a variable g.
    """

    _scope_name = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        dtype = dtype or dtypes.float32
        layer = Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype)
        super().__init__(
            None,
            memory,
            _of_scores(probability_fn),
            memory_sequence_length,
            layer,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
        )
        self._num_units, self._scale, self._name = num_units, scale, name

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with variable_scope(None, self._scope_name, [query]):
            score = self._score(query)
        alignments = self._probability_fn(score, state)
        return alignments, alignments

    def _score(self, query: Any) -> Any:
        """Return the scores [batch, time] of queries, whose variables are in the current scope."""
        depth, units = query.shape.dims[-1].value, self.keys.shape.dims[-1].value
        if depth is None or depth != units:
            raise ValueError(
                "Incompatible or unknown inner dimensions between query and keys.  "
                f"Query ({query}) has units: {depth}.  Keys ({self.keys}) have units: "
                f"{units}.  Perhaps you need to set num_units to the keys' dimension ({units})?"
            )
        score = squeeze(matmul(expand_dims(query, 1), self.keys, transpose_b=True), [1])
        if self._scale:
            score = score * get_variable("attention_g", (), query.dtype, Ones())
        return score
