"""`dynamic_rnn`: a while loop that calls a cell for each step, for sequences of any length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, map_structure, pack_sequence_as
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow import Assert, while_loop
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.recurrent.state_sizes import (
    add_shape_constants,
    known_shape,
    shape_tensor,
)
from gpugraph.library.rnn.rnn_cell_base import check_cell
from gpugraph.library.rnn.rnn_step import (
    Lengths,
    cache_reads,
    initial_state,
    limited_step,
    state_dtype,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.reshape_and_transpose import transpose
from gpugraph.ops.elementwise.arithmetic_functions import maximum, minimum
from gpugraph.ops.elementwise.comparison_and_select import equal
from gpugraph.ops.framework.identity_and_shape import identity, rank, shape
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_all, reduce_max, reduce_min
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Call `cell` for each step of `inputs`. Return (all outputs, the last state).

    The outputs are [batch, time, *output_size], or [time, batch, *output_size] if `time_major` is
    true, in the structure of the cell's `output_size`. The state has the structure of the cell's
    `state_size`.

    Raises TypeError if `cell` is not a cell. Raises ValueError if the shapes of inputs or lengths
    are incompatible, or if both the initial state and the dtype are missing. A run raises
    InvalidArgumentError unless there is one length for each batch entry.

    Args:
      inputs: [batch, time, ...], or [time, batch, ...] if `time_major` is true, or a structure of
        such tensors. All sizes except batch and time must be known.
      sequence_length: int [batch]. In steps after the end of a sequence, its outputs are zero and
        its state does not change.
      initial_state: tensors in the structure of the cell's `state_size`. The first axis of each
        tensor is the batch. The default is zeros of the dtype `dtype`, which is then required.
      parallel_iterations: the number of steps that may overlap, 32 by default.
      swap_memory: see `while_loop`.
      scope: the variable scope, "rnn" by default.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 3]), dtype=tf.float32)
    >>> outputs.shape.as_list()
    [2, 5, 4]
    """
    check_cell("cell", cell)
    with variable_scope(scope or "rnn") as opened:
        cache_reads(opened)
        if not time_major:
            inputs = map_structure(transpose_batch_time, map_structure(convert_to_tensor, inputs))
        lengths = None if sequence_length is None else _lengths(sequence_length)
        batch_size = _batch_size(flatten(inputs))
        state = _first_state(cell, initial_state, batch_size, dtype)
        if lengths is not None:
            lengths = _check_lengths(lengths, batch_size)
        loop = _Loop(cell, inputs, state, dtype, lengths)
        outputs, final_state = loop.run(parallel_iterations or 32, swap_memory)
        if not time_major:
            outputs = map_structure(transpose_batch_time, outputs)
    return outputs, final_state


_first_state = initial_state


def transpose_batch_time(x: Tensor) -> Tensor:
    """Exchange the first two axes. A tensor with fewer than two axes is returned unchanged."""
    sizes = x.shape.sizes
    if sizes is not None and len(sizes) < 2:
        return x
    swapped = transpose(x, concat([[1, 0], range_of(2, rank(x))], 0))
    if sizes is not None:
        swapped.set_shape((sizes[1], sizes[0], *sizes[2:]))
    return swapped


def _lengths(sequence_length: Any) -> Tensor:
    lengths = cast(sequence_length, dtypes.int32)
    if lengths.shape.rank not in (None, 1):
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
        )
    return identity(lengths, name="sequence_length")


def _check_lengths(lengths: Tensor, batch_size: Any) -> Tensor:
    """Return `lengths`. Each run checks that there is one length for each batch entry."""
    graph = get_default_graph()
    known = lengths.shape.num_elements()
    if isinstance(batch_size, int) and known not in (None, batch_size):
        raise ValueError(
            f"sequence_length has {known} elements, but the inputs are of batch size {batch_size}"
        )
    actual, expected = shape(lengths), stack([batch_size])
    message = f"Expected shape for Tensor {lengths.name} is "
    check = Assert(
        reduce_all(equal(actual, expected)), [message, expected, " but saw shape: ", actual]
    )
    with graph.control_dependencies([check]):
        return identity(lengths, name="CheckSeqLen")


