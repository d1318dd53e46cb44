"""Shuffling, in TensorFlow's order: a buffer from which elements leave at random.

The buffer may hold elements of several epochs (`ShuffleAndRepeat`); those of an earlier epoch leave
first. Seeds of an iteration that reshuffles come from a stream that the dataset draws on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from gpugraph.base.errors import OpError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.ops.datasets.elements.dataset_declaration import Row, dataset_op
from gpugraph.ops.datasets.elements.row_blocks import restored_error, row, row_bytes, saved_error
from gpugraph.ops.datasets.elements.stage import INFINITE, Element, Elements, Pipeline, Stage, times
from gpugraph.ops.datasets.passed_stages import Passed
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.queues.element_orders import chosen_seeds, random_words


class Shuffled(Passed):
    """The elements in a random order; `count` epochs of them, without end if it is negative."""

    kind = "Shuffle"

    def __init__(
        self, source: Stage, size: int, seeds: tuple[int, int], reshuffles: bool, count: int = 1
    ) -> None:
        super().__init__(source)
        if size <= 0:
            raise invalid_argument("buffer_size must be greater than zero.")
        self.size, self.seeds, self.count = size, chosen_seeds(*seeds), count
        self._seeds_of_passes = random_words(*self.seeds) if reshuffles else None
        self._begun = 0
        self._lock = new_lock()

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate with the seeds of the next pass."""
        seeds = self.seeds
        if self._seeds_of_passes is not None:
            with self._lock:
                seeds = next(self._seeds_of_passes), next(self._seeds_of_passes)
                self._begun += 1
        size = row_bytes(self.source.types, self.source.shapes, for_objects=_STRING_BYTES)
        if self.count == 1 and size is not None and size <= _LARGEST_ROW:
            source = self.source.elements(pipeline)
            if source.has_rows:
                return ShuffledBlocks(self, seeds, pipeline, source)
            return ShuffledElements(self, seeds, pipeline, source)
        return ShuffledElements(self, seeds, pipeline)

    def apart(self) -> Stage:
        """Return the dataset with a separate stream of seeds."""
        reshuffles = self._seeds_of_passes is not None
        result = Shuffled(self.source.apart(), self.size, self.seeds, reshuffles, self.count)
        result.like(self)
        result.node = self.node
        return result

    def begun(self) -> int:
        """Return how many passes have drawn their seeds."""
        return self._begun

    def begin_after(self, number: int) -> None:
        """Go to a place in the stream of seeds."""
        if self._seeds_of_passes is None:
            return
        with self._lock:
            self._seeds_of_passes, self._begun = random_words(*self.seeds), number
            for _ in range(2 * number):
                next(self._seeds_of_passes)

    def cardinality(self) -> int:
        """Return the number of elements of all epochs."""
        return times(self.source.cardinality(), INFINITE if self.count < 0 else self.count)


