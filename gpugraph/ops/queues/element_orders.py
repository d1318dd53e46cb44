"""Variants of queues: batches with padding, elements in random order, and elements in order of
priority.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.ops.queues.element_queue import Element, ElementQueue, QueueKind
from gpugraph.ops.random.philox import Philox

_FEWEST_WORDS, _MOST_WORDS = 32, 2048
"""How many random words are computed at once: few at first, as many streams end soon."""


class PaddedOrder(ElementQueue):
    """A queue whose batches may contain components of different sizes. They are padded with zeros
    to the largest size in the batch.
    """

    def _check_batches(self) -> None:
        """Do nothing, because the declared shapes may have unknown sizes. The constructor has
        checked their ranks.
        """

    def batch(self, elements: Sequence[Element]) -> list[Any]:
        """Return one array for each component. Smaller values are padded at the end of each
        axis.
        """
        return [_padded(component) for component in zip(*elements)]


def _padded(arrays: Sequence[Any]) -> Any:
    largest = tuple(max(sizes) for sizes in zip(*(array.shape for array in arrays)))
    if all(array.shape == largest for array in arrays):
        return np.stack(arrays)
    result = np.zeros((len(arrays), *largest), arrays[0].dtype)
    if arrays[0].dtype == object:
        result.fill(b"")
    for row, array in zip(result, arrays):
        row[tuple(map(slice, array.shape))] = array
    return result


class ShuffledOrder(ElementQueue):
    """A queue in random order. Until it is closed, it keeps a minimum number of elements, so that
    they are well mixed.

    The same seed gives the same order as in TensorFlow, because each element consumes 32 bits of
    the Philox generator.
    """

    def __init__(self, kind: QueueKind, name: str) -> None:
        super().__init__(kind, name)
        settings = dict(kind.options)
        self._min_after_dequeue = settings["min_after_dequeue"]
        if not 0 <= self._min_after_dequeue < self.capacity:
            raise invalid_argument(
                f"min_after_dequeue {self._min_after_dequeue} must be < capacity {self.capacity}"
                if self._min_after_dequeue >= 0
                else f"min_after_dequeue {self._min_after_dequeue} must be >= 0"
            )
        self._mixed: list[Element] = []
        self._numbers = random_words(*settings["random seeds"])

    def __len__(self) -> int:
        return len(self._mixed)

    def put(self, element: Element) -> None:
        """Add an element."""
        self._mixed.append(element)

    def take(self) -> Element:
        """Remove and return a random element. The last element moves to the position of this
        element.
        """
        elements = self._mixed
        index = next(self._numbers) % len(elements)
        elements[index], elements[-1] = elements[-1], elements[index]
        return elements.pop()

    def put_back(self, elements: Sequence[Element]) -> None:
        """Add these elements again."""
        self._mixed.extend(elements)

    def available(self) -> int:
        """Return the number of elements that may be taken. If the queue is closed, this is the
        number of all elements. Otherwise the minimum number stays in the queue.
        """
        return len(self) if self.closed else max(len(self) - self._min_after_dequeue, 0)


def chosen_seeds(seed: int, seed2: int) -> tuple[int, int]:
    """Return the two seeds, or random seeds if both are 0."""
    if seed or seed2:
        return seed, seed2
    return int.from_bytes(os.urandom(8), "little"), int.from_bytes(os.urandom(8), "little")


def random_words(seed: int, seed2: int) -> Iterator[int]:
    """Yield the uint32 words of a Philox generator. If both seeds are 0, random seeds are used."""
    seed, seed2 = chosen_seeds(seed, seed2)
    place, count = Philox(seed % 2**64, seed2 % 2**64 << 64), _FEWEST_WORDS
    while True:
        yield from place.words(count).tolist()
        place, count = place.skip(count // 4), min(4 * count, _MOST_WORDS)


class RandomWords:
    """The words that `random_words` yields, as arrays."""

    def __init__(self, seed: int, seed2: int) -> None:
        seed, seed2 = chosen_seeds(seed, seed2)
        self._place = Philox(seed % 2**64, seed2 % 2**64 << 64)
        self._size = _FEWEST_WORDS
        self._words = np.empty(0, np.uint32)

    def take(self, count: int) -> Any:
        """Return the next `count` words."""
        while len(self._words) < count:
            words = self._place.words(self._size)
            self._words = np.concatenate([self._words, words])
            self._place = self._place.skip(self._size // 4)
            self._size = min(4 * self._size, _MOST_WORDS)
        taken, self._words = self._words[:count], self._words[count:]
        return taken

    def skip(self, count: int) -> None:
        """Skip the next `count` words."""
        while count > 0:
            part = min(count, _MOST_WORDS)
            self.take(part)
            count -= part


class ByPriority(ElementQueue):
    """A queue in ascending order of component 0, which is a number. Elements with equal numbers are
    returned in the order in which they were added.
    """

    def __init__(self, kind: QueueKind, name: str) -> None:
        super().__init__(kind, name)
        self._heap: list[tuple[int, int, Element]] = []
        self._arrivals = count()

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, element: Element) -> None:
        """Add an element."""
        heapq.heappush(self._heap, (int(element[0]), next(self._arrivals), element))

    def take(self) -> Element:
        """Remove and return the element with the smallest number."""
        return heapq.heappop(self._heap)[2]

    def put_back(self, elements: Sequence[Element]) -> None:
        """Add these elements again."""
        for element in elements:
            self.put(element)
