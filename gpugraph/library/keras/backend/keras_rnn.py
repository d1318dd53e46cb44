"""`rnn`: calls a step function for each step of a sequence, in a while loop or in unrolled ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import bool as bool_type
from gpugraph.base.nest import flatten, map_structure, pack_sequence_as
from gpugraph.building.control_flow import while_loop
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.keras_variables import place_of_axis
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, transpose
from gpugraph.ops.arrays.reverse import reverse
from gpugraph.ops.arrays.split_and_unstack import unstack
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray

Step = Callable[[Any, list[Any]], tuple[Any, Any]]


def rnn(
    step_function: Step,
    inputs: Any,
    initial_states: Sequence[Any],
    go_backwards: bool = False,
    mask: Any = None,
    constants: Sequence[Any] | None = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Any, Any, Any]:
    """Call `step_function(input, states)`, which returns (output, new states), for each step.

    Return (the last output, all outputs [batch, time, ...] or [time, batch, ...], the last states).
    Raises ValueError if the inputs have fewer than three axes, or if `unroll` is true and the
    number of steps is unknown.

    Args:
      inputs: [batch, time, ...], or [time, batch, ...] if `time_major`, or a structure of such
        tensors.
      initial_states: a list of tensors [batch, ...], or of structures of such tensors.
      go_backwards: whether to process the steps from the last to the first. In this case, the
        outputs are in reverse order too.
      mask: bool [batch, time] or [batch, time, 1]. Where the mask is False, the states do not
        change. The output of such a step is the output of the previous step (0 in the first step),
        or 0 if `zero_output_for_mask` is true.
      constants: tensors that are appended to the states in each call.
      unroll: whether to build the ops of each step separately, without a loop. The number of steps
        must then be known.
      input_length: the maximum number of steps to run in a loop.
    """
    if not time_major:
        inputs = map_structure(_swapped, inputs)
    if not flatten(inputs):
        raise ValueError("rnn() needs at least one input")
    first = flatten(inputs)[0]
    for tensor in flatten(inputs):
        if tensor.shape.ndims is not None and tensor.shape.ndims < 3:
            raise ValueError(f"Input to rnn should be at least 3D, but {tensor} is not")
    steps = _Steps(step_function, inputs, list(constants or ()), _time_first(mask, time_major))
    if go_backwards:
        steps = steps.reversed()
    if unroll:
        outputs, states = steps.unrolled(initial_states, zero_output_for_mask)
    else:
        outputs, states = steps.looped(initial_states, zero_output_for_mask, input_length)
    last = map_structure(lambda output: output[-1], outputs)
    outputs = map_structure(lambda output: _shaped(output, first, time_major), outputs)
    return last, outputs, states


def _swapped(x: Tensor) -> Tensor:
    """Return `x` with its first two axes exchanged."""
    place_of_axis(x, 1)  # raises for fewer than two axes
    return transpose(x, [1, 0, *range(2, len(x.shape))])


def _time_first(mask: Any, time_major: bool) -> Any:
    """Return the mask as bool [time, batch, 1]. If there is no mask, return None."""
    if mask is None:
        return None
    if mask.dtype is not bool_type:
        mask = cast(mask, bool_type)
    if mask.shape.ndims == 2:
        mask = expand_dims(mask, -1)
    return mask if time_major else _swapped(mask)


def _shaped(output: Tensor, first: Tensor, time_major: bool) -> Tensor:
    """Return an output [time, batch, ...] with the static sizes and the axis order of the inputs.

    Args:
      first: an input [time, batch, ...].
    """
    sizes = output.shape.as_list()
    output.set_shape([*first.shape.as_list()[:2], *sizes[2:]])
    return output if time_major else _swapped(output)


def _expanded(mask: Tensor, like: Tensor, kept: int = 1) -> Tensor:
    """Tile the mask to the shape of `like`. The first `kept` sizes of the mask and of `like` are
    equal.
    """
    sizes = like.shape.as_list()
    for _ in range(len(sizes) - len(mask.shape)):
        mask = expand_dims(mask, -1)
    if None not in sizes[kept:]:
        return tile(mask, [1] * kept + sizes[kept:])
    return tile(mask, concat([[1] * kept, shape(like)[kept:]], 0))


def _select(mask: Tensor, new: Any, old: Any, kept: int = 1) -> Any:
    """Return the elements of `new` where the mask is True, and the elements of `old` elsewhere.

    Args:
      new, old: structures of tensors.
    """
    return map_structure(lambda x, y: where(_expanded(mask, x, kept), x, y), new, old)


def _no_output(output: Any) -> Any:
    return map_structure(zeros_like, output)


class _Steps:
    """The steps of one call of `rnn`: inputs [time, batch, ...], and a mask, which is [time, batch,
    1] or None.
    """

    def __init__(self, step: Step, inputs: Any, constants: list[Any], mask: Any) -> None:
        self.step = step
        self.inputs = inputs
        self.constants = constants
        self.mask = mask

    def reversed(self) -> _Steps:
        """Return the same steps in reverse order."""
        inputs = map_structure(lambda x: reverse(x, [0]), self.inputs)
        mask = None if self.mask is None else reverse(self.mask, [0])
        return _Steps(self.step, inputs, self.constants, mask)

    def _call(self, step_inputs: Any, states: Any) -> tuple[Any, Any]:
        output, new_states = self.step(step_inputs, [*states, *self.constants])
        return output, new_states

    def _masked(self, mask: Any, step_inputs: Any, states: Any, previous: Any) -> tuple[Any, Any]:
        """Return a step's output and new states. Masked examples keep the output `previous` and the
        old `states`.

        Args:
          previous: the output of the previous step; None means zeros.
        """
        output, new_states = self._call(step_inputs, states)
        if mask is None:
            return output, new_states
        old = _no_output(output) if previous is None else previous
        flat = zip(flatten(new_states), flatten(list(states)))
        kept = [_select(mask, new, state) for new, state in flat]
        return _select(mask, output, old), pack_sequence_as(new_states, kept)

    def unrolled(self, states: Any, zero_output: bool) -> tuple[Any, Any]:
        """Return all outputs and the last states. Each step has its own ops."""
        count = flatten(self.inputs)[0].shape.as_list()[0]
        if not count:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        by_input = [unstack(tensor, count) for tensor in flatten(self.inputs)]
        masks = [None] * count if self.mask is None else unstack(self.mask, count)
        outputs: list[Any] = []
        for index in range(count):
            step_inputs = pack_sequence_as(self.inputs, [parts[index] for parts in by_input])
            previous = outputs[-1] if outputs else None
            output, states = self._masked(masks[index], step_inputs, states, previous)
            outputs.append(output)
        stacked = map_structure(lambda *parts: stack(parts), *outputs)
        if zero_output and self.mask is not None:
            stacked = _select(self.mask, stacked, _no_output(stacked), 2)
        return stacked, states

    def looped(self, states: Any, zero_output: bool, length: Any) -> tuple[Any, Any]:
        """Return all outputs and the last states. One while loop computes the outputs and states.

        Args:
          length: the maximum number of steps, or None.
        """
        states = tuple(states)
        count = shape(flatten(self.inputs)[0])[0]
        read_inputs = [_filled(tensor, count, "input_ta") for tensor in flatten(self.inputs)]
        read_mask = None if self.mask is None else _filled(self.mask, count, "mask_ta")
        sample, new_states = self._call(map_structure(lambda x: x[0], self.inputs), states)
        writers = tuple(
            TensorArray(output.dtype, count, element_shape=output.shape, tensor_array_name="output")
            for output in flatten(sample)
        )
        keeps = read_mask is not None and not zero_output
        zeros = () if read_mask is None else tuple(flatten(_no_output(sample)))

        def body(time: Tensor, arrays: Any, flat_states: Any, previous: Any) -> Any:
            step_inputs = pack_sequence_as(self.inputs, [read.read(time) for read in read_inputs])
            old = pack_sequence_as(sample, previous if keeps else zeros) if zeros else None
            mask = None if read_mask is None else read_mask.read(time)
            states_in = pack_sequence_as(states, flat_states)
            output, states_out = self._masked(mask, step_inputs, states_in, old)
            flat = flatten(output)
            arrays = tuple(array.write(time, part) for array, part in zip(arrays, flat))
            for new, state in zip(flatten(states_out), flat_states):
                new.set_shape(state.shape)
            return time + 1, arrays, tuple(flatten(states_out)), tuple(flat) if keeps else ()

        _, arrays, flat_states, _ = while_loop(
            lambda time, *_: time < count,
            body,
            (constant(0, name="time"), writers, tuple(flatten(states)), zeros if keeps else ()),
            maximum_iterations=length,
            parallel_iterations=32,
            swap_memory=True,
        )
        outputs = pack_sequence_as(sample, [array.stack() for array in arrays])
        return outputs, pack_sequence_as(new_states, flat_states)


def _filled(tensor: Tensor, count: Tensor, name: str) -> TensorArray:
    """Return a TensorArray whose elements are the steps of a tensor [time, ...]."""
    return TensorArray(tensor.dtype, count, tensor_array_name=name).unstack(tensor)
