"""The stage that zips datasets. Each element consists of one element of each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.ops.datasets.elements.dataset_declaration import dataset_op
from gpugraph.ops.datasets.elements.row_blocks import BlockElements
from gpugraph.ops.datasets.elements.stage import (
    INFINITE,
    UNKNOWN,
    Element,
    Elements,
    Pipeline,
    Stage,
    stage_in,
)
from gpugraph.ops.framework.op_declaration import Attr


class Zipped(Stage):
    """A dataset whose elements combine one element of each of several datasets. It ends when the
    shortest dataset ends.
    """

    kind = "Zip"

    def __init__(self, sources: Sequence[Stage]) -> None:
        self.sources = list(sources)

    def inputs(self) -> Sequence[Stage]:
        """Return the datasets."""
        return self.sources

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over all datasets at the same time."""
        sources = [source.elements(pipeline) for source in self.sources]
        if all(source.has_rows for source in sources):
            return ZippedBlocks([BlockElements(source) for source in sources])
        return ZippedElements(sources)

    def cardinality(self) -> int:
        """Return the minimum of the datasets' cardinalities."""
        numbers = [source.cardinality() for source in self.sources]
        finite = [number for number in numbers if number >= 0]
        if UNKNOWN in numbers:
            return UNKNOWN
        return min(finite) if finite else INFINITE


class ZippedElements(Elements):
    """An iteration that reads one element of each dataset at a time."""

    kept = ("is_over", "sources")

    def __init__(self, sources: list[Elements]) -> None:
        self.sources = sources
        self.is_over = False

    def next(self) -> Element | None:
        """Return the components of the next elements of all datasets."""
        if self.is_over:
            return None
        components: list[Any] = []
        for source in self.sources:
            element = source.next()
            if element is None:
                self.is_over = True
                return None
            components += element
        return tuple(components)


class ZippedBlocks(ZippedElements):
    """An iteration that reads a block of each dataset at a time.

    If a dataset raises an error, the elements that were already read from the datasets before it in
    the list, for the same position, are dropped. `ZippedElements` drops them as well.
    """

    sources: list[Any]

    @property
    def has_rows(self) -> bool:
        """Whether all datasets return stacked elements."""
        return all(source.has_rows for source in self.sources)

    @property
    def ahead(self) -> int:
        """The number of elements that may be read ahead from each dataset."""
        return min(source.ahead for source in self.sources)

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements of all datasets, stacked."""
        if self.is_over:
            return None
        if not self.has_rows:
            count = 1
        for number, source in enumerate(self.sources):
            there = source.fill(count)
            if not there:
                for before in self.sources[:number]:
                    before.take(1)
                self.is_over = source.next_rows(1) is None  # or an error is raised
                return None
            count = min(count, there)
        return tuple([column for source in self.sources for column in source.take(count)])


dataset_op(
    "ZipDataset", "input_datasets: N * variant",
    lambda row: Zipped([stage_in(array) for array in row["input_datasets"]]),
    "Elements of several datasets side by side.", {"N": Attr("int", required=True, minimum=1)},
)  # fmt: skip
