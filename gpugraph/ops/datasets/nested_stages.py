"""Stages that read datasets which functions return: flat_map, interleave, groups by a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.ops.datasets.batch_stages import ListStage
from gpugraph.ops.datasets.dataset_declaration import FUNC, Row, arguments, dataset_op
from gpugraph.ops.datasets.passed_stages import Through
from gpugraph.ops.datasets.row_blocks import MAX_AHEAD, BlockElements, are_alike, joined
from gpugraph.ops.datasets.stage import (
    Element,
    Elements,
    Function,
    Pipeline,
    Stage,
    stage_in,
    variant_of,
)
from gpugraph.ops.framework.op_declaration import Attr


class FlatMapped(Stage):
    """The elements of the datasets that a function returns, one dataset after the other."""

    kind = "FlatMap"

    def __init__(self, source: Stage, function: Function) -> None:
        self.source, self.function = source, function

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the datasets."""
        return InterleavedElements(self, self.source.elements(pipeline), 1, 1, pipeline)


class Interleaved(FlatMapped):
    """The elements of datasets that a function returns, `cycle` of them side by side."""

    kind = "Interleave"

    def __init__(self, source: Stage, function: Function, cycle: int, block: int) -> None:
        super().__init__(source, function)
        for name, number in (("cycle_length", cycle), ("block_length", block)):
            if number <= 0 and number != -1:
                raise invalid_argument(f"{name} must be greater than zero.")
        self.cycle, self.block = cycle if cycle > 0 else 2, block

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the datasets."""
        source = self.source.elements(pipeline)
        return InterleavedElements(self, source, self.cycle, self.block, pipeline)


class InterleavedElements(Through):
    """An iteration over several datasets side by side, `block` elements of each.

    origins: by slot, the element from which the function made the dataset there.
    """

    def __init__(
        self, stage: Any, source: Elements, cycle: int, block: int, pipeline: Pipeline
    ) -> None:
        super().__init__(source)
        self.cycle, self.block, self.pipeline = cycle, block, pipeline
        self.function = stage.function.started(pipeline)
        self.origins: list[Element | None] = [None] * cycle
        self.open: list[Elements | None] = [None] * cycle
        self.slot = self.in_block = self.num_open = 0
        self.is_over = False

    @property
    def has_rows(self) -> bool:
        """Whether the current dataset has rows, if it is open."""
        current = self.open[self.slot]
        return current is None or current.has_rows

    def next(self) -> Element | None:
        """Return the next element of the dataset in the current slot."""
        while (current := self._current()) is not None:
            element = current.next()
            if element is not None:
                self._moved(1)
                return element
            self._close_current(current)
        return None

    def next_rows(self, count: int) -> Element | None:
        """Return the next elements of the datasets."""
        while (current := self._current()) is not None:
            columns = self._rounds(count) if self.block < count and not self.in_block else None
            if columns is not None:
                return columns
            left = count if self.cycle == 1 else min(count, self.block - self.in_block)
            columns = current.next_rows(left)
            if columns is not None:
                self._moved(len(columns[0]))
                return columns
            self._close_current(current)
        return None

    def _current(self) -> Elements | None:
        """Return the dataset in the current slot, or move on to one; None at the end."""
        while not self.is_over or self.num_open:
            current = self.open[self.slot]
            if current is not None:
                return current
            if self.is_over:
                self._move_on()
            else:
                self._open_next()
        return None

    def _moved(self, count: int) -> None:
        """Count elements of the current slot, not more than its block has left."""
        self.in_block += count
        if self.in_block >= self.block:
            self._move_on()

    def _close_current(self, current: Elements) -> None:
        current.close()
        self.open[self.slot] = self.origins[self.slot] = None
        self.num_open -= 1
        self._move_on()

    def _rounds(self, count: int) -> Element | None:
        """Return whole rounds over all slots, with a block of each; None if one is too short.

        The datasets are read ahead, as far as this has no effect.
        """
        if not self.is_over and self.num_open < self.cycle:
            return None
        order = [(self.slot + step) % self.cycle for step in range(self.cycle)]
        parts: list[Any] = [part for slot in order if (part := self.open[slot]) is not None]
        if len(parts) == 1 or not all(isinstance(part, BlockElements) for part in parts):
            return None
        block = self.block
        rounds = min(part.fill(MAX_AHEAD) // block for part in parts)
        rounds = min(rounds, count // (block * len(parts)))
        if not rounds or not all(are_alike(parts[0].pending, part.pending) for part in parts):
            return None
        taken = [part.take(rounds * block) for part in parts]
        return tuple([_woven(columns, rounds, block) for columns in zip(*taken)])

    def _move_on(self) -> None:
        self.in_block = 0
        self.slot = (self.slot + 1) % self.cycle

    def _open_next(self) -> None:
        origin = self.source.next()
        if origin is None:
            self.is_over = True
            return
        self._open(self.slot, origin)

    def _open(self, slot: int, origin: Element) -> Elements:
        dataset = stage_in(self.function(origin)[0])
        opened = dataset.elements(self.pipeline)
        if self.cycle > 1 and opened.has_rows and opened.ahead > 1:
            opened = BlockElements(opened)
        self.open[slot] = opened
        self.origins[slot] = origin
        self.num_open += 1
        return opened

    def save(self) -> Any:
        """Return the position with those in the open datasets."""
        slots = [
            None if opened is None or origin is None else [list(origin), opened.save()]
            for origin, opened in zip(self.origins, self.open)
        ]
        return [self.slot, self.in_block, self.is_over, slots, self.source.save()]

    def restore(self, state: Any) -> None:
        """Open the datasets again, and continue in each."""
        self.slot, self.in_block, self.is_over, slots, position = state
        self.source.restore(position)
        for slot, kept in enumerate(slots):
            if kept is not None:
                self._open(slot, tuple(kept[0])).restore(kept[1])


def _woven(columns: Sequence[Any], rounds: int, block: int) -> Any:
    """Return rounds over columns, with a block of each."""
    sizes = columns[0].shape[1:]
    parts = [column.reshape(rounds, block, *sizes) for column in columns]
    return np.stack(parts, 1).reshape(-1, *sizes)


class DirectedInterleave(Stage):
    """Elements of several datasets, chosen by a dataset of numbers."""

    kind = "DirectedInterleave"

    def __init__(self, selector: Stage, sources: list[Stage]) -> None:
        self.selector, self.sources = selector, sources

    def inputs(self) -> list[Stage]:
        """Return the selector and the datasets."""
        return [self.selector, *self.sources]

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate as the selector says."""
        sources = [source.elements(pipeline) for source in self.sources]
        selector = self.selector.elements(pipeline)
        if selector.has_rows and all(source.has_rows for source in sources):
            blocks: list[Elements] = [BlockElements(source) for source in sources]
            return DirectedBlocks(BlockElements(selector), blocks)
        return DirectedElements(selector, sources)