class ShuffledElements(Elements):
    """An iteration in random order.

    epochs: the elements in the buffer, those of each epoch in a list, the oldest first. first: the
    place of the first element that is left in the oldest list.
    """

    def __init__(
        self,
        stage: Shuffled,
        seeds: tuple[int, int],
        pipeline: Pipeline,
        source: Elements | None = None,
    ) -> None:
        self.stage, self.pipeline = stage, pipeline
        self.seeds = seeds
        self.words: Iterator[int] = random_words(*seeds)
        self.drawn = 0
        self.epoch = 0
        self.is_over = False
        self.has_any = False
        self.first = 0
        self.epochs: list[list[Any]] = [[]]
        self.count = 0
        self.source = source

    def fullness(self) -> tuple[int, int]:
        """Return how many elements are in the buffer."""
        return self.count, self.stage.size

    def _read(self) -> Element | None:
        """Return the next element of this epoch or of the next ones."""
        stage = self.stage
        if self.source is None:
            if stage.count == 0:
                return None
            self.source = stage.source.elements(self.pipeline)
        while True:
            element = self.source.next()
            if element is not None:
                self.has_any = True
                return element
            self.epoch += 1
            if (stage.count < 0 and not self.has_any) or self.epoch == stage.count:
                return None
            self.epochs.append([])
            self.source.close()
            self.source = stage.source.elements(self.pipeline)

    def next(self) -> Element | None:
        """Return an element of the oldest epoch in the buffer, chosen at random."""
        size = self.stage.size
        while not self.is_over and self.count < size:
            element = self._read()
            if element is None:
                self.is_over = True
            else:
                self.epochs[-1].append(element)
                self.count += 1
        if not self.count:
            return None
        items, first = self.epochs[0], self.first
        while first == len(items):
            del self.epochs[0]
            items, first = self.epochs[0], 0
        if first >= size:
            del items[:first]
            first = 0
        self.drawn += 1
        place = first + next(self.words) % (len(items) - first)
        chosen = items[place]
        items[place] = items[first]
        items[first] = None
        self.first = first + 1
        self.count -= 1
        return chosen

    def save(self) -> Any:
        """Return the position with the buffer."""
        source = None if self.source is None else self.source.save()
        epochs = [[list(element) for element in epoch if element] for epoch in self.epochs]
        state = [list(self.seeds), self.drawn, self.epoch, self.is_over, self.has_any]
        return [*state, epochs, source, self.stage.begun()]

    def restore(self, state: Any) -> None:
        """Continue with a buffer and a place in the random stream."""
        seeds, self.drawn, self.epoch, self.is_over, self.has_any, epochs, source, begun = state
        self.stage.begin_after(begun)
        self.seeds = (seeds[0], seeds[1])
        self.words = random_words(*self.seeds)
        for _ in range(self.drawn):
            next(self.words)
        self.epochs, self.first = [[tuple(row) for row in epoch] for epoch in epochs], 0
        self.count = sum(map(len, self.epochs))
        if source is not None:
            if self.source is None:
                self.source = self.stage.source.elements(self.pipeline)
            self.source.restore(source)


class RowStore:
    """Rows of columns that are overwritten when they are free."""

    def __init__(self) -> None:
        self.columns: list[Any] = []
        self.free: list[int] = []

    def put(self, block: Element) -> list[int]:
        """Store a block, and return the numbers of its rows."""
        count = len(block[0])
        missing = count - len(self.free)
        if missing > 0:
            self._grow(block, missing)
        numbers = self.free[-count:]
        del self.free[-count:]
        for column, added in zip(self.columns, block, strict=True):
            column[numbers] = added
        return numbers

    def _grow(self, block: Element, missing: int) -> None:
        before = len(self.columns[0]) if self.columns else 0
        size = before + max(missing, before)
        grown = [np.empty((size, *added.shape[1:]), added.dtype) for added in block]
        for column, kept in zip(grown, self.columns):
            column[:before] = kept
        self.columns = grown
        self.free += range(before, size)

    def rows(self, numbers: list[int]) -> Element:
        """Return the rows with these numbers, stacked."""
        return tuple([column[numbers] for column in self.columns])

    def take(self, numbers: list[int]) -> Element:
        """Return rows, and free them."""
        self.free += numbers
        return self.rows(numbers)


