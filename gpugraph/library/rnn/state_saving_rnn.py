"""`static_state_saving_rnn`: a static RNN that keeps its state between runs in an object that the
program provides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.nest import flatten, is_nested, map_structure, pack_sequence_as
from gpugraph.base.value_text import shown
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.library.rnn.rnn_cell_base import check_cell
from gpugraph.library.rnn.static_rnn import static_rnn
from gpugraph.ops.framework.identity_and_shape import identity


def static_state_saving_rnn(
    cell: Any,
    inputs: Sequence[Any],
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Apply `static_rnn`, starting from the state in `state_saver`. Save the final state in it.

    The last output and the last state have the save operations as control inputs. Raises ValueError
    if the structures of the names and the state differ, and TypeError if `cell` is not a cell. For
    the other arguments and errors, see `static_rnn`.

    Args:
      state_saver: an object with the methods `state(name)`, which returns a tensor, and
        `save_state(name, value)`, which returns an operation.
      state_name: the name of the state, or names in the structure of cell.state_size.
    """
    check_cell("cell", cell)
    sizes = cell.state_size
    names = _names(sizes, state_name)
    if not hasattr(state_saver, "state"):
        raise TypeError(f"state_saver must have a method `state`: {shown(state_saver)}")
    states = [state_saver.state(name) for name in names]
    first = pack_sequence_as(sizes, states) if is_nested(sizes) else states[0]
    outputs, state = static_rnn(
        cell, inputs, initial_state=first, sequence_length=sequence_length, scope=scope
    )
    parts = flatten(state)
    saves = [state_saver.save_state(name, part) for name, part in zip(names, parts, strict=True)]
    with control_dependencies(saves):
        outputs[-1] = map_structure(identity, outputs[-1])
        state = map_structure(identity, state)
    return outputs, state


def _names(sizes: Any, state_name: Any) -> list[Any]:
    """Return the names of the state's tensors. Raises ValueError unless there is one name for each
    size.
    """
    if is_nested(sizes) != is_nested(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size.  state_name: "
            f"{state_name}, cell.state_size: {sizes}"
        )
    names, flat_sizes = flatten(state_name), flatten(sizes)
    if len(names) != len(flat_sizes):
        raise ValueError(
            f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(flat_sizes)}"
        )
    return list(names)
