"""Stages that combine elements into batches, or split batches into elements: batch, padded_batch,
unbatch and others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.kernel.reused_memory import empty_array
from gpugraph.ops.datasets.elements.combined_elements import Padding, SparseBatch, stacked
from gpugraph.ops.datasets.elements.dataset_declaration import Row, dataset_op
from gpugraph.ops.datasets.elements.row_blocks import (
    MAX_AHEAD,
    BlockElements,
    are_alike,
    joined,
    part,
    row,
    row_bytes,
)
from gpugraph.ops.datasets.elements.stage import UNKNOWN, Element, Elements, Pipeline, Stage
from gpugraph.ops.datasets.passed_stages import Passed, Through
from gpugraph.ops.framework.op_declaration import Attr

Combine = Callable[[list[Element]], Element]


class Batched(Passed):
    """A dataset of batches of `size` elements. The function `combine` combines the elements of a
    batch into one element.
    """

    kind = "Batch"

    def __init__(self, source: Stage, size: int, drop: bool, combine: Combine) -> None:
        if size <= 0:
            raise invalid_argument("Batch size must be greater than zero.")
        super().__init__(source)
        self.size, self.drop, self.combine = size, drop, combine
        row = row_bytes(source.types, source.shapes, for_objects=64)
        self.is_small = combine is stacked and row is not None and size * row <= _SMALL_BATCH

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the batches."""
        return BatchedElements(self, self.source.elements(pipeline))

    def cardinality(self) -> int:
        """Return the number of batches."""
        number = self.source.cardinality()
        if number < 0:
            return number
        return number // self.size if self.drop else -(-number // self.size)


_SMALL_BATCH = 4096
"""The maximum size in bytes of batches that are handed over several at a time."""


