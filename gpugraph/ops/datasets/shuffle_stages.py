"""The stage that shuffles elements. It returns random elements from a buffer, in the same order as
TensorFlow.

The buffer may hold elements of several epochs (`ShuffleAndRepeat`). All elements of an epoch are
returned before any element of the next epoch. If each iteration reshuffles, the dataset draws its
seeds from a random stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpugraph.base.errors import OpError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.ops.datasets.elements.dataset_declaration import Row, dataset_op
from gpugraph.ops.datasets.elements.row_blocks import restored_error, row, row_bytes, saved_error
from gpugraph.ops.datasets.elements.stage import INFINITE, Element, Elements, Pipeline, Stage, times
from gpugraph.ops.datasets.passed_stages import Passed
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.queues.element_orders import RandomWords, chosen_seeds, random_words


class Shuffled(Passed):
    """A dataset of the elements of the source in random order, for `count` epochs. If `count` is
    negative, the number of epochs is not limited.
    """

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
        """Start an iteration with the seeds of the next pass."""
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
        """Return a copy of this dataset with its own stream of seeds, as `Stage.apart`
        describes.
        """
        reshuffles = self._seeds_of_passes is not None
        result = Shuffled(self.source.apart(), self.size, self.seeds, reshuffles, self.count)
        result.like(self)
        result.node = self.node
        return result

    def begun(self) -> int:
        """Return the number of passes for which seeds were drawn."""
        return self._begun

    def begin_after(self, number: int) -> None:
        """Continue the stream of seeds with the pass that follows `number` passes."""
        if self._seeds_of_passes is None:
            return
        with self._lock:
            self._seeds_of_passes, self._begun = random_words(*self.seeds), number
            for _ in range(2 * number):
                next(self._seeds_of_passes)

    def cardinality(self) -> int:
        """Return the number of elements in all epochs."""
        return times(self.source.cardinality(), INFINITE if self.count < 0 else self.count)


class ShuffledElements(Elements):
    """An iteration in random order.

    `epochs` holds the elements in the buffer, in one list for each epoch, the oldest epoch first.
    `first` is the index of the first element in the oldest list that was not returned yet.
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
        """Return (the number of elements in the buffer, the buffer's capacity)."""
        return self.count, self.stage.size

    def _read(self) -> Element | None:
        """Read the next element of the current epoch. At its end, continue with the next epoch."""
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
        """Return a random element of the oldest epoch in the buffer."""
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
        """Return the position, the buffer, and the position in the random stream."""
        source = None if self.source is None else self.source.save()
        epochs = [[list(element) for element in epoch if element] for epoch in self.epochs]
        state = [list(self.seeds), self.drawn, self.epoch, self.is_over, self.has_any]
        return [*state, epochs, source, self.stage.begun()]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned, with the saved buffer."""
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
    """A table of rows, which are stored and removed by number. The numbers of removed rows are
    reused.
    """

    def __init__(self) -> None:
        self.columns: list[Any] = []
        self.free: list[int] = []

    def put(self, block: Element) -> list[int]:
        """Store the rows of a block. Return their numbers."""
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
        """Remove the rows with these numbers. Return them, stacked."""
        self.free += numbers
        return self.rows(numbers)


class ShuffledBlocks(Elements):
    """An iteration in random order over a source that stacks elements.

    `items` is a list of row numbers in the store. From index `first` on, it contains the elements
    in the buffer, followed by the elements that were read ahead.
    """

    def __init__(
        self, stage: Shuffled, seeds: tuple[int, int], pipeline: Pipeline, source: Elements
    ) -> None:
        self.stage, self.pipeline, self.source, self.seeds = stage, pipeline, source, seeds
        self.words = RandomWords(*seeds)
        self.drawn = self.first = 0
        self.is_over = False
        self.items: list[int] = []
        self.store = RowStore()
        self.failure: OpError | None = None

    @property
    def has_rows(self) -> bool:
        """Whether the source returns stacked elements. This may change during the iteration."""
        return self.source.has_rows

    @property
    def ahead(self) -> int:
        """The number of elements that the source may read ahead."""
        return self.source.ahead

    def next(self) -> Element | None:
        """Return the next element."""
        columns = self.next_rows(1)
        return None if columns is None else row(columns, 0)

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements, stacked."""
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
        """Read elements until the buffer has `wanted` elements. If an error occurs, it is raised
        after the elements before it are returned.
        """
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
        """Remove `count` random items from the buffer and return them."""
        size, first, items, chosen = self.stage.size, self.first, self.items, []
        numbers = np.arange(len(items) - first, len(items) - first - count, -1)
        distances = (self.words.take(count) % np.minimum(numbers, size)).tolist()
        for at, distance in enumerate(distances, first):
            place = at + distance
            chosen.append(items[place])
            items[place] = items[at]
        first += count
        self.drawn += count
        if first >= size:
            del items[:first]
            first = 0
        self.first = first
        return chosen

    def save(self) -> Any:
        """Return the position, the buffer, and the position in the random stream."""
        items = self.items[self.first :]
        buffer = list(self.store.rows(items)) if items else None
        state = [list(self.seeds), self.drawn, self.is_over, saved_error(self.failure)]
        return [*state, buffer, self.source.save(), self.stage.begun()]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned, with the saved buffer."""
        seeds, self.drawn, self.is_over, failure, buffer, source, begun = state
        self.stage.begin_after(begun)
        self.seeds, self.failure = (seeds[0], seeds[1]), restored_error(failure)
        self.words = RandomWords(*self.seeds)
        self.words.skip(self.drawn)
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
