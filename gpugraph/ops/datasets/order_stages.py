"""Stages that select, repeat or concatenate elements, and ops that return a dataset unchanged."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.ops.datasets.checked_stages import Asserted, Shard, Unique, WithoutErrors
from gpugraph.ops.datasets.elements.dataset_declaration import dataset_op
from gpugraph.ops.datasets.elements.row_blocks import MAX_AHEAD, length
from gpugraph.ops.datasets.elements.stage import (
    INFINITE,
    UNKNOWN,
    Element,
    Elements,
    Pipeline,
    Stage,
    stage_in,
    times,
)
from gpugraph.ops.datasets.passed_stages import Passed, ThroughRows
from gpugraph.ops.framework.op_declaration import Attr


class Take(Passed):
    """A dataset of the first `count` elements of the source. If `count` is negative, the dataset
    has all elements.
    """

    kind = "Take"

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self.count = count

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the first elements."""
        source = self.source.elements(pipeline)
        return source if self.count < 0 else TakenElements(source, self.count)

    def cardinality(self) -> int:
        """Return the smaller of `count` and the source's cardinality."""
        number = self.source.cardinality()
        if self.count < 0:
            return number
        if number == INFINITE:
            return self.count
        return number if number == UNKNOWN else min(number, self.count)


class TakenElements(ThroughRows):
    """An iteration that ends after a given number of elements."""

    kept = ("left", "source")

    def __init__(self, source: Elements, left: int) -> None:
        super().__init__(source)
        self.left = left

    def next(self) -> Element | None:
        """Return the next element, or None once the given number of elements was returned."""
        if self.left <= 0:
            return None
        element = self.source.next()
        self.left = 0 if element is None else self.left - 1
        return element

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements, stacked, or None once the given number of
        elements was returned.
        """
        if self.left <= 0:
            return None
        columns = self.source.next_rows(min(count, self.left))
        self.left = 0 if columns is None else self.left - length(columns)
        return columns


class Skip(Passed):
    """A dataset of the elements of the source after the first `count` elements. If `count` is
    negative, the dataset is empty.
    """

    kind = "Skip"

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self.count = count

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the elements after the skipped elements."""
        source = self.source.elements(pipeline)
        if self.count < 0:
            return TakenElements(source, 0)
        return SkippingElements(source, self.count)

    def cardinality(self) -> int:
        """Return the number of elements that remain."""
        number = self.source.cardinality()
        if self.count < 0:
            return 0
        return number if number < 0 else max(0, number - self.count)


class SkippingElements(ThroughRows):
    """An iteration that drops a given number of elements before it returns the first."""

    kept = ("left", "source")

    def __init__(self, source: Elements, left: int) -> None:
        super().__init__(source)
        self.left = left

    def next(self) -> Element | None:
        """Return the next element after the skipped elements."""
        return self.source.next() if self._skip_elements() else None

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements after the skipped elements, stacked."""
        return self.source.next_rows(count) if self._skip_elements() else None

    def _skip_elements(self) -> bool:
        """Drop the elements to skip. Return whether the source had enough elements."""
        while self.left > 0:
            if self.source.has_rows:
                columns = self.source.next_rows(min(self.left, MAX_AHEAD))
                dropped = 0 if columns is None else length(columns)
            else:
                columns, dropped = self.source.next(), 1
            if columns is None:
                self.left = 0
                return False
            self.left -= dropped
        return True


class Repeat(Passed):
    """A dataset that repeats the elements of the source `count` times. If `count` is negative, the
    dataset is endless.
    """

    kind = "Repeat"

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self.count = count

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the source repeatedly."""
        if self.count == 0:
            return TakenElements(self.source.elements(pipeline), 0)
        return RepeatedElements(self, pipeline)

    def cardinality(self) -> int:
        """Return `count` times the source's cardinality."""
        return times(self.source.cardinality(), INFINITE if self.count < 0 else self.count)


class RepeatedElements(Elements):
    """An iteration of several passes over a dataset. If the number of passes is not limited, a pass
    without elements ends the iteration.
    """

    kept = ("passes", "is_first", "source")

    def __init__(self, stage: Repeat, pipeline: Pipeline) -> None:
        self.stage, self.pipeline = stage, pipeline
        self.passes = 0
        self.is_first = True  # the next element is the first one of its pass
        self.source: Elements | None = stage.source.elements(pipeline)

    @property
    def has_rows(self) -> bool:
        """Whether the current pass returns stacked elements."""
        return self.source is not None and self.source.has_rows

    @property
    def ahead(self) -> int:
        """The number of elements that the current pass may read ahead."""
        return 1 if self.source is None else self.source.ahead

    def next(self) -> Element | None:
        """Return the next element of this pass, or the first element of the next pass."""
        return self._read(None)

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements of one pass, stacked."""
        return self._read(count)

    def _read(self, count: int | None) -> Element | None:
        """Return the next element. If `count` is not None, return up to `count` elements,
        stacked.
        """
        while self.source is not None:
            element = self.source.next() if count is None else self.source.next_rows(count)
            if element is not None:
                if count is None or length(element):
                    self.is_first = False
                return element
            self.source.close()
            self.passes += 1
            is_empty = self.is_first and self.stage.count < 0
            if is_empty or self.passes == self.stage.count:
                self.source = None
            else:
                self.source = self.stage.source.elements(self.pipeline)
                self.is_first = True
        return None


class Concatenated(Stage):
    """A dataset of the elements of one dataset, followed by the elements of another dataset."""

    kind = "Concatenate"

    def __init__(self, first: Stage, second: Stage) -> None:
        self.first, self.second = first, second
        if first.types != second.types:
            raise invalid_argument(
                "input_dataset and another_dataset must have the same output_types: "
                f"{_names(first)} and {_names(second)}"
            )

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the first dataset, then over the second."""
        return ConcatenatedElements(self, pipeline)

    def cardinality(self) -> int:
        """Return the sum of the two cardinalities."""
        first, second = self.first.cardinality(), self.second.cardinality()
        if INFINITE in (first, second):
            return INFINITE
        return UNKNOWN if UNKNOWN in (first, second) else first + second


