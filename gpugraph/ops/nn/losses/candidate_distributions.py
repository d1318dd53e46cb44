"""The distributions from which candidate classes are drawn. A distribution converts random words to
classes.

A word is a random uint32 of the Philox generator. The same seed gives the same candidates as in
TensorFlow, because each distribution consumes as many words per class as TensorFlow's, and rejects
the same words.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.ops.random.bits_to_distributions import doubles
from gpugraph.ops.random.philox import Philox

_FRACTION = np.uint32(0x7FFFFF)


class RandomWords:
    """A sequence of random uint32 words that starts at a position of a Philox generator."""

    def __init__(self, place: Philox) -> None:
        self._place = place
        self._left: Any = np.empty(0, np.uint32)

    def take(self, count: int) -> Any:
        """Return the next `count` words, uint32, and advance the position."""
        missing = count - len(self._left)
        if missing > 0:
            blocks = max(16, -(-missing // 4))
            self._left = np.concatenate([self._left, self._place.words(4 * blocks)])
            self._place = self._place.skip(blocks)
        words, self._left = self._left[:count], self._left[count:]
        return words

    def give_back(self, words: Any) -> None:
        """Put unused words back. The next `take` returns them first."""
        self._left = np.concatenate([words, self._left])

    def longs(self, count: int) -> Any:
        """Return the next `count` 64-bit numbers, uint64. Each consists of two words."""
        return self.take(2 * count).copy().view(np.uint64)


def _rejected_count(span: int, bits: int) -> int:
    """Return the number of smallest integers that must be rejected so that the remaining integers
    modulo `span` are uniform.

    Args:
      bits: the number of bits of the integers.
    """
    return 0 if span & (span - 1) == 0 else (2**bits - 1) % span + 1


def _below(words: RandomWords, span: int, count: int, bits: int) -> Any:
    """Return `count` uniform integers in [0, span), int64. Each is computed from one random number
    of `bits` bits, 32 or 64.
    """
    num_rejected = _rejected_count(span, bits)
    take = words.longs if bits == 64 else words.take
    numbers: list[Any] = []
    missing = count
    while missing:
        drawn = take(missing)
        drawn = drawn[drawn >= num_rejected]
        numbers.append((drawn % drawn.dtype.type(span)).astype(np.int64))
        missing -= len(drawn)
    return np.concatenate([np.empty(0, np.int64), *numbers])


class CandidateDistribution(Protocol):
    """A distribution of classes in [0, range)."""

    range: int

    @property
    def possible(self) -> int:
        """The number of classes with a probability above 0."""

    def draw(self, words: RandomWords, count: int) -> Any:
        """Return `count` classes, int64."""

    def probability(self, classes: Any) -> Any:
        """Return the probability of each class, float32."""

    def learn(self, classes: Any) -> None:
        """Add the true classes of this run to the counts, if the distribution depends on the true
        classes of earlier runs.
        """


class _FixedLaw:
    """Base class of the distributions that remain the same in all runs, whatever the true classes
    of earlier runs are.
    """

    def __init__(self, range_max: int) -> None:
        self.range = self.possible = range_max

    def learn(self, classes: Any) -> None:
        """Do nothing, because the distribution does not depend on true classes."""


class UniformClasses(_FixedLaw):
    """The uniform distribution of classes."""

    def draw(self, words: RandomWords, count: int) -> Any:
        """Draw classes. See `CandidateDistribution.draw`."""
        return _below(words, self.range, count, 64)

    def probability(self, classes: Any) -> Any:
        """Return probabilities. See `CandidateDistribution.probability`."""
        return np.full(classes.shape, 1 / self.range, np.float32)


class LogUniform(_FixedLaw):
    """The distribution in which class i has the probability log((i + 2) / (i + 1)) / log(range +
    1), which approximates Zipf's law.
    """

    def __init__(self, range_max: int) -> None:
        super().__init__(range_max)
        self.log_range = np.log1p(np.float64(range_max))

    def draw(self, words: RandomWords, count: int) -> Any:
        """Draw classes. See `CandidateDistribution.draw`."""
        drawn = doubles(words.longs(count))
        return (np.exp(drawn * self.log_range).astype(np.int64) - 1) % self.range

    def probability(self, classes: Any) -> Any:
        """Return probabilities. See `CandidateDistribution.probability`."""
        return (np.log((classes + 2.0) / (classes + 1.0)) / self.log_range).astype(np.float32)


class Learned:
    """The distribution in which the probability of a class is proportional to 1 + its count. The
    count is the number of times that the class was a true class in earlier runs.

    `learn` updates the counts.
    """

    def __init__(self, range_max: int) -> None:
        self.range = self.possible = range_max
        self.counts = np.ones(range_max, np.int64)

    def draw(self, words: RandomWords, count: int) -> Any:
        """Draw classes. See `CandidateDistribution.draw`."""
        places = _below(words, int(self.counts.sum()), count, 32)
        return np.searchsorted(np.cumsum(self.counts), places, side="right").astype(np.int64)

    def probability(self, classes: Any) -> Any:
        """Return probabilities. See `CandidateDistribution.probability`."""
        return self.counts[classes].astype(np.float32) / np.float32(self.counts.sum())

    def learn(self, classes: Any) -> None:
        """Add 1 to the count of each of these classes."""
        self.counts += np.bincount(classes.reshape(-1), minlength=self.range)


class Weighted(_FixedLaw):
    """A distribution in which the probability of a class is proportional to its weight. Classes are
    drawn by the alias method.

    Each class has a slot, and all slots have the same probability. A slot is divided between its
    class and at most one other class, the alias. A draw first chooses a slot uniformly, and then
    one of the slot's two classes in proportion to their shares of the slot. Vose, "A linear
    algorithm for generating random numbers with a given distribution", 1991.
    """

    def __init__(self, range_max: int, weights: Any) -> None:
        if len(weights) != range_max:
            raise invalid_argument(
                f"range is {range_max} must be equal to weights size {len(weights)}"
            )
        super().__init__(range_max)
        self.weights = np.asarray(weights, np.float32)
        self.total = np.cumsum(self.weights)[-1]  # a sequential sum in float32, as in TensorFlow
        if not (self.weights >= 0).all() or not 0 < self.total < np.inf:
            raise invalid_argument(
                f"weights must be at least 0, and their sum above it, not {weights}"
            )
        self.possible = int(np.count_nonzero(self.weights))
        self.shares, self.others = _shares(self.weights)

    def draw(self, words: RandomWords, count: int) -> Any:
        """Draw classes. See `CandidateDistribution.draw`."""
        pairs = self._pairs(words, count)
        chances = (pairs[:, 0] & _FRACTION).astype(np.float32) / np.float32(2**23)
        places = (pairs[:, 1] % np.uint32(self.range)).astype(np.int64)
        return np.where(chances < self.shares[places], places, self.others[places])

    def _pairs(self, words: RandomWords, count: int) -> Any:
        """Return [count, 2] words: for each class, a word that chooses between the two classes of a
        slot, and a word that chooses the slot.

        If the second word would bias the choice of the slot, it is rejected and drawn again.
        """
        num_rejected, pieces = _rejected_count(self.range, 32), [np.empty((0, 2), np.uint32)]
        missing = count
        while missing:
            pairs = words.take(2 * missing).reshape(-1, 2)
            bad = np.flatnonzero(pairs[:, 1] < num_rejected)
            if not bad.size:
                pieces.append(pairs)
                break
            first = int(bad[0])
            words.give_back(pairs.reshape(-1)[2 * first + 2 :])
            again = words.take(1)
            while again[0] < num_rejected:
                again = words.take(1)
            pieces += [pairs[:first], np.array([[pairs[first, 0], again[0]]], np.uint32)]
            missing -= first + 1
        return np.concatenate(pieces)

    def probability(self, classes: Any) -> Any:
        """Return probabilities. See `CandidateDistribution.probability`."""
        return self.weights[classes] / self.total


def _shares(weights: Any) -> tuple[Any, Any]:
    """Return each class's share of its own slot, in [0, 1], and the alias of each slot, the class
    that has the remaining share.
    """
    count = len(weights)
    total = np.cumsum(weights.astype(np.float64))[-1]
    shares = [float(share) for share in (weights * np.float32(count)).astype(np.float64) / total]
    others = list(range(count))
    small = [index for index in range(count) if shares[index] < 1]
    large = [index for index in range(count) if shares[index] >= 1]
    while small and large:
        low, high = small.pop(), large.pop()
        others[low] = high
        shares[high] -= 1 - shares[low]
        (small if shares[high] < 1 else large).append(high)
    for index in (*small, *large):  # their shares are 1, except for rounding
        shares[index], others[index] = 1.0, index
    return np.array(shares, np.float32), np.array(others, np.int64)


class DrawnClasses:
    """The drawn classes, and the number of times that these classes and the true classes are
    expected among the draws.
    """

    def __init__(
        self, law: CandidateDistribution, words: RandomWords, count: int, unique: bool, true: Any
    ) -> None:
        self.candidates, tries = _draw_classes(law, words, count, unique)
        self.expected_true = _expected_counts(law.probability(true), count, tries)
        self.expected = _expected_counts(law.probability(self.candidates), count, tries)


def _draw_classes(
    law: CandidateDistribution, words: RandomWords, count: int, unique: bool
) -> tuple[Any, int]:
    """Return `count` classes, and the number of draws that they took.

    If `unique` is true, repeated classes are dropped, and further classes are drawn instead.
    """
    drawn = law.draw(words, count)
    if not unique or not count:
        return drawn, count
    place_of: dict[int, int] = {}  # in the order of the draws
    begin = 0
    while True:
        for place in _first_places(drawn, law.range).tolist():
            place_of.setdefault(int(drawn[place]), begin + place)
        if len(place_of) >= count:
            places = list(place_of.values())[:count]
            return np.array(list(place_of)[:count], np.int64), places[-1] + 1
        begin += len(drawn)
        drawn = law.draw(words, begin)


def _first_places(drawn: Any, span: int) -> Any:
    """Return where each distinct class occurs first, in ascending order."""
    if span > 8 * len(drawn):
        return np.sort(np.unique(drawn, return_index=True)[1])
    places = np.full(span, -1, np.int64)
    places[drawn[::-1]] = np.arange(len(drawn) - 1, -1, -1)  # the last assignment stays
    return np.sort(places[places >= 0])


def _expected_counts(chance: Any, count: int, tries: int) -> Any:
    """Return the expected number of times that a class with the probability `chance` is among the
    candidates.

    Args:
      tries: the number of draws. If it exceeds `count`, repeated classes were dropped, and the
        result is the probability that the class was drawn at least once.
    """
    if tries == count:
        return chance * np.float32(count)
    return -np.expm1(np.float32(tries) * np.log1p(-chance))


def draw(
    law: CandidateDistribution,
    lock: threading.Lock,
    words: RandomWords,
    count: int,
    unique: bool,
    true: Any,
) -> DrawnClasses:
    """Draw `count` classes, then update the distribution with the true classes.

    Raises InvalidArgumentError if more unique classes are requested than exist, or if a true class
    is out of range.

    Args:
      lock: a lock that is held during the call, because several runs may use the distribution at
        the same time.
      true: the true classes, int64 [batch, num_true].
    """
    if unique and count > law.possible:
        raise invalid_argument(
            f"Sampler's range is too small: {count} different classes of {law.possible}"
        )
    _check(true, law.range)
    with lock:
        drawn = DrawnClasses(law, words, count, unique, true)
        law.learn(true)
    return drawn


def _check(true: Any, span: int) -> None:
    outside = true[(true < 0) | (true >= span)]
    if outside.size:
        raise invalid_argument(
            f"`true_candidate` out of range [0, {span}), received {outside.flat[0]}"
        )
