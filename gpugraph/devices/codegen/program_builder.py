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

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.devices.codegen.c_types import literal, not_native
from gpugraph.devices.codegen.program import (
    Apply,
    Constant,
    Index,
    Input,
    Loop,
    NotNativeError,
    Program,
    Reduce,
    Value,
)
from gpugraph.kernel import Elementwise, Reduction

Shape = tuple[int, ...]

NARROW = 64
"""Up to here rows have the loops of their own size: a third of the time of loops of any size."""


class Fused(NamedTuple):
    """A program and the sizes of its axes for the shapes it was made of."""

    program: Program
    sizes: Shape


class Fusion:
    """Collects values; each is known by the number that made it. gpu: the program is for one."""

    def __init__(self, gpu: bool = False) -> None:
        self._gpu = gpu
        self._values: list[Value] = []
        self._shapes: list[Shape] = []
        self._over: dict[int, frozenset[int]] = {}  # a reduction's axes, counted from the last: 0
        self._outputs: list[int] = []
        self._asked: list[Shape] = []  # the outputs' shapes
        self._expanded: dict[tuple[int, Shape], int] = {}  # values by the places of their axes

    # -- values

    def input(self, dtype: DType, shape: Sequence[int]) -> int:
        """An array given at each run, C-ordered. The order of these calls is that of `bind`."""
        self._check(dtype)
        return self._add(Input(dtype.base_dtype, ()), tuple(shape))

    def constant(self, value: Any, dtype: DType) -> int:
        """A number that becomes part of the text."""
        self._check(dtype)
        return self._add(Constant(dtype.base_dtype, literal(value, dtype.base_dtype)), ())

    def index(self, size: int, dtype: DType) -> int:
        """The vector 0, 1, ... size - 1: where each element is along the last axis."""
        self._check(dtype)
        return self._add(Index(dtype.base_dtype, ()), (size,))

    def apply(
        self,
        kernel: Elementwise | str,
        inputs: Sequence[int],
        dtype: DType,
        type: DType | None = None,
        fails: tuple[str, str] = ("", ""),
    ) -> int:
        """An elementwise text of values; `type` is its T, by default that of the last input.

        `fails`: a text of the same that, where it holds, fails the whole run with
        InvalidArgumentError, and what that says. NotNativeError where the dtypes have no C type,
        ValueError where shapes don't fit.
        """
        text = kernel if isinstance(kernel, str) else kernel.expression
        operands = [self._values[each].dtype for each in inputs]
        chosen = type or (operands[-1] if operands else dtype)
        self._check(dtype, chosen)
        shape = _broadcast([self._shapes[each] for each in inputs])
        types = dtype.base_dtype, chosen.base_dtype
        return self._add(Apply(text, tuple(inputs), *types, fails), shape)

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

    def dtype(self, value: int) -> DType:
        """A value's dtype."""
        return self._values[value].dtype

    def expand(self, value: int, shape: Sequence[int]) -> int:
        """The value as one of this shape, which has further axes of size 1.

        Those in front of all others make no difference, and are left out. ValueError for a shape
        that differs otherwise, NotNativeError of what is made of an index whose axis would no
        longer be the last.
        """
        old = self._shapes[value]
        places: list[int] = []
        for place, size in enumerate(reversed(shape)):
            left = old[: len(old) - len(places)]
            if left and left[-1] == size:
                places.append(place)
            elif size != 1:
                break
        else:
            if len(places) == len(old):
                return self._moved(value, tuple(places))
        raise ValueError(f"{list(old)} can't be {list(shape)} by further axes of size 1")

    def _moved(self, at: int, places: Shape) -> int:
        """The value with each axis, counted from the last, at another place: other axes have size
        1. What it is made of moves with it."""
        value, shape = self._values[at], self._shapes[at]
        places = places[: len(shape)]
        if places == tuple(range(len(shape))):
            return at
        if (at, places) in self._expanded:
            return self._expanded[at, places]
        sizes = dict(zip(places, reversed(shape)))
        moved = tuple(sizes.get(place, 1) for place in range(places[-1], -1, -1))
        if isinstance(value, Input):
            made = self._add(
                Input(value.dtype, (), at if value.source < 0 else value.source), moved
            )
        elif isinstance(value, Apply):
            inputs = tuple(self._moved(each, places) for each in value.inputs)
            made = self._add(value._replace(inputs=inputs), moved)
        elif isinstance(value, Reduce):
            made = self._add(value._replace(input=self._moved(value.input, places)), moved)
            self._over[made] = frozenset(places[place] for place in self._over[at])
        else:
            raise NotNativeError("an index along an axis that is not the last")
        self._expanded[at, places] = made
        return made

    def _add(self, value: Value, shape: Shape) -> int:
        self._values.append(value)
        self._shapes.append(shape)
        return len(self._values) - 1

    def _check(self, *types: DType) -> None:
        reason = not_native(*types, gpu=self._gpu)
        if reason:
            raise NotNativeError(reason)

    # -- the program

    def finish(self) -> Fused:
        """The program. NotNativeError for reductions over axes that it has no loops for."""
        groups, values, sizes = self._collapsed(self._outputs)
        along = tuple(self._along(shape, groups) for shape in self._asked)
        narrow = sizes[-1] if len(sizes) > 1 and sizes[-1] <= NARROW else 0
        program = Program(len(groups), values, tuple(self._outputs), along, narrow)
        return Fused(_checked(program), sizes)

    def finish_loop(self, condition: int, changing: Mapping[int, int]) -> tuple[Loop, Shape]:
        """A loop: `changing` says which value each variable (an input) has next.

        NotNativeError for variables that are not numbers or vectors of one size.
        """
        variables, following = tuple(changing), tuple(changing.values())
        groups, values, sizes = self._collapsed([*variables, *following, condition])
        return Loop(len(groups), values, variables, condition, following), sizes

    def _collapsed(
        self, targets: Iterable[int]
    ) -> tuple[list[list[int]], tuple[Value, ...], Shape]:
        """The axes that behave alike, counted from the last, the values by them, their sizes."""
        shapes = self._used(targets)
        space = _broadcast([*shapes, *self._asked])
        groups = self._groups(space, [*shapes, *self._asked])
        sizes = tuple(prod(space[-1 - place] for place in group) for group in groups)
        values: list[Value] = []
        for at, value in enumerate(self._values):
            if isinstance(value, (Input, Index)):
                value = value._replace(spans=self._along(shapes[at], groups))
            elif isinstance(value, Reduce):
                is_used = shapes[at] == self._shapes[at]
                value = value._replace(axis=self._axis(at, value, groups) if is_used else "none")
            values.append(value)
        return groups, tuple(values), sizes

    def _used(self, targets: Iterable[int]) -> list[Shape]:
        """The values' shapes; () of those that no target is made of, but not of inputs: theirs, or,
        if they are used as another shape, that one."""
        shapes = list(self._shapes)
        needed = set(Program(0, tuple(self._values), (), ()).needed(targets))
        for at in set(range(len(shapes))).difference(needed):
            if not isinstance(self._values[at], Input):
                shapes[at] = ()
        for at in sorted(range(len(shapes)), key=needed.__contains__):
            value = self._values[at]
            if isinstance(value, Input) and value.source >= 0 and value.source not in needed:
                shapes[value.source] = shapes[at]
        return shapes

    def _groups(self, space: Shape, shapes: Sequence[Shape]) -> list[list[int]]:
        """The axes of size other than 1, neighbours that all values treat alike together."""
        groups: list[list[int]] = []
        before: Any = None
        for place in range(len(space) - 1, -1, -1):
            if space[-1 - place] == 1:
                continue
            mark = self._mark(place, shapes)
            if mark == before:
                groups[-1].append(place)
            else:
                groups.append([place])
            before = mark
        return groups

    def _mark(self, place: int, shapes: Sequence[Shape]) -> tuple[bool, ...]:
        """How the values treat an axis: whether they run along it, whether they are reduced."""
        along = [len(shape) > place and shape[-1 - place] != 1 for shape in shapes]
        reduced = [
            place in over for at, over in self._over.items() if shapes[at] == self._shapes[at]
        ]
        return (*along, *reduced)

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
            raise NotNativeError(f"shapes that don't broadcast: {', '.join(map(str, shapes))}")
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
