"""Stages that omit or check elements: shard, ignore_errors, unique and assert_cardinality."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import FailedPreconditionError, OpError, invalid_argument
from gpugraph.ops.datasets.elements.row_blocks import length
from gpugraph.ops.datasets.elements.stage import (
    INFINITE,
    UNKNOWN,
    Element,
    Elements,
    Pipeline,
    Stage,
)
from gpugraph.ops.datasets.passed_stages import Passed, ThroughRows


class Shard(Passed):
    """A dataset of the source's elements at the positions `index`, `index + num_shards`, `index + 2
    * num_shards` and so on.
    """

    kind = "Shard"

    def __init__(self, source: Stage, num_shards: int, index: int) -> None:
        super().__init__(source)
        if num_shards <= 0:
            raise invalid_argument(
                f"Number of shards must be greater than zero (currently num_shards = {num_shards})."
            )
        if not 0 <= index < num_shards:
            raise invalid_argument(
                f"Index must be between 0 and {num_shards - 1} (currently index = {index})."
            )
        self.num_shards, self.index = num_shards, index

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the shard."""
        return ShardElements(self.source.elements(pipeline), self.num_shards, self.index)

    def cardinality(self) -> int:
        """Return the number of elements of the shard."""
        number = self.source.cardinality()
        return number if number < 0 else len(range(self.index, number, self.num_shards))


class ShardElements(ThroughRows):
    """An iteration that returns every n-th element."""

    kept = ("position", "source")

    def __init__(self, source: Elements, num_shards: int, index: int) -> None:
        super().__init__(source)
        self.num_shards, self.index = num_shards, index
        self.position = 0

    def next(self) -> Element | None:
        """Return the next element of the shard."""
        while True:
            element = self.source.next()
            if element is None:
                return None
            place, self.position = self.position, self.position + 1
            if place % self.num_shards == self.index:
                return element

    def next_rows(self, count: int) -> Element | None:
        """Return at most `count` of the shard's next elements, stacked."""
        first = (self.index - self.position) % self.num_shards
        columns = self.source.next_rows(first + 1 + (count - 1) * self.num_shards)
        if columns is None:
            return None
        self.position += length(columns)
        return tuple([column[first :: self.num_shards] for column in columns])


class WithoutErrors(Passed):
    """A dataset of the source's elements that can be computed without an error."""

    kind = "IgnoreErrors"

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the elements that can be computed."""
        return ElementsWithoutErrors(self.source.elements(pipeline), pipeline)

    def cardinality(self) -> int:
        """Return UNKNOWN, because errors only occur in an iteration."""
        return UNKNOWN


class ElementsWithoutErrors(ThroughRows):
    """An iteration that skips elements whose computation raises an error."""

    def __init__(self, source: Elements, pipeline: Pipeline) -> None:
        super().__init__(source)
        self.pipeline = pipeline

    def next(self) -> Element | None:
        """Return the next element that can be computed."""
        while True:
            try:
                return self.source.next()
            except OpError:
                self.pipeline.check()

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements that can be computed, stacked."""
        while True:
            try:
                return self.source.next_rows(count)
            except OpError:
                self.pipeline.check()


class Unique(Passed):
    """A dataset of the distinct scalar elements of the source. Only the first of several equal
    elements is kept.
    """

    kind = "Unique"

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the distinct elements."""
        return UniqueElements(self.source.elements(pipeline))

    def cardinality(self) -> int:
        """Return UNKNOWN, because repetitions are only found in an iteration."""
        return UNKNOWN


class UniqueElements(ThroughRows):
    """An iteration that omits elements which it has returned before."""

    kept = ("seen", "source")

    def __init__(self, source: Elements) -> None:
        super().__init__(source)
        self.seen: dict[Any, None] = {}

    def next(self) -> Element | None:
        """Return the next element that was not returned before."""
        while True:
            element = self.source.next()
            if element is None:
                return None
            key = element[0].item() if element[0].ndim == 0 else element[0].tobytes()
            if key not in self.seen:
                self.seen[key] = None
                return element

    def next_rows(self, count: int) -> Element | None:
        """Read up to `count` elements of the source. Return the elements that were not returned
        before, stacked.
        """
        columns = self.source.next_rows(count)
        if columns is None:
            return None
        (column,) = columns
        keys = [row.tobytes() for row in column] if column.ndim > 1 else column.tolist()
        seen, new = self.seen, []
        for place, key in enumerate(keys):
            if key not in seen:
                seen[key] = None
                new.append(place)
        return (column if len(new) == len(keys) else column[new],)

    def save(self) -> Any:
        """Return the position and the values that were returned so far."""
        return [list(self.seen), self.source.save()]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned, with the values that it contains."""
        self.seen = dict.fromkeys(state[0])
        self.source.restore(state[1])


class Asserted(Passed):
    """A dataset with a declared number of elements. An iteration checks the number at its end."""

    kind = "AssertCardinality"

    def __init__(self, source: Stage, number: int) -> None:
        super().__init__(source)
        self.number = number

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the source, and count its elements."""
        return AssertedElements(self.source.elements(pipeline), self.number)

    def cardinality(self) -> int:
        """Return the declared number."""
        return self.number


class AssertedElements(ThroughRows):
    """An iteration that raises FailedPreconditionError if the number of elements is not the
    declared number.

    The error is raised only once. If a stage reads this iteration and skips errors, it can
    therefore reach the end.
    """

    kept = ("position", "is_over", "source")

    def __init__(self, source: Elements, number: int) -> None:
        super().__init__(source)
        self.number, self.position, self.is_over = number, 0, False

    def next(self) -> Element | None:
        """Return the next element."""
        element = None if self.is_over else self.source.next()
        if element is not None:
            self.position += 1
        elif self.is_over:
            return None
        self.is_over = element is None
        is_too_many = element is not None and 0 <= self.number < self.position
        if is_too_many or (element is None and self.position != self.number):
            raise _wrong_number(self.number, self.position, is_too_many)
        return element

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements, stacked, without exceeding the declared total
        number.
        """
        left = self.number - self.position
        if left <= 0 or self.is_over:
            return super().next_rows(count)
        columns = self.source.next_rows(min(count, left))
        if columns is None:
            self.is_over = True
            raise _wrong_number(self.number, self.position, False)
        self.position += length(columns)
        return columns


def _wrong_number(number: int, actual: int, is_too_many: bool) -> OpError:
    expected = "an infinite number of" if number == INFINITE else str(number)
    relation = "at least " if is_too_many else ""
    return FailedPreconditionError.of_no_node(
        f"Input dataset was expected to contain {expected} elements but contained "
        f"{relation}{actual} element{'s' if actual != 1 else ''}."
    )
