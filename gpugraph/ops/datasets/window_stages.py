"""The stage of windows. Each element is a dataset of neighbouring elements of the source."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.ops.datasets.elements.dataset_declaration import dataset_op
from gpugraph.ops.datasets.elements.row_blocks import are_alike, as_block, joined, part, row
from gpugraph.ops.datasets.elements.stage import Element, Elements, Pipeline, Stage, variant_of
from gpugraph.ops.datasets.list_stages import column, column_of_block
from gpugraph.ops.datasets.passed_stages import Passed, Through


class Windows(Passed):
    """A dataset of windows. A window is a dataset of up to `size` elements of the source, at
    intervals of `stride` elements. Each window starts `shift` elements after the start of the
    previous window.
    """

    kind = "Window"

    def __init__(self, source: Stage, size: int, shift: int, stride: int, drop: bool) -> None:
        super().__init__(source)
        for name, value in (("size", size), ("shift", shift), ("stride", stride)):
            if value <= 0:
                raise invalid_argument(f"Window {name} must be greater than zero.")
        self.size, self.shift, self.stride, self.drop = size, shift, stride, drop

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the windows."""
        source = self.source.elements(pipeline)
        kind = WindowBlocks if source.has_rows else WindowElements
        return kind(self, source)

    def cardinality(self) -> int:
        """Return the number of windows."""
        number = self.source.cardinality()
        if number < 0:
            return number
        if self.drop:
            reach = (self.size - 1) * self.stride + 1
            return max(0, (number - reach) // self.shift + 1) if number >= reach else 0
        return -(-number // self.shift)


class WindowElements(Through):
    """An iteration over windows. `buffer` holds the elements that may belong to later windows."""

    kept = ("is_over", "skipped", "buffer", "source")

    def __init__(self, stage: Windows, source: Elements) -> None:
        super().__init__(source)
        self.stage = stage
        self.is_over = False
        self.skipped = 0  # elements to drop before the next window
        self.buffer: list[Element] = []

    def next(self) -> Element | None:
        """Return the next window: a dataset for each component of the source's elements."""
        stage = self.stage
        reach = (stage.size - 1) * stage.stride + 1
        while not self.is_over and (self.skipped or len(self.buffer) < reach):
            element = self.source.next()
            if element is None:
                self.is_over = True
            elif self.skipped:
                self.skipped -= 1
            else:
                self.buffer.append(element)
        if not self.buffer or (stage.drop and len(self.buffer) < reach):
            return None
        rows = self.buffer[: reach : stage.stride]
        dropped = min(stage.shift, len(self.buffer))
        self.skipped = stage.shift - dropped
        del self.buffer[:dropped]
        columns = range(len(stage.source.types))
        return tuple([variant_of(column(rows, number, stage.source)) for number in columns])


class WindowBlocks(WindowElements):
    """An iteration over windows of a source that returns stacked elements.

    Args:
      buffer: a list of blocks with the elements that may belong to later windows.
    """

    buffer: list[Any]

    def next(self) -> Element | None:
        """Return the next window: a dataset for each component of the source's elements."""
        stage = self.stage
        reach = (stage.size - 1) * stage.stride + 1
        there = sum(len(block[0]) for block in self.buffer)
        while not self.is_over and (self.skipped or there < reach):
            columns = self.source.next_rows(self.skipped or reach - there)
            if columns is None:
                self.is_over = True
            elif self.skipped:
                self.skipped -= len(columns[0])
            elif len(columns[0]):
                self.buffer.append(columns)
                there += len(columns[0])
        if not there or (stage.drop and there < reach):
            return None
        self.skipped = max(0, stage.shift - there)
        if all(are_alike(self.buffer[0], block) for block in self.buffer[1:]):
            block = joined(self.buffer)
            window = tuple([column[: reach : stage.stride] for column in block])
            sets = [column_of_block(window, n, stage.source) for n in range(len(window))]
            left = part(block, stage.shift, there)
            self.buffer = [left] if len(left[0]) else []
        else:
            rows = [row(block, place) for block in self.buffer for place in range(len(block[0]))]
            chosen = rows[: reach : stage.stride]
            sets = [column(chosen, n, stage.source) for n in range(len(stage.source.types))]
            rest = rows[stage.shift :]
            self.buffer = [as_block(one) for one in rest]
        return tuple([variant_of(one) for one in sets])


# -- op types

_SOURCE = "input_dataset: variant"

dataset_op(
    "WindowDataset",
    f"{_SOURCE}, size: int64, shift: int64, stride: int64, drop_remainder: bool",
    lambda row: Windows(
        row.source, row.number("size"), row.number("shift"), row.number("stride"),
        bool(row.number("drop_remainder")),
    ),
    "Datasets of neighbouring elements.",
)  # fmt: skip
