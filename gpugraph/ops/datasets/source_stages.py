"""Datasets of tensors, of their slices, of ranges, of random numbers, and of Python generators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import int64
from gpugraph.base.errors import OutOfRangeError, invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.ops.datasets.elements.dataset_declaration import FUNC, Row, arguments, dataset_op
from gpugraph.ops.datasets.elements.row_blocks import MAX_AHEAD, ahead_of, row
from gpugraph.ops.datasets.elements.stage import (
    INFINITE,
    Element,
    Elements,
    Function,
    Pipeline,
    Stage,
)
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.queues.element_orders import chosen_seeds, random_words


class Counted(Elements):
    """An iteration in which a function computes each element from its index.

    `size` is the size of an element in bytes. It is set if several elements can be computed at once
    with `rows_of`.
    """

    kept = ("index",)
    size = 0

    def __init__(
        self,
        count: int,
        row_of: Callable[[int], Element],
        rows_of: Callable[[int, int], Element] | None = None,
    ) -> None:
        self.index, self.count, self.row_of = 0, count, row_of
        self.rows_of = rows_of

    @property
    def has_rows(self) -> bool:
        """Whether one call can return several elements."""
        return self.rows_of is not None

    @property
    def ahead(self) -> int:
        """The number of elements that may be read ahead, which is larger for smaller elements."""
        return ahead_of(self.size)

    def next(self) -> Element | None:
        """Return the element at `index`."""
        index = self.index
        if index >= self.count:
            return None
        self.index = index + 1
        return self.row_of(index)

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` elements from `index` on, stacked."""
        if self.rows_of is None:
            return super().next_rows(count)
        index = self.index
        if index >= self.count:
            return None
        self.index = end = min(index + count, self.count)
        return self.rows_of(index, end)


class FromTensors(Stage):
    """A dataset with a single element."""

    kind = "Tensor"

    def __init__(self, components: Element) -> None:
        self.components = components

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the single element."""
        components = self.components

        def rows_of(start: int, end: int) -> Element:
            return tuple([array[None, ...] for array in components])

        result = Counted(1, lambda _: components, rows_of)
        result.size = sum(array.nbytes for array in components)
        return result

    def cardinality(self) -> int:
        """Return 1."""
        return 1


class FromSlices(Stage):
    """A dataset of slices of one or several tensors along the first axis."""

    kind = "TensorSlice"

    def __init__(self, components: Element) -> None:
        self.components = components
        self.count = len(components[0]) if components else 0
        for component in components[1:]:
            if len(component) != self.count:
                raise invalid_argument(
                    "All components must have the same size in the 0th dimension: "
                    f"{self.count} and {len(component)}"
                )

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the rows."""
        components = self.components

        def rows_of(start: int, end: int) -> Element:
            return tuple([rows[start:end] for rows in components])

        result = Counted(self.count, lambda index: row(components, index), rows_of)
        if len(components) == 1:
            (only,) = components
            result.row_of = lambda index: (only[index, ...],)
        result.size = sum(part.nbytes for part in components) // max(self.count, 1)
        return result

    def cardinality(self) -> int:
        """Return the number of rows."""
        return self.count


