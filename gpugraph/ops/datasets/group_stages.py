"""Stages that group elements by a key: datasets of groups, and reductions of groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.ops.datasets.elements.dataset_declaration import FUNC, arguments, dataset_op
from gpugraph.ops.datasets.elements.stage import (
    Element,
    Elements,
    Function,
    Pipeline,
    Stage,
    stage_in,
    variant_of,
)
from gpugraph.ops.datasets.list_stages import ListStage
from gpugraph.ops.datasets.passed_stages import Through


class GroupedByWindow(Stage):
    """A dataset of the elements of other datasets, one dataset after another. A function returns
    one of these datasets for each group of elements with equal keys.
    """

    kind = "GroupByWindow"

    def __init__(self, source: Stage, key: Function, reduce: Function, size: Function) -> None:
        self.source, self.key, self.reduce, self.size = source, key, reduce, size

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the groups as they become full."""
        return GroupElements(self, self.source.elements(pipeline), pipeline)


class GroupElements(Through):
    """An iteration over the elements of the datasets that the function returns for groups.

    `groups` is a dict from key to the elements of the group so far, and `sizes` is a dict from key
    to the size at which the group is full. `flushed` is the key and the elements of the group for
    which the current dataset was returned.
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
        """Return the next element of the current group's dataset. At its end, continue with the
        next full group.
        """
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
        """Return the position and the groups."""
        groups = [
            [key, self.sizes[key], [list(row) for row in rows]] for key, rows in self.groups.items()
        ]
        flushed = None
        if self.flushed is not None and self.current is not None:
            key, rows = self.flushed
            flushed = [key, [list(row) for row in rows], self.current.save()]
        return [self.is_over, groups, list(self.sizes.items()), flushed, self.source.save()]

    def restore(self, state: Any) -> None:
        """Continue at a position that `save` returned, with the saved groups."""
        self.is_over, groups, sizes, flushed, position = state
        self.source.restore(position)
        self.sizes = dict(sizes)
        self.groups = {key: [tuple(row) for row in rows] for key, _, rows in groups}
        if flushed is not None:
            key, rows, position = flushed
            self._read(key, [tuple(row) for row in rows]).restore(position)


class GroupedByReducer(Stage):
    """A dataset with one result for each key, in ascending order of the keys. A result is a
    reduction of the elements with this key.
    """

    kind = "GroupByReducer"

    def __init__(self, source: Stage, functions: dict[str, Function]) -> None:
        self.source, self.functions = source, functions

    def elements(self, pipeline: Pipeline) -> Elements:
        """Iterate over the results."""
        return ReducedGroups(self, self.source.elements(pipeline), pipeline)


class ReducedGroups(Through):
    """An iteration over the results of groups. The first call of `next` reads all elements and
    computes all results.
    """

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


def _functions(names: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Return the inputs and the attrs that an op must declare for functions with captured tensors.

    Args:
      names: the names of the functions.
    """
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
