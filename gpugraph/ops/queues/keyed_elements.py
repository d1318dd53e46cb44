"""The objects to which handles of barriers refer. They hold elements by key. An element can be
taken once it is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import CancelledError, OutOfRangeError, invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.ops.queues.waiting_attempts import Attempt, Attempts

_FIRST_BATCH = -(2**63)

Ready = tuple[int, int, bytes, list[Any]]
"""A complete element: (number of the insert that created it, arrival number, key, components)."""


class KeyedElements(Attempts):
    """Elements by key. Complete elements are in the order in which they were first inserted."""

    def __init__(self, types: Sequence[DType], shapes: Sequence[TensorShape], name: str) -> None:
        super().__init__(1)
        self.types, self.shapes, self.name = tuple(types), tuple(shapes), name
        self.closed = self.cancelled = False
        self._batch = _FIRST_BATCH
        self._arrivals = count()
        self._parts: dict[bytes, tuple[int, dict[int, Any]]] = {}
        self._ready: list[Ready] = []

    def insert(self, component: int, keys: Sequence[bytes], values: Any) -> None:
        """Insert the rows of `values` as a component of the elements with these keys.

        If one value is rejected, none is inserted.
        """
        self._check(component, keys, values)
        with self.lock:
            new = [key for key in keys if key not in self._parts]
            if self.cancelled or (self.closed and new):
                raise CancelledError.of_no_node(
                    f"Barrier {self.name} is closed.  Pending enqueues cancelled: "
                    f"{int(self.cancelled)}.  Number of new insertions: {len(new)}.  Number of "
                    f"incomplete keys: {len(self._parts)}."
                )
            for key in keys:
                if component in self._parts.get(key, (0, ()))[1]:
                    raise invalid_argument(
                        f"Key {key.decode('utf-8', 'replace')} already has a value for component "
                        f"{component} in barrier {self.name}"
                    )
            for key, value in zip(keys, values):
                self._insert(component, key, np.array(value, values.dtype))
            self._batch += bool(new)
            self.proceed()

    def _check(self, component: int, keys: Sequence[bytes], values: Any) -> None:
        if not 0 <= component < len(self.types):
            raise invalid_argument(
                f"The component ID is out of range {component} > num_components (= "
                f"{len(self.types)})"
            )
        if not values.ndim or len(values) != len(keys):
            raise invalid_argument(f"{len(keys)} keys for values of shape {values.shape}")
        if len(set(keys)) < len(keys):
            raise invalid_argument("A key occurs twice")
        if self.shapes:
            wanted = self.shapes[component]
            if not wanted.is_compatible_with(TensorShape.of(values.shape[1:])):
                raise invalid_argument(
                    f"Shape mismatch in tuple component {component}. Expected "
                    f"{shape_text(wanted)}, got {shape_text(values.shape[1:])}"
                )

    def _insert(self, component: int, key: bytes, value: Any) -> None:
        batch, parts = self._parts.setdefault(key, (self._batch, {}))
        parts[component] = value
        if len(parts) == len(self.types):
            del self._parts[key]
            values = [parts[number] for number in range(len(self.types))]
            heappush(self._ready, (batch, next(self._arrivals), key, values))

    def take(self, number: int, may_be_fewer: bool) -> list[Ready]:
        """Remove `number` complete elements, and return them in the order in which they were
        created. Wait until there are enough elements.

        Raises OutOfRangeError if the barrier is closed and can never have enough elements. If
        `may_be_fewer` is true, a closed barrier returns the complete elements that it has, and the
        error is raised only if there are none.
        """
        if number < 0:
            raise invalid_argument(f"num_elements must be >= 0, not {number}")

        def try_once(attempt: Attempt) -> bool:
            size = len(self._ready)
            is_over = self.closed and not self._parts
            if size < number and is_over and not (may_be_fewer and size):
                error = OutOfRangeError.of_no_node(
                    f"Barrier '{self.name}' is closed and has insufficient elements (requested "
                    f"{number}, total size {size})"
                )
                return attempt.end(error=error)
            if size < number and not (self.closed and may_be_fewer and size):
                return False
            return attempt.end([heappop(self._ready) for _ in range(min(size, number))])

        elements: list[Ready] = self.make(Attempt(try_once), 0, "BarrierTakeMany")
        return elements

    def close(self, cancels: bool) -> None:
        """Reject new keys from now on. If `cancels` is true, drop incomplete elements and reject
        all values.

        Raises CancelledError if the barrier is closed already, except for the first call with
        `cancels`.
        """
        with self.lock:
            if self.closed and not (cancels and not self.cancelled):
                raise CancelledError.of_no_node(f"Barrier '{self.name}' is already closed.")
            self.closed = True
            if cancels:
                self.cancelled = True
                self._parts.clear()
            self.proceed()

    def ready_size(self) -> int:
        """Return the number of complete elements."""
        return len(self._ready)

    def incomplete_size(self) -> int:
        """Return the number of incomplete elements."""
        return len(self._parts)