def _names(stage: Stage) -> str:
    return ", ".join(dtype.name for dtype in stage.types)


class ConcatenatedElements(ThroughRows):
    """An iteration over one dataset, then over a second dataset."""

    kept = ("is_second", "source")

    def __init__(self, stage: Concatenated, pipeline: Pipeline) -> None:
        super().__init__(stage.first.elements(pipeline))
        self.stage, self.pipeline = stage, pipeline
        self.is_second = False

    def next(self) -> Element | None:
        """Return the next element."""
        element = self.source.next()
        if element is None and not self.is_second:
            self._go_on()
            element = self.source.next()
        return element

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements of one of the datasets, stacked."""
        columns = self.source.next_rows(count)
        if columns is None and not self.is_second:
            self._go_on()
            columns = self.source.next_rows(count)
        return columns

    def _go_on(self) -> None:
        self.source.close()
        self.is_second = True
        self.source = self.stage.second.elements(self.pipeline)

    def restore(self, state: Any) -> None:
        """Continue at a saved position, in the dataset that was being read when the position was
        saved.
        """
        if state[0] and not self.is_second:
            self._go_on()
        super().restore(state)


# -- op types

_SOURCE = "input_dataset: variant"


def _declare() -> None:
    for op_types, inputs, make, doc in (
        ("TakeDataset", "count: int64", lambda row: Take(row.source, row.number("count")),
         "The first elements."),
        ("SkipDataset", "count: int64", lambda row: Skip(row.source, row.number("count")),
         "All but the first elements."),
        ("RepeatDataset", "count: int64", lambda row: Repeat(row.source, row.number("count")),
         "The elements several times."),
        ("IgnoreErrorsDataset ExperimentalIgnoreErrorsDataset", "",
         lambda row: WithoutErrors(row.source), "The elements that raise no error."),
        ("UniqueDataset ExperimentalUniqueDataset", "", lambda row: Unique(row.source),
         "The elements without repetitions."),
        ("AssertCardinalityDataset", "cardinality: int64",
         lambda row: Asserted(row.source, row.number("cardinality")),
         "Elements whose number is checked."),
    ):  # fmt: skip
        dataset_op(op_types, f"{_SOURCE}, {inputs}".rstrip(", "), make, doc)


_declare()
dataset_op(
    "ShardDataset", f"{_SOURCE}, num_shards: int64, index: int64",
    lambda row: Shard(row.source, row.number("num_shards"), row.number("index")),
    "Every n-th element.", {"require_non_empty": Attr("bool", False)},
)  # fmt: skip
dataset_op(
    "ConcatenateDataset", f"{_SOURCE}, another_dataset: variant",
    lambda row: Concatenated(row.source, stage_in(row["another_dataset"])),
    "The elements of two datasets.",
)  # fmt: skip
dataset_op(
    "ModelDataset", _SOURCE, lambda row: Passed(row.source), "The same elements.",
    {"algorithm": Attr("int", 0), "cpu_budget": Attr("int", 0), "ram_budget": Attr("int", 0)},
)  # fmt: skip
dataset_op(
    "OptimizeDataset", f"{_SOURCE}, optimizations: string", lambda row: Passed(row.source),
    "The same elements.", {"optimization_configs": Attr("list(string)", [])},
)  # fmt: skip
dataset_op(
    "OptionsDataset", _SOURCE, lambda row: Passed(row.source), "The same elements.",
    {"serialized_options": Attr("string", "")},
)  # fmt: skip
dataset_op(
    "MaxIntraOpParallelismDataset ExperimentalMaxIntraOpParallelismDataset",
    f"{_SOURCE}, max_intra_op_parallelism: int64", lambda row: Passed(row.source),
    "The same elements.",
)  # fmt: skip
dataset_op(
    "PrivateThreadPoolDataset ExperimentalPrivateThreadPoolDataset",
    f"{_SOURCE}, num_threads: int64", lambda row: Passed(row.source), "The same elements.",
)  # fmt: skip
