"""Queues with batches or an order of their own: filled up with zeros, at random, by priority."""

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

_WORDS_AT_ONCE = 32


class Padding(ElementQueue):
    """Elements of one batch are filled up with zeros to the largest size."""

    def _check_batches(self) -> None:
        """Shapes may be open, but ranks are known: the constructor has seen to that."""

    def batch(self, elements: Sequence[Element]) -> list[Any]:
        """Elements as one array for each component, in whose corner they are."""
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


class Shuffled(ElementQueue):
    """Elements leave at random; until the queue is closed some stay, to be mixed with others.

    The numbers are those of TensorFlow for the same seeds: 32 bits of Philox for each element.
    """

    def __init__(self, kind: QueueKind, name: str) -> None:
        super().__init__(kind, name)
        settings = dict(kind.more)
        self._least = settings["min_after_dequeue"]
        if not 0 <= self._least < self.capacity:
            raise invalid_argument(
                f"min_after_dequeue {self._least} must be < capacity {self.capacity}"
                if self._least >= 0
                else f"min_after_dequeue {self._least} must be >= 0"
            )
        self._mixed: list[Element] = []
        self._numbers = random_words(*settings["random seeds"])

    def __len__(self) -> int:
        return len(self._mixed)

    def put(self, element: Element) -> None:
        """Adds an element."""
        self._mixed.append(element)

    def take(self) -> Element:
        """Takes an element at random; the last one gets its place."""
        elements = self._mixed
        index = next(self._numbers) % len(elements)
        elements[index], elements[-1] = elements[-1], elements[index]
        return elements.pop()

    def put_back(self, elements: Sequence[Element]) -> None:
        """Adds the elements."""
        self._mixed.extend(elements)

    def available(self) -> int:
        """All but those that are to stay."""
        return len(self) if self.closed else max(len(self) - self._least, 0)


def random_words(seed: int, seed2: int) -> Iterator[int]:
    """The 32-bit words of a stream, one after the other; of any stream if both seeds are 0."""
    if not (seed or seed2):
        seed, seed2 = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
    place = Philox(seed % 2**64, seed2 % 2**64 << 64)
    while True:
        yield from place.words(_WORDS_AT_ONCE).tolist()
        place = place.skip(_WORDS_AT_ONCE // 4)


class ByPriority(ElementQueue):
    """The element of the least number in component 0 leaves first; of equal ones the earlier."""

    def __init__(self, kind: QueueKind, name: str) -> None:
        super().__init__(kind, name)
        self._heap: list[tuple[int, int, Element]] = []
        self._arrivals = count()

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, element: Element) -> None:
        """Adds an element."""
        heapq.heappush(self._heap, (int(element[0]), next(self._arrivals), element))

    def take(self) -> Element:
        """Takes the element of the least number."""
        return heapq.heappop(self._heap)[2]

    def put_back(self, elements: Sequence[Element]) -> None:
        """Adds the elements."""
        for element in elements:
            self.put(element)
