"""Iterations over results that are vectors of different lengths, computed for blocks of
elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import OpError
from gpugraph.ops.datasets.elements.row_blocks import GatheredBlocks, ends_run, length
from gpugraph.ops.datasets.elements.stage import Element, Elements, Function, Pipeline
from gpugraph.ops.datasets.passed_stages import Through


class Stacked:
    """A column of stacked values."""

    __slots__ = ("column",)

    def __init__(self, column: Any) -> None:
        self.column = column

    def __getitem__(self, place: int) -> Any:
        return self.column[place, ...]

    def arguments(self) -> Sequence[Any]:
        """Return the arrays that a function for blocks receives."""
        return (self.column,)


class Vectors:
    """A column of vectors, whose elements are stored one after another in `values`. `rows` has, for
    each value, the index of the dataset element to which it belongs.
    """

    __slots__ = ("ends", "rows", "values")

    def __init__(self, values: Any, rows: Any, count: int) -> None:
        self.values, self.rows = values, rows
        self.ends = np.searchsorted(rows, np.arange(count + 1))

    def __getitem__(self, place: int) -> Any:
        return self.values[self.ends[place] : self.ends[place + 1]]

    def arguments(self) -> Sequence[Any]:
        """Return the arrays that a function for blocks receives: the values, and the row and the
        column of each value.
        """
        columns = np.arange(len(self.rows)) - self.ends[self.rows]
        return self.values, self.rows, columns


class Block(Sequence[Element]):
    """Several elements: a column for each component."""

    __slots__ = ("columns", "size")

    def __init__(self, columns: Sequence[Stacked | Vectors], count: int) -> None:
        self.columns, self.size = columns, count

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: Any) -> Any:
        return tuple([column[place] for column in self.columns])

    def arguments(self) -> list[Any]:
        """Return the arrays that a function for blocks receives."""
        arrays = [array for column in self.columns for array in column.arguments()]
        is_ragged = any(isinstance(column, Vectors) for column in self.columns)
        return [*arrays, np.array(self.size, np.int32)] if is_ragged else arrays


class RaggedElements(Through):
    """An iteration over the results of a function that is applied to blocks.

    `arguments` is the current block of the function's arguments, and `results` is the block of its
    results. `place` is the index of the next result to return. `results` is None if the function
    raised an error for the block, or if a position was restored. Then the function is called for
    each element.

    Args:
      started: the result of `Function.started_on_ragged_rows`.
      one: the same function for a single element.
    """

    def __init__(
        self,
        source: Elements,
        started: tuple[Callable[[Sequence[Any]], Element], Sequence[bool]],
        one: Callable[[Element], Element],
    ) -> None:
        super().__init__(source if isinstance(source, RaggedElements) else GatheredBlocks(source))
        self.on_rows, self.is_ragged = started
        self.one = one
        self.arguments: Sequence[Element] | None = None
        self.place = 0
        self.results: Block | None = None
        self._last: Sequence[Element] = ()

    def next(self) -> Element | None:
        """Return the next result."""
        if not self._has_result():
            return None
        results, place = self.results, self._next_place()
        return self.one(self._last[place]) if results is None else results[place]

    def next_block(self) -> Block | None:
        """Return the next results as a block, or None at the end."""
        if not self._has_result():
            return None
        if self.results is not None and not self.place:
            block: Block | None
            block, self.arguments, self.results = self.results, None, None
            return block
        element = self.next()
        assert element is not None
        return Block(
            [
                Vectors(array, np.zeros(len(array), np.int64), 1) if is_ragged
                else Stacked(array[np.newaxis, ...])
                for array, is_ragged in zip(element, self.is_ragged, strict=True)
            ],
            1,
        )  # fmt: skip

    def _next_place(self) -> int:
        """Return the index of the next result in `_last`, and advance `place` by one."""
        assert self.arguments is not None
        self._last, place = self.arguments, self.place
        self.place = place + 1
        if self.place == len(self._last):
            self.arguments = self.results = None
        return place

    def _has_result(self) -> bool:
        """Compute the next block if necessary. Return whether there is a next result."""
        while self.arguments is None:
            block = self._read()
            if block is None:
                return False
            if len(block):
                self.arguments, self.place = block, 0
                self._compute(block)
        return True

    def _read(self) -> Block | None:
        source = self.source
        if isinstance(source, RaggedElements):
            return source.next_block()
        columns = source.next_rows(source.ahead)
        return None if columns is None else Block(list(map(Stacked, columns)), length(columns))

    def _compute(self, block: Block) -> None:
        self.results = None
        try:
            arrays = iter(self.on_rows(block.arguments()))
        except OpError as error:
            if ends_run(error):
                raise
            return
        count = len(block)
        self.results = Block(
            [
                Vectors(next(arrays), next(arrays), count) if ragged else Stacked(next(arrays))
                for ragged in self.is_ragged
            ],
            count,
        )  # fmt: skip

    def save(self) -> Any:
        """Return the current position and the arguments that have been read but not used."""
        arguments = self.arguments
        places = range(self.place, 0 if arguments is None else len(arguments))
        rest = None if arguments is None else [list(arguments[place]) for place in places]
        return [rest, self.source.save()]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned."""
        rest, position = state
        self.arguments = None if rest is None else [tuple(element) for element in rest]
        self.place, self.results = 0, None
        self.source.restore(position)


def ragged_elements(
    source: Elements, function: Function, pipeline: Pipeline, has_rows: bool
) -> RaggedElements | None:
    """Return an iteration over a function's results, computed for blocks. Return None if the
    function can't be applied to blocks of the source's elements, or if no argument and no result is
    ragged.
    """
    are_ragged = source.is_ragged if isinstance(source, RaggedElements) else None
    if are_ragged is None and not has_rows:
        return None
    started = function.started_on_ragged_rows(pipeline, are_ragged)
    return None if started is None else RaggedElements(source, started, function.started(pipeline))
