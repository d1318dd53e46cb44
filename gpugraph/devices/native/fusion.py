"""From ops on shapes to a program: `Fusion` is told what is computed, axis by NumPy's rules.

    fusion = Fusion()
    x, bias = fusion.input(float32, (256, 128)), fusion.input(float32, (128,))
    y = fusion.apply("x + y", [x, bias], float32)
    fusion.output(fusion.apply("x < (T)0 ? (T)0 : x", [y], float32))
    program, sizes = fusion.finish()

Axes along which all values behave alike become one, axes of size 1 none: kernels of different
shapes are then the same text, with sizes given when they are bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from gpugraph.devices.native.element_types import literal, not_native
from gpugraph.devices.native.program import (
    Apply,
    Constant,
    Input,
    Loop,
    NotNativeError,
    Program,
    Reduce,
    Value,
)
from gpugraph.dtypes import DType
from gpugraph.kernel import Elementwise, Reduction

__all__ = ["Fused", "Fusion"]

Shape = tuple[int, ...]


class Fused(NamedTuple):
    """A program and the sizes of its axes for the shapes it was made of."""

    program: Program
    sizes: Shape


class Fusion:
    """Collects values; each is known by the number that made it."""

    def __init__(self) -> None:
        self._values: list[Value] = []
        self._shapes: list[Shape] = []
        self._over: dict[int, frozenset[int]] = {}  # a reduction's axes, counted from the last: 0
        self._outputs: list[int] = []
        self._asked: list[Shape] = []  # the outputs' shapes

    # -- values

    def input(self, dtype: DType, shape: Sequence[int]) -> int:
        """An array given at each run, C-ordered. The order of these calls is that of `bind`."""
        self._check(dtype)
        return self._add(Input(dtype.base_dtype, ()), tuple(shape))

    def constant(self, value: Any, dtype: DType) -> int:
        """A number that becomes part of the text."""
        self._check(dtype)
        return self._add(Constant(dtype.base_dtype, literal(value, dtype.base_dtype)), ())

    def apply(
        self,
        kernel: Elementwise | str,
        inputs: Sequence[int],
        dtype: DType,
        type: DType | None = None,
    ) -> int:
        """An elementwise text of values; `type` is its T, by default that of the last input.

        NotNativeError where the dtypes have no C type, ValueError where shapes don't fit.
        """
        text = kernel if isinstance(kernel, str) else kernel.text
        operands = [self._values[each].dtype for each in inputs]
        chosen = type or (operands[-1] if operands else dtype)
        self._check(dtype, chosen)
        shape = _broadcast([self._shapes[each] for each in inputs])
        return self._add(Apply(text, tuple(inputs), dtype.base_dtype, chosen.base_dtype), shape)

    def reduce(self, kernel: Reduction, value: int, axes: Sequence[int] | None = None) -> int:
        """A reduction over axes of a value, which stay with size 1; over all by default.

        The result has the value's dtype.
        """
        shape = self._shapes[value]
        rank = len(shape)
        chosen = range(rank) if axes is None else axes
        over = frozenset(rank - 1 - (axis % rank) for axis in chosen)
        kept = tuple(1 if rank - 1 - at in over else size for at, size in enumerate(shape))
        texts = kernel.start, kernel.combine, kernel.map, kernel.finish
        made = self._add(Reduce(*texts, value, self._values[value].dtype, ""), kept)
        self._over[made] = over
        return made

    def output(self, value: int, shape: Sequence[int] | None = None) -> int:
        """Asks for a value; which output it is. The order of these calls is that of `bind`.

        With a shape, the value is repeated along the axes in which it has size 1.
        """
        self._outputs.append(value)
        self._asked.append(self._shapes[value] if shape is None else tuple(shape))
        return len(self._outputs) - 1

    def shape(self, value: int) -> Shape:
        """A value's shape; reduced axes have size 1."""
        return self._shapes[value]

    def _add(self, value: Value, shape: Shape) -> int:
        self._values.append(value)
        self._shapes.append(shape)
        return len(self._values) - 1

    def _check(self, *types: DType) -> None:
        reason = not_native(*types)
        if reason:
            raise NotNativeError(reason)

    # -- the program

    def finish(self) -> Fused:
        """The program. NotNativeError for reductions over axes that it has no loops for."""
        groups, values, sizes = self._collapsed()
        along = tuple(self._along(shape, groups) for shape in self._asked)
        program = Program(len(groups), values, tuple(self._outputs), along)
        return Fused(_checked(program), sizes)

    def finish_loop(self, condition: int, changing: Mapping[int, int]) -> tuple[Loop, Shape]:
        """A loop: `changing` says which value each variable (an input) has next.

        NotNativeError for variables that are not numbers or vectors of one size.
        """
        groups, values, sizes = self._collapsed()
        variables, following = tuple(changing), tuple(changing.values())
        return Loop(len(groups), values, variables, condition, following), sizes

    def _collapsed(self) -> tuple[list[list[int]], tuple[Value, ...], Shape]:
        """The axes that behave alike, counted from the last, the values by them, their sizes."""
        space = _broadcast([*self._shapes, *self._asked])
        groups = self._groups(space)
        sizes = tuple(prod(space[-1 - place] for place in group) for group in groups)
        values: list[Value] = []
        for at, value in enumerate(self._values):
            if isinstance(value, Input):
                value = value._replace(spans=self._along(self._shapes[at], groups))
            elif isinstance(value, Reduce):
                value = value._replace(axis=self._axis(at, value, groups))
            values.append(value)
        return groups, tuple(values), sizes

    def _groups(self, space: Shape) -> list[list[int]]:
        """The axes of size other than 1, neighbours that all values treat alike together."""
        groups: list[list[int]] = []
        before: Any = None
        for place in range(len(space) - 1, -1, -1):
            if space[-1 - place] == 1:
                continue
            mark = self._mark(place)
            if mark == before:
                groups[-1].append(place)
            else:
                groups.append([place])
            before = mark
        return groups

    def _mark(self, place: int) -> tuple[bool, ...]:
        """How the values treat an axis: whether they run along it, whether they are reduced."""
        shapes = [*self._shapes, *self._asked]
        along = [len(shape) > place and shape[-1 - place] != 1 for shape in shapes]
        return tuple(along) + tuple(place in over for over in self._over.values())

    def _along(self, shape: Shape, groups: list[list[int]]) -> tuple[bool, ...]:
        """Along which groups of axes an array of this shape runs."""
        return tuple(len(shape) > each[0] and shape[-1 - each[0]] != 1 for each in groups)

    def _axis(self, at: int, value: Reduce, groups: list[list[int]]) -> str:
        """Which axes of the space the reduction is over; it must run along all it ends."""
        shape = self._shapes[value.input]
        along = self._along(shape, groups)
        reduced = [one and each[0] in self._over[at] for one, each in zip(along, groups)]
        if not any(reduced):
            return "none"
        if all(reduced):
            return "all"
        if not any(reduced[:-1]):
            return "last"
        if all(reduced[:-1]) and not reduced[-1]:
            return "rows"
        axes = sorted(len(shape) - 1 - place for place in self._over[at])
        raise NotNativeError(
            f"a reduction over axes {axes} of {list(shape)} is neither over the last axes, nor "
            "over all others, nor over all"
        )


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    rank = max(map(len, shapes), default=0)
    found = []
    for place in range(rank, 0, -1):
        sizes = {shape[-place] for shape in shapes if len(shape) >= place} - {1}
        if len(sizes) > 1:
            raise ValueError(f"Shapes that don't broadcast: {', '.join(map(str, shapes))}")
        found.append(sizes.pop() if sizes else 1)
    return tuple(found)


def _checked(program: Program) -> Program:
    """The program, if there are loops for it."""
    if not program.outputs:
        raise NotNativeError("a kernel without outputs")
    spans = program.spans()
    trailing = program.trailing()
    late = program.made_of(trailing)
    early = set(program.reductions) - late
    for at, along in zip(program.outputs, program.along):
        if any(one and not other for one, other in zip(spans[at], along)):
            raise NotNativeError("an output smaller than its value")
        if at in late and any(along[:-1]):
            raise NotNativeError("a reduction over all rows is needed in each of them")
        is_row = program.reductions and all(along[:-1]) and spans[at][-1:] != (True,)
        if not (all(along) or is_row or at in late):
            raise NotNativeError(f"an output of the axes {along} of a kernel's loops")
    for at in late:
        if any(spans[at][:-1]):
            raise NotNativeError("a reduction over all rows is needed row by row")
        if at in program.reductions and (at not in trailing or program.operands(at)[0] in late):
            raise NotNativeError("a reduction of what is known when all rows are done")
    if early.intersection(program.needed(late, trailing)):
        raise NotNativeError("a reduction of a row is needed when all rows are done")
    return program
