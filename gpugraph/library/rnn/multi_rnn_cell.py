"""MultiRNNCell: a stack of cells that is used as one cell."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.nest import is_nested
from gpugraph.building.trackable.trackable import Trackable, TrackableReference
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.rnn.cell_configs import cell_of_config, config_of_cell
from gpugraph.library.rnn.rnn_cell_base import RNNCell, check_cell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.indexing.strided_slice import slice as slice_of

_log = logging.getLogger("gpugraph")


class MultiRNNCell(RNNCell):
    """A stack of cells that is used as one cell.

    The first cell receives the inputs, and each further cell receives the output of the previous
    cell. The state is a tuple of the cells' states. With `state_is_tuple=False`, which is
    deprecated, the states are concatenated along their last axis. The variables of cell i are in
    the scope `cell_i`.

    The constructor raises ValueError for an empty list, and for cells with nested states if
    `state_is_tuple` is False. It raises TypeError for a value that is not a list or tuple of cells.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        for index, cell in enumerate(cells):
            check_cell(f"cells[{index}]", cell)
        if len({id(cell) for cell in cells}) < len(cells):
            _log.warning(
                "At least two cells provided to MultiRNNCell are the same object and will share "
                "weights: [cell] * n is n times one cell."
            )
        self._cells = cells
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. "
                f"State sizes are: {[cell.state_size for cell in cells]}"
            )

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The references for object-based checkpoints. The cells have the names `cell-0`, `cell-1`
        and so on.
        """
        cells = [
            TrackableReference(f"cell-{index}", cell)
            for index, cell in enumerate(self._cells)
            if isinstance(cell, Trackable)
        ]
        return cells + super()._checkpoint_dependencies

    def get_config(self) -> dict[str, Any]:
        """Return a dict with the class and arguments of each cell, and `state_is_tuple`."""
        cells = [config_of_cell(cell) for cell in self._cells]
        return {**super().get_config(), "cells": cells, "state_is_tuple": self._state_is_tuple}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> MultiRNNCell:
        """Create a MultiRNNCell from a dict that `get_config` returned.

        Args:
          custom_objects: a dict from names to classes.
        """
        cells = [cell_of_config(cell, custom_objects) for cell in config["cells"]]
        return cls(cells, config.get("state_is_tuple", True))

    @property
    def state_size(self) -> Any:
        """A tuple of the cells' state sizes. If states are concatenated, it is the sum of the
        sizes.
        """
        sizes = tuple([cell.state_size for cell in self._cells])
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The output size of the last cell."""
        return self._cells[-1].output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable weights of all cells. The list is empty if this cell is not trainable."""
        if not self.trainable:
            return []
        return _all(getattr(cell, "trainable_weights", ()) for cell in self._cells)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The non-trainable weights of all cells. If this cell is not trainable, the list contains
        all weights of the cells.
        """
        weights = _all(getattr(cell, "non_trainable_weights", ()) for cell in self._cells)
        if self.trainable:
            return weights
        return _all(getattr(cell, "trainable_weights", ()) for cell in self._cells) + weights

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a zero state for each cell."""
        graph = get_default_graph()
        with graph.name_scope(f"{type(self).__name__}ZeroState"):
            if self._state_is_tuple:
                return tuple([cell.zero_state(batch_size, dtype) for cell in self._cells])
            return super().zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the last cell's output and the next states of all cells."""
        if self._state_is_tuple and not is_nested(state):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
            )
        start = 0
        states = []
        for index, cell in enumerate(self._cells):
            with variable_scope(f"cell_{index}"):
                if self._state_is_tuple:
                    cell_state = state[index]
                else:
                    cell_state = slice_of(state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                inputs, new_state = cell(inputs, cell_state)
                states.append(new_state)
        return inputs, tuple(states) if self._state_is_tuple else concat(states, 1)


def _all(lists: Any) -> list[Any]:
    return [item for items in lists for item in items]
