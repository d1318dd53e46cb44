"""What a native kernel computes, as a record: values over a space of axes, made of each other.

    space (rows, columns)          x: (yes, yes)   bias: (no, yes)   largest: (yes, no)   rate: ()

A value runs along some of the space's axes, and is the same along the others. Inputs are C-ordered
arrays of the axes they run along. `Fusion` (in `fusion`) makes programs from shapes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from gpugraph.base.dtypes import DType


class NotNativeError(Exception):
    """What was asked for can't be a native kernel; the message says why."""


class Input(NamedTuple):
    """An array, or one number where it runs along no axis.

    source: the input whose array this is, along other axes; -1: it is its own.
    """

    dtype: DType
    spans: tuple[bool, ...]
    source: int = -1


class Constant(NamedTuple):
    """A number that is part of the text: `literal` is its C text, which tells -0 from 0."""

    dtype: DType
    literal: str


class Index(NamedTuple):
    """Where an element is along the last axis; 0 where that has size 1."""

    dtype: DType
    spans: tuple[bool, ...]


class Apply(NamedTuple):
    """An `Elementwise` text of earlier values: its `T` is `type`, its `U` the result's `dtype`.

    fails: a text of the same that, where it holds, fails the run, and what that says.
    """

    text: str
    inputs: tuple[int, ...]
    dtype: DType
    type: DType
    fails: tuple[str, str] = ("", "")


class Reduce(NamedTuple):
    """The texts of a `Reduction` over axes of an earlier value.

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
    """The values in order, which of them are outputs, and along which axes each output runs.

    Along what an output runs and its value doesn't, the value is repeated. narrow: the size of the
    last axis, where it is so small that it is part of the text; else 0.
    """

    axes: int
    values: tuple[Value, ...]
    outputs: tuple[int, ...]
    along: tuple[tuple[bool, ...], ...]
    narrow: int = 0

    @property
    def inputs(self) -> list[int]:
        """The values that are inputs with arrays of their own."""
        return [at for at in self.arrays if self.source(at) == at]

    @property
    def arrays(self) -> list[int]:
        """The values that are read from arrays."""
        return [at for at, value in enumerate(self.values) if isinstance(value, Input)]

    def source(self, at: int) -> int:
        """The input whose array value `at` is."""
        value = self.values[at]
        return value.source if isinstance(value, Input) and value.source >= 0 else at

    @property
    def reductions(self) -> dict[int, Reduce]:
        """The values that are reductions of more than one element."""
        return {
            at: value
            for at, value in enumerate(self.values)
            if isinstance(value, Reduce) and value.axis != "none"
        }

    def trailing(self) -> dict[int, Reduce]:
        """Of these, those that are known when all rows are done."""
        return {
            at: value
            for at, value in self.reductions.items()
            if value.axis == "rows" or (value.axis == "all" and self.axes > 1)
        }

    def operands(self, at: int) -> tuple[int, ...]:
        """The values that a value is made of."""
        value = self.values[at]
        if isinstance(value, Apply):
            return value.inputs
        return (value.input,) if isinstance(value, Reduce) else ()

    def made_of(self, first: Iterable[int]) -> set[int]:
        """`first` and all values that need any of them."""
        found = set(first)
        for at in range(len(self.values)):
            if found.intersection(self.operands(at)):
                found.add(at)
        return found

    def needed(self, targets: Iterable[int], known: Container[int] = ()) -> list[int]:
        """`targets` and all they are made of, in order, but what is known."""
        found: set[int] = set()
        todo = list(targets)
        while todo:
            at = todo.pop()
            if at not in found and at not in known:
                found.add(at)
                todo += self.operands(at)
        return sorted(found)

    def spans(self) -> list[tuple[bool, ...]]:
        """Of each value, along which axes it runs."""
        found: list[tuple[bool, ...]] = []
        none = (False,) * self.axes
        for value in self.values:
            if isinstance(value, (Input, Index)):
                found.append(value.spans)
            elif isinstance(value, Constant):
                found.append(none)
            elif isinstance(value, Apply):
                given = [found[each] for each in value.inputs]
                found.append(tuple(map(any, zip(none, *given))) if given else none)
            else:
                found.append(_reduced(found[value.input], value.axis))
        return found


class Loop(NamedTuple):
    """variables: the inputs that change. next: their next values. condition: whether it goes on."""

    axes: int
    values: tuple[Value, ...]
    variables: tuple[int, ...]
    condition: int
    next: tuple[int, ...]

    @property
    def inputs(self) -> list[int]:
        """The values that are inputs: variables and what does not change."""
        return [at for at, value in enumerate(self.values) if isinstance(value, Input)]


def _reduced(spans: tuple[bool, ...], axis: str) -> tuple[bool, ...]:
    if axis == "all":
        return (False,) * len(spans)
    if axis == "last":
        return (*spans[:-1], False)
    if axis == "rows":
        return (*(False,) * (len(spans) - 1), spans[-1])
    return spans
