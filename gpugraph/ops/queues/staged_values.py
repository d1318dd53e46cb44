"""Staging areas, into which some runs put tuples that other runs get, in order or by key.

A queue serves dequeues one after another. In a staging area, a get that waits for a key does not
block a get of a different key.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.errors import OpError, ResourceExhaustedError, invalid_argument
from gpugraph.ops.queues.waiting_attempts import Attempt, Attempts

_PUTS, _GETS = 0, 1


class _Bounded(Attempts):
    """The base class of both kinds of staging areas. It enforces the limits, and lets operations
    wait without blocking each other.

    Args:
      capacity: the maximum number of tuples.
      memory_limit: the maximum number of bytes. 0 means no limit.
    """

    def __init__(self, capacity: int, memory_limit: int) -> None:
        super().__init__(2)
        self._capacity, self._memory_limit = capacity, memory_limit
        self._bytes = 0

    def proceed(self) -> None:
        """Retry all waiting attempts until none of them makes progress. The caller must hold
        `lock`.
        """
        changed = True
        while changed:
            changed = False
            for line in self.lines:
                for attempt in list(line):
                    if attempt.try_once(attempt):
                        changed = True
                    if attempt.is_done:
                        line.remove(attempt)

    def _put_when(self, values: Sequence[Any], count: Callable[[], int], put: Any) -> None:
        """Wait until adding `values` would exceed neither limit, and then call `put`.

        Args:
          count: a function that returns the number of tuples.
        """
        size = sum(value.nbytes for value in values)
        if 0 < self._memory_limit < size:
            raise ResourceExhaustedError.of_no_node(
                f"Attempted to insert tensors with combined size of '{size}' bytes into Staging "
                f"Area with a memory limit of '{self._memory_limit}'."
            )

        def try_once(attempt: Attempt) -> bool:
            is_full = 0 < self._capacity <= count()
            if is_full or 0 < self._memory_limit < self._bytes + size:
                return False
            self._bytes += size
            try:
                put()
            except OpError as error:
                self._bytes -= size
                return attempt.end(error=error)
            return attempt.end()

        self.make(Attempt(try_once), _PUTS, "Stage")

    def _get_when(self, take: Callable[[], Any], what: str) -> Any:
        """Call `take` whenever the area changes, until it returns a value that is not None.

        Return this value.
        """

        def try_once(attempt: Attempt) -> bool:
            try:
                values = take()
            except OpError as error:
                return attempt.end(error=error)
            return values is not None and attempt.end(values)

        return self.make(Attempt(try_once), _GETS, what)

    def _release(self, values: Sequence[Any]) -> None:
        self._bytes -= sum(value.nbytes for value in values)


class StagedTuples(_Bounded):
    """Tuples in the order in which they were put."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        super().__init__(capacity, memory_limit)
        self._tuples: deque[Sequence[Any]] = deque()

    def put(self, values: Sequence[Any]) -> None:
        """Add a tuple. Wait while the area is full.

        Raises ResourceExhaustedError if the tuple by itself exceeds the limit on bytes.
        """
        self._put_when(values, lambda: len(self._tuples), lambda: self._tuples.append(values))

    def get(self) -> Sequence[Any]:
        """Remove and return the first tuple. If there is no tuple, wait for one."""

        def take() -> Sequence[Any] | None:
            if not self._tuples:
                return None
            values = self._tuples.popleft()
            self._release(values)
            return values

        values: Sequence[Any] = self._get_when(take, "Unstage")
        return values

    def peek(self, index: int) -> Sequence[Any]:
        """Return the tuple at `index` without removing it. Wait until there is such a tuple."""
        if index < 0:
            raise invalid_argument(f"index must be >= 0, not {index}")

        def look() -> Sequence[Any] | None:
            return self._tuples[index] if index < len(self._tuples) else None

        values: Sequence[Any] = self._get_when(look, "StagePeek")
        return values

    def size(self) -> int:
        """Return the number of tuples."""
        return len(self._tuples)

    def clear(self) -> None:
        """Remove all tuples."""
        with self.lock:
            self._tuples.clear()
            self._bytes = 0
            self.proceed()


class KeyedTuples(_Bounded):
    """Tuples by key, whose values may be put and taken separately.

    Args:
      is_ordered: whether a get without a key returns the tuple of the smallest key. Otherwise it
        returns the tuple that was complete first.
    """

    def __init__(self, is_ordered: bool, capacity: int, memory_limit: int) -> None:
        super().__init__(capacity, memory_limit)
        self.is_ordered = is_ordered
        self._whole: dict[int, dict[int, Any]] = {}
        self._parts: dict[int, dict[int, Any]] = {}

    def put(self, key: int, indices: Sequence[int], values: Sequence[Any], count: int) -> None:
        """Store `values` at `indices` of the tuple of a key. Wait while the area is full.

        Args:
          count: the number of values in a tuple. A tuple can be taken when it has all its values.
        """
        _check_indices(indices, count)
        if len(indices) != len(values):
            raise invalid_argument(f"{len(indices)} indices for {len(values)} values")

        def put() -> None:
            part = self._parts.setdefault(key, {})
            for index in indices:
                if index in part:
                    raise invalid_argument(
                        f"The tensor for index '{index}' for key '{key}' was already initialized "
                        f"'{count}'."
                    )
            part.update(zip(indices, values))
            if len(part) == count:
                complete = self._parts.pop(key)
                if self._whole.setdefault(key, complete) is not complete:
                    self._release([*complete.values()])  # the tuple that is there stays

        self._put_when(values, lambda: len(self._whole), put)

    def get(self, key: int | None, indices: Sequence[int], keeps: bool) -> tuple[int, list[Any]]:
        """Wait until the tuple of `key` is complete. Return the key, and the tuple's values at
        `indices`. If `key` is None, use any key.

        The returned values are removed unless `keeps` is true. All other values of the tuple stay.
        """

        def take() -> tuple[int, list[Any]] | None:
            chosen = self._any_key() if key is None else key
            if chosen is None or chosen not in self._whole:
                return None
            values = self._whole[chosen]
            if not all(index in values for index in indices):
                gone = next(index for index in indices if index not in values)
                raise invalid_argument(
                    f"Tensor at index '{gone}' for key '{chosen}' has already been removed."
                )
            if keeps:
                return chosen, [values[index] for index in indices]
            removed = [values.pop(index) for index in indices]
            self._release(removed)
            if not values:
                del self._whole[chosen]
            return chosen, removed

        result: tuple[int, list[Any]] = self._get_when(take, "MapPeek" if keeps else "MapUnstage")
        return result

    def _any_key(self) -> int | None:
        keys = iter(self._whole)
        return min(keys, default=None) if self.is_ordered else next(keys, None)

    def size(self) -> int:
        """Return the number of complete tuples."""
        return len(self._whole)

    def incomplete_size(self) -> int:
        """Return the number of incomplete tuples."""
        return len(self._parts)

    def clear(self) -> None:
        """Remove all tuples, including incomplete ones."""
        with self.lock:
            self._whole.clear()
            self._parts.clear()
            self._bytes = 0
            self.proceed()


def _check_indices(indices: Sequence[int], count: int) -> None:
    if len(set(indices)) < len(indices) or not set(indices) <= set(range(count)):
        raise invalid_argument(
            f"Indices {list(indices)} are not those of {count} values, each once"
        )
