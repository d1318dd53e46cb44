"""Stages that call functions of the program on each element, such as map, filter, scan and
take_while.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from gpugraph.base.errors import OutOfRangeError, invalid_argument
from gpugraph.ops.datasets.elements.dataset_declaration import FUNC, Row, arguments, dataset_op
from gpugraph.ops.datasets.elements.effects import is_without_effects, may_be_read_ahead
from gpugraph.ops.datasets.elements.ragged_blocks import ragged_elements
from gpugraph.ops.datasets.elements.row_blocks import FilteredBlocks, MappedBlocks, row_bytes
from gpugraph.ops.datasets.elements.stage import (
    UNKNOWN,
    Element,
    Elements,
    Function,
    Pipeline,
    Stage,
)
from gpugraph.ops.datasets.parallel_elements import ParallelElements, check_end
from gpugraph.ops.datasets.passed_stages import Passed, Through
from gpugraph.ops.framework.op_declaration import Attr


class Mapped(Stage):
    """A dataset of the results of a function that is called on each element of the source.

    Args:
      keeps_number: whether an OutOfRangeError of the function is reported as an error. If false, it
        ends the dataset.
      calls: the maximum number of concurrent calls.
    """

    kind = "Map"

    def __init__(
        self, source: Stage, function: Function, keeps_number: bool, calls: int = 1
    ) -> None:
        self.source, self.function = source, function
        self.keeps_number, self.calls = keeps_number, calls

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the results."""
        graph = self.function.call.function.graph
        in_order = graph.has_seeds
        parts = self.function.parts() if in_order else None
        if parts is not None and (self.calls != 1 or may_be_read_ahead(self.source)):
            return self._in_parts(*parts).elements(pipeline)
        source = self.source.elements(pipeline)
        is_large = (row_bytes(self.source.types, self.source.shapes, 64) or 0) > _LARGE_ROW
        has_rows = source.has_rows and (self.calls == 1 or not is_large)
        on_rows = self.function.started_on_rows(pipeline) if has_rows else None
        if on_rows is not None:
            return MappedBlocks(source, on_rows, self.function.started(pipeline))
        ragged = ragged_elements(source, self.function, pipeline, has_rows)
        if ragged is not None:
            return ragged
        reads_ahead = is_without_effects(graph) and may_be_read_ahead(self.source)
        is_serial = self.calls == 1 and not reads_ahead
        if is_serial or in_order or self.function.shortcut is not None:
            return MappedElements(self, source, pipeline)
        return ParallelElements(self, source, pipeline, reads_ahead)

    def _in_parts(self, first: Function, rest: Function) -> Mapped:
        """Split this dataset into two datasets. Return the second dataset, which reads the first
        one.

        Several threads compute the elements of the first dataset. One thread computes the elements
        of the second dataset, because its function draws random numbers.
        """
        ahead, ordered = copy(self), copy(self)
        ahead.function = first
        tensors = first.call.function.graph.outputs
        ahead.types = tuple(tensor.dtype.base_dtype for tensor in tensors)
        ahead.shapes = tuple(tensor.shape for tensor in tensors)
        ordered.source, ordered.function, ordered.calls = ahead, rest, 1
        return ordered

    def cardinality(self) -> int:
        """Return the cardinality of the source. If the function may end the dataset, return
        UNKNOWN.
        """
        return self.source.cardinality() if self.keeps_number else UNKNOWN


_LARGE_ROW = 1 << 14
"""The size in bytes of elements whose functions take longer than a thread."""


class MappedElements(Through):
    """An iteration that calls the function on one element at a time."""

    def __init__(self, stage: Mapped, source: Elements, pipeline: Pipeline) -> None:
        super().__init__(source)
        self.function = stage.function.started(pipeline)
        self.stage = stage

    def next(self) -> Element | None:
        """Return the function's result for the next element."""
        element = self.source.next()
        if element is None:
            return None
        try:
            return self.function(element)
        except OutOfRangeError as error:
            check_end(self.stage, error)
            return None


class Filtered(Passed):
    """A dataset of the source's elements for which a function returns true."""

    kind = "Filter"

    def __init__(self, source: Stage, function: Function) -> None:
        super().__init__(source)
        self.function = function

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the elements for which the function returns true."""
        source, one = self.source.elements(pipeline), self.function.started(pipeline)
        on_rows = self.function.started_on_rows(pipeline) if source.has_rows else None
        if on_rows is not None:
            return FilteredBlocks(source, on_rows, one)
        return FilteredElements(source, one)

    def cardinality(self) -> int:
        """Return UNKNOWN, because the number of elements depends on the function."""
        return UNKNOWN


class FilteredElements(Through):
    """An iteration that omits elements for which a function returns false."""

    def __init__(self, source: Elements, function: Callable[[Element], Element]) -> None:
        super().__init__(source)
        self.function = function

    def next(self) -> Element | None:
        """Return the next element for which the function returns true."""
        while True:
            element = self.source.next()
            if element is None or bool(self.function(element)[0]):
                return element


class TakenWhile(Filtered):
    """A dataset of the source's elements before the first element for which a function returns
    false.
    """

    kind = "TakeWhile"

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate until the function returns false."""
        return TakenWhileElements(self.source.elements(pipeline), self.function.started(pipeline))


