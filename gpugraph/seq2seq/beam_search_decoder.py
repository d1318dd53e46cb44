"""BeamSearchDecoder: the likeliest sequences, several of each batch entry at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import TensorShape
from gpugraph.control_flow import cond
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import fill, zeros
from gpugraph.ops.arrays.masks_and_coordinates import sequence_mask
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.elementwise.arithmetic_functions import pow as power
from gpugraph.ops.elementwise.comparison_and_select import equal, logical_not, logical_or, where
from gpugraph.ops.framework.identity_and_shape import shape, size
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.batch_gather_and_repeat import batch_gather
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd
from gpugraph.ops.indexing.gather_tree import gather_tree
from gpugraph.ops.indexing.one_hot_where_unique import one_hot
from gpugraph.ops.indexing.top_k import top_k
from gpugraph.ops.nn.activations.softmax import log_softmax
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_all, reduce_max
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray
from gpugraph.rnn.rnn_cell_base import check_cell
from gpugraph.seq2seq.basic_decoder import Decoder
from gpugraph.seq2seq.decoding_helpers import embedding_function


class BeamSearchDecoderState(NamedTuple):
    """The state of a search: all but the cell's state is [batch, beam_width]."""

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """One step's output: the scores, the ids, and which beam each came from."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """predicted_ids: whole sequences, the best first; and the outputs of the steps."""

    predicted_ids: Any
    beam_search_decoder_output: Any


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each batch entry of each tensor `multiplier` times in a row: [batch * multiplier, ...]."""
    with name_scope(name, "tile_batch", [*flatten(t), multiplier]):
        return map_structure(lambda tensor: _tile(tensor, multiplier), t)


def _tile(tensor: Any, multiplier: int) -> Any:
    tensor = convert_to_tensor(tensor, name="t")
    if tensor.shape.ndims is None:
        raise ValueError("t must have statically known rank")
    if tensor.shape.ndims == 0:
        return tensor
    repeats = [1, multiplier] + [1] * (tensor.shape.ndims - 1)
    tiled = tile(expand_dims(tensor, 1), repeats)
    result = reshape(tiled, concat([[shape(tensor)[0] * multiplier], shape(tensor)[1:]], 0))
    batch = tensor.shape.dims[0].value
    known = None if batch is None else batch * multiplier
    result.set_shape(TensorShape([known]).concatenate(tensor.shape[1:]))
    return result


