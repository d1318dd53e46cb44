"""Private functions and classes of `tensorflow.contrib.seq2seq.python.ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import TensorShape
from gpugraph.building.variable_scope.get_variable import get_variable
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.library.seq2seq.attention_mechanisms import AttentionMechanism
from gpugraph.library.seq2seq.attention_wrapper import attend
from gpugraph.library.seq2seq.monotonic_mechanisms import (
    MonotonicMechanism,
    monotonic_probabilities,
)


class BaseAttentionMechanism(AttentionMechanism):
    """The base of attention mechanisms that programs define. See `AttentionMechanism`.

    Args:
      name: the name of the mechanism's variables.
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
        name: str | None = None,
    ) -> None:
        self._name = name
        super().__init__(
            query_layer,
            memory,
            probability_fn,
            memory_sequence_length,
            memory_layer,
            check_inner_dims_defined,
            score_mask_value,
            custom_key_value_fn,
        )


class BaseMonotonicAttentionMechanism(MonotonicMechanism, BaseAttentionMechanism):
    """The base of monotonic mechanisms that programs define."""


def maybe_mask_score(
    score: Any,
    memory_sequence_length: Any = None,
    memory_mask: Any = None,
    score_mask_value: Any = None,
) -> Any:
    """Return scores [batch, time], in which the steps after the end of each sequence have the value
    `score_mask_value`.

    Raises ValueError if both lengths and a mask are passed.

    Args:
      memory_mask: a bool tensor [batch, time], false for the steps to mask. Before TensorFlow 1.14,
        the third argument was `score_mask_value`. Therefore a number is treated as
        `score_mask_value`.
      score_mask_value: by default -inf.
    """
    if isinstance(memory_mask, (int, float)):
        memory_mask, score_mask_value = None, memory_mask
    if memory_sequence_length is None and memory_mask is None:
        return score
    if memory_sequence_length is not None and memory_mask is not None:
        raise ValueError("memory_sequence_length and memory_mask can't be provided at same time.")
    value = float("-inf") if score_mask_value is None else score_mask_value
    masked = tf.cast(value, score.dtype) * tf.ones_like(score)
    if memory_mask is not None:
        return tf.where(tf.cast(memory_mask, dtypes.bool), score, masked)
    message = "All values in memory_sequence_length must be greater than zero."
    check = tf.assert_positive(memory_sequence_length, message=message)
    with control_dependencies([check]):
        mask = tf.sequence_mask(memory_sequence_length, maxlen=tf.shape(score)[1])
        return tf.where(mask, score, masked)


def prepare_memory(
    memory: Any,
    memory_sequence_length: Any = None,
    memory_mask: Any = None,
    check_inner_dims_defined: bool = True,
) -> Any:
    """Return the memory [batch, time, ...] with zeros after the ends of the sequences.

    Raises ValueError if both lengths and a mask are passed, or if an inner size is unknown.

    Args:
      memory_mask: a bool tensor [batch, time], false for the steps to mask.
    """
    if memory_sequence_length is not None and memory_mask is not None:
        raise ValueError("memory_sequence_length and memory_mask can't be provided at same time.")
    memory = map_structure(lambda value: tf.convert_to_tensor(value, name="memory"), memory)
    for value in flatten(memory) if check_inner_dims_defined else ():
        if not value.shape[2:].is_fully_defined():
            raise ValueError(
                f"Expected memory {value.name} to have fully defined inner dims, but saw shape: "
                f"{value.shape}"
            )
    mask = memory_mask
    if memory_sequence_length is not None:
        mask = tf.sequence_mask(memory_sequence_length, tf.shape(flatten(memory)[0])[1])
    return memory if mask is None else map_structure(lambda value: _masked(value, mask), memory)


def _masked(value: Any, mask: Any) -> Any:
    inner = tf.ones([tf.rank(value) - 2], dtypes.int32)
    return value * tf.reshape(tf.cast(mask, value.dtype), tf.concat([tf.shape(mask), inner], 0))


