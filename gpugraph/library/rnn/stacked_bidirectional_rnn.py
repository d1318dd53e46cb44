"""Stacked bidirectional recurrent networks. Each layer receives the outputs of both directions of
the previous layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.variable_scope import variable_scope
from gpugraph.library.rnn.bidirectional_rnn import (
    bidirectional_dynamic_rnn,
    static_bidirectional_rnn,
)
from gpugraph.ops.arrays.concat_and_stack import concat


def stack_bidirectional_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Sequence[Any],
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], tuple[Any, ...], tuple[Any, ...]]:
    """Stack several `tf.nn.static_bidirectional_rnn`s, one for each pair of cells.

    Return (outputs, states forward, states backward). The outputs are the outputs of the last
    layer, with its two directions concatenated. The states are tuples with the last state of each
    layer. Raises ValueError for lists that are empty, missing or of different lengths.

    Args:
      inputs: a list of tensors [batch, depth].
      initial_states_fw, initial_states_bw: one state for each layer.
    """

    def layer(inputs: Any, forward: Any, backward: Any, first: Any, opened: Any) -> Any:
        return static_bidirectional_rnn(
            forward, backward, inputs, first[0], first[1], dtype, sequence_length, opened
        )

    cells, states = (cells_fw, cells_bw), (initial_states_fw, initial_states_bw)
    return _stack(layer, inputs, cells, states, scope)


def stack_bidirectional_dynamic_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Stack several `tf.nn.bidirectional_dynamic_rnn`s, one for each pair of cells.

    For the other arguments, the results and the errors, see `stack_bidirectional_rnn`.

    Args:
      inputs: [batch, time, depth], or [time, batch, depth] if `time_major` is true.
    """

    def layer(inputs: Any, forward: Any, backward: Any, first: Any, opened: Any) -> Any:
        del opened  # the variables are in its scope "bidirectional_rnn", as TensorFlow's
        outputs, last = bidirectional_dynamic_rnn(
            forward,
            backward,
            inputs,
            sequence_length,
            first[0],
            first[1],
            dtype,
            parallel_iterations,
            swap_memory,
            time_major,
        )
        return concat(outputs, 2), *last

    cells, states = (cells_fw, cells_bw), (initial_states_fw, initial_states_bw)
    return _stack(layer, inputs, cells, states, scope)


def _stack(
    layer: Callable[..., Any], inputs: Any, cells: Any, states: tuple[Any, Any], scope: Any
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return the outputs of the last layer, and the last states of all layers, forward and
    backward.

    Args:
      layer: a function that builds one layer.
      cells, states: pairs of lists, for the forward and the backward direction.
    """
    _check(cells, states)
    pairs = list(zip(*cells))
    first = zip(*(states_of or [None] * len(pairs) for states_of in states))
    last = []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for index, (pair, first_states) in enumerate(zip(pairs, first)):
            with variable_scope(f"cell_{index}") as opened:
                inputs, *last_states = layer(inputs, *pair, first_states, opened)
            last.append(last_states)
    forward, backward = zip(*last)
    return inputs, forward, backward


def _check(cells: Any, states: tuple[Any, Any]) -> None:
    for direction, listed in zip(("fw", "bw"), cells):
        if listed is None:
            raise ValueError(f"Must specify at least one {direction} cell for BidirectionalRNN.")
    for direction, listed in zip(("fw", "bw"), cells):
        if not isinstance(listed, list):
            raise ValueError(
                f"cells_{direction} must be a list of RNNCells (one per layer): {listed!r}"
            )
    if len(cells[0]) != len(cells[1]):
        raise ValueError(
            "Forward and Backward cells must have the same depth: "
            f"{len(cells[0])} and {len(cells[1])} cells"
        )
    if not cells[0]:
        raise ValueError("Must specify at least one fw cell for BidirectionalRNN.")
    for direction, listed in zip(("fw", "bw"), states):
        if listed is not None and (not isinstance(listed, list) or len(listed) != len(cells[0])):
            raise ValueError(
                f"initial_states_{direction} must be a list of state tensors (one per layer): "
                f"{listed!r}"
            )