class BatchedElements(Through):
    """An iteration over batches."""

    kept = ("is_over", "source")

    def __init__(self, stage: Batched, source: Elements) -> None:
        super().__init__(BlockElements(source) if source.has_rows else source)
        self.stage = stage
        self.is_over = False

    @property
    def has_rows(self) -> bool:
        """Whether several batches can be read at once. This is true if the batches are small and
        the source returns blocks.
        """
        return self.stage.is_small and self.source.has_rows

    @property
    def ahead(self) -> int:
        """The number of batches that the source may compute ahead."""
        return max(1, self.source.ahead // self.stage.size) if self.stage.is_small else 1

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next batches, stacked, if these batches are complete.
        Otherwise return only one batch.
        """
        source, size = self.source, self.stage.size
        if self.is_over or not isinstance(source, BlockElements) or not self.has_rows:
            return super().next_rows(count)
        whole = min(source.fill(count * size) // size, count)
        if not whole:
            return super().next_rows(count)
        block = source.take(whole * size)
        return tuple([column.reshape(whole, size, *column.shape[1:]) for column in block])

    def next(self) -> Element | None:
        """Return the next batch."""
        if self.is_over:
            return None
        if self.source.has_rows:
            return self._of_blocks()
        elements: list[Element] = []
        stage, read = self.stage, self.source.next
        size = stage.size
        while len(elements) < size:
            element = read()
            if element is None:
                self.is_over = True
                break
            elements.append(element)
        if not elements or (stage.drop and len(elements) < size):
            return None
        if stage.combine is stacked:
            return stacked(elements, empty_array)
        return stage.combine(elements)

    def _of_blocks(self) -> Element | None:
        """Return the next batch from a source that returns blocks of stacked elements."""
        stage, source = self.stage, self.source
        missing = stage.size
        blocks: list[Element] = []
        while missing:
            columns = source.next_rows(missing)
            if columns is None:
                self.is_over = True
                break
            count = len(columns[0])
            if count:
                blocks.append(columns)
                missing -= count
        if not blocks or (stage.drop and missing):
            return None
        if all(are_alike(blocks[0], block) for block in blocks[1:]):
            if stage.combine is stacked:
                return joined(blocks)
            if isinstance(stage.combine, Padding):
                return stage.combine.of_block(joined(blocks))
        rows = [row(block, place) for block in blocks for place in range(len(block[0]))]
        return stage.combine(rows)


class Unbatched(Passed):
    """A dataset whose elements are the rows of its source's elements."""

    kind = "Unbatch"

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the rows."""
        return UnbatchedElements(self.source.elements(pipeline))

    def cardinality(self) -> int:
        """Return UNKNOWN, because the elements' sizes are only known in an iteration."""
        number = self.source.cardinality()
        return number if number in (0, -1) else UNKNOWN


class UnbatchedElements(Through):
    """An iteration over the rows of the source's elements."""

    kept = ("row", "batch", "source")
    has_rows = True
    ahead = MAX_AHEAD

    def __init__(self, source: Elements) -> None:
        super().__init__(source)
        self.row = 0
        self.batch: Any = None

    def next(self) -> Element | None:
        """Return the next row."""
        if not self._advance_to_row():
            return None
        place, self.row = self.row, self.row + 1
        return tuple([array[place, ...] for array in self.batch])

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next rows of the current element, stacked."""
        if not self._advance_to_row():
            return None
        start, self.row = self.row, min(self.row + count, len(self.batch[0]))
        return part(self.batch, start, self.row)

    def _advance_to_row(self) -> bool:
        """Read elements until one has a row that was not returned yet. Return whether such an
        element was found.
        """
        while self.batch is None or self.row >= len(self.batch[0]):
            self.batch = None
            element = self.source.next()
            if element is None:
                return False
            self._check(element)
            self.row, self.batch = 0, element
        return True

    @staticmethod
    def _check(element: Element) -> None:
        if any(array.ndim == 0 for array in element):
            raise invalid_argument("Input element must have a non-scalar value in each component.")
        if len({len(array) for array in element}) > 1:
            sizes = ", ".join(str(len(array)) for array in element)
            raise invalid_argument(
                f"Input element must have the same batch size in each component. The sizes are "
                f"{sizes}."
            )


# -- op types

_SOURCE = "input_dataset: variant"
_COPY = {"parallel_copy": Attr("bool", False)}


def _batch(row: Row) -> Stage:
    drop = bool(row.number("drop_remainder")) if row.op_type == "BatchDatasetV2" else False
    return Batched(row.source, row.number("batch_size"), drop, stacked)


def _padded_batch(row: Row) -> Stage:
    drop = bool(row.number("drop_remainder")) if row.op_type.endswith("V2") else False
    shapes = [shape.tolist() for shape in row["padded_shapes"]]
    padding = Padding(shapes, row["padding_values"])
    stage = Batched(row.source, row.number("batch_size"), drop, padding)
    stage.typed({**row.attrs, "output_types": row.attrs["Toutput_types"]})
    return stage


def _sparse_batch(row: Row) -> Stage:
    source = row.source
    combine = SparseBatch(row["row_shape"], source.types[0])
    return Batched(source, row.number("batch_size"), False, combine)


dataset_op("BatchDataset", f"{_SOURCE}, batch_size: int64", _batch, "Batches of elements.")
dataset_op(
    "BatchDatasetV2", f"{_SOURCE}, batch_size: int64, drop_remainder: bool", _batch,
    "Batches of elements.", _COPY,
)  # fmt: skip
_PADDED = f"{_SOURCE}, batch_size: int64, padded_shapes: N * int64, padding_values: Toutput_types"
for _op_type, _inputs, _attrs in (
    ("PaddedBatchDataset", _PADDED, {}),
    ("PaddedBatchDatasetV2", f"{_PADDED}, drop_remainder: bool", _COPY),
):
    dataset_op(
        _op_type, _inputs, _padded_batch, "Batches of padded elements.",
        {
            **_attrs,
            "Toutput_types": Attr("list(type)", required=True, minimum=1),
            "output_shapes": Attr("list(shape)", required=True, minimum=1),
            "N": Attr("int", required=True, minimum=1),
        },
        has_types=False,
    )  # fmt: skip
dataset_op(
    "DenseToSparseBatchDataset ExperimentalDenseToSparseBatchDataset",
    f"{_SOURCE}, batch_size: int64, row_shape: int64", _sparse_batch,
    "Batches of elements as sparse tensors.",
)  # fmt: skip
dataset_op(
    "UnbatchDataset ExperimentalUnbatchDataset", _SOURCE, lambda row: Unbatched(row.source),
    "The rows of elements.",
)  # fmt: skip