class DirectedElements(Elements):
    """An iteration over several datasets by a selector."""

    kept = ("is_over", "selector", "sources")

    def __init__(self, selector: Elements, sources: list[Elements]) -> None:
        self.selector = selector
        self.sources: list[Elements | None] = list(sources)
        self.is_over = False

    def next(self) -> Element | None:
        """Return the next element of the selected dataset; ended ones are passed over."""
        while not self.is_over:
            selected = self.selector.next()
            if selected is None:
                self.is_over = True
                break
            number = int(selected[0])
            if not 0 <= number < len(self.sources):
                raise invalid_argument(
                    f"Selector index out of range: {number} >= {len(self.sources)}"
                )
            source = self.sources[number]
            if source is None:
                continue
            element = source.next()
            if element is not None:
                return element
            source.close()
            self.sources[number] = None
            self.is_over = not any(self.sources)
        return None


class DirectedBlocks(DirectedElements):
    """An iteration over blocks of several datasets by a selector.

    sources: None for those that have ended.
    """

    selector: BlockElements
    sources: list[Any]

    @property
    def has_rows(self) -> bool:
        """Whether all datasets have rows."""
        return all(source is None or source.has_rows for source in self.sources)

    @property
    def ahead(self) -> int:
        """The smallest number of the datasets."""
        return min([source.ahead for source in self.sources if source is not None], default=1)

    def next_rows(self, count: int) -> Element | None:
        """Return the next elements of the selected datasets."""
        if self.is_over:
            return None
        count = min(count, self.selector.fill(count) if self.has_rows else 0)
        if count > 1:
            pending, place = self.selector.pending, self.selector.place
            chosen = pending[0][place : place + count]
            count = self._number_there(chosen)
            if count > 1:
                self.selector.take(count)
                return self._gathered(chosen[:count])
        return super().next_rows(1)

    def _number_there(self, chosen: Any) -> int:
        """Read ahead; return for how many of the selections the elements are there and alike."""
        first = None
        for number in range(len(self.sources)):
            places = np.flatnonzero(chosen == number)
            if not len(places):
                continue
            source = self.sources[number]
            there = 0 if source is None else source.fill(len(places))
            if there and first is None:
                first = source.pending
            elif there and not are_alike(first, source.pending):
                return 0
            if there < len(places):
                chosen = chosen[: places[there]]
        is_valid = (chosen >= 0) & (chosen < len(self.sources))
        return len(chosen) if is_valid.all() else 0

    def _gathered(self, chosen: Any) -> Element:
        order = np.argsort(chosen, kind="stable")
        counts = np.bincount(chosen, minlength=len(self.sources))
        parts = [self.sources[n].take(int(k)) for n, k in enumerate(counts) if k]
        place = np.empty(len(chosen), np.int64)
        place[order] = np.arange(len(chosen))
        return tuple([column[place] for column in joined(parts)])


