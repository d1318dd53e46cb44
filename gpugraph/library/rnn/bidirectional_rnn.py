"""Recurrent networks that read a sequence in both directions, with a separate cell for each
direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.nest import flatten, map_structure, pack_sequence_as
from gpugraph.base.shapes import unknown_shape
from gpugraph.building.variable_scope import variable_scope
from gpugraph.library.rnn.dynamic_rnn import dynamic_rnn
from gpugraph.library.rnn.rnn_cell_base import check_cell
from gpugraph.library.rnn.static_rnn import check_inputs, static_rnn
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.reverse import reverse
from gpugraph.ops.arrays.reverse_sequence import reverse_sequence
from gpugraph.ops.arrays.split_and_unstack import unstack


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Apply `dynamic_rnn` with `cell_fw` to `inputs` and with `cell_bw` to the reversed inputs.

    For the arguments, see `dynamic_rnn`. If `sequence_length` is passed, each sequence is reversed
    separately. Return ((outputs forward, outputs backward), (last state forward, last state
    backward)). All outputs are in the order of the inputs.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reverse_time(tensor: Any) -> Any:
        if sequence_length is None:
            return reverse(tensor, [time_axis])
        return reverse_sequence(tensor, sequence_length, time_axis, batch_axis)

    shared = {
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            output_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, scope=forward, **shared
            )
        with variable_scope("bw") as backward:
            reversed_inputs = map_structure(reverse_time, inputs)
            reversed_output, state_bw = dynamic_rnn(
                cell_bw,
                reversed_inputs,
                sequence_length,
                initial_state_bw,
                scope=backward,
                **shared,
            )
    output_bw = map_structure(reverse_time, reversed_output)
    return (output_fw, output_bw), (state_fw, state_bw)


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Apply `static_rnn` with `cell_fw` to `inputs` and with `cell_bw` to the reversed inputs.

    For the arguments, see `static_rnn`. Return (outputs, last state forward, last state backward).
    Each item of the list of outputs is the concatenation of the two directions' outputs along axis
    1.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    check_inputs(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            output_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, forward
            )
        with variable_scope("bw") as backward:
            reversed_inputs = reverse_steps(inputs, sequence_length)
            reversed_output, state_bw = static_rnn(
                cell_bw, reversed_inputs, initial_state_bw, dtype, sequence_length, backward
            )
    output_bw = reverse_steps(reversed_output, sequence_length)
    joined = [concat(pair, 1) for pair in zip(flatten(output_fw), flatten(output_bw))]
    return pack_sequence_as(output_fw, joined), state_fw, state_bw


def reverse_steps(sequence: Sequence[Any], lengths: Any) -> list[Any]:
    """Reverse a list of steps. If `lengths` is passed, reverse each batch entry separately."""
    if lengths is None:
        return list(reversed(sequence))
    leaves = []
    for steps in zip(*[flatten(element) for element in sequence]):
        shape = unknown_shape(steps[0].shape.rank)
        for step in steps:
            shape = shape.merge_with(step.shape)
        leaves.append(unstack(reverse_sequence(stack(steps), lengths, 0, 1)))
        for step in leaves[-1]:
            step.set_shape(shape)
    return [pack_sequence_as(element, flat) for element, flat in zip(sequence, zip(*leaves))]
