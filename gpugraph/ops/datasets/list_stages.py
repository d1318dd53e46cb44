"""Datasets of elements in memory, which are windows and groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape
from gpugraph.ops.datasets.elements.row_blocks import part, row
from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline, Stage
from gpugraph.ops.datasets.source_stages import Counted


class ListStage(Stage):
    """A dataset whose elements are in memory. It is a window or a group."""

    kind = "Window"

    def __init__(
        self,
        rows: list[Element],
        types: Sequence[DType],
        shapes: Sequence[TensorShape],
        block: Element | None = None,
    ) -> None:
        self._rows, self.block = rows, block
        self.types, self.shapes = tuple(types), tuple(shapes)

    @property
    def rows(self) -> list[Element]:
        """The list of the elements."""
        block = self.block
        return self._rows if block is None else [row(block, n) for n in range(len(block[0]))]

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the list."""
        block = self.block
        if block is None:
            return ListElements(self._rows)
        return Counted(len(block[0]), partial(row, block), partial(part, block))

    def cardinality(self) -> int:
        """Return the number of elements."""
        return len(self._rows if self.block is None else self.block[0])


def column(rows: list[Element], number: int, like: Stage) -> ListStage:
    """Return the dataset of component `number` of the elements in `rows`.

    Args:
      like: the dataset from which the elements come.
    """
    parts = [(row[number],) for row in rows]
    return ListStage(parts, like.types[number : number + 1], like.shapes[number : number + 1])


def column_of_block(block: Element, number: int, like: Stage) -> ListStage:
    """Return the dataset of component `number` of the elements in a block.

    Args:
      like: the dataset from which the elements come.
    """
    types, shapes = like.types[number : number + 1], like.shapes[number : number + 1]
    return ListStage([], types, shapes, (block[number],))


class ListElements(Elements):
    """An iteration over a list."""

    kept = ("index",)

    def __init__(self, rows: list[Element]) -> None:
        self.rows, self.index = rows, 0

    def next(self) -> Element | None:
        """Return the next element of the list."""
        index = self.index
        if index >= len(self.rows):
            return None
        self.index = index + 1
        return self.rows[index]
