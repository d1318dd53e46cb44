"""Base classes of stages that return the elements of their source unchanged."""

from __future__ import annotations

from typing import ClassVar

from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline, Stage


class Through(Elements):
    """An iteration that returns the elements of its source."""

    kept: ClassVar[tuple[str, ...]] = ("source",)

    def __init__(self, source: Elements) -> None:
        self.source = source

    def next(self) -> Element | None:
        """Return the next element of the source."""
        return self.source.next()


class ThroughRows(Through):
    """An iteration that returns the elements of its source, stacked if the source stacks them."""

    @property
    def has_rows(self) -> bool:
        """Whether the source returns stacked elements."""
        return self.source.has_rows

    @property
    def ahead(self) -> int:
        """The number of elements that the source may read ahead."""
        return self.source.ahead


class Passed(Stage):
    """A dataset with the elements of its source, for ops that only set options which have no effect
    in gpugraph.
    """

    def __init__(self, source: Stage) -> None:
        self.source = source
        self.like(source)

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the source."""
        return self.source.elements(pipeline)

    def cardinality(self) -> int:
        """Return the cardinality of the source."""
        return self.source.cardinality()
