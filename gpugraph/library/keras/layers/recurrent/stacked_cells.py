"""StackedRNNCells, a cell that contains other cells, and functions that call a cell of any
class.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.nest import flatten, is_nested, map_structure, pack_sequence_as
from gpugraph.base.shapes import as_shape
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.keras_objects import config_entry, deserialize_layer, improper
from gpugraph.library.keras.layers.recurrent.state_sizes import (
    check_cell_of_layer,
    initial_state_of,
    known_shape,
    output_size_of,
)


class StackedRNNCells(Layer):
    """A cell that consists of several cells. Each cell receives the outputs of the previous cell.

    The states of the stacked cell are the states of all its cells. The constructor raises
    ValueError for objects that are not cells.

    Args:
      cells: layers, or objects with `call` and `state_size`.
      kwargs: may contain `reverse_state_order`: whether the last cell's states come first, as in
        old versions of Keras.
    """

    def __init__(self, cells: Sequence[Any], **kwargs: Any) -> None:
        for cell in cells:
            check_cell_of_layer(cell)
        self.cells = list(cells)
        self.reverse_state_order = kwargs.pop("reverse_state_order", False)
        super().__init__(**kwargs)

    def _by_state(self) -> list[Any]:
        """Return the cells in the order in which their states are stored."""
        return self.cells[::-1] if self.reverse_state_order else self.cells

    @property
    def state_size(self) -> tuple[Any, ...]:
        """A tuple that contains the state size of each cell."""
        return tuple(cell.state_size for cell in self._by_state())

    @property
    def output_size(self) -> Any:
        """The output size of the last cell."""
        return output_size_of(self.cells[-1])

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> tuple[Any, ...]:
        """Return a tuple with the initial states of each cell. See `initial_state_of`."""
        return tuple(initial_state_of(cell, inputs, batch_size, dtype) for cell in self._by_state())

    def build(self, input_shape: Any) -> None:
        """Build each cell for the shape of the outputs of the previous cell."""
        batch = as_shape(flatten_shapes(input_shape)[0]).as_list()[0]
        for cell in self.cells:
            if isinstance(cell, Layer):
                cell.build_for(input_shape, self.dtype)
            input_shape = map_structure(lambda size: known_shape(batch, size), output_size_of(cell))
        self.built = True

    def call(self, inputs: Any, states: Any, constants: Any = None, training: Any = None) -> Any:
        """Return the outputs of the last cell, and the next states of all cells."""
        structure = tuple(cell.state_size for cell in self._by_state())
        by_cell = list(pack_sequence_as(structure, flatten(states)))
        if self.reverse_state_order:
            by_cell.reverse()
        further = {"constants": constants, "training": training}
        following = []
        for cell, cell_states in zip(self.cells, by_cell, strict=True):
            inputs, state = call_cell(cell, inputs, cell_states, further)
            following.append(state)
        if self.reverse_state_order:
            following.reverse()
        return inputs, pack_sequence_as(structure, flatten(following))

    def get_config(self) -> dict[str, Any]:
        """Return the class name and configuration of each cell."""
        cells = [
            {"class_name": type(cell).__name__, "config": cell.get_config()} for cell in self.cells
        ]
        further = {"reverse_state_order": True} if self.reverse_state_order else {}
        return {**super().get_config(), "cells": cells, **further}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Create a cell from a dict that `get_config` returned. The new cell has new variables."""
        arguments = dict(config)
        records = config_entry(config, "cells", cls.__name__)
        if not isinstance(records, (list, tuple)):
            raise improper(f"the cells of {cls.__name__} are not a list, but {records!r:.100}")
        cells = [deserialize_layer(cell, custom_objects) for cell in records]
        del arguments["cells"]
        return cls(cells, **arguments)


def flatten_shapes(input_shape: Any) -> list[Any]:
    """Return the shapes in a structure of shapes as a list. A tuple of numbers is a shape, not a
    structure.
    """
    is_one = not isinstance(input_shape, (list, tuple)) or all(
        size is None or isinstance(size, int) for size in input_shape
    )
    return [input_shape] if is_one else flatten(input_shape)


def call_cell(cell: Any, inputs: Any, states: Any, further: Mapping[str, Any]) -> Any:
    """Call the method `call` of a cell for one step. Return the output and the next states.

    No name scope is opened. A Keras cell receives a list of states, but a cell of `tf.nn.rnn_cell`
    receives the state itself.

    Args:
      further: additional keyword arguments. Each cell receives the arguments that its `call`
        accepts.
    """
    nested = is_nested(states)
    if is_plain_state(cell):
        argument = states[0] if nested and len(states) == 1 else states
    else:
        argument = states if nested else [states]
    names = inspect.signature(cell.call).parameters
    output, following = cell.call(
        inputs, argument, **{name: value for name, value in further.items() if name in names}
    )
    return output, following if is_nested(following) else [following]


def is_plain_state(cell: Any) -> bool:
    """Return whether the cell's state is a tensor instead of a list, as it is for cells of
    `tf.nn.rnn_cell`.
    """
    return hasattr(cell, "zero_state")


def takes_argument(cell: Any, name: str) -> bool:
    """Return whether a cell's `call` has a parameter with this name."""
    return name in inspect.signature(cell.call).parameters


def cells_of(cell: Any) -> list[Any]:
    """Return a list of the cell and, recursively, of the cells in it."""
    nested = [inner for part in getattr(cell, "cells", ()) for inner in cells_of(part)]
    return [cell, *nested]
