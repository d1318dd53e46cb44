"""The interface of decoders, the loop `dynamic_decode`, which runs a decoder, and BasicDecoder,
which consists of a cell and a helper.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.nest import assert_same_structure, flatten, map_structure
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.control_flow import while_loop
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.recurrent.state_sizes import known_shape, zero_state
from gpugraph.library.layers import Layer
from gpugraph.library.rnn.dynamic_rnn import transpose_batch_time
from gpugraph.library.rnn.rnn_cell_base import check_cell
from gpugraph.library.rnn.rnn_step import cache_reads
from gpugraph.library.seq2seq.decoding_helpers import Helper
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.elementwise.comparison_and_select import logical_not, logical_or, where
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import reduce_all
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


class Decoder:
    """The interface of a decoder. `dynamic_decode` calls its steps until all sequences are
    finished.
    """

    @property
    def batch_size(self) -> Any:
        """The number of sequences, an int32 scalar."""
        raise NotImplementedError(f"{type(self).__name__} does not define batch_size")

    @property
    def output_size(self) -> Any:
        """The shapes of the outputs of one sequence in one step."""
        raise NotImplementedError(f"{type(self).__name__} does not define output_size")

    @property
    def output_dtype(self) -> Any:
        """The dtypes of the outputs, in the structure of `output_size`."""
        raise NotImplementedError(f"{type(self).__name__} does not define output_dtype")

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return (finished, first inputs, initial state). `finished` is bool [batch] and states
        whether each sequence is finished.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define initialize")

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return (outputs, next state, next inputs, finished). `finished` is bool [batch] and
        states whether each sequence is finished.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step")

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return the (outputs, state) that `dynamic_decode` returns.

        Args:
          outputs: the outputs of all steps, [time, batch, ...].
          final_state: the state after the last step.
          sequence_lengths: the lengths of the sequences, int32 [batch].
        """
        raise NotImplementedError(f"{type(self).__name__} does not define finalize")

    @property
    def tracks_own_finished(self) -> bool:
        """Whether a finished sequence may become unfinished again, for example in a beam search."""
        return False


class BasicDecoderOutput(NamedTuple):
    """The output of a step: the output of the cell or of the output layer, and the ids that are
    sampled from this output.
    """

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """A decoder that calls a cell. A helper samples ids from the cell's outputs and computes the
    next inputs.

    The constructor raises TypeError if `cell` is not a cell, `helper` is not a helper, or
    `output_layer` is not a layer.

    Args:
      output_layer: a layer that is applied to the cell's outputs before ids are sampled.
    """

    def __init__(
        self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None
    ) -> None:
        check_cell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        """The shapes of the outputs of one sequence in one step."""
        return BasicDecoderOutput(
            rnn_output=sizes_after(self._output_layer, self._cell.output_size),
            sample_id=self._helper.sample_ids_shape,
        )

    @property
    def output_dtype(self) -> Any:
        """The dtypes of outputs, as a BasicDecoderOutput."""
        dtype = flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(
            map_structure(lambda _: dtype, sizes_after(self._output_layer, self._cell.output_size)),
            self._helper.sample_ids_dtype,
        )

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return (whether each sequence is finished, the first inputs, the initial state)."""
        return (*self._helper.initialize(), self._initial_state)

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return (outputs, next state, next inputs, whether each sequence is finished)."""
        with name_scope(name, "BasicDecoderStep", flatten([time, inputs, state])):
            outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=cell_state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), next_state, next_inputs, finished