class GroupedByWindow(Stage):
    """The datasets that a function makes of groups with equal keys."""

    kind = "GroupByWindow"

    def __init__(self, source: Stage, key: Function, reduce: Function, size: Function) -> None:
        self.source, self.key, self.reduce, self.size = source, key, reduce, size

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the groups as they become full."""
        return GroupElements(self, self.source.elements(pipeline), pipeline)


class GroupElements(Through):
    """An iteration over groups.

    groups: by key, the elements and the size at which the group is full. flushed: the group that is
    read now, by its key and its elements.
    """

    def __init__(self, stage: GroupedByWindow, source: Elements, pipeline: Pipeline) -> None:
        super().__init__(source)
        self.stage, self.pipeline = stage, pipeline
        self.key, self.reduce = stage.key.started(pipeline), stage.reduce.started(pipeline)
        self.size = stage.size.started(pipeline)
        self.groups: dict[int, list[Element]] = {}
        self.sizes: dict[int, int] = {}
        self.flushed: tuple[int, list[Element]] | None = None
        self.current: Elements | None = None
        self.is_over = False

    def next(self) -> Element | None:
        """Return the next element of the group that is read, or of the next full one."""
        while True:
            if self.current is not None:
                element = self.current.next()
                if element is not None:
                    return element
                self.current.close()
                self.current = self.flushed = None
            while not self.is_over and self.current is None:
                self._collect()
            if self.current is None:
                if not self.groups:
                    return None
                self._flush(min(self.groups))

    def _collect(self) -> None:
        element = self.source.next()
        if element is None:
            self.is_over = True
            return
        key = int(self.key(element)[0])
        if key not in self.sizes:
            size = int(self.size((np.array(key, np.int64),))[0])
            if size <= 0:
                raise invalid_argument(f"Window size must be greater than zero, but got {size}.")
            self.sizes[key] = size
        group = self.groups.setdefault(key, [])
        group.append(element)
        if len(group) == self.sizes[key]:
            self._flush(key)

    def _flush(self, key: int) -> None:
        self._read(key, self.groups.pop(key))

    def _read(self, key: int, rows: list[Element]) -> Elements:
        source = self.stage.source
        group = variant_of(ListStage(rows, source.types, source.shapes))
        dataset = stage_in(self.reduce((np.array(key, np.int64), group))[0])
        self.flushed = key, rows
        self.current = dataset.elements(self.pipeline)
        return self.current

    def save(self) -> Any:
        """Return the position with the groups."""
        groups = [
            [key, self.sizes[key], [list(row) for row in rows]] for key, rows in self.groups.items()
        ]
        flushed = None
        if self.flushed is not None and self.current is not None:
            key, rows = self.flushed
            flushed = [key, [list(row) for row in rows], self.current.save()]
        return [self.is_over, groups, list(self.sizes.items()), flushed, self.source.save()]

    def restore(self, state: Any) -> None:
        """Continue with the groups."""
        self.is_over, groups, sizes, flushed, position = state
        self.source.restore(position)
        self.sizes = dict(sizes)
        self.groups = {key: [tuple(row) for row in rows] for key, _, rows in groups}
        if flushed is not None:
            key, rows, position = flushed
            self._read(key, [tuple(row) for row in rows]).restore(position)


class GroupedByReducer(Stage):
    """For each key, in ascending order, the result of a reduction of the elements with it."""

    kind = "GroupByReducer"

    def __init__(self, source: Stage, functions: dict[str, Function]) -> None:
        self.source, self.functions = source, functions

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the results."""
        return ReducedGroups(self, self.source.elements(pipeline), pipeline)


