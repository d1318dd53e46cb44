"""Helpers of decoders. A helper samples ids from the output of each step, and computes the next
inputs.

The public names and the behaviour are the same as in `tf.contrib.seq2seq` of TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow import cond
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn.dynamic_rnn import transpose_batch_time
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import zeros, zeros_like
from gpugraph.ops.elementwise.comparison_and_select import equal
from gpugraph.ops.framework.identity_and_shape import shape, size
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.embedding_lookup import embedding_lookup
from gpugraph.ops.random.multinomial_and_shuffle import categorical
from gpugraph.ops.reductions.argmax_and_argmin import argmax
from gpugraph.ops.reductions.reduction_functions import reduce_all
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


class Helper:
    """The interface of a helper. A helper samples ids from a decoder's outputs, and computes the
    decoder's next inputs.

    A subclass sets `_batch_size`, or defines the property `batch_size`.
    """

    _batch_size: Any = None
    _sample_ids_shape: Any = TensorShape([])
    _sample_ids_dtype: Any = dtypes.int32

    @property
    def batch_size(self) -> Any:
        """The number of sequences, an int32 scalar.

        Raises ValueError if `initialize` has not been called yet.
        """
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of the ids of one sequence in one step."""
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of the ids."""
        return self._sample_ids_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return (finished, first inputs). `finished` is bool [batch] and states whether each
        sequence is finished before the first step.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define initialize")

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return ids sampled from the outputs of a step."""
        raise NotImplementedError(f"{type(self).__name__} does not define sample")

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return (finished, next inputs, next state). `finished` is bool [batch] and states whether
        each sequence is finished.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define next_inputs")


