"""Stages between elements and batches of them: batch, padded_batch, unbatch, window, ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import DataLossError, invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.ops.datasets.dataset_declaration import Row, dataset_op
from gpugraph.ops.datasets.order_stages import Passed, Through
from gpugraph.ops.datasets.stage import UNKNOWN, Element, Elements, Pipeline, Stage, variant_of
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.parsing.parsed_features import strings
from gpugraph.ops.parsing.serialized_sparse import serialized_triple

Combine = Callable[[list[Element]], Element]


class Batched(Passed):
    """Groups of `size` elements, made into one by `combine`."""

    kind = "Batch"

    def __init__(self, source: Stage, size: int, drop: bool, combine: Combine) -> None:
        if size <= 0:
            raise invalid_argument("Batch size must be greater than zero.")
        super().__init__(source)
        self.size, self.drop, self.combine = size, drop, combine

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the batches."""
        return BatchedElements(self, self.source.elements(pipeline))

    def cardinality(self) -> int:
        """Return the number of batches."""
        number = self.source.cardinality()
        if number < 0:
            return number
        return number // self.size if self.drop else -(-number // self.size)


class BatchedElements(Through):
    """An iteration over batches."""

    kept = ("is_over", "source")

    def __init__(self, stage: Batched, source: Elements) -> None:
        super().__init__(source)
        self.stage = stage
        self.is_over = False

    def next(self) -> Element | None:
        """Return the next batch."""
        if self.is_over:
            return None
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
        return stage.combine(elements)


def stacked(elements: list[Element]) -> Element:
    """Return the elements stacked; InvalidArgumentError for different shapes."""
    return tuple([_stacked(number, list(arrays)) for number, arrays in enumerate(zip(*elements))])


def _stacked(number: int, arrays: list[Any]) -> Any:
    first = arrays[0]
    shape = first.shape
    if not shape and first.dtype != object:
        result = np.array(arrays)
        if result.shape == (len(arrays),) and result.dtype == first.dtype:
            return result
    for place, array in enumerate(arrays):
        if array.shape != shape:
            raise invalid_argument(
                "Cannot batch tensors with different shapes in component "
                f"{number}. First element had shape {shape_text(shape)} and element {place} had "
                f"shape {shape_text(array.shape)}."
            )
    result = np.empty((len(arrays), *shape), first.dtype)
    for place, array in enumerate(arrays):
        result[place] = array if shape or first.dtype != object else array[()]
    return result


class Padding:
    """The combination of elements into batches that are padded to a common shape.

    shapes: for each component the padded shape, with -1 for the maximum of the batch.
    """

    def __init__(self, shapes: Sequence[Sequence[int]], values: Sequence[Any]) -> None:
        self.shapes, self.values = shapes, values

    def __call__(self, elements: list[Element]) -> Element:
        """Return the padded batch."""
        columns = zip(zip(*elements), self.shapes, self.values)
        return tuple([_padded(n, arrays, *rest) for n, (arrays, *rest) in enumerate(columns)])


def _padded(number: int, arrays: Sequence[Any], shape: Sequence[int], value: Any) -> Any:
    for array in arrays:
        if array.ndim != len(shape):
            raise invalid_argument(
                "All elements in a batch must have the same rank as the padded shape for component "
                f"{number}: expected rank {len(shape)} got element with rank {array.ndim}"
            )
    sizes = [
        max(array.shape[axis] for array in arrays) if size < 0 else size
        for axis, size in enumerate(shape)
    ]
    if any(has > size for array in arrays for has, size in zip(array.shape, sizes)):
        raise DataLossError.of_no_node("Attempted to pad to a smaller size than the input element.")
    result = np.empty((len(arrays), *sizes), arrays[0].dtype)
    result[...] = value[()]
    for place, array in enumerate(arrays):
        part: Any = (place, *map(slice, array.shape))
        result[part] = array
    return result