class ReducedGroups(Through):
    """An iteration over the results of groups, which are computed at its first element."""

    kept = ("index", "results", "source")

    def __init__(self, stage: GroupedByReducer, source: Elements, pipeline: Pipeline) -> None:
        super().__init__(source)
        self.functions = {
            name: function.started(pipeline) for name, function in stage.functions.items()
        }
        self.results: Any = None
        self.index = 0

    def next(self) -> Element | None:
        """Return the result of the next key."""
        if self.results is None:
            self.results = self._reduced()
        index, self.index = self.index, self.index + 1
        return tuple(self.results[index]) if index < len(self.results) else None

    def _reduced(self) -> list[Element]:
        states: dict[int, Element] = {}
        call = self.functions
        while (element := self.source.next()) is not None:
            key = int(call["key_func"](element)[0])
            if key not in states:
                states[key] = call["init_func"]((np.array(key, np.int64),))
            states[key] = call["reduce_func"]((*states[key], *element))
        return [call["finalize_func"](states[key]) for key in sorted(states)]


# -- op types

_SOURCE = "input_dataset: variant"
_CAPTURED = "other_arguments: Targuments"
_FUNCTION: dict[str, Any] = {"f": FUNC, "Targuments": arguments("Targuments")}


def _interleave(row: Row) -> Stage:
    numbers = row.number("cycle_length"), row.number("block_length")
    return Interleaved(row.source, row.function(), *numbers)


dataset_op(
    "FlatMapDataset", f"{_SOURCE}, {_CAPTURED}",
    lambda row: FlatMapped(row.source, row.function()),
    "The elements of datasets that a function returns.", _FUNCTION,
)  # fmt: skip
dataset_op(
    "InterleaveDataset", f"{_SOURCE}, {_CAPTURED}, cycle_length: int64, block_length: int64",
    _interleave, "The elements of several datasets side by side.", _FUNCTION,
)  # fmt: skip
dataset_op(
    "DirectedInterleaveDataset ExperimentalDirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N * variant",
    lambda row: DirectedInterleave(
        stage_in(row["selector_input_dataset"]),
        [stage_in(array) for array in row["data_input_datasets"]],
    ),
    "Elements of datasets that another one selects.",
    {"stop_on_empty_dataset": Attr("bool", False), "N": Attr("int", required=True, minimum=1)},
)  # fmt: skip


def _functions(names: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Return the inputs and the attrs for functions with captured tensors."""
    inputs = ", ".join(f"{name}_other_arguments: T{name}_other_arguments" for name in names)
    attrs = dict.fromkeys(names, FUNC)
    types = {f"T{name}_other_arguments": arguments(name) for name in names}
    return f"{_SOURCE}, {inputs}", {**attrs, **types}


_inputs, _attrs = _functions(("key_func", "reduce_func", "window_size_func"))
dataset_op(
    "GroupByWindowDataset ExperimentalGroupByWindowDataset", _inputs,
    lambda row: GroupedByWindow(
        row.source,
        *(
            row.function(name, f"{name}_other_arguments")
            for name in ("key_func", "reduce_func", "window_size_func")
        ),
    ),
    "Datasets function of groups with equal keys.", _attrs,
)  # fmt: skip
_REDUCERS = ("key_func", "init_func", "reduce_func", "finalize_func")
_inputs, _attrs = _functions(_REDUCERS)
dataset_op(
    "GroupByReducerDataset ExperimentalGroupByReducerDataset", _inputs,
    lambda row: GroupedByReducer(
        row.source,
        {name: row.function(name, f"{name}_other_arguments") for name in _REDUCERS},
    ),
    "Reductions of groups with equal keys.", _attrs,
)  # fmt: skip