def _batch_size(inputs: Sequence[Any]) -> Any:
    """Return the batch size of time-major inputs: an int if a static shape contains it, otherwise a
    tensor.
    """
    for tensor in inputs:
        sizes = tensor.shape.sizes
        if sizes is None:
            continue
        if len(sizes) < 2:
            raise ValueError(f"Expected input tensor {tensor.name} to have rank at least 2")
        if sizes[1] is not None:
            return sizes[1]
    return shape(inputs[0])[1]


class _Loop:
    """The while loop of one call of `dynamic_rnn`, with time-major inputs."""

    def __init__(self, cell: Any, inputs: Any, state: Any, dtype: Any, lengths: Any) -> None:
        self._cell, self._inputs, self._state = cell, inputs, state
        flat = flatten(inputs)
        self._steps = shape(flat[0])[0]
        batch_size = _batch_size(flat)
        self._shapes = _checked_shapes(flat)
        self._sizes = flatten(cell.output_size)
        out_type = state_dtype(dtype, state)
        zero_output = [zeros(shape_tensor(batch_size, size), out_type) for size in self._sizes]
        self._zero_output = pack_sequence_as(cell.output_size, zero_output)
        self._lengths: Lengths | None = None
        if lengths is not None:
            self._lengths = Lengths(lengths, reduce_min(lengths), reduce_max(lengths))
        self._time = constant(0, dtypes.int32, name="time")
        with get_default_graph().name_scope("dynamic_rnn") as self._name:
            pass
        batch = self._shapes[0].as_list()[1]
        self._outputs = tuple(
            self._array(f"output_{index}", known_shape(batch, size), out_type)
            for index, size in enumerate(self._sizes)
        )
        arrays = [
            self._array(f"input_{index}", tensor.shape[1:], tensor.dtype)
            for index, tensor in enumerate(flat)
        ]
        self._elements = [array.unstack(tensor) for array, tensor in zip(arrays, flat)]

    def _array(self, name: str, element_shape: TensorShape, dtype: Any) -> TensorArray:
        return TensorArray(
            dtype,
            size=self._steps,
            element_shape=element_shape,
            tensor_array_name=self._name + name,
        )

    def run(self, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any]:
        """Build the loop. Return its outputs, which are time-major, and the last state."""
        # At least one step runs, because the TensorArrays take their shapes from the written
        # values.
        max_steps = self._steps if self._lengths is None else self._lengths.max_length
        bound = minimum(self._steps, maximum(1, max_steps))
        _, arrays, state = while_loop(
            lambda time, *_: time < bound,
            self._step,
            (self._time, self._outputs, self._state),
            parallel_iterations=parallel_iterations,
            maximum_iterations=self._steps,
            swap_memory=swap_memory,
        )
        outputs = [array.stack() for array in arrays]
        steps, batch = self._shapes[0].as_list()[:2]
        for output, size in zip(outputs, self._sizes):
            add_shape_constants([steps, batch], size)
            output.set_shape(TensorShape.of((steps,)).concatenate(known_shape(batch, size)))
        return pack_sequence_as(self._cell.output_size, outputs), state

    def _step(self, time: Tensor, arrays: Any, state: Any) -> Any:
        read = [array.read(time) for array in self._elements]
        for tensor, known in zip(read, self._shapes):
            tensor.set_shape(known[1:])
        inputs = pack_sequence_as(self._inputs, read)
        if self._lengths is None:
            output, new_state = self._cell(inputs, state)
        else:
            output, new_state = limited_step(
                time,
                self._lengths,
                self._zero_output,
                state,
                lambda: self._cell(inputs, state),
                conditionally=False,
            )
        written = tuple(array.write(time, out) for array, out in zip(arrays, flatten(output)))
        return time + 1, written, new_state


def _checked_shapes(inputs: Sequence[Any]) -> list[TensorShape]:
    """Return the static shapes of the inputs.

    Raises ValueError if the inputs have different numbers of steps or batch sizes, or if any other
    size is unknown.
    """
    shapes = [tensor.shape.with_rank_at_least(3) for tensor in inputs]
    shown = ", ".join(str(shape) for shape in shapes)
    steps, batch = shapes[0].as_list()[:2]
    for known in shapes:
        if not known[2:].is_fully_defined():
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw "
                f"{known}."
            )
        if known.as_list()[0] != steps:
            raise ValueError(
                f"Time steps is not the same for all the elements in the input in a batch: {shown}"
            )
        if known.as_list()[1] != batch:
            raise ValueError(
                f"Batch_size is not the same for all the elements in the input: {shown}"
            )
    return shapes