def sizes_after(output_layer: Any, sizes: Any) -> Any:
    """Return the shapes of one sequence's outputs after `output_layer` is applied to them.

    If `output_layer` is None, return `sizes`.
    """
    if output_layer is None:
        return sizes
    shapes = map_structure(lambda size: TensorShape([None]).concatenate(as_shape(size)), sizes)
    return map_structure(lambda shape: shape[1:], output_layer.compute_output_shape(shapes))


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Call a decoder's steps until all sequences are finished, and return (outputs, last state,
    lengths).

    The outputs have as many steps as the longest sequence. The lengths are int32 [batch]. Raises
    TypeError if `decoder` is not a Decoder, and ValueError if maximum_iterations is not a scalar.

    Args:
      output_time_major: whether outputs are [time, batch, ...] instead of [batch, time, ...].
      impute_finished: whether, after a sequence is finished, its state stays the same and its
        outputs are zeros.
      maximum_iterations: the maximum number of steps, an int scalar.
      parallel_iterations, swap_memory: see `while_loop`.
      scope: a name or a variable scope. By default, the name is "decoder", or "decoder_1" and so on
        if "decoder" is in use.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder") as opened:
        cache_reads(opened)
        limit = maximum_iterations
        if limit is not None:
            limit = convert_to_tensor(limit, dtype=dtypes.int32, name="maximum_iterations")
            if limit.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        first = decoder.initialize()
        loop = _DecodingLoop(decoder, first, impute_finished, limit)
        outputs, state, lengths = loop.run(parallel_iterations, swap_memory)
        with contextlib.suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths


class _DecodingLoop:
    """The while loop of one call of `dynamic_decode`: its loop variables and its step."""

    def __init__(self, decoder: Decoder, first: Any, impute: bool, limit: Any) -> None:
        self.decoder, self.impute, self.limit = decoder, impute, limit
        self.finished, self.inputs, state = first
        self.state = map_structure(_state_value, state)
        if limit is not None:
            self.finished = logical_or(self.finished, limit <= 0)
        self.zeros = map_structure(
            lambda size, dtype: zero_state(size, decoder.batch_size, dtype),
            decoder.output_size,
            decoder.output_dtype,
        )

    def run(self, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any, Any]:
        """Build the loop, and return its results.

        The results are all outputs [time, batch, ...], the last state, and the lengths.
        """
        arrays = map_structure(self._array, self.decoder.output_size, self.decoder.output_dtype)
        lengths = zeros_like(self.finished, dtype=dtypes.int32)
        time = constant(0, dtypes.int32)
        values = (time, arrays, self.state, self.inputs, self.finished, lengths)
        _, arrays, state, _, _, lengths = while_loop(
            lambda *variables: logical_not(reduce_all(variables[4])),
            self._step,
            values,
            parallel_iterations=parallel_iterations,
            maximum_iterations=self.limit,
            swap_memory=swap_memory,
        )
        return map_structure(lambda array: array.stack(), arrays), state, lengths

    def _array(self, size: Any, dtype: Any) -> TensorArray:
        """Create the TensorArray for one output.

        Args:
          size: the shape of the output for one sequence. The shape of the elements is set only if
            `size` is a TensorShape of rank 1 or more.
        """
        element_shape = None
        if isinstance(size, TensorShape) and size.ndims != 0:
            element_shape = known_shape(self.decoder.batch_size, size)
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=element_shape)

    def _step(
        self, time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any
    ) -> tuple[Any, ...]:
        outputs, new_state, next_inputs, ends = self.decoder.step(time, inputs, state)
        new_state = map_structure(_state_value, new_state)
        assert_same_structure(state, new_state)
        assert_same_structure(self.zeros, outputs)
        assert_same_structure(inputs, next_inputs)
        ends = ends if self.decoder.tracks_own_finished else logical_or(ends, finished)
        lengths = where(logical_not(finished), zeros_like(lengths) + time + 1, lengths)
        if self.impute:
            outputs = map_structure(
                lambda zero, value: where(finished, zero, value), self.zeros, outputs
            )
            new_state = map_structure(lambda old, new: _kept(finished, old, new), state, new_state)
        arrays = map_structure(lambda array, value: array.write(time, value), arrays, outputs)
        return time + 1, arrays, new_state, next_inputs, ends, lengths


def _state_value(value: Any) -> Any:
    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def _kept(finished: Tensor, old: Any, new: Any) -> Any:
    """Return `old` for finished sequences and `new` for all others. For scalars and TensorArrays,
    return `new`.
    """
    if isinstance(old, TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.ndims == 0 else where(finished, old, new)
