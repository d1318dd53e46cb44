"""Stages that read elements ahead in threads, and the ops prefetch, parallel interleave and
map_and_batch.
"""

from __future__ import annotations

from collections import deque
from math import inf
from time import perf_counter
from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.ops.datasets.batch_stages import Batched
from gpugraph.ops.datasets.elements.combined_elements import stacked
from gpugraph.ops.datasets.elements.dataset_declaration import FUNC, Row, arguments, dataset_op
from gpugraph.ops.datasets.elements.effects import never_waits
from gpugraph.ops.datasets.elements.row_blocks import BlockElements
from gpugraph.ops.datasets.elements.stage import Element, Elements, Function, Pipeline, Stage
from gpugraph.ops.datasets.elements.worker_threads import Buffer, Pace, num_bytes
from gpugraph.ops.datasets.function_stages import Mapped
from gpugraph.ops.datasets.nested_stages import Interleaved, InterleavedElements
from gpugraph.ops.datasets.passed_stages import Passed, ThroughRows
from gpugraph.ops.framework.op_declaration import Attr

_AUTOTUNED = 16
"""The number of elements that `prefetch(AUTOTUNE)` reads ahead."""


class Prefetched(Passed):
    """A dataset with the elements of its source. A thread reads some of them ahead if that pays."""

    kind = "Prefetch"

    def __init__(self, source: Stage, size: int) -> None:
        super().__init__(source)
        if size < -1:
            raise invalid_argument(
                "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning"
            )
        self.size = _AUTOTUNED if size < 0 else size
        self.may_be_bypassed = never_waits(source)

    def elements(self, pipeline: Pipeline) -> Elements:
        """Start an iteration. A thread that reads ahead does not start before elements are read."""
        source = self.source.elements(pipeline)
        if not self.size:
            return source
        return PrefetchedElements(source, self.size, pipeline, self.may_be_bypassed)


class PrefetchedElements(ThroughRows):
    """An iteration over elements that a thread reads ahead.

    If the source computes many small elements at once, no thread is started, because handing the
    elements over would take longer than computing them. `next` then reads the source directly.
    `next` also does so as long as the time between its calls, or the time to read an element, is so
    short that a thread gains less than the transfer of an element costs.

    Args:
      may_be_bypassed: whether `next` may read the source directly for its duration.
    """

    def __init__(
        self, source: Elements, size: int, pipeline: Pipeline, may_be_bypassed: bool
    ) -> None:
        super().__init__(source)
        self.pipeline = pipeline
        self.buffer = Buffer(source, size, pipeline)
        self.pace = Pace(is_quick=True) if may_be_bypassed else None
        self.returned_at = -inf

    @property
    def _is_direct(self) -> bool:
        """Whether `next` reads the source directly, without a thread."""
        buffer = self.buffer
        return self.source.ahead > 1 and not buffer.items and not buffer.is_started

    def fullness(self) -> tuple[int, int]:
        """Return (the number of elements in the buffer, the buffer's capacity)."""
        return len(self.buffer.items), self.buffer.capacity

    def next(self) -> Element | None:
        """Return the next element, from the buffer or directly from the source."""
        if self._is_direct:
            return self.source.next()
        if self.pace is None:
            return self.buffer.take()
        between = perf_counter() - self.returned_at
        element = self.buffer.bypass() if self.pace.is_quick else self.buffer.take()
        self.pace.record(min(between, self.buffer.read_s), num_bytes(element))
        self.returned_at = perf_counter()
        return element

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements, stacked. If a thread reads ahead, return only
        one element.
        """
        return self.source.next_rows(count) if self._is_direct else super().next_rows(count)

    def close(self) -> None:
        """End the thread."""
        self.buffer.close()

    def save(self) -> Any:
        """Return the position of the source and the elements in the buffer."""
        buffer = self.buffer
        self.pipeline.pause(buffer)
        for _, error in buffer.items:
            if error is not None:
                raise error
        ahead = [list(element) for element, _ in buffer.items if element is not None]
        return [buffer.is_over, ahead, self.source.save()]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned, with the saved elements in the buffer."""
        is_over, ahead, position = state
        self.source.restore(position)
        self.buffer.items = deque((tuple(element), None) for element in ahead)
        self.buffer.is_over = is_over


