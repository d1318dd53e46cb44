"""The base classes of stages that pass the elements of another one."""

from __future__ import annotations

from typing import ClassVar

from gpugraph.ops.datasets.stage import Element, Elements, Pipeline, Stage


class Through(Elements):
    """An iteration over another one's elements."""

    kept: ClassVar[tuple[str, ...]] = ("source",)

    def __init__(self, source: Elements) -> None:
        self.source = source

    def next(self) -> Element | None:
        """Return the next element of the source."""
        return self.source.next()


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
