"""BeamSearchDecoder: a decoder that searches for the most likely sequences of each batch entry."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow import cond
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.layers.recurrent.state_sizes import known_shape
from gpugraph.library.rnn.rnn_cell_base import check_cell
from gpugraph.library.seq2seq.attention_wrapper import AttentionWrapperState
from gpugraph.library.seq2seq.basic_decoder import Decoder, sizes_after
from gpugraph.library.seq2seq.beam_tensors import is_whole, reordered
from gpugraph.library.seq2seq.decoding_helpers import embedding_function
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import fill, ones_like, zeros
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.elementwise.arithmetic_functions import minimum, pow as power
from gpugraph.ops.elementwise.comparison_and_select import equal, logical_not, logical_or, where
from gpugraph.ops.elementwise.unary_functions import log
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import shape, size
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.batch_gather_and_repeat import batch_gather
from gpugraph.ops.indexing.gather_tree import gather_tree
from gpugraph.ops.indexing.one_hot_where_unique import one_hot
from gpugraph.ops.indexing.top_k import top_k
from gpugraph.ops.nn.activations.softmax import log_softmax
from gpugraph.ops.reductions.reduction_functions import (
    reduce_all,
    reduce_max,
    reduce_mean,
    reduce_sum,
)


class BeamSearchDecoderState(NamedTuple):
    """The state of a beam search.

    Args:
      log_probs, finished, lengths: a value for each beam, [batch, beam_width].
      accumulated_attention_probs: [batch, beam_width, time], or () if there is no coverage penalty.
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """The output of one step. Each field is [batch, beam_width].

    Args:
      scores: the score of each beam.
      predicted_ids: the new id of each beam.
      parent_ids: the number of the previous step's beam that each beam continues.
    """

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """The result of a search.

    Args:
      predicted_ids: whole sequences. The best sequence is the first.
      beam_search_decoder_output: the outputs of all steps.
    """

    predicted_ids: Any
    beam_search_decoder_output: Any


