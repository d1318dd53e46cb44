"""The tag sequence with the highest score in a linear chain, computed with the Viterbi
algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import int32
from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.crf.sequence_scores import has_one_step, size_of
from gpugraph.library.rnn.dynamic_rnn import dynamic_rnn
from gpugraph.library.rnn.rnn_cell_base import RNNCell
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.arrays.reverse_sequence import reverse_sequence
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd
from gpugraph.ops.reductions.argmax_and_argmin import argmax
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_max


class CrfDecodeForwardRnnCell(RNNCell):
    """A cell that extends the best path to each tag by one tag in each step.

    The state contains the score of the best path to each tag. The output contains the previous tag
    on each of these paths.
    """

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transition_params = expand_dims(convert_to_tensor(transition_params), 0)
        self._num_tags = size_of(self._transition_params, 2)

    @property
    def state_size(self) -> Any:
        """The size of the state: the number of tags. The state contains a score for each tag."""
        return self._num_tags

    @property
    def output_size(self) -> Any:
        """The size of the output: the number of tags.

        For each tag, the output contains the previous tag on the best path.
        """
        return self._num_tags

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        """Return (the previous tag on the best path to each tag, the scores of these paths).

        Both tensors have the shape [batch, tags].

        Args:
          inputs: the unary scores of the step.
          state: the scores of the best paths so far.
        """
        del scope
        ways = expand_dims(state, 2) + self._transition_params
        return cast(argmax(ways, 1), int32), inputs + reduce_max(ways, [1])


class CrfDecodeBackwardRnnCell(RNNCell):
    """A cell that goes back by one tag along the best path in each step."""

    def __init__(self, num_tags: Any) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> int:
        """The size of the state. It is 1, because the state is a single tag."""
        return 1

    @property
    def output_size(self) -> int:
        """The size of the output. It is 1, because the output is a single tag."""
        return 1

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        """Return the tag before the tag `state` [batch, 1], as the output and as the next state.

        Args:
          inputs: the outputs of the forward cell: for each tag, the previous tag on the best path.
        """
        del scope
        tags = squeeze(state, [1])
        before = gather_nd(inputs, stack([range_of(shape(inputs)[0]), tags], 1))
        return expand_dims(before, -1), expand_dims(before, -1)


def crf_decode(
    potentials: Any, transition_params: Any, sequence_length: Any
) -> tuple[Tensor, Tensor]:
    """Return (the best tags of each sequence, int32 [batch, time], their scores [batch]).

    Steps beyond a sequence's length get the tag 0.

    Args:
      potentials: unary scores [batch, time, tags].
      transition_params: scores of transitions [tags, tags].
    """
    unary, params = convert_to_tensor(potentials), convert_to_tensor(transition_params)

    def of_one() -> tuple[Tensor, Tensor]:
        scores = squeeze(unary, [1])
        return expand_dims(cast(argmax(scores, 1), int32), 1), reduce_max(scores, 1)

    def of_more() -> tuple[Tensor, Tensor]:
        lengths = cast(sequence_length, int32)
        transitions = maximum(lengths - 1, 0)
        sources, scores = dynamic_rnn(
            CrfDecodeForwardRnnCell(params),
            unary[:, 1:],
            sequence_length=transitions,
            initial_state=unary[:, 0],
            dtype=int32,
            scope="crf_decode_forward",
        )
        last = expand_dims(cast(argmax(scores, 1), int32), -1)
        before, _ = dynamic_rnn(
            CrfDecodeBackwardRnnCell(size_of(unary, 2)),
            reverse_sequence(sources, transitions, seq_axis=1),
            sequence_length=transitions,
            initial_state=last,
            dtype=int32,
            scope="crf_decode_backward",
        )
        tags = concat([last, squeeze(before, [2])], 1)
        return reverse_sequence(tags, lengths, seq_axis=1), reduce_max(scores, 1)

    best: tuple[Tensor, Tensor] = smart_cond(has_one_step(unary), of_one, of_more)
    return best


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """Return (a list of the best tags, the score of that sequence). NumPy computes the results,
    without a graph.

    Args:
      score: unary scores [time, tags].
      transition_params: scores of transitions [tags, tags].
    """
    score = np.asarray(score)
    if score.ndim != 2 or not len(score):
        raise ValueError(f"score must be of shape [time, tags], not {list(score.shape)}")
    best = score[0]
    sources = []
    for unary in score[1:]:
        ways = np.expand_dims(best, 1) + transition_params
        sources.append(np.argmax(ways, 0))
        best = unary + np.max(ways, 0)
    tags = [int(np.argmax(best))]
    for source in reversed(sources):
        tags.append(int(source[tags[-1]]))
    return tags[::-1], np.max(best)
