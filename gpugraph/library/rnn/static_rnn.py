"""The function `static_rnn`. It calls a cell once, at graph construction, for each element of a
list of inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, is_nested, map_structure
from gpugraph.base.value_text import shown
from gpugraph.building.variable_scope import variable_scope
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
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_min


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Call `cell` for each of `inputs`, and return (a list of the outputs, the last state).

    Raises TypeError if `cell` is not a cell or `inputs` is not a list. Raises ValueError if
    `inputs` is empty, if the shapes of the inputs or the lengths are incompatible, or if both
    `initial_state` and `dtype` are missing.

    Args:
      inputs: a list of tensors [batch, ...], or of structures of such tensors. All sizes except the
        batch size must be known.
      initial_state, dtype, scope: see `dynamic_rnn`.
      sequence_length: see `dynamic_rnn`. If it is passed, a run does not compute the steps after
        the end of the longest sequence.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> outputs, state = tf.nn.static_rnn(cell, [tf.ones([2, 3])] * 5, dtype=tf.float32)
    >>> len(outputs)
    5
    """
    check_cell("cell", cell)
    check_inputs(inputs)
    outputs = []
    with variable_scope(scope or "rnn") as opened:
        cache_reads(opened)
        known_batch = _batch(inputs)
        batch_size = known_batch or shape(flatten(inputs)[0])[0]
        state = _first_state(cell, initial_state, batch_size, dtype)
        lengths = None
        zero_output = None
        if sequence_length is not None:
            vector = _vector(sequence_length)
            zero_output = _zero_output(cell, batch_size, known_batch, state_dtype(dtype, state))
            vector = cast(vector, dtypes.int32)
            lengths = Lengths(vector, reduce_min(vector), reduce_max(vector))
        for time, value in enumerate(inputs):
            if time > 0:
                opened.reuse_variables()
            if lengths is None:
                output, state = cell(value, state)
            else:
                output, state = limited_step(
                    time,
                    lengths,
                    zero_output,
                    state,
                    lambda value=value, state=state: cell(value, state),  # type: ignore[misc]
                    conditionally=True,
                )
            outputs.append(output)
    return outputs, state


_first_state = initial_state


def check_inputs(inputs: Any) -> None:
    """Raise TypeError if `inputs` is not a list, and ValueError if it is empty."""
    if not is_nested(inputs):
        raise TypeError(f"inputs must be a sequence, but it is {inputs!r}")
    if not inputs:
        raise ValueError("inputs must not be empty")


def _batch(inputs: Any) -> int | None:
    """Return the static batch size, or None if it is unknown. Raises ValueError if the shapes are
    incompatible.
    """
    flat = flatten(inputs)
    for value in flat:
        if not hasattr(value, "shape"):
            raise TypeError(f"inputs must be tensors, but one of them is {shown(value)}")
    if flat[0].shape.rank == 1:
        return flat[0].shape.as_list()[0]
    batch = flat[0].shape.with_rank_at_least(2)[0]
    for tensor in flat:
        sizes = tensor.shape.with_rank_at_least(2)
        batch.assert_is_compatible_with(sizes[0])
        if not sizes[1:].is_fully_defined():
            raise ValueError(
                "Input size (dimensions of inputs but the batch) must be accessible via shape "
                f"inference, but saw {sizes}."
            )
    known = batch.value
    return known


def _vector(sequence_length: Any) -> Any:
    vector = convert_to_tensor(sequence_length, name="sequence_length")
    if vector.shape.rank not in (None, 1):
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {vector.shape}"
        )
    return vector


def _zero_output(cell: Any, batch_size: Any, known_batch: int | None, dtype: Any) -> Any:
    def make(size: Any) -> Any:
        zero = zeros(shape_tensor(batch_size, size), dtype)
        add_shape_constants(known_batch, size)
        zero.set_shape(known_shape(known_batch, size))
        return zero

    return map_structure(make, cell.output_size)
