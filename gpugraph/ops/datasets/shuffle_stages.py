"""Shuffling, in TensorFlow's order: a buffer from which elements leave at random.

The buffer may hold elements of several epochs (`ShuffleAndRepeat`); those of an earlier epoch leave
first. Seeds of an iteration that reshuffles come from a stream that the dataset draws on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.ops.datasets.dataset_declaration import Row, dataset_op
from gpugraph.ops.datasets.passed_stages import Passed
from gpugraph.ops.datasets.stage import INFINITE, Element, Elements, Pipeline, Stage, times
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

    def __init__(self, stage: Shuffled, seeds: tuple[int, int], pipeline: Pipeline) -> None:
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
        self.source: Elements | None = None

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
            self.source = self.stage.source.elements(self.pipeline)
            self.source.restore(source)


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
