"""One step of a recurrent network, for `dynamic_rnn`, `static_rnn` and `raw_rnn`.

A batch entry whose sequence has ended keeps its state, and its outputs are zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.nest import assert_same_structure, flatten, map_structure, pack_sequence_as
from gpugraph.building.control_flow import cond
from gpugraph.building.control_flow.context_base import current, loop_of
from gpugraph.building.variable_scope import VariableScope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


@dataclass(frozen=True)
class Lengths:
    """The lengths of a batch's sequences, int32 [batch], and their minimum and maximum, scalars."""

    lengths: Tensor
    min_length: Tensor
    max_length: Tensor


def cache_reads(scope: VariableScope) -> None:
    """Make the variables in the scope cache their values on the variables' devices.

    A variable is then read once, not in each iteration. This function does nothing if the scope
    already has a caching device, or if it is called inside a while loop of the program. Such a loop
    may change the variables, so each iteration must read them.
    """
    graph = get_default_graph()
    if scope.caching_device is None and loop_of(current(graph)) is None:
        scope.set_caching_device(lambda op: op.device)


def initial_state(cell: Any, state: Any, batch_size: Any, dtype: Any) -> Any:
    """Return the initial state, which is `state` or, if that is None, zeros of `dtype`."""
    if state is not None:
        return map_structure(_tensor, state)
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def _tensor(state: Any) -> Any:
    return state if isinstance(state, TensorArray) else convert_to_tensor(state)


def state_dtype(explicit: Any, state: Any) -> Any:
    """Return `explicit`. If it is None, return the dtype that all tensors of the state have.

    Raises ValueError if there is no common dtype.
    """
    if explicit is not None:
        return explicit
    dtypes: list[DType] = [tensor.dtype.base_dtype for tensor in flatten(state)]
    if not dtypes:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(dtype is not dtypes[0] for dtype in dtypes):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single "
            f"representative dtype: {[dtype.name for dtype in dtypes]}. Give a dtype."
        )
    return dtypes[0]


def keep_where(over: Tensor, old: Any, new: Any) -> Any:
    """Return `old` for the batch entries where `over` is true, otherwise `new`.

    For scalars and TensorArrays, return `new`.
    """
    if isinstance(old, TensorArray) or old.shape.rank == 0:
        return new
    with get_default_graph().colocate_with(new):
        return where(over, old, new)


def limited_step(
    time: Any,
    lengths: Lengths,
    zero_output: Any,
    state: Any,
    call_cell: Callable[[], Any],
    conditionally: bool,
) -> tuple[Any, Any]:
    """Return the outputs and the next state at `time`. For sequences that have ended, return zeros
    and the old state.

    Raises ValueError or TypeError if the cell does not return the structures that it declares.

    Args:
      zero_output: zeros in the structure of an output.
      call_cell: a function that returns (output, next state).
      conditionally: whether to use conditionals. They skip the cell if all sequences have ended,
        and skip the selection if none has ended.
    """
    zeros, old = flatten(zero_output), flatten(state)
    over = time >= lengths.lengths

    def call() -> list[Any]:
        output, new_state = call_cell()
        assert_same_structure(zero_output, output)
        assert_same_structure(state, new_state)
        return flatten(output) + flatten(new_state)

    def choose(new: Sequence[Any]) -> list[Any]:
        return [
            keep_where(over, old_value, new_value) for old_value, new_value in zip(zeros + old, new)
        ]

    def call_and_choose() -> Any:
        new = call()
        return cond(time < lengths.min_length, lambda: new, lambda: choose(new))

    if conditionally:
        results = cond(time >= lengths.max_length, lambda: zeros + old, call_and_choose)
    else:
        results = choose(call())
    for result, old_value in zip(results, zeros + old):
        if not isinstance(result, TensorArray):
            result.set_shape(old_value.shape)
    outputs, states = results[: len(zeros)], results[len(zeros) :]
    return pack_sequence_as(zero_output, outputs), pack_sequence_as(state, states)
