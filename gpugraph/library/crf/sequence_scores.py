"""Scores of tag sequences in a linear chain, in which each step and each transition has a score.

In all functions, inputs [batch, time, tags] are the unary scores, transition_params [tags, tags]
are the scores of transitions from one tag (row) to another (column), tag_indices [batch, time] are
integers, and sequence_lengths [batch] are the numbers of valid steps of each batch entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import bool as boolean, int32
from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.building.variable_scope import get_variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn.dynamic_rnn import dynamic_rnn
from gpugraph.library.rnn.rnn_cell_base import RNNCell
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import fill, zeros_like
from gpugraph.ops.arrays.masks_and_coordinates import sequence_mask
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.elementwise.comparison_and_select import equal, less_equal, where
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_logsumexp, reduce_sum


def size_of(tensor: Tensor, axis: int) -> Any:
    """Return the size of an axis: an int if it is known statically, otherwise a scalar tensor."""
    known = tensor.shape.with_rank_at_least(axis + 1).as_list()[axis]
    return shape(tensor)[axis] if known is None else known


def has_one_step(inputs: Tensor) -> Any:
    """Return whether the sequences have only one step. If that is known only in a run, the result
    is a tensor.
    """
    steps = size_of(inputs, 1)
    return steps == 1 if isinstance(steps, int) else equal(steps, 1)


def _zero_if_empty(values: Tensor, sequence_lengths: Any) -> Tensor:
    return where(
        less_equal(sequence_lengths, zeros_like(sequence_lengths)), zeros_like(values), values
    )


class CrfForwardRnnCell(RNNCell):
    """A cell that computes, for each tag, log(sum of exp(score)) over all paths that end with the
    tag.
    """

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transition_params = expand_dims(convert_to_tensor(transition_params), 0)
        self._num_tags = size_of(self._transition_params, 2)

    @property
    def state_size(self) -> Any:
        """The size of the state: the number of tags."""
        return self._num_tags

    @property
    def output_size(self) -> Any:
        """The size of the output: the number of tags."""
        return self._num_tags

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        """Return the next state [batch, tags], as the output and as the next state.

        Args:
          inputs: the unary scores of this step.
        """
        del scope
        ways = expand_dims(state, 2) + self._transition_params
        alphas = inputs + reduce_logsumexp(ways, [1])
        return alphas, alphas


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Tensor:
    """Return the sum of the unary scores of each batch entry's tags: [batch]."""
    inputs = convert_to_tensor(inputs)
    tags = cast(tag_indices, int32)
    rows = expand_dims(range_of(shape(tags)[0]), 1) + zeros_like(tags)
    steps = expand_dims(range_of(shape(tags)[1]), 0) + zeros_like(tags)
    places = _triples(rows, steps, tags)
    scores = gather_nd(inputs, places)
    masks = sequence_mask(sequence_lengths, maxlen=shape(tags)[1], dtype=inputs.dtype)
    return reduce_sum(scores * masks, 1)


def _triples(*parts: Tensor) -> Tensor:
    from_parts = [expand_dims(part, -1) for part in parts]
    return convert_to_tensor(concat(from_parts, -1))


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """Return the sum of the scores of each batch entry's transitions: [batch]."""
    params = convert_to_tensor(transition_params)
    tags = cast(tag_indices, int32)
    pairs = tags[:, :-1] * shape(params)[0] + tags[:, 1:]
    scores = gather(reshape(params, [-1]), pairs)
    lengths = maximum(cast(sequence_lengths, int32) - 1, 0)
    masks = sequence_mask(lengths, maxlen=shape(pairs)[1], dtype=params.dtype.base_dtype)
    return reduce_sum(scores * masks, 1)


def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Tensor:
    """Return the unnormalized score of each batch entry's tags: [batch].

    The score is the sum of the unary scores and the scores of the transitions.
    """
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Tensor:
    """Return log(sum of exp(score)) over all tag sequences that a bitmap allows: [batch].

    Args:
      tag_bitmap: bool [batch, time, tags], whether a tag is allowed at a step.
    """
    inputs, allowed = convert_to_tensor(inputs), convert_to_tensor(tag_bitmap, boolean)
    if not inputs.dtype.is_floating:
        raise TypeError(f"inputs must be floating point numbers, got {inputs.dtype.name}")
    never = fill(shape(inputs), np.array(-np.inf, inputs.dtype.as_numpy_dtype))
    return crf_log_norm(where(allowed, inputs, never), sequence_lengths, transition_params)


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """Return log(sum of exp(score)) over all tag sequences: [batch]. For sequences of length 0,
    return 0.
    """
    inputs, params = convert_to_tensor(inputs), convert_to_tensor(transition_params)
    first = inputs[:, 0]

    def of_one() -> Tensor:
        return _zero_if_empty(reduce_logsumexp(first, [1]), sequence_lengths)

    def of_more() -> Tensor:
        lengths = cast(sequence_lengths, int32)
        _, alphas = dynamic_rnn(
            CrfForwardRnnCell(params),
            inputs[:, 1:],
            sequence_length=maximum(lengths - 1, 0),
            initial_state=first,
            dtype=inputs.dtype,
        )
        return _zero_if_empty(reduce_logsumexp(alphas, [1]), lengths)

    norms: Tensor = smart_cond(has_one_step(inputs), of_one, of_more)
    return norms


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Tensor, Any]:
    """Return (the log-likelihood of the tags of each batch entry [batch], transition_params).

    Args:
      transition_params: by default a variable `transitions` in the current variable scope.
    """
    inputs = convert_to_tensor(inputs)
    if transition_params is None:
        tags = size_of(inputs, 2)
        transition_params = get_variable("transitions", [tags, tags])
    scores = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    norms = crf_log_norm(inputs, sequence_lengths, transition_params)
    return scores - norms, transition_params