class CustomHelper(Helper):
    """A helper that calls three functions: `initialize_fn()`, `sample_fn` and `next_inputs_fn`.

    sample_fn and next_inputs_fn are called with the arguments of `Helper.sample` and
    `Helper.next_inputs`, which are passed as keyword arguments.
    """

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize_fn, self._sample_fn = initialize_fn, sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._sample_ids_shape = TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or dtypes.int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return (whether each sequence is finished, the first inputs)."""
        with name_scope(name, f"{type(self).__name__}Initialize"):
            finished, next_inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = size(finished)
            return finished, next_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the ids sampled in a step."""
        with name_scope(name, f"{type(self).__name__}Sample", [time, outputs, state]):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return (whether each sequence is finished, the next inputs, the next state)."""
        values = [time, outputs, state, sample_ids]
        with name_scope(name, f"{type(self).__name__}NextInputs", values):
            return self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


class TrainingHelper(Helper):
    """A helper for training: the inputs of all steps are given in advance.

    The constructor raises ValueError if sequence_length is not a vector.

    Args:
      inputs: [batch, time, ...], or [time, batch, ...] if `time_major` is true.
      sequence_length: the lengths of the sequences, int32 [batch].
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None
    ) -> None:
        with name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            self._inputs = map_structure(convert_to_tensor, inputs)
            by_time = self._inputs
            if not time_major:
                by_time = map_structure(transpose_batch_time, by_time)
            self._input_tas = map_structure(unstacked, by_time)
            self._sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._sequence_length.shape}"
                )
            self._zero_inputs = map_structure(lambda tensor: zeros_like(tensor[0]), by_time)
            self._batch_size = size(self._sequence_length)

    @property
    def inputs(self) -> Any:
        """The argument `inputs`, as tensors."""
        return self._inputs

    @property
    def sequence_length(self) -> Tensor:
        """The lengths of the sequences, int32 [batch]."""
        return self._sequence_length

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return (whether each sequence is finished, the first inputs)."""
        with name_scope(name, "TrainingHelperInitialize"):
            finished = equal(0, self._sequence_length)
            return finished, self._unless_all(finished, 0)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return the ids of a step: the indices of the largest outputs, int32 [batch]."""
        with name_scope(name, "TrainingHelperSample", [time, outputs]):
            return cast(argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return (whether each sequence is finished, the next inputs, the state unchanged)."""
        with name_scope(name, "TrainingHelperNextInputs", [time, outputs, state]):
            finished = time + 1 >= self._sequence_length
            return finished, self._unless_all(finished, time + 1), state

    def _unless_all(self, finished: Any, time: Any) -> Any:
        """Return the inputs of step `time`, or zeros if all sequences are finished."""
        return cond(
            reduce_all(finished),
            lambda: self._zero_inputs,
            lambda: map_structure(lambda array: array.read(time), self._input_tas),
        )


def unstacked(tensor: Tensor) -> TensorArray:
    """Return the steps of `tensor` [time, ...] as a TensorArray."""
    array = TensorArray(tensor.dtype, size=shape(tensor)[0], element_shape=tensor.shape[1:])
    return array.unstack(tensor)


def embedding_function(embedding: Any) -> Callable[[Any], Any]:
    """Return a function from ids to vectors. If `embedding` is a function, return `embedding`.
    Otherwise return a function that looks ids up in the table `embedding`.
    """
    if callable(embedding):
        return embedding
    return lambda ids: embedding_lookup(embedding, ids)


class GreedyEmbeddingHelper(Helper):
    """A helper whose inputs are the embeddings of the previous step's most likely ids. A sequence
    ends when its id is `end_token`.

    The constructor raises ValueError if start_tokens is not a vector or end_token is not a scalar.

    Args:
      embedding: a table, or a function from ids to vectors.
      start_tokens: the first ids, int32 [batch].
      end_token: the id that ends a sequence, an int32 scalar.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens = convert_to_tensor(start_tokens, dtypes.int32, name="start_tokens")
        self._end_token = convert_to_tensor(end_token, dtypes.int32, name="end_token")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return (whether each sequence is finished, the first inputs)."""
        return zeros([self._batch_size], dtypes.bool), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the most likely ids of a step, int32 [batch]."""
        _require_tensor(outputs)
        return argmax(outputs, axis=-1, output_type=dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return (whether each sequence is finished, the next inputs, the state unchanged)."""
        finished = equal(sample_ids, self._end_token)
        following = cond(
            reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding_fn(sample_ids)
        )
        return finished, following, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A helper whose inputs are the embeddings of ids sampled from the previous step's logits.

    Args:
      softmax_temperature: the number by which the logits are divided. If it is larger, the ids are
        more random.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the ids sampled in a step, int32 [batch]."""
        _require_tensor(outputs)
        logits = outputs
        if self._softmax_temperature is not None:
            logits = outputs / self._softmax_temperature
        return categorical(logits, 1, dtype=dtypes.int32, seed=self._seed)[:, 0]


def _require_tensor(outputs: Any) -> None:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")


class InferenceHelper(Helper):
    """A helper that calls the functions `sample_fn(outputs)`, `next_inputs_fn(ids)` and
    `end_fn(ids)`.

    Args:
      sample_fn: samples the ids of a step from the outputs.
      next_inputs_fn: computes the inputs of a step from the ids. If it is None, the inputs are the
        ids.
      end_fn: returns whether each sequence ends.
      sample_shape, sample_dtype: the shape and dtype of one sequence's ids in a step.
      start_inputs: the first inputs, [batch, ...].
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._sample_ids_shape = TensorShape(sample_shape)
        self._sample_ids_dtype = sample_dtype
        self._start_inputs = map_structure(convert_to_tensor, start_inputs)
        self._batch_size = shape(flatten(self._start_inputs)[0])[0]

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return (whether each sequence is finished, the first inputs)."""
        return zeros([self._batch_size], dtypes.bool), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the ids sampled in a step."""
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return (whether each sequence is finished, the next inputs, the state unchanged)."""
        following = sample_ids
        if self._next_inputs_fn is not None:
            following = self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), following, state