class BeamSearchDecoder(Decoder):
    """A decoder that follows the `beam_width` most likely sequences (beams) of each batch entry.

    The constructor raises TypeError if `cell` is not a cell or `output_layer` is not a layer. It
    raises ValueError if start_tokens is not a vector, if end_token is not a scalar, if a state has
    an unknown rank or a wrong batch size, or if there is a coverage penalty but no attention.

    Source of the penalties: Wu et al., Google's Neural Machine Translation System, 2016.

    Args:
      cell, output_layer: the model. Its memories and states must be repeated by `tile_batch`.
      embedding: a table, or a function from ids to vectors.
      start_tokens: the first ids, int32 [batch].
      end_token: the id that ends a sequence, an int32 scalar.
      initial_state: the initial state of the cell, [batch * beam_width, ...].
      length_penalty_weight: scores are divided by ((5 + length) / 6) ** weight.
      coverage_penalty_weight: the weight of a penalty that is added to the scores of finished
        sequences, for the steps of the memory to which they have attended too little. If it is not
        0, the cell's state must be an AttentionWrapperState or a tuple that contains one.
      reorder_tensor_arrays: whether TensorArrays in the last state are returned as tensors, in the
        order of the final beams. TensorArrays are returned unchanged if the first axes of their
        elements are not the batch and the beams.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        check_cell("cell", cell)
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._output_layer = cell, output_layer
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens = convert_to_tensor(start_tokens, dtypes.int32, name="start_tokens")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._end_token = convert_to_tensor(end_token, dtypes.int32, name="end_token")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = size(self._start_tokens)
        self._known_batch = self._start_tokens.shape[0].value
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._initial_cell_state = map_structure(self._split, initial_state, cell.state_size)
        tokens = tile(expand_dims(self._start_tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(tokens)
        self._finished = one_hot(
            zeros([self._batch_size], dtypes.int32),
            beam_width,
            on_value=False,
            off_value=True,
            dtype=dtypes.bool,
        )

    @property
    def batch_size(self) -> Any:
        """The number of batch entries, each with `beam_width` sequences."""
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """Always True, because an unfinished beam may replace a finished beam."""
        return True

    @property
    def output_size(self) -> Any:
        """The shapes of the outputs of one batch entry in one step."""
        width = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(width, width, width)

    @property
    def output_dtype(self) -> Any:
        """The dtypes of outputs, as a BeamSearchDecoderOutput."""
        dtype = flatten(self._initial_cell_state)[0].dtype
        sizes = sizes_after(self._output_layer, self._cell.output_size)
        scores = map_structure(lambda _: dtype, sizes)
        return BeamSearchDecoderOutput(scores, dtypes.int32, dtypes.int32)

    # Reshapes between [batch, beam_width, ...] and [batch * beam_width, ...].

    def _split(self, value: Any, inner: Any) -> Any:
        """Reshape [batch * beam_width, *inner] to [batch, beam_width, *inner].

        Scalars and TensorArrays are returned unchanged.
        """
        if is_whole(value):
            return value
        sizes = concat([[self._batch_size, self._beam_width], shape(value)[1:]], 0)
        result = reshape(value, sizes)
        expected = known_shape(self._known_batch, self._beam_width).concatenate(
            known_shape(None, inner)[1:]
        )
        if not result.shape.is_compatible_with(expected):
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  The "
                f"reshaped tensor has shape: {result.shape}.  We expected it to have shape "
                f"(batch_size, beam_width, depth) == {expected}.  Perhaps you forgot to create a "
                "zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        result.set_shape(expected)
        return result

    def _merge(self, value: Any) -> Any:
        """Reshape [batch, beam_width, ...] to [batch * beam_width, ...].

        Scalars and TensorArrays are returned unchanged.
        """
        if is_whole(value):
            return value
        sizes = concat([[self._batch_size * self._beam_width], shape(value)[2:]], 0)
        result = reshape(value, sizes)
        known = None if self._known_batch is None else self._known_batch * self._beam_width
        result.set_shape(TensorShape([known]).concatenate(value.shape[2:]))
        return result

    # The search.

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return (whether each beam is finished, the first inputs, the initial state)."""
        dtype = flatten(self._initial_cell_state)[0].dtype
        first = zeros([self._batch_size], dtypes.int32)
        log_probs = one_hot(first, self._beam_width, on_value=0.0, off_value=-np.inf, dtype=dtype)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=log_probs,
            finished=self._finished,
            lengths=zeros([self._batch_size, self._beam_width], dtypes.int64),
            accumulated_attention_probs=self._attention_of(self._initial_cell_state),
        )
        return self._finished, self._start_inputs, state

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return (outputs, next state, next inputs, whether each beam is finished)."""
        with name_scope(name, "BeamSearchDecoderStep", flatten([time, inputs])):
            merged = map_structure(self._merge, (inputs, state.cell_state))
            outputs, cell_state = self._cell(*merged)
            cell_state = map_structure(self._split, cell_state, self._cell.state_size)
            outputs = map_structure(lambda out: self._split(out, out.shape[1:]), outputs)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, next_state = self._search(outputs, cell_state, state)
            following = cond(
                reduce_all(next_state.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(output.predicted_ids),
            )
        return output, next_state, following, next_state.finished

    def _search(self, logits: Any, cell_state: Any, state: BeamSearchDecoderState) -> Any:
        """Return (the outputs of a step, the next state). The outputs are the best continuations of
        the beams of each entry.
        """
        classes = logits.shape.dims[-1].value or shape(logits)[-1]
        totals = expand_dims(state.log_probs, 2) + self._step_log_probs(logits, classes, state)
        ends = one_hot(self._end_token, classes, dtype=dtypes.int64)
        goes_on = cast(logical_not(state.finished), dtypes.int64)
        lengths = expand_dims(state.lengths, 2) + expand_dims(goes_on, 2) * (1 - ends)
        attended = self._attention_of(cell_state)
        if attended != ():
            still = expand_dims(cast(goes_on, attended.dtype), 2)
            attended = state.accumulated_attention_probs + attended * still
        scores = totals / self._length_penalty(lengths, totals.dtype)
        scores += self._coverage_penalty(attended, state.finished)

        def flat(value: Any) -> Any:
            return reshape(value, [self._batch_size, -1])

        best_scores, positions = top_k(flat(scores), k=self._beam_width)
        parents, ids = positions // classes, positions % classes
        finished = batch_gather(state.finished, parents)
        next_state = BeamSearchDecoderState(
            cell_state=map_structure(lambda value: self._of_parents(value, parents), cell_state),
            log_probs=batch_gather(flat(totals), positions),
            finished=logical_or(finished, equal(ids, self._end_token)),
            lengths=batch_gather(state.lengths, parents)
            + cast(logical_not(finished), dtypes.int64),
            accumulated_attention_probs=map_structure(
                lambda value: self._of_parents(value, parents), attended
            ),
        )
        for value in (best_scores, ids, *next_state[1:4]):
            value.set_shape([self._known_batch, self._beam_width])
        return BeamSearchDecoderOutput(best_scores, ids, parents), next_state

    def _step_log_probs(self, logits: Any, classes: Any, state: BeamSearchDecoderState) -> Any:
        """Return the log probabilities of the next ids. After a finished beam, only the end token
        is possible.
        """
        log_probs = log_softmax(logits)
        min_log_prob = log_probs.dtype.min
        only_end = one_hot(
            fill([self._batch_size, self._beam_width], self._end_token),
            classes,
            on_value=0.0,
            off_value=min_log_prob,
            dtype=log_probs.dtype,
        )
        finished = tile(expand_dims(state.finished, 2), stack([1, 1, classes]))
        return where(finished, only_end, log_probs)

    def _length_penalty(self, lengths: Any, dtype: Any) -> Any:
        weight = convert_to_tensor(self._length_penalty_weight, name="penalty_factor")
        weight.set_shape(())
        if constant_value(weight) == 0:
            return 1.0
        penalty = power(5.0 + cast(lengths, dtypes.float32), weight) / power(5.0 + 1.0, weight)
        return cast(penalty, dtype)

    def _attention_of(self, cell_state: Any) -> Any:
        """Return the alignments [batch, beam, time] in the cell's state. If there is no coverage
        penalty, return an empty tuple.
        """
        if isinstance(self._coverage_penalty_weight, float) and not self._coverage_penalty_weight:
            return ()
        states = cell_state
        if isinstance(cell_state, AttentionWrapperState) or not isinstance(cell_state, tuple):
            states = (cell_state,)
        layers = [_mean(s.alignments) for s in states if isinstance(s, AttentionWrapperState)]
        if not layers:
            raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
        return _mean(tuple(layers) if len(layers) > 1 else layers[0])

    def _coverage_penalty(self, attended: Any, finished: Any) -> Any:
        """Return the coverage penalty of each beam: [batch, beam, 1]. They are 0 for beams that are
        not finished.

        Steps of the memory to which no beam has attended are not penalized.
        """
        weight = convert_to_tensor(self._coverage_penalty_weight, name="coverage_penalty_weight")
        if weight.shape.ndims != 0:
            raise ValueError(
                f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}"
            )
        if attended == ():
            return 0.0
        attended = where(equal(attended, 0.0), ones_like(attended), attended)
        penalty = reduce_sum(log(minimum(attended, 1.0)), 2) * cast(finished, attended.dtype)
        return expand_dims(penalty * weight, 2)

    def _of_parents(self, value: Any, parents: Any) -> Any:
        if is_whole(value):
            return value
        result = batch_gather(value, parents)
        result.set_shape(value.shape)
        return result

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return (whole sequences, the state). The TensorArrays in the state are in the order of
        the final beams.

        For the arguments, see `Decoder.finalize`.
        """
        longest = cast(reduce_max(final_state.lengths, axis=1), dtypes.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder_tensor_arrays:
            beams = (self._batch_size, self._known_batch, self._beam_width)
            final_state = final_state._replace(
                cell_state=map_structure(
                    lambda value: reordered(value, outputs.parent_ids, final_state.lengths, beams),
                    final_state.cell_state,
                )
            )
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state


def _mean(alignments: Any) -> Any:
    """Return alignments [batch, beam, time], averaged over several mechanisms or layers."""
    return reduce_mean(stack(alignments, -1), -1) if isinstance(alignments, tuple) else alignments