class SparseBatch:
    """The combination of elements into sparse tensors, serialized, of shape [batch, *row_shape]."""

    def __init__(self, row_shape: Any, dtype: DType) -> None:
        self.row_shape = [int(size) for size in row_shape]
        self.dtype = dtype

    def __call__(self, elements: list[Element]) -> Element:
        """Return the batch."""
        arrays = [element[0] for element in elements]
        rank = len(self.row_shape)
        for array in arrays:
            if array.ndim != rank:
                raise invalid_argument(
                    f"Input element had shape ({shape_text(array.shape)}) that is incompatible "
                    f"with the row shape ({shape_text(self.row_shape)})."
                )
        sizes = [
            max(array.shape[axis] for array in arrays) if size < 0 else size
            for axis, size in enumerate(self.row_shape)
        ]
        for array in arrays:
            if any(has > size for has, size in zip(array.shape, sizes)):
                raise DataLossError.of_no_node(
                    f"Input element had shape ({shape_text(array.shape)}) that is incompatible "
                    f"with the row shape ({shape_text(self.row_shape)})."
                )
        rows = [
            np.concatenate(
                [np.full((array.size, 1), n), np.argwhere(np.ones(array.shape, bool))], 1
            )
            for n, array in enumerate(arrays)
        ]
        indices = np.concatenate(rows).astype(np.int64)
        values = np.concatenate([array.ravel() for array in arrays])
        shape = np.array([len(arrays), *sizes], np.int64)
        return (strings(serialized_triple(indices, values, shape, self.dtype)),)


class Unbatched(Passed):
    """The rows of the elements."""

    kind = "Unbatch"

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the rows."""
        return UnbatchedElements(self.source.elements(pipeline))

    def cardinality(self) -> int:
        """Return UNKNOWN."""
        number = self.source.cardinality()
        return number if number in (0, -1) else UNKNOWN


class UnbatchedElements(Through):
    """An iteration over the rows of elements."""

    kept = ("row", "batch", "source")

    def __init__(self, source: Elements) -> None:
        super().__init__(source)
        self.row = 0
        self.batch: Any = None

    def next(self) -> Element | None:
        """Return the next row."""
        while self.batch is None or self.row >= len(self.batch[0]):
            self.batch = None
            element = self.source.next()
            if element is None:
                return None
            self._check(element)
            self.row, self.batch = 0, element
        row, self.row = self.row, self.row + 1
        return tuple([array[row, ...] for array in self.batch])

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


class ListStage(Stage):
    """A dataset of elements in memory: a window, or a group."""

    kind = "Window"

    def __init__(
        self, rows: list[Element], types: Sequence[DType], shapes: Sequence[TensorShape]
    ) -> None:
        self.rows = rows
        self.types, self.shapes = tuple(types), tuple(shapes)

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the list."""
        return ListElements(self.rows)

    def cardinality(self) -> int:
        """Return the number of elements."""
        return len(self.rows)


def column(rows: list[Element], number: int, like: Stage) -> ListStage:
    """Return the dataset of one component of elements of another dataset."""
    parts = [(row[number],) for row in rows]
    return ListStage(parts, like.types[number : number + 1], like.shapes[number : number + 1])


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


class Windows(Passed):
    """Datasets of `size` elements, `stride` apart; each starts `shift` elements after the last."""

    kind = "Window"

    def __init__(self, source: Stage, size: int, shift: int, stride: int, drop: bool) -> None:
        super().__init__(source)
        for name, value in (("size", size), ("shift", shift), ("stride", stride)):
            if value <= 0:
                raise invalid_argument(f"Window {name} must be greater than zero.")
        self.size, self.shift, self.stride, self.drop = size, shift, stride, drop

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the windows."""
        return WindowElements(self, self.source.elements(pipeline))

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
    """An iteration over windows; `buffer` has the elements of which later windows may consist."""

    kept = ("is_over", "skipped", "buffer", "source")

    def __init__(self, stage: Windows, source: Elements) -> None:
        super().__init__(source)
        self.stage = stage
        self.is_over = False
        self.skipped = 0  # elements to drop before the next window
        self.buffer: list[Element] = []

    def next(self) -> Element | None:
        """Return the next window: a dataset for each component."""
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
dataset_op(
    "WindowDataset",
    f"{_SOURCE}, size: int64, shift: int64, stride: int64, drop_remainder: bool",
    lambda row: Windows(
        row.source, row.number("size"), row.number("shift"), row.number("stride"),
        bool(row.number("drop_remainder")),
    ),
    "Datasets of neighbouring elements.",
)  # fmt: skip
