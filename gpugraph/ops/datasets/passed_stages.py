"""The base classes of stages that pass the elements of another one."""

from __future__ import annotations

from typing import ClassVar

from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline, Stage


class Through(Elements):
    """An iteration over another one's elements."""

    kept: ClassVar[tuple[str, ...]] = ("source",)

    def __init__(self, source: Elements) -> None:
        self.source = source

    def next(self) -> Element | None:
        """Return the next element of the source."""
        return self.source.next()


class ThroughRows(Through):
    """An iteration over another one's elements that reads stacked elements if that one does."""

    @property
    def has_rows(self) -> bool:
        """Whether the source has rows."""
        return self.source.has_rows

    @property
    def ahead(self) -> int:
        """The number of the source."""
        return self.source.ahead


class Passed(Stage):
    """A dataset with the elements of another one: options of the runtime."""

    def __init__(self, source: Stage) -> None:
        self.source = source
        self.like(source)

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the source."""
        return self.source.elements(pipeline)

    def cardinality(self) -> int:
        """Return that of the source."""
        return self.source.cardinality()
