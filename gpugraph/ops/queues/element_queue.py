"""Queues of elements, the objects to which queue handles refer. An element is a tuple of arrays.

Waiting enqueues form one line, and waiting dequeues another. An operation on many elements moves
each element as soon as possible, so it may enqueue more elements than the queue's capacity.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import CancelledError, OutOfRangeError, invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.ops.queues.waiting_attempts import Attempt, Attempts

Element = tuple[Any, ...]

_ENQUEUES, _DEQUEUES = 0, 1


class QueueKind(NamedTuple):
    """The properties of a queue, which must be the same in all nodes that share it."""

    op_type: str
    capacity: int
    dtypes: tuple[DType, ...]
    shapes: tuple[TensorShape, ...]
    options: tuple[tuple[str, Any], ...] = ()


class ElementQueue(Attempts):
    """A first-in, first-out queue in host memory. Subclasses return the elements in other
    orders.
    """

    def __init__(self, kind: QueueKind, name: str) -> None:
        super().__init__(2)
        self.kind = kind
        self.name = name
        self.type_name = kind.op_type.removesuffix("V2")
        self.capacity = kind.capacity if kind.capacity >= 0 else 2**31 - 1
        self.closed = False
        self._elements: deque[Element] = deque()

    # -- the order of elements

    def __len__(self) -> int:
        return len(self._elements)

    def put(self, element: Element) -> None:
        """Append an element."""
        self._elements.append(element)

    def take(self) -> Element:
        """Remove and return the next element."""
        return self._elements.popleft()

    def put_back(self, elements: Sequence[Element]) -> None:
        """Undo a take: add elements to the front of the queue. They are passed in the order in
        which they were taken.
        """
        self._elements.extendleft(reversed(elements))

    def available(self) -> int:
        """Return the number of elements that may be taken now."""
        return len(self)

    def batch(self, elements: Sequence[Element]) -> list[Any]:
        """Return the elements as one array per component, stacked along a new first axis."""
        return [np.stack(component) for component in zip(*elements)]

    # -- the operations

    def enqueue(self, element: Element) -> None:
        """Add an element. Wait while the queue is full.

        Raises CancelledError if the queue is closed, or becomes closed during the wait.
        """
        self._check(element)
        self._enqueue([element])

    def enqueue_many(self, components: Sequence[Any]) -> None:
        """Add the rows of the components as elements, one by one. Wait while the queue is full."""
        self._check_many(components)
        count = components[0].shape[0]
        if count:
            rows = [[component[row, ...] for component in components] for row in range(count)]
            self._enqueue([tuple(np.asarray(part) for part in row) for row in rows])

    def _enqueue(self, elements: Sequence[Element]) -> None:
        rest = list(reversed(elements))

        def try_once(attempt: Attempt) -> bool:
            if self.closed:
                message = f"{self.type_name} '{self.name}' is closed."
                return attempt.end(error=CancelledError.of_no_node(message))
            changed = False
            while rest and len(self) < self.capacity:
                self.put(rest.pop())
                changed = True
            return changed if rest else attempt.end()

        self.make(Attempt(try_once), _ENQUEUES, "Enqueue")

    def dequeue(self) -> Element:
        """Remove and return an element. Wait while the queue is empty.

        Raises OutOfRangeError if the queue is closed and empty.
        """
        elements: list[Element] = self.make(self._taking(1, False), _DEQUEUES, "Dequeue")
        return elements[0]

    def dequeue_many(self, count: int, may_be_fewer: bool) -> list[Any]:
        """Remove `count` elements, and return one array for each component. Wait until there are
        enough elements.

        Raises OutOfRangeError if the queue is closed and has fewer elements. The elements that were
        already taken are then put back. If `may_be_fewer` is true, a closed queue returns its
        remaining elements, if there are any.
        """
        if count < 0:
            type_name = "DequeueUpToOp" if may_be_fewer else "DequeueManyOp"
            raise invalid_argument(f"{type_name} requested {count} < 0 elements")
        self._check_batches()
        if count == 0:
            return self._empty()
        attempt = self._taking(count, may_be_fewer)
        return self.batch(self.make(attempt, _DEQUEUES, "Dequeue"))

    def _check_batches(self) -> None:
        if not self.kind.shapes or not all(shape.is_fully_defined() for shape in self.kind.shapes):
            raise invalid_argument(
                f"{self.type_name}'s DequeueMany and DequeueUpTo require the components to have "
                "specified shapes."
            )

    def _empty(self) -> list[Any]:
        return [
            np.empty((0, *(size or 0 for size in shape.as_list())), dtype.as_numpy_dtype)
            for shape, dtype in zip(self.kind.shapes, self.kind.dtypes)
        ]

    def _taking(self, count: int, may_be_fewer: bool) -> Attempt:
        attempt = Attempt(
            lambda attempt: self._try_to_take(attempt, may_be_fewer),
            lambda attempt: self.put_back(attempt.elements),
        )
        attempt.requested = count
        return attempt

    def _try_to_take(self, attempt: Attempt, may_be_fewer: bool) -> bool:
        size, missing = len(self), attempt.requested - len(attempt.elements)
        if self.closed and size < missing:
            elements, attempt.elements = attempt.elements, []
            self.put_back(elements)
            if not (may_be_fewer and len(self)):
                return attempt.end(
                    error=OutOfRangeError.of_no_node(
                        f"{self.type_name} '{self.name}' is closed and has insufficient elements "
                        f"(requested {missing}, current size {size})"
                    )
                )
            missing = attempt.requested = len(self)
        count = min(missing, self.available())
        for _ in range(count):
            attempt.elements.append(self.take())
        if len(attempt.elements) == attempt.requested:
            return attempt.end(attempt.elements)
        return count > 0

    def close(self, cancels: bool) -> None:
        """Close the queue. It then rejects further elements, and dequeues can only remove the
        remaining elements.

        The enqueues that are already waiting complete before the queue is closed. If `cancels` is
        true, they are cancelled instead. Raises CancelledError if the queue is closed already,
        unless `cancels` is true.
        """
        if not cancels:
            self.make(Attempt(self._try_to_close), _ENQUEUES, "Close")
            return
        with self.lock:
            self.cancel(_ENQUEUES, "Enqueue operation was cancelled")
            self.closed = True
            self.proceed()

    def _try_to_close(self, attempt: Attempt) -> bool:
        if self.closed:
            message = f"Queue '{self.name}' is already closed."
            return attempt.end(error=CancelledError.of_no_node(message))
        self.closed = True
        return attempt.end()

    def size(self) -> int:
        """Return the number of elements."""
        with self.lock:
            return len(self)

    # -- checks of elements

    def _check(self, element: Sequence[Any], rows: tuple[int, ...] = ()) -> None:
        """Raise InvalidArgumentError unless each component has the shape `rows`, followed by the
        queue's shape of this component.
        """
        for index, (component, shape) in enumerate(zip(element, self.kind.shapes)):
            expected = TensorShape.of(rows).concatenate(shape)
            if not expected.is_compatible_with(TensorShape.of(component.shape)):
                raise invalid_argument(
                    f"Shape mismatch in tuple component {index}. Expected "
                    f"{shape_text(expected)}, got {shape_text(component.shape)}"
                )

    def _check_many(self, components: Sequence[Any]) -> None:
        """Raise InvalidArgumentError if the components have different numbers of rows, or if the
        rows have wrong shapes.
        """
        for index, component in enumerate(components):
            if component.ndim == 0:
                raise invalid_argument(
                    f"EnqueueMany requires rows, but component {index} is a scalar"
                )
            count = components[0].shape[0]
            if not self.kind.shapes and component.shape[0] != count:
                raise invalid_argument(
                    "All input tensors must have the same size in the 0th dimension. Component "
                    f"{index} has {component.shape[0]}, and should have {count}"
                )
        self._check(components, (components[0].shape[0],))