class Range(Stage):
    """A dataset of the numbers from `start` up to `stop`, in increments of `step`."""

    kind = "Range"

    def __init__(self, start: int, stop: int, step: int, dtype: Any) -> None:
        if step == 0:
            raise invalid_argument("step must be a non-zero integer.")
        self.start, self.step, self.dtype = start, step, dtype
        self.count = max(0, -((start - stop) // step))

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the numbers."""
        start, step, dtype = self.start, self.step, self.dtype
        array = np.array

        def rows_of(first: int, end: int) -> Element:
            return (start + step * np.arange(first, end, dtype=dtype),)

        return Counted(self.count, lambda index: (array(start + index * step, dtype),), rows_of)

    def cardinality(self) -> int:
        """Return the number of elements."""
        return self.count


class SparseSlices(Stage):
    """A dataset of the rows of a sparse tensor. Each element is a row, as a serialized sparse
    tensor. The order is the order of the sparse tensor's indices.
    """

    kind = "SparseTensorSlice"

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self.parts = indices, values, dense_shape
        if len(indices) and (np.diff(indices[:, 0]) < 0).any():
            raise invalid_argument(
                "The SparseTensor must be ordered in the batch dimension; handling arbitrarily "
                "ordered input is not currently supported."
            )
        self.count = int(dense_shape[0]) if dense_shape.size else 0
        self.bounds = np.searchsorted(indices[:, 0], np.arange(self.count + 1))

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the rows."""
        indices, values, shape = self.parts

        def row_of(index: int) -> Element:
            rows = slice(self.bounds[index], self.bounds[index + 1])
            return indices[rows, 1:].copy(), values[rows].copy(), shape[1:].copy()

        return Counted(self.count, row_of)

    def cardinality(self) -> int:
        """Return the number of rows."""
        return self.count


class RandomNumbers(Stage):
    """An endless dataset of random integers of 32 bits."""

    kind = "Random"

    def __init__(self, seed: int, seed2: int) -> None:
        self.seeds = chosen_seeds(seed, seed2)

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the random numbers. They are the same as in TensorFlow."""
        return RandomElements(*self.seeds)

    def cardinality(self) -> int:
        """Return INFINITE."""
        return INFINITE


class RandomElements(Elements):
    """An iteration over the 32-bit words of a random stream."""

    kept = ("drawn",)

    def __init__(self, seed: int, seed2: int) -> None:
        self.drawn = 0
        self.seeds = seed, seed2
        self.words = random_words(seed, seed2)

    def next(self) -> Element | None:
        """Return the next random number."""
        self.drawn += 1
        return (np.array(next(self.words), np.int64),)

    @property
    def has_rows(self) -> bool:
        """True, because one call can draw several numbers."""
        return True

    @property
    def ahead(self) -> int:
        """The number of random numbers that may be drawn ahead."""
        return MAX_AHEAD

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next random numbers."""
        self.drawn += count
        return (np.fromiter(self.words, np.int64, count),)

    def restore(self, state: Any) -> None:
        """Skip the numbers that were drawn before."""
        super().restore(state)
        self.words = random_words(*self.seeds)
        for _ in range(self.drawn):
            next(self.words)


class Generated(Stage):
    """A dataset of the elements that a Python generator yields."""

    kind = "Generator"

    def __init__(self, init: Function, step: Function, end: Function) -> None:
        self.init, self.step, self.end = init, step, end

    def elements(self, pipeline: Pipeline) -> Elements:
        """Start the generator."""
        return GeneratedElements(self, pipeline)


class GeneratedElements(Elements):
    """An iteration over the elements of a Python generator. At its end, it calls the function
    `end`.
    """

    def __init__(self, stage: Generated, pipeline: Pipeline) -> None:
        self.stage, self.pipeline = stage, pipeline
        self.state: Element | None = None
        self.is_over = False
        self.is_ended = False
        self.step = stage.step.started(pipeline)
        self.python = stage.step.python

    def next(self) -> Element | None:
        """Return the next element that the generator yields."""
        if self.is_over:
            return None
        if self.state is None:
            self.state = self.stage.init.started(self.pipeline)(())
        try:
            if self.python is not None:
                return tuple(self.python(*self.state))
            return self.step(self.state)
        except OutOfRangeError:
            self.is_over = True
            self.close()
            return None

    def close(self) -> None:
        """End the generator."""
        if self.state is not None and not self.is_ended:
            self.is_ended = True
            if self.stage.end.python is not None:
                self.stage.end.python(*self.state)
            else:
                self.stage.end.started(self.pipeline)(self.state)


# -- op types


def _range(row: Row) -> Stage:
    dtype = row.attrs["output_types"][0].as_numpy_dtype
    return Range(row.number("start"), row.number("stop"), row.number("step"), dtype)


def _slices(row: Row) -> Stage:
    components = tuple(row["components"])
    for component in components:
        if component.ndim == 0:
            raise invalid_argument("All components must have at least one dimension")
    return FromSlices(components)


_COMPONENTS = {"Toutput_types": Attr("list(type)", required=True, minimum=1)}
_SHAPES = {"output_shapes": Attr("list(shape)", required=True, minimum=1)}


def _typed(make: Callable[[Row], Stage]) -> Callable[[Row], Stage]:
    """Return a function that creates a stage and sets its dtypes from the attr `Toutput_types`."""

    def made(row: Row) -> Stage:
        stage = make(row)
        stage.typed({**row.attrs, "output_types": row.attrs["Toutput_types"]})
        return stage

    return made


dataset_op(
    "TensorDataset", "components: Toutput_types",
    _typed(lambda row: FromTensors(tuple(row["components"]))),
    "A dataset with one element.", {**_COMPONENTS, **_SHAPES}, has_types=False,
)  # fmt: skip
dataset_op(
    "TensorSliceDataset", "components: Toutput_types", _typed(_slices),
    "The rows of tensors.", {**_COMPONENTS, **_SHAPES}, has_types=False,
)  # fmt: skip


def _sparse(row: Row) -> Stage:
    stage = SparseSlices(row["indices"], row["values"], row["dense_shape"])
    rank = len(row["dense_shape"]) - 1
    stage.types = (int64, row.attrs["Tvalues"], int64)
    shapes: tuple[Any, ...] = ((None, rank), (None,), (rank,))
    stage.shapes = tuple(TensorShape.of(shape) for shape in shapes)
    return stage


dataset_op(
    "SparseTensorSliceDataset", "indices: int64, values: Tvalues, dense_shape: int64", _sparse,
    "The rows of a sparse tensor.", {"Tvalues": Attr("type", required=True)}, has_types=False,
)  # fmt: skip
dataset_op("RangeDataset", "start: int64, stop: int64, step: int64", _range, "A range of numbers.")
dataset_op(
    "RandomDataset ExperimentalRandomDataset", "seed: int64, seed2: int64",
    lambda row: RandomNumbers(row.number("seed"), row.number("seed2")),
    "Random integers.",
)  # fmt: skip
dataset_op(
    "GeneratorDataset",
    "init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, "
    "finalize_func_other_args: Tfinalize_func_args",
    lambda row: Generated(
        row.function("init_func", "init_func_other_args"),
        row.function("next_func", "next_func_other_args"),
        row.function("finalize_func", "finalize_func_other_args"),
    ),
    "The elements that functions generate.",
    {
        **{f"{name}_func": FUNC for name in ("init", "next", "finalize")},
        **{f"T{name}_func_args": arguments(name) for name in ("init", "next", "finalize")},
    },
)  # fmt: skip