class BeamSearchDecoder(Decoder):
    """Keeps the `beam_width` likeliest sequences of each batch entry.

    Args:
      cell, output_layer: the model; the cell's memories and states are tiled by `tile_batch`.
      embedding: a table, or a function from ids to vectors.
      start_tokens: int32 [batch]. end_token: an int32 scalar.
      initial_state: of the cell, [batch * beam_width, ...].
      length_penalty_weight: scores are divided by ((5 + length) / 6) ** weight (Wu et al., 2016).
      coverage_penalty_weight: must be 0.
      reorder_tensor_arrays: whether TensorArrays of the last state are put into the order of the
        final beams.
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
        if output_layer is not None and not callable(output_layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        if coverage_penalty_weight:
            raise ValueError("gpugraph has no coverage penalty: coverage_penalty_weight must be 0")
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
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._initial_cell_state = map_structure(self._split, initial_state)
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
        """The number of sequences."""
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """True: a beam that is finished may make way for one that is not."""
        return True

    @property
    def output_size(self) -> Any:
        """The shapes of one sequence's outputs of a step."""
        width = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(width, width, width)

    @property
    def output_dtype(self) -> Any:
        """The dtypes of outputs."""
        dtype = flatten(self._initial_cell_state)[0].dtype
        return BeamSearchDecoderOutput(dtype, dtypes.int32, dtypes.int32)

    # Beams as part of the batch.

    def _split(self, value: Any) -> Any:
        """[batch * beam_width, ...] as [batch, beam_width, ...]; scalars and arrays pass."""
        if isinstance(value, TensorArray) or value.shape.ndims == 0:
            return value
        sizes = concat([[self._batch_size, self._beam_width], shape(value)[1:]], 0)
        result = reshape(value, sizes)
        beams = TensorShape([self._known_batch, self._beam_width])
        result.set_shape(beams.concatenate(value.shape[1:]))
        return result

    def _merge(self, value: Any) -> Any:
        if isinstance(value, TensorArray) or value.shape.ndims == 0:
            return value
        sizes = concat([[self._batch_size * self._beam_width], shape(value)[2:]], 0)
        result = reshape(value, sizes)
        known = None if self._known_batch is None else self._known_batch * self._beam_width
        result.set_shape(TensorShape([known]).concatenate(value.shape[2:]))
        return result

    # The search.

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Which sequences are finished, the first inputs, the first state."""
        dtype = flatten(self._initial_cell_state)[0].dtype
        first = zeros([self._batch_size], dtypes.int32)
        log_probs = one_hot(first, self._beam_width, on_value=0.0, off_value=-np.inf, dtype=dtype)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=log_probs,
            finished=self._finished,
            lengths=zeros([self._batch_size, self._beam_width], dtypes.int64),
            accumulated_attention_probs=(),
        )
        return self._finished, self._start_inputs, state

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Outputs, next state, next inputs, and which sequences are finished."""
        with name_scope(name, "BeamSearchDecoderStep", flatten([time, inputs])):
            merged = map_structure(self._merge, (inputs, state.cell_state))
            outputs, cell_state = self._cell(*merged)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            cell_state = map_structure(self._split, cell_state)
            output, next_state = self._search(self._split(outputs), cell_state, state)
            following = cond(
                reduce_all(next_state.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(output.predicted_ids),
            )
        return output, next_state, following, next_state.finished

    def _search(self, logits: Any, cell_state: Any, state: BeamSearchDecoderState) -> Any:
        """The best continuations of all beams of a batch entry."""
        classes = logits.shape.dims[-1].value or shape(logits)[-1]
        totals = expand_dims(state.log_probs, 2) + self._step_log_probs(logits, classes, state)
        ends = one_hot(self._end_token, classes, dtype=dtypes.int64)
        goes_on = cast(logical_not(state.finished), dtypes.int64)
        lengths = expand_dims(state.lengths, 2) + expand_dims(goes_on, 2) * (1 - ends)
        scores = totals / self._length_penalty(lengths, totals.dtype)

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
            accumulated_attention_probs=(),
        )
        for value in (best_scores, ids, *next_state[1:4]):
            value.set_shape([self._known_batch, self._beam_width])
        return BeamSearchDecoderOutput(best_scores, ids, parents), next_state

    def _step_log_probs(self, logits: Any, classes: Any, state: BeamSearchDecoderState) -> Any:
        """Log probabilities of ids; a finished beam goes on with the end token alone."""
        log_probs = log_softmax(logits)
        least = log_probs.dtype.min
        only_end = one_hot(
            fill([self._batch_size, self._beam_width], self._end_token),
            classes,
            on_value=0.0,
            off_value=least,
            dtype=log_probs.dtype,
        )
        finished = tile(expand_dims(state.finished, 2), stack([1, 1, classes]))
        return where(finished, only_end, log_probs)

    def _length_penalty(self, lengths: Any, dtype: Any) -> Any:
        if (
            isinstance(self._length_penalty_weight, (int, float))
            and not self._length_penalty_weight
        ):
            return 1.0
        weight = cast(self._length_penalty_weight, dtype)
        return power((5.0 + cast(lengths, dtype)) / 6.0, weight)

    def _of_parents(self, value: Any, parents: Any) -> Any:
        if isinstance(value, TensorArray) or value.shape.ndims == 0:
            return value
        result = batch_gather(value, parents)
        result.set_shape(value.shape)
        return result

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Whole sequences, and the state with its TensorArrays in their order."""
        longest = cast(reduce_max(final_state.lengths, axis=1), dtypes.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder_tensor_arrays:
            final_state = final_state._replace(
                cell_state=map_structure(
                    lambda value: self._reordered(value, outputs.parent_ids, final_state.lengths),
                    final_state.cell_state,
                )
            )
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state

    def _reordered(self, value: Any, parent_ids: Any, lengths: Any) -> Any:
        """A TensorArray's elements in the order of the final beams, [time, batch, beam, ...]."""
        if not isinstance(value, TensorArray):
            return value
        steps = value.stack()
        steps = reshape(steps, concat([shape(parent_ids), shape(steps)[2:]], 0))
        return gather_tree_from_array(steps, parent_ids, lengths)


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Any:
    """The steps t [time, batch, beam, ...] in the order of the final beams.

    parent_ids: int32 [time, batch, beam], which beam each came from. sequence_length: of the beams,
    [batch, beam]; steps behind it stay where they are.
    """
    sizes = shape(parent_ids)
    time, batch, width = sizes[0], sizes[1], sizes[2]
    beams = tile(range_of(width)[None, None, :], stack([time, batch, 1]))
    lengths = cast(sequence_length, dtypes.int32)
    sorted_beams = gather_tree(beams, parent_ids, reduce_max(lengths, axis=1), width + 1)
    inside = transpose(sequence_mask(lengths, time), [2, 0, 1])
    sorted_beams = where(inside, sorted_beams, beams)
    times = tile(range_of(time)[:, None, None], stack([1, batch, width]))
    entries = tile(range_of(batch)[None, :, None], stack([time, 1, width]))
    return gather_nd(t, stack([times, entries, sorted_beams], -1))
