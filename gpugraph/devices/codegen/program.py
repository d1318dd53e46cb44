"""The work of a native kernel, as a record: values over a space of axes, and their operands.

    space (rows, columns)          x: (yes, yes)   bias: (no, yes)   largest: (yes, no)   rate: ()

A value runs along some of the space's axes, and is the same along the others. Inputs are C-ordered
arrays of the axes they run along. `Fusion` (program_builder.py) makes programs from shapes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from gpugraph.base.dtypes import DType


class NotNativeError(Exception):
    """An op can't be a native kernel; the message is the reason."""


class Input(NamedTuple):
    """An array, or one number if it runs along no axis.

    source: the input whose array this is, along other axes; -1: it is its own.
    """

    dtype: DType
    spans: tuple[bool, ...]
    source: int = -1


class Constant(NamedTuple):
    """A number that is part of the source: `literal` in C, where -0 is not 0."""

    dtype: DType
    literal: str


class Index(NamedTuple):
    """The index of an element along one axis; 0 if that has size 1."""

    dtype: DType
    spans: tuple[bool, ...]


class Apply(NamedTuple):
    """An `Elementwise` expression of earlier values: its `T` is `type`, its `U` the `dtype`.

    fails: an expression of the same values that fails the run if it holds, and the message.
    """

    expression: str
    inputs: tuple[int, ...]
    dtype: DType
    type: DType
    fails: tuple[str, str] = ("", "")


class Reduce(NamedTuple):
    """The expressions of a `Reduction` over axes of an earlier value.

    axis: "last"; "rows": all but the last; "all"; or "none": of one element.
    """

    start: str
    combine: str
    map: str
    finish: str
    input: int
    dtype: DType
    axis: str


Value = Input | Constant | Index | Apply | Reduce


class Program(NamedTuple):
    """The values in order, the numbers of the outputs, and the axes along which each output runs.

    Along an output's axes that its value doesn't have, the value is repeated. narrow: the size of
    the last axis, if it is so small that it is part of the source; else 0.
    """

    axes: int
    values: tuple[Value, ...]
    outputs: tuple[int, ...]
    along: tuple[tuple[bool, ...], ...]
    narrow: int = 0

    @property
    def inputs(self) -> list[int]:
        """The values that are inputs with separate arrays."""
        return [index for index in self.arrays if self.source(index) == index]

    @property
    def arrays(self) -> list[int]:
        """The values that are read from arrays."""
        return _inputs(self.values)

    def source(self, index: int) -> int:
        """Return the input whose array this value is."""
        value = self.values[index]
        return value.source if isinstance(value, Input) and value.source >= 0 else index

    @property
    def reductions(self) -> dict[int, Reduce]:
        """The values that are reductions of more than one element."""
        return {
            index: value
            for index, value in enumerate(self.values)
            if isinstance(value, Reduce) and value.axis != "none"
        }

    def trailing(self) -> dict[int, Reduce]:
        """Return the reductions that are complete only after all rows."""
        return {
            index: value
            for index, value in self.reductions.items()
            if value.axis == "rows" or (value.axis == "all" and self.axes > 1)
        }

    def row_reductions(self) -> set[int]:
        """Return the other reductions, which are complete after a row."""
        return set(self.reductions).difference(self.trailing())

    def operands(self, index: int) -> tuple[int, ...]:
        """Return the values that a value is computed from."""
        value = self.values[index]
        if isinstance(value, Apply):
            return value.inputs
        return (value.input,) if isinstance(value, Reduce) else ()

    def made_of(self, first: Iterable[int]) -> set[int]:
        """Return `first` and all values that need any of them."""
        users = set(first)
        for index in range(len(self.values)):
            if users.intersection(self.operands(index)):
                users.add(index)
        return users

    def needed(self, targets: Iterable[int], known: Container[int] = ()) -> list[int]:
        """Return `targets` and all their operands, in order, without `known`."""
        needed: set[int] = set()
        pending = list(targets)
        while pending:
            index = pending.pop()
            if index not in needed and index not in known:
                needed.add(index)
                pending += self.operands(index)
        return sorted(needed)

    def spans(self) -> list[tuple[bool, ...]]:
        """Return the axes along which each value runs."""
        spans: list[tuple[bool, ...]] = []
        for index, value in enumerate(self.values):
            if isinstance(value, (Input, Index)):
                spans.append(value.spans)
            elif isinstance(value, Reduce):
                spans.append(_reduced(spans[value.input], value.axis))
            else:
                operands = [spans[operand] for operand in self.operands(index)]
                spans.append(tuple(map(any, zip((False,) * self.axes, *operands))))
        return spans


class Loop(NamedTuple):
    """A while loop. variables: the inputs that change. next: their next values. condition: whether
    there is another iteration."""

    axes: int
    values: tuple[Value, ...]
    variables: tuple[int, ...]
    condition: int
    next: tuple[int, ...]

    @property
    def inputs(self) -> list[int]:
        """The values that are inputs: variables and invariants."""
        return _inputs(self.values)


def _inputs(values: tuple[Value, ...]) -> list[int]:
    return [index for index, value in enumerate(values) if isinstance(value, Input)]


def _reduced(spans: tuple[bool, ...], axis: str) -> tuple[bool, ...]:
    if axis == "all":
        return (False,) * len(spans)
    if axis == "last":
        return (*spans[:-1], False)
    if axis == "rows":
        return (*(False,) * (len(spans) - 1), spans[-1])
    return spans
