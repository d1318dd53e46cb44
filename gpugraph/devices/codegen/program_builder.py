"""The builder of programs. `Fusion` collects the values of ops, and broadcasts them in the same way
as NumPy.

    fusion = Fusion()
    x, bias = fusion.input(float32, (256, 128)), fusion.input(float32, (128,))
    y = fusion.apply("x + y", [x, bias], float32)
    fusion.output(fusion.apply("x < (T)0 ? (T)0 : x", [y], float32))
    program, sizes = fusion.finish()

Adjacent axes are merged if each value varies along both axes or along neither, and axes of size 1
are dropped. So kernels for different shapes may have the same source. The kernels receive the sizes
when they are bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType, bfloat16
from gpugraph.base.sizes import is_open
from gpugraph.devices.codegen.c_types import literal, not_native
from gpugraph.devices.codegen.program import (
    Apply,
    Index,
    Input,
    Literal,
    NotNativeError,
    Program,
    Reduce,
    Value,
    WhileProgram,
)
from gpugraph.kernel import Elementwise, Reduction

Shape = tuple[int, ...]

NARROW = 64
"""Rows of at most this size get a loop of constant length, which takes a third of the time of the
general loop.
"""


class Fused(NamedTuple):
    """A program, and the sizes of its axes after merging."""

    program: Program
    sizes: Shape


class Fusion:
    """A builder of a program. Its methods return the indices of values."""

    def __init__(self) -> None:
        self._values: list[Value] = []
        self._shapes: list[Shape] = []
        self._reduced: dict[int, frozenset[int]] = {}  # reductions' axes; the last one is 0
        self._outputs: list[int] = []
        self._output_shapes: list[Shape] = []
        self._stored: dict[int, int] = {}  # by value
        self._expanded: dict[tuple[int, Shape], int] = {}  # by value and positions of axes

    # -- values

    def input(self, dtype: DType, shape: Sequence[int]) -> int:
        """Add an array that the kernel reads. `bind` receives the inputs in the order of these
        calls.
        """
        self._check(dtype)
        return self._add(Input(dtype.base_dtype, ()), tuple(shape))

    def constant(self, value: Any, dtype: DType) -> int:
        """Add a constant. Its value becomes part of the generated source."""
        self._check(dtype)
        return self._add(Literal(dtype.base_dtype, literal(value, dtype.base_dtype)), ())

    def index(self, size: int, dtype: DType) -> int:
        """Add the vector 0, 1, ..., size - 1 along the last axis.

        To place the vector along another axis, pass the returned value to `expand`.
        """
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
        """Add an elementwise expression of values, which are broadcast against each other.

        Raises NotNativeError if a dtype has no C type, or if shapes don't broadcast.

        Args:
          type: the dtype of `T` in the expression, by default the dtype of the last input.
          fails: a C condition on the operands and an error message. If the condition is true, the
            run raises InvalidArgumentError with this message.
        """
        expression = kernel if isinstance(kernel, str) else kernel.expression
        operand = type or (self._values[inputs[-1]].dtype if inputs else dtype)
        self._check(dtype, operand)
        shape = _broadcast([self._shapes[number] for number in inputs])
        types = dtype.base_dtype, operand.base_dtype
        return self._add(Apply(expression, tuple(inputs), *types, fails), shape)

    def reduce(self, kernel: Reduction, value: int, axes: Sequence[int] | None = None) -> int:
        """Add a reduction over axes, by default over all axes. In the shape of the result, the
        reduced axes have size 1.

        The result has the dtype of the reduced value.
        """
        shape = self._shapes[value]
        last = len(shape) - 1
        reduced = {axis % len(shape) for axis in (range(len(shape)) if axes is None else axes)}
        result = tuple(1 if axis in reduced else size for axis, size in enumerate(shape))
        expressions = kernel.start, kernel.combine, kernel.map, kernel.finish
        number = self._add(Reduce(*expressions, value, self._values[value].dtype, ""), result)
        self._reduced[number] = frozenset(last - axis for axis in reduced)
        return number

    def stored(self, value: int) -> int:
        """Return a value as the users of its op see it: bfloat16 is rounded here, and not within an
        op. Other values are returned as they are.
        """
        if self.dtype(value) is not bfloat16 or not isinstance(
            self._values[value], (Apply, Reduce)
        ):
            return value
        if value not in self._stored:
            self._stored[value] = self.apply("stored(x)", [value], bfloat16)
        return self._stored[value]

    def output(self, value: int, shape: Sequence[int] | None = None) -> int:
        """Mark a value as an output and return the output's index. `bind` receives the outputs in
        the order of these calls.

        With a `shape`, the value is repeated along the axes where the value has size 1.
        """
        self._outputs.append(value)
        self._output_shapes.append(self._shapes[value] if shape is None else tuple(shape))
        return len(self._outputs) - 1

    def shape(self, value: int) -> Shape:
        """Return the shape of a value. Reduced axes have size 1."""
        return self._shapes[value]

    def dtype(self, value: int) -> DType:
        """Return a value's dtype."""
        return self._values[value].dtype

    def expand(self, value: int, shape: Sequence[int]) -> int:
        """Add a value that has the elements of `value`, and a `shape` that has additional axes of
        size 1.

        Leading axes of size 1 have no effect, and are omitted. Raises ValueError if the shapes
        differ in another way.
        """
        old = self._shapes[value]
        positions: list[int] = []
        for position, size in enumerate(reversed(shape)):
            left = old[: len(old) - len(positions)]
            if left and left[-1] == size:
                positions.append(position)
            elif size != 1:
                break
        else:
            if len(positions) == len(old):
                return self._transpose(value, tuple(positions))
        raise ValueError(f"{list(old)} can't be {list(shape)} by further axes of size 1")

    def _transpose(self, number: int, positions: Shape) -> int:
        """Add a value whose axes are the axes of another value, moved to `positions`. Position 0 is
        the last axis, 1 the axis before it, and so on. All other axes have size 1. The operands of
        the value are transposed in the same way.
        """
        value, shape = self._values[number], self._shapes[number]
        positions = positions[: len(shape)]
        if positions == tuple(range(len(shape))):
            return number
        if (number, positions) in self._expanded:
            return self._expanded[number, positions]
        if isinstance(value, Input):
            value = Input(value.dtype, (), number if value.source < 0 else value.source)
        elif isinstance(value, Apply):
            inputs = tuple(self._transpose(operand, positions) for operand in value.inputs)
            value = value._replace(inputs=inputs)
        elif isinstance(value, Reduce):
            value = value._replace(input=self._transpose(value.input, positions))
        sizes = dict(zip(positions, reversed(shape)))
        result = self._add(value, tuple(sizes.get(i, 1) for i in range(positions[-1], -1, -1)))
        if isinstance(value, Reduce):
            self._reduced[result] = frozenset(positions[axis] for axis in self._reduced[number])
        self._expanded[number, positions] = result
        return result

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
        """Return the program and the sizes of its axes. Raises NotNativeError if no loops of
        kernels can compute its reductions and outputs.
        """
        groups, values, sizes = self._collapse(self._outputs)
        along = tuple(_along(shape, groups) for shape in self._output_shapes)
        is_known = len(sizes) > 1 and not is_open(sizes[-1:])
        narrow = sizes[-1] if is_known and sizes[-1] <= NARROW else 0
        program = Program(len(groups), values, tuple(self._outputs), along, narrow)
        return Fused(_check_program(program), sizes)

    def finish_loop(
        self, condition: int, changing: Mapping[int, int]
    ) -> tuple[WhileProgram, Shape]:
        """Return a while loop and the sizes of its axes.

        Raises NotNativeError if the loop variables are not all scalars or vectors of one size.

        Args:
          condition: the value that determines whether there is another iteration.
          changing: maps each loop variable (an input) to the value that it has in the next
            iteration.
        """
        variables, following = tuple(changing), tuple(changing.values())
        groups, values, sizes = self._collapse([*variables, *following, condition])
        return WhileProgram(len(groups), values, variables, condition, following), sizes

    def _collapse(self, targets: Iterable[int]) -> tuple[list[list[int]], tuple[Value, ...], Shape]:
        """Merge the axes. Return the groups of merged axes, the values, and the sizes of the
        groups.

        The last axis has number 0. The spans of the returned values refer to groups.
        """
        shapes = self._used(targets)
        space = _broadcast([*shapes, *self._output_shapes])
        groups = self._groups(space, [*shapes, *self._output_shapes])
        sizes = tuple(prod(space[-1 - axis] for axis in group) for group in groups)
        values: list[Value] = []
        for number, value in enumerate(self._values):
            if isinstance(value, (Input, Index)):
                value = value._replace(spans=_along(shapes[number], groups))
            elif isinstance(value, Reduce):
                is_used = shapes[number] == self._shapes[number]
                axis = self._axis(number, value, groups) if is_used else "none"
                value = value._replace(axis=axis)
            values.append(value)
        return groups, tuple(values), sizes

    def _used(self, targets: Iterable[int]) -> list[Shape]:
        """Return the shapes of the values on which `targets` depend, and () for all other values.

        If an input is used only in transposed form, its shape is the shape of that form.
        """
        shapes = list(self._shapes)
        needed = set(Program(0, tuple(self._values), (), ()).needed(targets))
        for number in set(range(len(shapes))).difference(needed):
            if not isinstance(self._values[number], Input):
                shapes[number] = ()
        for number in sorted(range(len(shapes)), key=needed.__contains__):
            value = self._values[number]
            if isinstance(value, Input) and value.source >= 0 and value.source not in needed:
                shapes[value.source] = shapes[number]
        return shapes

    def _groups(self, space: Shape, shapes: Sequence[Shape]) -> list[list[int]]:
        """Return groups of the axes whose size is not 1. Adjacent axes are in the same group if all
        values either vary along both axes or along neither, and all reductions reduce both or
        neither.
        """
        groups: list[list[int]] = []
        previous: Any = None
        for axis in range(len(space) - 1, -1, -1):
            if space[-1 - axis] == 1:
                continue
            treatment = self._treatment(axis, shapes)
            if treatment == previous:
                groups[-1].append(axis)
            else:
                groups.append([axis])
            previous = treatment
        return groups

    def _treatment(self, axis: int, shapes: Sequence[Shape]) -> tuple[bool, ...]:
        """Return flags for an axis: whether each value varies along the axis, and whether each
        reduction reduces it. Two axes can be merged only if their flags are equal.
        """
        along = [len(shape) > axis and shape[-1 - axis] != 1 for shape in shapes]
        reduced = [
            axis in axes
            for number, axes in self._reduced.items()
            if shapes[number] == self._shapes[number]
        ]
        return (*along, *reduced)

    def _axis(self, number: int, value: Reduce, groups: list[list[int]]) -> str:
        """Return the value of `Reduce.axis` for a reduction. Raises NotNativeError if kernels can't
        reduce over these axes.
        """
        shape = self._shapes[value.input]
        along = zip(_along(shape, groups), groups)
        reduced = [is_along and group[0] in self._reduced[number] for is_along, group in along]
        if not any(reduced):
            return "none"
        if all(reduced):
            return "all"
        if not any(reduced[:-1]):
            return "last"
        if all(reduced[:-1]) and not reduced[-1]:
            return "rows"
        axes = sorted(len(shape) - 1 - axis for axis in self._reduced[number])
        raise NotNativeError(
            f"a reduction over axes {axes} of {list(shape)} is neither over the last axes, nor "
            "over all others, nor over all"
        )


