"""Helpers of scheduled sampling. In each step, some sequences are chosen at random, and their
inputs are computed from the decoder's output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.nest import map_structure
from gpugraph.building.control_flow import cond
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn.dynamic_rnn import transpose_batch_time
from gpugraph.library.seq2seq.decoding_helpers import TrainingHelper, embedding_function, unstacked
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import fill, zeros_like
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.multinomial_and_shuffle import categorical
from gpugraph.ops.random.random_ops import random_uniform
from gpugraph.ops.reductions.reduction_functions import reduce_all


class _ScheduledHelper(TrainingHelper):
    """Base class of the helpers of scheduled sampling. In each step, some sequences are chosen at
    random, and their inputs are computed from the decoder's output.

    For all other sequences, the sampled ids are -1 or 0, and the inputs come from the constructor's
    `inputs`.
    """

    _probability: Any
    _scheduling_seed: int | None

    def _drawn(self) -> Tensor:
        """Return random bools [batch]: whether each sequence's input is computed from the decoder's
        output in this step.
        """
        uniform = random_uniform([self.batch_size], seed=self._scheduling_seed)
        return uniform < cast(self._probability, dtypes.float32)

    @staticmethod
    def _checked_probability(probability: Any, name: str) -> Tensor:
        tensor = convert_to_tensor(probability, name=name)
        if tensor.shape.ndims not in (0, 1):
            raise ValueError(
                f"{name} must be either a scalar or a vector. saw shape: {tensor.shape}"
            )
        return tensor


class ScheduledEmbeddingTrainingHelper(_ScheduledHelper):
    """Scheduled sampling of ids: the input of a sequence comes from the constructor's `inputs`, or
    is the embedding of a sampled id.

    Source: Bengio et al., Scheduled Sampling for Sequence Prediction, 2015.

    Args:
      sampling_probability: the probability that a sequence's input is a sampled id, a scalar or
        [batch].
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(inputs, sequence_length, time_major, name)
        self._embedding_fn = embedding_function(embedding)
        self._probability = self._checked_probability(sampling_probability, "sampling_probability")
        self._seed, self._scheduling_seed = seed, scheduling_seed

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return the ids sampled in a step. They are -1 for sequences whose inputs come from the
        constructor's `inputs`.
        """
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs, state]):
            drawn = categorical(outputs, 1, dtype=dtypes.int32, seed=self._seed)[:, 0]
            return where(self._drawn(), drawn, fill(shape(drawn), -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return (whether each sequence is finished, the next inputs, the state unchanged)."""
        finished, inputs, state = super().next_inputs(time, outputs, state, sample_ids, name)

        def mixed() -> Tensor:
            sampled = sample_ids > -1
            embedded = self._embedding_fn(where(sampled, sample_ids, zeros_like(sample_ids)))
            return where(sampled, embedded, inputs)

        return finished, cond(reduce_all(finished), lambda: inputs, mixed), state


class ScheduledOutputTrainingHelper(_ScheduledHelper):
    """Scheduled sampling of outputs: the input of a sequence comes from the constructor's `inputs`,
    or is computed from the decoder's last output.

    Args:
      next_inputs_fn: computes an input from an output. By default, the input is the output.
      auxiliary_inputs: tensors [batch, time, ...] with the structure of `inputs`. They are
        concatenated along the last axis to the inputs of each step, also to inputs that are
        computed from outputs.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        self._auxiliary_input_tas = None
        if auxiliary_inputs is not None:
            auxiliary = map_structure(convert_to_tensor, auxiliary_inputs)
            inputs = map_structure(_concatenated, inputs, auxiliary)
            if not time_major:
                auxiliary = map_structure(transpose_batch_time, auxiliary)
            self._auxiliary_input_tas = map_structure(unstacked, auxiliary)
        super().__init__(inputs, sequence_length, time_major, name)
        self._probability = self._checked_probability(sampling_probability, "sampling_probability")
        self._scheduling_seed, self._next_inputs_fn = seed, next_inputs_fn

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return the ids of a step. They are 1 for sequences whose inputs are computed from the
        decoder's output, and 0 otherwise.
        """
        with name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs, state]):
            return cast(self._drawn(), dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return (whether each sequence is finished, the next inputs, the state unchanged)."""
        finished, inputs, state = super().next_inputs(time, outputs, state, sample_ids, name)

        def mixed() -> Any:
            new_inputs = self._next_inputs_fn(outputs) if self._next_inputs_fn else outputs
            if self._auxiliary_input_tas is not None:
                steps = map_structure(lambda ta: ta.read(time + 1), self._auxiliary_input_tas)
                new_inputs = map_structure(_concatenated, new_inputs, steps)
            return map_structure(
                lambda new, old: where(sample_ids > 0, new, old), new_inputs, inputs
            )

        return finished, cond(reduce_all(finished), lambda: inputs, mixed), state


def _concatenated(first: Any, second: Any) -> Tensor:
    return concat([first, second], -1)
