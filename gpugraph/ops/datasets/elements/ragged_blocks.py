"""Iterations over results whose vectors differ in length, computed for blocks of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import OpError
from gpugraph.ops.datasets.elements.row_blocks import (
    BlockElements,
    ends_run,
    length,
    part,
    row,
)
from gpugraph.ops.datasets.elements.stage import Element, Elements
from gpugraph.ops.datasets.passed_stages import Through


class RaggedElements(Through):
    """An iteration over the results of a function that is applied to blocks.

    columns: the block of arguments whose results are returned next, from index `place` on.
    results: for each output the function that returns it for an index, or None if the function
    raised an error for the block: then `one` computes the results, to find the element that raises
    it.

    Args:
      on_rows: the function for blocks, whose ragged outputs are two arrays: values, and the rows
        that they belong to.
      is_ragged: for each output, whether it is ragged.
      one: the same function for a single element.
    """

    def __init__(
        self,
        source: Elements,
        on_rows: Callable[[Element], Element],
        is_ragged: Sequence[bool],
        one: Callable[[Element], Element],
    ) -> None:
        super().__init__(BlockElements(source))
        self.on_rows, self.is_ragged, self.one = on_rows, is_ragged, one
        self.columns: Element | None = None
        self.place = 0
        self.results: list[Callable[[int], Any]] | None = None
        self._is_computed = False

    def next(self) -> Element | None:
        """Return the next result."""
        while self.columns is None:
            columns = self.source.next_rows(self.source.ahead)
            if columns is None:
                return None
            if length(columns):
                self.columns, self.place, self._is_computed = columns, 0, False
        if not self._is_computed:
            self._compute(self.columns)
        columns, place, results = self.columns, self.place, self.results
        self.place = place + 1
        if self.place == length(columns):
            self.columns = self.results = None
        if results is None:
            return self.one(row(columns, place))
        return tuple([of(place) for of in results])

    def _compute(self, columns: Element) -> None:
        if self.place:  # restored in the middle of a block
            columns = part(columns, self.place, length(columns))
            self.columns, self.place = columns, 0
        try:
            arrays = iter(self.on_rows(columns))
            self.results = [
                _Vectors(next(arrays), next(arrays), length(columns)) if ragged
                else _Stacked(next(arrays))
                for ragged in self.is_ragged
            ]  # fmt: skip
        except OpError as error:
            if ends_run(error):
                raise
            self.results = None
        self._is_computed = True

    def save(self) -> Any:
        """Return the position and the arguments that were read ahead."""
        columns = self.columns
        rest = None if columns is None else list(part(columns, self.place, length(columns)))
        return [rest, self.source.save()]

    def restore(self, state: Any) -> None:
        """Continue at a position of `save`."""
        rest, position = state
        self.columns, self.place = None if rest is None else tuple(rest), 0
        self.results, self._is_computed = None, False
        self.source.restore(position)


class _Stacked:
    """A column of stacked results."""

    __slots__ = ("column",)

    def __init__(self, column: Any) -> None:
        self.column = column

    def __call__(self, place: int) -> Any:
        return self.column[place, ...]


class _Vectors:
    """A column of vectors, one after the other."""

    __slots__ = ("ends", "values")

    def __init__(self, values: Any, rows: Any, count: int) -> None:
        self.values = values
        self.ends = np.searchsorted(rows, np.arange(count + 1)).tolist()

    def __call__(self, place: int) -> Any:
        return self.values[self.ends[place] : self.ends[place + 1]]
