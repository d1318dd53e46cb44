"""The stage that reads each element from one of several datasets. A selector dataset chooses the
dataset of each element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.ops.datasets.elements.dataset_declaration import dataset_op
from gpugraph.ops.datasets.elements.row_blocks import BlockElements, are_alike, joined
from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline, Stage, stage_in
from gpugraph.ops.framework.op_declaration import Attr


class DirectedInterleave(Stage):
    """A dataset of the elements of several datasets. A dataset of indices, the selector, chooses
    the dataset of each element.
    """

    kind = "DirectedInterleave"

    def __init__(self, selector: Stage, sources: list[Stage]) -> None:
        self.selector, self.sources = selector, sources

    def inputs(self) -> list[Stage]:
        """Return a list of the selector and the datasets."""
        return [self.selector, *self.sources]

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the datasets in the order that the selector determines."""
        sources = [source.elements(pipeline) for source in self.sources]
        selector = self.selector.elements(pipeline)
        if selector.has_rows and all(source.has_rows for source in sources):
            blocks: list[Elements] = [BlockElements(source) for source in sources]
            return DirectedBlocks(BlockElements(selector), blocks)
        return DirectedElements(selector, sources)


class DirectedElements(Elements):
    """An iteration over several datasets in the order that a selector determines."""

    kept = ("is_over", "selector", "sources")

    def __init__(self, selector: Elements, sources: list[Elements]) -> None:
        self.selector = selector
        self.sources: list[Elements | None] = list(sources)
        self.is_over = False

    def next(self) -> Element | None:
        """Return the next element of the dataset that the selector chooses. If that dataset has
        ended, try the next index.
        """
        while not self.is_over:
            selected = self.selector.next()
            if selected is None:
                self.is_over = True
                break
            number = int(selected[0])
            if not 0 <= number < len(self.sources):
                raise invalid_argument(
                    f"Selector index out of range: {number} >= {len(self.sources)}"
                )
            source = self.sources[number]
            if source is None:
                continue
            element = source.next()
            if element is not None:
                return element
            source.close()
            self.sources[number] = None
            self.is_over = not any(self.sources)
        return None


class DirectedBlocks(DirectedElements):
    """An iteration over several datasets that can return stacked elements, in the order that a
    selector determines.

    Args:
      sources: a list with the iteration of each dataset, or None if the dataset has ended.
    """

    selector: BlockElements
    sources: list[Any]

    @property
    def has_rows(self) -> bool:
        """Whether all datasets return stacked elements."""
        return all(source is None or source.has_rows for source in self.sources)

    @property
    def ahead(self) -> int:
        """The number of elements that may be read ahead from each dataset."""
        return min([source.ahead for source in self.sources if source is not None], default=1)

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements of the selected datasets, stacked."""
        if self.is_over:
            return None
        count = min(count, self.selector.fill(count) if self.has_rows else 0)
        if count > 1:
            pending, place = self.selector.pending, self.selector.place
            chosen = pending[0][place : place + count]
            count = self._number_there(chosen)
            if count > 1:
                self.selector.take(count)
                return self._gathered(chosen[:count])
        return super().next_rows(1)

    def _number_there(self, chosen: Any) -> int:
        """Read the selected datasets ahead. Return the number of next elements that are available
        and have equal shapes.

        Args:
          chosen: the indices that the selector returned for the next elements.
        """
        first: Any = None
        for number in range(len(self.sources)):
            places = np.flatnonzero(chosen == number)
            if not len(places):
                continue
            source = self.sources[number]
            there = 0 if source is None else source.fill(len(places))
            if there and first is None:
                first = source.pending
            elif there and not are_alike(first, source.pending):
                return 0
            if there < len(places):
                chosen = chosen[: places[there]]
        is_valid = (chosen >= 0) & (chosen < len(self.sources))
        return len(chosen) if is_valid.all() else 0

    def _gathered(self, chosen: Any) -> Element:
        order = np.argsort(chosen, kind="stable")
        counts = np.bincount(chosen, minlength=len(self.sources))
        parts = [self.sources[n].take(int(k)) for n, k in enumerate(counts) if k]
        place = np.empty(len(chosen), np.int64)
        place[order] = np.arange(len(chosen))
        return tuple([column[place] for column in joined(parts)])


dataset_op(
    "DirectedInterleaveDataset ExperimentalDirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N * variant",
    lambda row: DirectedInterleave(
        stage_in(row["selector_input_dataset"]),
        [stage_in(array) for array in row["data_input_datasets"]],
    ),
    "Elements of datasets that another one selects.",
    {"stop_on_empty_dataset": Attr("bool", False), "N": Attr("int", required=True, minimum=1)},
)  # fmt: skip
