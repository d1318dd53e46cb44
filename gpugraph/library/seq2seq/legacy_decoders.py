"""Encoders and decoders over lists of steps: `tf.contrib.legacy_seq2seq`.

Inputs and outputs are lists with one tensor [batch, ...] for each step. The graph contains separate
ops for each step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, pack_sequence_as
from gpugraph.building.control_flow import cond
from gpugraph.building.variable_scope import get_variable, get_variable_scope, variable_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn import static_rnn
from gpugraph.library.rnn.projection_wrappers import (
    EmbeddingWrapper,
    OutputProjectionWrapper,
    linear,
)
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.unary_functions import tanh
from gpugraph.ops.framework.identity_and_shape import shape, stop_gradient
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.embedding_lookup import embedding_lookup
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.activations.softmax import softmax
from gpugraph.ops.nn.convolution.conv2d_functions import conv2d
from gpugraph.ops.reductions.argmax_and_argmin import argmax
from gpugraph.ops.reductions.reduction_functions import reduce_sum

Outputs = tuple[list[Any], Any]
LoopFunction = Callable[[Any, int], Any]


def rnn_decoder(
    decoder_inputs: Iterable[Any],
    initial_state: Any,
    cell: Any,
    loop_function: LoopFunction | None = None,
    scope: Any = None,
) -> Outputs:
    """Call `cell` for each of the inputs, and return (a list of its outputs, the last state).

    Args:
      loop_function: computes the input of a step from the previous output and the step's number. If
        it is passed, only the first item of `decoder_inputs` is used.
    """
    with variable_scope(scope or "rnn_decoder"):
        state = initial_state
        outputs: list[Any] = []
        for number, step_input in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    step_input = loop_function(outputs[-1], number)
            if number:
                get_variable_scope().reuse_variables()
            output, state = cell(step_input, state)
            outputs.append(output)
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    dtype: Any = dtypes.float32,
    scope: Any = None,
) -> Outputs:
    """Return the result of `rnn_decoder`, whose initial state is the last state of an encoder.

    The encoder and the decoder have the same kind of cell, with separate variables.
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: LoopFunction | None = None,
    dtype: Any = dtypes.float32,
    scope: Any = None,
) -> Outputs:
    """Return the result of `basic_rnn_seq2seq`, except that the encoder and the decoder share their
    variables.
    """
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def _embedded_argmax(embedding: Any, output_projection: Any, update: bool) -> LoopFunction:
    """Return a function of (output, step number). It returns the embedding of the most likely id of
    the output.

    Args:
      embedding: the table.
      output_projection: weights and biases that convert outputs to logits, or None.
      update: whether gradients flow through the embedding.
    """

    def loop_function(previous: Any, _: int) -> Tensor:
        if output_projection is not None:
            previous = matmul(previous, output_projection[0]) + output_projection[1]
        embedded = embedding_lookup(embedding, argmax(previous, 1))
        return embedded if update else stop_gradient(embedded)

    return loop_function


def _embedding(num_symbols: int, embedding_size: int, output_projection: Any) -> Any:
    """Return the variable `embedding`. Raises ValueError if the number of symbols of
    `output_projection` is not num_symbols.
    """
    if output_projection is not None:
        weights, biases = map(convert_to_tensor, output_projection)
        weights.shape.assert_is_compatible_with([None, num_symbols])
        biases.shape.assert_is_compatible_with([num_symbols])
    return get_variable("embedding", [num_symbols, embedding_size])


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> Outputs:
    """Return the result of `rnn_decoder` for the embeddings of ids. The ids of each step are int32
    [batch].

    Args:
      output_projection: the weights and biases that convert outputs to logits if `feed_previous` is
        true.
      feed_previous: whether the input of a step is the most likely id of the previous step.
      update_embedding_for_previous: whether gradients also flow to the embeddings of these most
        likely ids.
    """
    with variable_scope(scope or "embedding_rnn_decoder"):
        table = _embedding(num_symbols, embedding_size, output_projection)
        loop = _embedded_argmax(table, output_projection, update_embedding_for_previous)
        inputs = [embedding_lookup(table, ids) for ids in decoder_inputs]
        return rnn_decoder(inputs, initial_state, cell, loop if feed_previous else None)


