"""`raw_rnn`: runs a cell in a while loop in which a function of the program chooses inputs and
states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.nest import assert_same_structure, flatten, map_structure, pack_sequence_as
from gpugraph.building.control_flow import while_loop
from gpugraph.building.variable_scope import variable_scope
from gpugraph.library.keras.layers.recurrent.state_sizes import known_shape, shape_tensor
from gpugraph.library.rnn.rnn_cell_base import check_cell
from gpugraph.library.rnn.rnn_step import cache_reads, keep_where
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.elementwise.comparison_and_select import logical_not, logical_or
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import reduce_all
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Call `cell` on the inputs that `loop_fn` returns until all batch entries are finished.

    Return (TensorArrays of the emissions, the last state, the last loop state).

    Raises TypeError if `cell` is not a cell or `loop_fn` is not callable. Raises ValueError if the
    structure of the results changes, or if the batch sizes of the inputs differ.

    Before the first step, `loop_fn` is called with time 0 and None for all other arguments. In this
    call, `next_state` is the initial state, and `next_loop_state` is the initial loop state, or
    None if there is no loop state. `emit` has the shapes and dtypes of all later emissions. If it
    is None, emissions have the shapes and dtypes of the cell's outputs. Afterwards, `loop_fn` is
    called after each step.

    Args:
      loop_fn: a function `(time, cell_output, cell_state, loop_state)` -> `(finished, next_input,
        next_state, emit, next_loop_state)`. `finished` is bool [batch]. For a finished entry, the
        state does not change and the emission is zeros.
      parallel_iterations, swap_memory, scope: see `dynamic_rnn`.
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError(f"loop_fn must be a callable, but it is {loop_fn!r}")
    with variable_scope(scope or "rnn") as opened:
        cache_reads(opened)
        time = constant(0, dtypes.int32)
        finished, inputs, state, emitted, loop_state = loop_fn(time, None, None, None)
        passes = loop_state is not None
        if not passes:
            loop_state = constant(0, dtypes.int32)
        assert_same_structure(state, cell.state_size)
        known_batch = _batch(flatten(inputs))
        batch_size = shape(flatten(inputs)[0])[0] if known_batch is None else known_batch
        state = map_structure(convert_to_tensor, state)
        emissions = _Emissions(cell, emitted, state, batch_size, known_batch)

        def body(time: Any, finished: Any, inputs: Any, arrays: Any, state: Any, loop: Any) -> Any:
            output, cell_state = cell(inputs, state)
            assert_same_structure(state, cell_state)
            assert_same_structure(cell.output_size, output)
            after = time + 1
            ends, next_inputs, next_state, emit, next_loop = loop_fn(
                after, output, cell_state, loop
            )
            assert_same_structure(state, next_state)
            assert_same_structure(inputs, next_inputs)
            assert_same_structure(arrays, emit)

            def keep(old: Any, new: Any) -> Any:
                return map_structure(lambda *pair: keep_where(finished, *pair), old, new)

            emit = keep(emissions.zeros, emit)
            next_state = keep(state, next_state)
            arrays = map_structure(lambda array, value: array.write(time, value), arrays, emit)
            loop = loop if next_loop is None else next_loop
            return after, logical_or(finished, ends), next_inputs, arrays, next_state, loop

        *_, arrays, state, loop_state = while_loop(
            lambda _, finished, *__: logical_not(reduce_all(finished)),
            body,
            [time, finished, inputs, emissions.arrays, state, loop_state],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
    return arrays, state, loop_state if passes else None


def _batch(inputs: list[Any]) -> int | None:
    """Return the static batch size, or None if it is unknown. Raises ValueError if the batch sizes
    of the inputs differ.
    """
    batch = inputs[0].shape[0]
    for tensor in inputs:
        batch.assert_is_compatible_with(tensor.shape[0])
    return batch.value


class _Emissions:
    """The TensorArrays that receive the emissions, and zeros of the same shapes for finished
    entries.
    """

    def __init__(
        self, cell: Any, emitted: Any, state: Any, batch_size: Any, known_batch: int | None
    ) -> None:
        if emitted is None:
            structure = cell.output_size
            sizes = flatten(structure)
            types = [flatten(state)[0].dtype] * len(sizes)
        else:
            structure = emitted
            leaves = flatten(emitted)
            sizes = [
                leaf.shape if leaf.shape.is_fully_defined() else shape(leaf) for leaf in leaves
            ]
            types = [leaf.dtype for leaf in leaves]
        arrays = [
            TensorArray(
                dtype,
                size=0,
                dynamic_size=True,
                element_shape=known_shape(known_batch, size),
                name=f"rnn_output_{index}",
            )
            for index, (dtype, size) in enumerate(zip(types, sizes))
        ]
        self.arrays = pack_sequence_as(structure, arrays)
        zero_values = [
            zeros(shape_tensor(batch_size, size), kind) for size, kind in zip(sizes, types)
        ]
        self.zeros = pack_sequence_as(structure, zero_values)