class ShuffledBlocks(Elements):
    """An iteration in random order over a source that stacks elements.

    items: the numbers in the store of the elements in the buffer, from the place `first` on, and of
    those that were read while they left.
    """

    def __init__(
        self, stage: Shuffled, seeds: tuple[int, int], pipeline: Pipeline, source: Elements
    ) -> None:
        self.stage, self.pipeline, self.source, self.seeds = stage, pipeline, source, seeds
        self.words: Iterator[int] = random_words(*seeds)
        self.drawn = self.first = 0
        self.is_over = False
        self.items: list[int] = []
        self.store = RowStore()
        self.failure: OpError | None = None

    @property
    def has_rows(self) -> bool:
        """Whether the source still has rows."""
        return self.source.has_rows

    @property
    def ahead(self) -> int:
        """The number of the source."""
        return self.source.ahead

    def next(self) -> Element | None:
        """Return the next element."""
        columns = self.next_rows(1)
        return None if columns is None else row(columns, 0)

    def next_rows(self, count: int) -> Element | None:
        """Return the next elements."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        self._read(self.stage.size + count - 1)
        there = len(self.items) - self.first
        if not self.is_over:
            there -= self.stage.size - 1
        if there <= 0:
            return None
        return self.store.take(self._chosen(min(count, there)))

    def _read(self, wanted: int) -> None:
        """Read elements until the buffer has as many; an error that others precede waits."""
        while not self.is_over and (missing := wanted - len(self.items) + self.first) > 0:
            try:
                columns = self.source.next_rows(min(missing, _ROWS_AT_ONCE))
            except OpError as error:
                if len(self.items) - self.first < self.stage.size:
                    raise
                self.failure = error
                return
            if columns is None:
                self.is_over = True
            elif len(columns[0]):
                self.items += self.store.put(columns)

    def _chosen(self, count: int) -> list[int]:
        """Remove random items from the buffer, and return them."""
        size, first, items, chosen = self.stage.size, self.first, self.items, []
        last = len(items)
        for word in islice(self.words, count):
            place = first + word % min(size, last - first)
            chosen.append(items[place])
            items[place] = items[first]
            first += 1
        self.drawn += count
        if first >= size:
            del items[:first]
            first = 0
        self.first = first
        return chosen

    def save(self) -> Any:
        """Return the position with the buffer."""
        items = self.items[self.first :]
        buffer = list(self.store.rows(items)) if items else None
        state = [list(self.seeds), self.drawn, self.is_over, saved_error(self.failure)]
        return [*state, buffer, self.source.save(), self.stage.begun()]

    def restore(self, state: Any) -> None:
        """Continue with a buffer and a place in the random stream."""
        seeds, self.drawn, self.is_over, failure, buffer, source, begun = state
        self.stage.begin_after(begun)
        self.seeds, self.failure = (seeds[0], seeds[1]), restored_error(failure)
        self.words = islice(random_words(*self.seeds), self.drawn, None)
        self.store, self.first = RowStore(), 0
        self.items = [] if buffer is None else self.store.put(tuple(buffer))
        self.source.restore(source)


_ROWS_AT_ONCE = 4096
_LARGEST_ROW = 1 << 14
"""The maximum size of an element, in bytes, that is copied into and out of the buffer."""
_STRING_BYTES = 64
"""The assumed size of a string."""


def _seeds(row: Row) -> tuple[int, int]:
    return row.number("seed"), row.number("seed2")


_INPUTS = "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64"

dataset_op(
    "ShuffleDataset", _INPUTS,
    lambda row: Shuffled(
        row.source, row.number("buffer_size"), _seeds(row),
        bool(row.attrs["reshuffle_each_iteration"]),
    ),
    "The elements in random order.", {"reshuffle_each_iteration": Attr("bool", True)},
)  # fmt: skip
dataset_op(
    "ShuffleDatasetV3", f"{_INPUTS}, seed_generator: resource",
    lambda row: Shuffled(
        row.source, row.number("buffer_size"), _seeds(row),
        bool(row.attrs["reshuffle_each_iteration"]),
    ),
    "The elements in random order.", {"reshuffle_each_iteration": Attr("bool", True)},
)  # fmt: skip
dataset_op(
    "ShuffleAndRepeatDataset", f"{_INPUTS}, count: int64",
    lambda row: Shuffled(
        row.source, row.number("buffer_size"), _seeds(row), False, row.number("count")
    ),
    "Several epochs of the elements, each in random order.",
    {"reshuffle_each_iteration": Attr("bool", True)},
)  # fmt: skip
