"""Stages that call a function and read the datasets that it returns, such as flat_map and
interleave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.ops.datasets.elements.dataset_declaration import FUNC, Row, arguments, dataset_op
from gpugraph.ops.datasets.elements.effects import may_be_read_ahead
from gpugraph.ops.datasets.elements.row_blocks import MAX_AHEAD, BlockElements, are_alike, part
from gpugraph.ops.datasets.elements.stage import (
    Element,
    Elements,
    Function,
    Pipeline,
    Stage,
    stage_in,
)
from gpugraph.ops.datasets.passed_stages import Through


class FlatMapped(Stage):
    """A dataset of the elements of other datasets, one dataset after the other. A function returns
    one of these datasets for each element of the source.
    """

    kind = "FlatMap"

    def __init__(self, source: Stage, function: Function) -> None:
        self.source, self.function = source, function

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the datasets."""
        return InterleavedElements(self, self.source.elements(pipeline), 1, 1, pipeline)


class Interleaved(FlatMapped):
    """A dataset that alternates between the elements of `cycle` open datasets. A function returns
    one of these datasets for each element of the source.
    """

    kind = "Interleave"

    def __init__(self, source: Stage, function: Function, cycle: int, block: int) -> None:
        super().__init__(source, function)
        for name, number in (("cycle_length", cycle), ("block_length", block)):
            if number <= 0 and number != -1:
                raise invalid_argument(f"{name} must be greater than zero.")
        self.cycle, self.block = cycle if cycle > 0 else 2, block

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the datasets."""
        source = self.source.elements(pipeline)
        return InterleavedElements(self, source, self.cycle, self.block, pipeline)


class InterleavedElements(Through):
    """An iteration that alternates between open datasets, and reads `block` elements of each.

    Each open dataset is in a slot. `origins` has, for each slot, the element of the source for
    which the function returned the dataset. `woven` is a block of elements that were computed
    ahead, and `place` is the index in `woven` of the next element.
    """

    def __init__(
        self, stage: Any, source: Elements, cycle: int, block: int, pipeline: Pipeline
    ) -> None:
        super().__init__(source)
        self.cycle, self.block, self.pipeline = cycle, block, pipeline
        self.function = stage.function.started(pipeline)
        self.origins: list[Element | None] = [None] * cycle
        self.open: list[Elements | None] = [None] * cycle
        self.slot = self.in_block = self.num_open = 0
        self.reads_ahead = may_be_read_ahead(stage)
        self.is_over = False
        self.woven: Element | None = None
        self.place = 0

    @property
    def has_rows(self) -> bool:
        """Whether the current dataset returns stacked elements. This is True if no dataset is
        open.
        """
        current = self.open[self.slot]
        return current is None or current.has_rows

    @property
    def ahead(self) -> int:
        """The number of elements that may be read ahead, which depends on the current dataset."""
        current = self.open[self.slot] if self.reads_ahead else None
        return 1 if current is None else current.ahead

    def next(self) -> Element | None:
        """Return the next element of the dataset in the current slot."""
        if self.woven is not None:
            columns = self._of_woven(1)
            return tuple([column[0, ...] for column in columns])
        while (current := self._current()) is not None:
            element = current.next()
            if element is not None:
                self._moved(1)
                return element
            self._close_current(current)
        return None

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements, stacked."""
        if self.woven is not None:
            return self._of_woven(count)
        while (current := self._current()) is not None:
            if self.block < count and not self.in_block and self._weave():
                return self._of_woven(count)
            left = count if self.cycle == 1 else min(count, self.block - self.in_block)
            columns = current.next_rows(left)
            if columns is not None:
                self._moved(len(columns[0]))
                return columns
            self._close_current(current)
        return None

    def _current(self) -> Elements | None:
        """Return the iteration in the current slot. If the slot is empty, open a dataset in it or
        move to another slot. At the end, return None.
        """
        while not self.is_over or self.num_open:
            current = self.open[self.slot]
            if current is not None:
                return current
            if self.is_over:
                self._move_on()
            else:
                self._open_next()
        return None

    def _moved(self, count: int) -> None:
        """Record that `count` elements of the current slot were read. `count` must not exceed the
        number of elements that the slot may still return in this round.
        """
        self.in_block += count
        if self.in_block >= self.block:
            self._move_on()

    def _close_current(self, current: Elements) -> None:
        current.close()
        self.open[self.slot] = self.origins[self.slot] = None
        self.num_open -= 1
        self._move_on()

    def _of_woven(self, count: int) -> Element:
        """Return the next elements of `woven`, at most `count`, stacked into one element."""
        start, woven = self.place, self.woven
        assert woven is not None
        self.place = end = min(start + count, len(woven[0]))
        if end == len(woven[0]):
            self.woven, self.place = None, 0
        return part(woven, start, end)

    def _weave(self) -> bool:
        """Compute whole rounds over all slots ahead. A round has one block of each slot. Return
        False if a dataset has too few elements available.

        From each dataset, at most `ahead` elements are read ahead.
        """
        if not self.is_over and self.num_open < self.cycle:
            return False
        order = [(self.slot + step) % self.cycle for step in range(self.cycle)]
        parts: list[Any] = [one for slot in order if (one := self.open[slot]) is not None]
        if len(parts) == 1 or not all(isinstance(one, BlockElements) for one in parts):
            return False
        block = self.block
        rounds = min(one.fill(MAX_AHEAD) // block for one in parts)
        if not rounds or not all(are_alike(parts[0].pending, one.pending) for one in parts):
            return False
        taken = [one.take(rounds * block) for one in parts]
        self.woven = tuple([_woven(columns, rounds, block) for columns in zip(*taken)])
        return True

    def _move_on(self) -> None:
        self.in_block = 0
        self.slot = (self.slot + 1) % self.cycle

    def _open_next(self) -> None:
        origin = self.source.next()
        if origin is None:
            self.is_over = True
            return
        self._open(self.slot, origin)

    def _open(self, slot: int, origin: Element) -> Elements:
        dataset = stage_in(self.function(origin)[0])
        opened = dataset.elements(self.pipeline)
        if self.cycle > 1 and opened.has_rows and opened.ahead > 1:
            opened = BlockElements(opened)
        self.open[slot] = opened
        self.origins[slot] = origin
        self.num_open += 1
        return opened

    def save(self) -> Any:
        """Return the position, which includes the positions in the open datasets."""
        slots = [
            None if opened is None or origin is None else [list(origin), opened.save()]
            for origin, opened in zip(self.origins, self.open)
        ]
        woven = (
            None if self.woven is None else list(part(self.woven, self.place, len(self.woven[0])))
        )
        return [self.slot, self.in_block, self.is_over, slots, woven, self.source.save()]

    def restore(self, state: Any) -> None:
        """Open the saved datasets again, and continue at their positions."""
        self.slot, self.in_block, self.is_over, slots, woven, position = state
        self.woven, self.place = None if woven is None else tuple(woven), 0
        self.source.restore(position)
        for slot, kept in enumerate(slots):
            if kept is not None:
                self._open(slot, tuple(kept[0])).restore(kept[1])


def _woven(columns: Sequence[Any], rounds: int, block: int) -> Any:
    """Return one column with the rows of several columns. In each of the `rounds` rounds, it has
    `block` rows of each column.
    """
    sizes = columns[0].shape[1:]
    parts = [column.reshape(rounds, block, *sizes) for column in columns]
    return np.stack(parts, 1).reshape(-1, *sizes)


# -- op types

_SOURCE = "input_dataset: variant"
_CAPTURED = "other_arguments: Targuments"
_FUNCTION: dict[str, Any] = {"f": FUNC, "Targuments": arguments("Targuments")}


def _interleave(row: Row) -> Stage:
    numbers = row.number("cycle_length"), row.number("block_length")
    return Interleaved(row.source, row.function(), *numbers)


dataset_op(
    "FlatMapDataset", f"{_SOURCE}, {_CAPTURED}",
    lambda row: FlatMapped(row.source, row.function()),
    "The elements of datasets that a function returns.", _FUNCTION,
)  # fmt: skip
dataset_op(
    "InterleaveDataset", f"{_SOURCE}, {_CAPTURED}, cycle_length: int64, block_length: int64",
    _interleave, "The elements of several datasets side by side.", _FUNCTION,
)  # fmt: skip