class TakenWhileElements(FilteredElements):
    """An iteration that ends once a function returns false."""

    kept = ("is_over", "source")
    is_over = False

    def next(self) -> Element | None:
        """Return the next element. Once the function has returned false, return None."""
        element = None if self.is_over else self.source.next()
        if element is None:
            return None
        self.is_over = not self.function(element)[0]
        return None if self.is_over else element


class Scanned(Stage):
    """A dataset of the outputs of a function. The function receives a state and an element, and
    returns the next state and an output.
    """

    kind = "Scan"

    def __init__(self, source: Stage, function: Function, initial: Element, keeps: bool) -> None:
        self.source, self.function, self.initial = source, function, initial
        self.keeps_number = keeps

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate from the initial state."""
        return ScannedElements(self, self.source.elements(pipeline), pipeline)

    def cardinality(self) -> int:
        """Return the cardinality of the source."""
        return self.source.cardinality() if self.keeps_number else UNKNOWN


class ScannedElements(Through):
    """An iteration that passes a state from one function call to the next."""

    kept = ("state", "source")

    def __init__(self, stage: Scanned, source: Elements, pipeline: Pipeline) -> None:
        super().__init__(source)
        self.state: Element = stage.initial
        self.size = len(stage.initial)
        self.function = stage.function.started(pipeline)
        self.stage: Any = stage

    def next(self) -> Element | None:
        """Return the next output."""
        element = self.source.next()
        if element is None:
            return None
        try:
            results = self.function((*self.state, *element))
        except OutOfRangeError as error:
            check_end(self.stage, error)
            return None
        self.state = results[: self.size]
        return results[self.size :]


# -- op types

_SOURCE = "input_dataset: variant"
_CAPTURED = "other_arguments: Targuments"
_KEEPS: dict[str, Any] = {"preserve_cardinality": Attr("bool", False)}
_FUNCTION = {"f": FUNC, "Targuments": arguments("Targuments")}
_PREDICATE = {"predicate": FUNC, "Targuments": arguments("Targuments")}
_PARALLEL = {"use_inter_op_parallelism": Attr("bool", True)}


def _map(row: Row) -> Stage:
    is_parallel = "num_parallel_calls" in row.names
    calls = row.number("num_parallel_calls") if is_parallel else 1
    if calls == 0 or calls < -1:
        raise invalid_argument("num_parallel_calls must be greater than zero.")
    keeps = bool(row.attrs["preserve_cardinality"])
    return Mapped(row.source, row.function(), keeps, calls)


dataset_op(
    "MapDataset", f"{_SOURCE}, {_CAPTURED}", _map,
    "A function of each element.", {**_FUNCTION, **_PARALLEL, **_KEEPS},
)  # fmt: skip
dataset_op(
    "ParallelMapDataset", f"{_SOURCE}, {_CAPTURED}, num_parallel_calls: int32", _map,
    "A function of each element, in several threads.",
    {**_FUNCTION, **_PARALLEL, "sloppy": Attr("bool", False), **_KEEPS},
)  # fmt: skip
dataset_op(
    "ParallelMapDatasetV2", f"{_SOURCE}, {_CAPTURED}, num_parallel_calls: int64", _map,
    "A function of each element, in several threads.",
    {**_FUNCTION, **_PARALLEL, "deterministic": Attr("string", "default"), **_KEEPS},
)  # fmt: skip
dataset_op(
    "FilterDataset", f"{_SOURCE}, {_CAPTURED}",
    lambda row: Filtered(row.source, row.function("predicate")),
    "The elements for which a function is true.", _PREDICATE,
)  # fmt: skip
dataset_op(
    "TakeWhileDataset ExperimentalTakeWhileDataset", f"{_SOURCE}, {_CAPTURED}",
    lambda row: TakenWhile(row.source, row.function("predicate")),
    "The elements before the first for which a function is false.", _PREDICATE,
)  # fmt: skip
dataset_op(
    "ScanDataset ExperimentalScanDataset",
    f"{_SOURCE}, initial_state: Tstate, {_CAPTURED}",
    lambda row: Scanned(
        row.source, row.function(), tuple(row["initial_state"]),
        bool(row.attrs["preserve_cardinality"]),
    ),
    "The outputs of a function of each element and a state.",
    {
        **_FUNCTION, "Tstate": Attr("list(type)", required=True, minimum=1), **_KEEPS,
        "use_default_device": Attr("bool", True),
    },
)  # fmt: skip