def bahdanau_score(
    processed_query: Any,
    keys: Any,
    attention_v: Any,
    attention_g: Any = None,
    attention_b: Any = None,
) -> Any:
    """Return the additive scores [batch, time] of a query for the keys.

    Before TensorFlow 1.14, the third argument was the bool `normalize`, and the function created
    the variables. If a bool is passed, this function does the same.

    Args:
      processed_query: a tensor [batch, depth].
      keys: a tensor [batch, time, depth].
      attention_v: the weights [depth] of the sum.
      attention_g, attention_b: the norm of the weights, and a bias [depth].
    """
    if isinstance(attention_v, bool):
        attention_v, attention_g, attention_b = _score_variables(keys, attention_v)
    hidden = keys + tf.expand_dims(processed_query, 1)
    weights = attention_v
    if attention_g is not None and attention_b is not None:
        hidden = hidden + attention_b
        weights = attention_g * weights * tf.rsqrt(tf.reduce_sum(tf.square(weights)))
    return tf.reduce_sum(weights * tf.tanh(hidden), [2])


def _score_variables(keys: Any, normalize: bool) -> tuple[Any, Any, Any]:
    depth, dtype = keys.shape.as_list()[2], keys.dtype
    weights = get_variable("attention_v", [depth], dtype=dtype)
    if not normalize:
        return weights, None, None
    norm = tf.constant_initializer(depth**-0.5)
    return (
        weights,
        get_variable("attention_g", [], dtype, norm),
        get_variable("attention_b", [depth], dtype, tf.zeros_initializer()),
    )


def luong_score(query: Any, keys: Any, scale: Any) -> Any:
    """Return the multiplicative scores [batch, time] of a query [batch, depth] for the keys.

    Raises ValueError if the depths differ.

    Args:
      scale: a factor of the scores, or None. Before TensorFlow 1.14, `scale` was a bool, and True
        created the variable `attention_g`. If a bool is passed, this function does the same.
    """
    depth, units = query.shape.as_list()[-1], keys.shape.as_list()[-1]
    if depth != units:
        raise ValueError(
            "Incompatible or unknown inner dimensions between query and keys. Query "
            f"({query}) has units: {depth}. Keys ({keys}) have units: {units}. Perhaps you need "
            "to set num_units to the keys' dimension?"
        )
    score = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), keys, transpose_b=True), [1])
    if scale is True:
        scale = get_variable("attention_g", [], query.dtype, tf.ones_initializer())
    return score if scale is None or scale is False else scale * score


def monotonic_probability_fn(
    score: Any, previous_alignments: Any, sigmoid_noise: float, mode: str, seed: Any = None
) -> Any:
    """Return the monotonic alignments for scores and previous alignments, all [batch, time]."""
    return monotonic_probabilities(sigmoid_noise, mode, seed)(score, previous_alignments)


def create_zero_outputs(size: Any, dtype: Any, batch_size: Any) -> Any:
    """Return zeros in the structure of the outputs of a decoder, with a batch axis."""

    def zeros(inner: Any, of_type: Any) -> Any:
        sizes = TensorShape(inner).as_list()
        return tf.zeros(tf.concat([[batch_size], tf.constant(sizes, dtypes.int32)], 0), of_type)

    return map_structure(zeros, size, dtype)


def prepend_batch(multiplier: Any, shape: Any) -> tuple[Any, ...]:
    """Return the sizes of a shape after a batch size."""
    return (multiplier, *TensorShape(shape).as_list())


def compute_attention(
    attention_mechanism: Any, cell_output: Any, attention_state: Any, attention_layer: Any
) -> tuple[Any, Any, Any]:
    """Return (attention, alignments, next state of the mechanism).

    Args:
      attention_layer: a layer that is applied to the cell's output and the context. If it is None,
        the attention is the context.
    """
    return attend(attention_mechanism, cell_output, attention_state, attention_layer)
