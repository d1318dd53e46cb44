"""Programs: the computation of a native kernel as a list of values. Each value is computed from
earlier values, and varies along some axes of a common space.

    space (rows, columns)          x: (yes, yes)   bias: (no, yes)   largest: (yes, no)   rate: ()

The spans of a value mark the axes of the space along which it varies. Along all other axes, the
value is constant. An input is a C-ordered array that has only the axes along which the input
varies. `Fusion` (program_builder.py) creates programs from ops and shapes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from gpugraph.base.dtypes import DType


class NotNativeError(Exception):
    """The error for an op that no native kernel can compute. The message is the reason."""


class Input(NamedTuple):
    """An array that the kernel reads. An array that varies along no axis is a single number.

    Args:
      source: if this input reads the array of another input along other axes, the index of that
        input, else -1.
    """

    dtype: DType
    spans: tuple[bool, ...]
    source: int = -1


class Literal(NamedTuple):
    """A number that is part of the source.

    Args:
      literal: the C literal of the number. The literals of -0.0 and 0.0 differ.
    """

    dtype: DType
    literal: str


class Index(NamedTuple):
    """The index of an element along the axis that `spans` marks. If the axis has size 1, `spans`
    marks no axis, and the index is 0.
    """

    dtype: DType
    spans: tuple[bool, ...]


class Apply(NamedTuple):
    """An `Elementwise` expression of earlier values. In the expression, `T` is the C type of
    `type`, and `U` is the C type of `dtype`, the dtype of the result.

    Args:
      fails: a C condition on the operands and an error message. If the condition is true, the run
        fails with this message.
    """

    expression: str
    inputs: tuple[int, ...]
    dtype: DType
    type: DType
    fails: tuple[str, str] = ("", "")


class Reduce(NamedTuple):
    """A reduction of the earlier value `input`, with the expressions of a `Reduction`.

    Args:
      axis: "last"; "rows" (all axes except the last); "all"; or "none" (a single element).
    """

    start: str
    combine: str
    map: str
    finish: str
    input: int
    dtype: DType
    axis: str


Value = Input | Literal | Index | Apply | Reduce


class Program(NamedTuple):
    """The values of a kernel, each after its operands. A value is identified by its index in the
    list of values.

    The program also contains the indices of the values that are outputs, and the axes along which
    each output varies. If an output has axes that its value does not have, the value is repeated
    along these axes.

    Args:
      narrow: the size of the last axis if this axis is so small that the source contains its size,
        else 0.
    """

    axes: int
    values: tuple[Value, ...]
    outputs: tuple[int, ...]
    along: tuple[tuple[bool, ...], ...]
    narrow: int = 0

    @property
    def inputs(self) -> list[int]:
        """The indices of the inputs that are separate arrays."""
        return [index for index in self.arrays if self.source(index) == index]

    @property
    def arrays(self) -> list[int]:
        """The indices of all inputs, including inputs that read another input's array."""
        return _inputs(self.values)

    def source(self, index: int) -> int:
        """Return the index of the input whose array this input reads. If the input has a separate
        array, return its own index.
        """
        value = self.values[index]
        return value.source if isinstance(value, Input) and value.source >= 0 else index

    @property
    def reductions(self) -> dict[int, Reduce]:
        """The reductions over more than one element, by index."""
        return {
            index: value
            for index, value in enumerate(self.values)
            if isinstance(value, Reduce) and value.axis != "none"
        }

    def trailing(self) -> dict[int, Reduce]:
        """Return the reductions that are complete only after all rows, by index."""
        return {
            index: value
            for index, value in self.reductions.items()
            if value.axis == "rows" or (value.axis == "all" and self.axes > 1)
        }

    def row_reductions(self) -> set[int]:
        """Return the indices of the reductions that are complete after each row."""
        return set(self.reductions).difference(self.trailing())

    def operands(self, index: int) -> tuple[int, ...]:
        """Return the indices of the values from which a value is computed."""
        value = self.values[index]
        if isinstance(value, Apply):
            return value.inputs
        return (value.input,) if isinstance(value, Reduce) else ()

    def made_of(self, first: Iterable[int]) -> set[int]:
        """Return the indices in `first`, and the indices of all values that depend on them."""
        users = set(first)
        for index in range(len(self.values)):
            if users.intersection(self.operands(index)):
                users.add(index)
        return users

    def needed(self, targets: Iterable[int], known: Container[int] = ()) -> list[int]:
        """Return the values that must be computed for `targets`, in order, if the `known` values
        are already computed.
        """
        needed: set[int] = set()
        pending = list(targets)
        while pending:
            index = pending.pop()
            if index not in needed and index not in known:
                needed.add(index)
                pending += self.operands(index)
        return sorted(needed)

    def spans(self) -> list[tuple[bool, ...]]:
        """Return a tuple of bools for each value: whether the value varies along each axis."""
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


class WhileProgram(NamedTuple):
    """A while loop, whose values are identified by their indices.

    Args:
      variables: the inputs that are loop variables.
      next: the values that the loop variables have in the next iteration.
      condition: the value that determines whether there is another iteration.
    """

    axes: int
    values: tuple[Value, ...]
    variables: tuple[int, ...]
    condition: int
    next: tuple[int, ...]

    @property
    def inputs(self) -> list[int]:
        """The indices of the inputs, which are the loop variables and the values that the loop does
        not change.
        """
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