def _along(shape: Shape, groups: list[list[int]]) -> tuple[bool, ...]:
    """Return, for each group of axes, whether an array of this shape varies along it."""
    return tuple(len(shape) > group[0] and shape[-1 - group[0]] != 1 for group in groups)


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    result = []
    for axis in range(max(map(len, shapes), default=0), 0, -1):
        sizes = {shape[-axis] for shape in shapes if len(shape) >= axis} - {1}
        first = next(iter(sizes), 1)
        if len(sizes) > 1 and not all(size == first for size in sizes):  # open sizes may be equal
            raise NotNativeError(f"shapes that don't broadcast: {', '.join(map(str, shapes))}")
        result.append(first)
    return tuple(result)


def _check_program(program: Program) -> Program:
    """Return the program unchanged. Raises NotNativeError with the reason if kernels can't compute
    it.
    """
    if not program.outputs:
        raise NotNativeError("a kernel without outputs")
    spans = program.spans()
    trailing = program.trailing()
    late = program.made_of(trailing)
    for number, along in zip(program.outputs, program.along):
        if any(spanned and not is_along for spanned, is_along in zip(spans[number], along)):
            raise NotNativeError("an output smaller than its value")
        if number in late and any(along[:-1]):
            raise NotNativeError("a reduction over all rows is needed in each of them")
        is_row = program.reductions and all(along[:-1]) and spans[number][-1:] != (True,)
        if not (all(along) or is_row or number in late):
            raise NotNativeError(f"an output of the axes {along} of a kernel's loops")
    for number in late:
        if any(spans[number][:-1]):
            raise NotNativeError("a reduction over all rows is needed row by row")
        is_refused = number not in trailing or program.operands(number)[0] in late
        if number in program.reductions and is_refused:
            raise NotNativeError("a reduction of what is known when all rows are done")
    early = set(program.reductions) - late
    if early.intersection(program.needed(late, trailing)):
        raise NotNativeError("a reduction of a row is needed when all rows are done")
    return program
