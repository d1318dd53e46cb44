"""Iterations over blocks. A block has several elements of the same shape, stacked.

A block is a tuple of arrays, the columns, one for each component of the elements. The index of an
element is the index on the first axis of each column. `Elements.next_rows` returns blocks. An
iteration that reads blocks returns the same elements and errors as an iteration that reads single
elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import OBJECTS, DType
from gpugraph.base.errors import (
    CancelledError,
    DeadlineExceededError,
    OpError,
    exception_type_from_error_code,
)
from gpugraph.base.shapes import TensorShape
from gpugraph.kernel.reused_memory import LARGE_ARRAY, empty_array
from gpugraph.ops.datasets.elements.stage import Element, Elements
from gpugraph.ops.datasets.passed_stages import ThroughRows

MAX_AHEAD, _AHEAD_BYTES = 256, 1 << 16


def ahead_of(row_bytes: int) -> int:
    """Return the number of elements of `row_bytes` bytes that may be read ahead."""
    return max(1, min(MAX_AHEAD, _AHEAD_BYTES // max(row_bytes, 1)))


def row_bytes(
    types: Sequence[DType], shapes: Sequence[TensorShape], for_objects: int | None = None
) -> int | None:
    """Return the size of an element in bytes, or None if its shape may vary or is unknown.

    Args:
      for_objects: the assumed size of a string or another object. If it is None, return None for
        elements with objects.
    """
    total = 0
    for dtype, shape in zip(types, shapes):
        size = for_objects if dtype.base_dtype in OBJECTS else dtype.size
        if not shape.is_fully_defined() or size is None:
            return None
        total += max(1, shape.num_elements() or 0) * max(1, size)
    return total if types else None


def length(columns: Element) -> int:
    """Return the number of elements of a block."""
    return len(columns[0])


def part(columns: Sequence[Any], start: int, end: int) -> Element:
    """Return the block of the elements from index `start` up to, but not including, `end`."""
    return tuple([column[start:end] for column in columns])


def row(columns: Sequence[Any], place: int) -> Element:
    """Return the element at index `place` of a block."""
    return tuple([column[place, ...] for column in columns])


def as_block(element: Element) -> Element:
    """Return a block that consists of one element."""
    return tuple([array[np.newaxis, ...] for array in element])


def are_alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether the elements of two blocks have the same shapes and dtypes."""
    return all(
        a.shape[1:] == b.shape[1:] and a.dtype == b.dtype for a, b in zip(one, other, strict=True)
    )


def joined(blocks: Sequence[Element]) -> Element:
    """Return one block with the elements of all `blocks`, whose shapes and dtypes are equal."""
    if len(blocks) == 1:
        return blocks[0]
    return tuple([_joined(columns) for columns in zip(*blocks)])


def _joined(columns: Sequence[Any]) -> Any:
    first = columns[0]
    if first.nbytes * len(columns) < LARGE_ARRAY or first.dtype.hasobject:
        return np.concatenate(columns)
    out = empty_array((sum(map(len, columns)), *first.shape[1:]), first.dtype)
    return np.concatenate(columns, out=out)