class ParallelInterleaved(Interleaved):
    """A dataset that alternates between the elements of several datasets. A separate thread reads
    each of these datasets ahead.
    """

    kind = "ParallelInterleave"

    def __init__(
        self, source: Stage, function: Function, cycle: int, block: int, ahead: int = 2
    ) -> None:
        super().__init__(source, function, cycle, block)
        self.ahead = max(ahead, 1)

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the datasets."""
        return ParallelInterleavedElements(self, self.source.elements(pipeline), pipeline)


class ParallelInterleavedElements(InterleavedElements):
    """An iteration over several datasets that threads read ahead. The threads do not change the
    order of the elements.
    """

    def __init__(self, stage: ParallelInterleaved, source: Elements, pipeline: Pipeline) -> None:
        super().__init__(stage, source, stage.cycle, stage.block, pipeline)
        self.in_thread = stage.ahead * stage.block

    def _open(self, slot: int, origin: Element) -> Elements:
        opened = super()._open(slot, origin)
        if not isinstance(opened, BlockElements):
            opened = PrefetchedElements(opened, self.in_thread, self.pipeline, False)
            self.open[slot] = opened
        return opened


# -- op types

_SOURCE = "input_dataset: variant"
_CAPTURED = "other_arguments: Targuments"
_FUNCTION: dict[str, Any] = {"f": FUNC, "Targuments": arguments("Targuments")}


def _map_and_batch(row: Row) -> Stage:
    calls, size = row.number("num_parallel_calls"), row.number("batch_size")
    if size <= 0:
        raise invalid_argument("batch_size must be greater than zero.")
    mapped = Mapped(row.source, row.function(), bool(row.attrs["preserve_cardinality"]), calls)
    mapped.types, mapped.shapes = (), ()
    return Batched(mapped, size, bool(row.number("drop_remainder")), stacked)


def _parallel_interleave(row: Row) -> Stage:
    cycle, block = row.number("cycle_length"), row.number("block_length")
    if "buffer_output_elements" in row.names:
        ahead = max(row.number("buffer_output_elements"), 1)
        return ParallelInterleaved(row.source, row.function(), cycle, block, ahead)
    return ParallelInterleaved(row.source, row.function(), cycle, block)


dataset_op(
    "PrefetchDataset", f"{_SOURCE}, buffer_size: int64",
    lambda row: Prefetched(row.source, row.number("buffer_size")),
    "The elements, read ahead by a thread.",
    {
        "slack_period": Attr("int", 0), "legacy_autotune": Attr("bool", True),
        "buffer_size_min": Attr("int", 0),
    },
)  # fmt: skip
dataset_op(
    "ParallelInterleaveDatasetV2",
    f"{_SOURCE}, {_CAPTURED}, cycle_length: int64, block_length: int64, num_parallel_calls: int64",
    _parallel_interleave, "The elements of several datasets side by side, read ahead.",
    {**_FUNCTION, "sloppy": Attr("bool", False)},
)  # fmt: skip
dataset_op(
    "ParallelInterleaveDatasetV3",
    f"{_SOURCE}, {_CAPTURED}, cycle_length: int64, block_length: int64, num_parallel_calls: int64",
    _parallel_interleave, "The elements of several datasets side by side, read ahead.",
    {**_FUNCTION, "deterministic": Attr("string", "default")},
)  # fmt: skip
dataset_op(
    "ParallelInterleaveDatasetV4",
    f"{_SOURCE}, {_CAPTURED}, cycle_length: int64, block_length: int64, "
    "buffer_output_elements: int64, prefetch_input_elements: int64, num_parallel_calls: int64",
    _parallel_interleave, "The elements of several datasets side by side, read ahead.",
    {**_FUNCTION, "deterministic": Attr("string", "default")},
)  # fmt: skip
dataset_op(
    "ParallelInterleaveDataset ExperimentalParallelInterleaveDataset",
    f"{_SOURCE}, {_CAPTURED}, cycle_length: int64, block_length: int64, sloppy: bool, "
    "buffer_output_elements: int64, prefetch_input_elements: int64",
    _parallel_interleave, "The elements of several datasets side by side, read ahead.", _FUNCTION,
)  # fmt: skip
dataset_op(
    "MapAndBatchDataset ExperimentalMapAndBatchDataset",
    f"{_SOURCE}, {_CAPTURED}, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool",
    _map_and_batch, "Batches of a function's results.",
    {**_FUNCTION, "preserve_cardinality": Attr("bool", False)},
)  # fmt: skip