def _by_feeding(feed_previous: Any, decode: Callable[[bool], Outputs], count: int) -> Outputs:
    """Return the result of `decode(feed_previous)`. If feed_previous is a tensor, return a `cond`
    of the results for True and False.

    Args:
      count: the number of outputs.
    """
    if isinstance(feed_previous, bool):
        return decode(feed_previous)
    structures = []

    def branch(feeds: bool) -> list[Any]:
        with variable_scope(get_variable_scope(), reuse=None if feeds else True):
            outputs, state = decode(feeds)
        structures.append(state)
        return [*outputs, *flatten(state)]

    results = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    return results[:count], pack_sequence_as(structures[0], results[count:])


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Outputs:
    """Run an encoder and a decoder of ids. If output_projection is None, the outputs are logits.

    For the other arguments, see `embedding_rnn_decoder`.

    Args:
      feed_previous: a bool, or a bool tensor.
    """
    with variable_scope(scope or "embedding_rnn_seq2seq") as opened:
        if dtype is not None:
            opened.set_dtype(dtype)
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(feeds: bool) -> Outputs:
            return embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=feeds,
                update_embedding_for_previous=isinstance(feed_previous, bool),
            )

        return _by_feeding(feed_previous, decode, len(decoder_inputs))


class _Attention:
    """Additive attention to states [batch, time, size], with several heads."""

    def __init__(self, states: Any, heads: int, dtype: Any) -> None:
        self.size = states.shape.dims[2].value
        self.length = states.shape.dims[1].value or shape(states)[1]
        self.hidden = reshape(states, [-1, self.length, 1, self.size])
        self.dtype, self.heads = dtype, []
        for number in range(heads):
            kernel = get_variable(f"AttnW_{number}", [1, 1, self.size, self.size])
            features = conv2d(self.hidden, kernel, [1, 1, 1, 1], "SAME")
            self.heads.append((features, get_variable(f"AttnV_{number}", [self.size])))

    def zero_attention(self, batch_size: Any) -> list[Tensor]:
        """Return the attention of each head before the first step: zeros [batch, size]."""
        attended = [zeros([batch_size, self.size], self.dtype) for _ in self.heads]
        for tensor in attended:
            tensor.set_shape([None, self.size])
        return attended

    def __call__(self, query: Any) -> list[Tensor]:
        """Return the attention [batch, size] of each head for `query`."""
        joined = concat(flatten(query), 1)
        attended = []
        for number, (features, v) in enumerate(self.heads):
            with variable_scope(f"Attention_{number}"):
                y = reshape(linear(joined, self.size), [-1, 1, 1, self.size])
                weights = softmax(reduce_sum(v * tanh(features + y), [2, 3]))
                weighed = reshape(weights, [-1, self.length, 1, 1]) * self.hidden
                attended.append(reshape(reduce_sum(weighed, [1, 2]), [-1, self.size]))
        return attended


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: LoopFunction | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Outputs:
    """Run a decoder that attends to states [batch, time, size] in each step.

    For the other arguments and the result, see `rnn_decoder`.

    Raises ValueError if there are no inputs or no heads, or if a size of the states is unknown.

    Args:
      output_size: the size of the outputs, by default the size of the cell's outputs.
      initial_state_attention: whether the first step uses the attention of the initial state
        instead of zeros.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if attention_states.shape.with_rank(3)[2].value is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        attend = _Attention(attention_states, num_heads, dtype or opened.dtype)
        state = initial_state
        outputs: list[Any] = []
        attended = attend.zero_attention(shape(decoder_inputs[0])[0])
        if initial_state_attention:
            attended = attend(initial_state)
        for number, step_input in enumerate(decoder_inputs):
            if number:
                get_variable_scope().reuse_variables()
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    step_input = loop_function(outputs[-1], number)
            size = step_input.shape.with_rank(2)[1]
            if size.value is None:
                raise ValueError(f"Could not infer input size from input: {step_input.name}")
            cell_output, state = cell(linear([step_input, *attended], size.value), state)
            reuse = True if number == 0 and initial_state_attention else None
            with variable_scope(get_variable_scope(), reuse=reuse):
                attended = attend(state)
            with variable_scope("AttnOutputProjection"):
                outputs.append(linear([cell_output, *attended], output_size))
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Outputs:
    """Run `attention_decoder` on the embeddings of ids.

    For the arguments, see `attention_decoder` and `embedding_rnn_decoder`.
    """
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        table = _embedding(num_symbols, embedding_size, output_projection)
        loop = _embedded_argmax(table, output_projection, update_embedding_for_previous)
        return attention_decoder(
            [embedding_lookup(table, ids) for ids in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=loop if feed_previous else None,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Outputs:
    """Run an encoder of ids, and a decoder of ids that attends to all outputs of the encoder.

    For the other arguments, see `embedding_rnn_decoder`.

    Args:
      feed_previous: a bool, or a bool tensor.
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        encoded, state = static_rnn(encoder, encoder_inputs, dtype=dtype or opened.dtype)
        attention_states = concat([reshape(e, [-1, 1, cell.output_size]) for e in encoded], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(feeds: bool) -> Outputs:
            return embedding_attention_decoder(
                decoder_inputs,
                state,
                attention_states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=feeds,
                update_embedding_for_previous=isinstance(feed_previous, bool),
                initial_state_attention=initial_state_attention,
            )

        return _by_feeding(feed_previous, decode, len(decoder_inputs))