class BlockElements(ThroughRows):
    """An iteration that reads blocks from another iteration. A subclass computes the blocks of
    results in its method `_block`.

    `pending` is a block that was computed ahead. `place` is the index in `pending` of the next
    element. `failure` is the error to raise after the last element of `pending`.
    """

    def __init__(self, source: Elements) -> None:
        super().__init__(source)
        self.pending: Any = None
        self.place = 0
        self.failure: OpError | None = None

    def _block(self, count: int) -> Element | None:
        """Return a block of up to `count` elements, or None at the end."""
        return self.source.next_rows(count)

    def available(self) -> int:
        """Return the number of elements that were computed ahead and not returned yet."""
        return 0 if self.pending is None else length(self.pending) - self.place

    def fill(self, count: int) -> int:
        """Compute up to `count` elements ahead if none are available. Return the number of
        available elements.

        If an error occurs, it is raised after the available elements are returned.
        """
        while not (there := self.available()) and self.failure is None:
            self.pending, self.place = None, 0
            try:
                self.pending = self._block(count)
            except OpError as error:
                if ends_run(error):
                    raise
                self.failure = error
            if self.pending is None:
                return 0
        return there

    def take(self, count: int) -> Element:
        """Return up to `count` of the available elements, stacked."""
        start, pending = self.place, self.pending
        self.place = end = min(start + count, length(pending))
        if end == length(pending):
            self.pending, self.place = None, 0
        return part(pending, start, end)

    def next_rows(self, count: int) -> Element | None:
        """Return the next elements, stacked."""
        if self.pending is not None:
            return self.take(count)
        self._raise_failure()
        return self._block(count)

    def next(self) -> Element | None:
        """Return the next element."""
        pending = self.pending
        if pending is None:
            self._raise_failure()
            while pending is None or not length(pending):
                pending = self._block(self.source.ahead)
                if pending is None:
                    return None
            self.pending, self.place = pending, 0
        place = self.place
        self.place = place + 1
        if place + 1 == length(pending):
            self.pending, self.place = None, 0
        return tuple([column[place, ...] for column in pending])

    def _raise_failure(self) -> None:
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure

    def save(self) -> Any:
        """Return the position and the elements that were computed ahead."""
        rest = None if self.pending is None else list(part(self.pending, self.place, _END))
        return [rest, saved_error(self.failure), self.source.save()]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned, with the saved elements."""
        pending, failure, position = state
        self.pending = None if pending is None else tuple(pending)
        self.place, self.failure = 0, restored_error(failure)
        self.source.restore(position)


class GatheredBlocks(BlockElements):
    """An iteration that joins the small blocks of its source, so that a function is applied to few
    large blocks.

    `later` is a block that was read but not joined, because its elements do not have the shape of
    the earlier elements.
    """

    def __init__(self, source: Elements) -> None:
        super().__init__(source)
        self.later: Any = None

    def _block(self, count: int) -> Element | None:
        first, self.later = self.later, None
        if first is None:
            first = self.source.next_rows(count)
        if first is None or not length(first):
            return first
        blocks, missing = [first], count - length(first)
        while missing > 0:
            try:
                block = self.source.next_rows(missing)
            except OpError as error:
                if ends_run(error):
                    raise
                self.failure = error
                break
            if block is None:
                break
            if length(block) and not are_alike(first, block):
                self.later = block
                break
            blocks.append(block)
            missing -= length(block)
        return joined([block for block in blocks if length(block)])

    def save(self) -> Any:
        """Return the current position and the elements that have been read but not used."""
        return [*super().save(), None if self.later is None else list(self.later)]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned."""
        *rest, later = state
        super().restore(rest)
        self.later = None if later is None else tuple(later)


_END = 1 << 62


def ends_run(error: OpError) -> bool:
    """Return whether `error` means that the run was cancelled. Any other error concerns a single
    element.
    """
    return isinstance(error, (CancelledError, DeadlineExceededError))


def saved_error(error: OpError | None) -> Any:
    """Return an error as a value that a position can store."""
    return None if error is None else [error.error_code, error.message]


def restored_error(state: Any) -> OpError | None:
    """Return the error that `saved_error` stored, or None."""
    if state is None:
        return None
    return exception_type_from_error_code(state[0])(None, None, state[1])  # type: ignore[call-arg]


class MappedBlocks(BlockElements):
    """An iteration over the results of a function that is applied to blocks.

    Args:
      one: the same function for a single element. If the function raises an error for a block,
        `one` is called for each element of the block. This finds the element that causes the error.
    """

    source: BlockElements

    def __init__(
        self,
        source: Elements,
        on_rows: Callable[[Element], Element],
        one: Callable[[Element], Element],
    ) -> None:
        super().__init__(GatheredBlocks(source))
        self.on_rows, self.one = on_rows, one

    def _block(self, count: int) -> Element | None:
        columns = self.source.next_rows(count)
        if columns is None or not length(columns):
            return columns
        try:
            return self._results(columns)
        except OpError as error:
            if ends_run(error):
                self.source.pending, self.source.place = columns, 0
                raise
            return self._before_error(columns)

    def _results(self, columns: Element) -> Element:
        """Return the block of results for the elements in `columns`."""
        return self.on_rows(columns)

    def _before_error(self, columns: Element) -> Element:
        """Return the results of the elements that precede the first element whose computation
        raises an error. The next call raises the error. Later calls read the following elements
        again.
        """
        singles: list[Element] = []
        try:
            for place in range(length(columns)):
                single = as_block(self.one(row(columns, place)))
                if singles and not are_alike(singles[0], single):
                    self._return_to_source(columns, place)
                    break
                singles.append(single)
        except OpError as error:
            self._return_to_source(columns, place + 1)
            if not singles:
                raise
            self.failure = error
        return self._of_singles(columns, singles)

    def _of_singles(self, columns: Element, singles: list[Element]) -> Element:
        """Return the block of results for the elements in `columns`.

        Args:
          singles: the results for the first elements, which are computed already.
        """
        del columns
        return joined(singles)

    def _return_to_source(self, columns: Element, place: int) -> None:
        if place < length(columns):
            self.source.pending, self.source.place = columns, place


class FilteredBlocks(MappedBlocks):
    """An iteration over the elements for which a function returns true. It reads blocks from its
    source.
    """

    def _results(self, columns: Element) -> Element:
        return _chosen(columns, self.on_rows(columns)[0])

    def _of_singles(self, columns: Element, singles: list[Element]) -> Element:
        (chosen,) = joined(singles)
        return _chosen(part(columns, 0, len(chosen)), chosen)


def _chosen(columns: Element, chosen: Any) -> Element:
    return columns if chosen.all() else tuple([column[chosen] for column in columns])
