"""The conversion of optimizers' formulas to Python functions that call NumPy, for updates if there
is no compiler.

A formula is traced into a Python function, once for each dtype and set of attrs. The function
computes operations on scalars once, and operations on arrays once for each piece of the variable. A
result is written to a temporary, or over an operand that is no longer needed. The new value of the
variable or a slot is written directly to its array if the old value is not read afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.kernel import Builder, Elementwise, KernelContext, Reduction, Signature
from gpugraph.ops.framework.formula_terms import Formula, Term

IF_POSITIVE = "z > (T)0 ? x : y"  # z is a scalar input, so that only x or y is computed
IF_GREATER = "y > z ? x : (T)0"
NOT_NEGATIVE = "x < (T)0 ? (T)0 : x"
RAISED = "y == (T)0.5 ? sqrt(x) : pow(x, y)"
SIGN = "x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == (T)0 ? (T)0 : x"


def _raise(x: Any, y: Any, out: Any) -> None:
    if y == 0.5:
        np.sqrt(x, out)
    else:
        np.power(x, y, out)


def _drop_negative(x: Any, out: Any) -> None:
    np.maximum(x, 0, out=out)


def _zero_unless_greater(x: Any, y: Any, z: Any, out: Any) -> None:
    if out is not x:
        np.copyto(out, x)
    np.copyto(out, 0, where=~(y > z))


_ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "x + y": np.add,
    "x - y": np.subtract,
    "x * y": np.multiply,
    "x / y": np.divide,
    "sqrt(x)": np.sqrt,
    "fabs(x)": np.abs,
    NOT_NEGATIVE: _drop_negative,
    SIGN: np.sign,
    RAISED: _raise,
    IF_GREATER: _zero_unless_greater,
}
_GLOBALS = {f.__name__: f for f in (*_ARRAY_FUNCTIONS.values(), np.copyto)}


class _Operation(NamedTuple):
    expression: str
    inputs: tuple[int, ...]
    output: int


class _Trace(Builder):
    """A builder that records the operations of a formula on numbered values. Equal values are
    merged.

    `condition` is the number of the value z of an IF_POSITIVE operation. The program tests the sign
    of this value.

    Args:
      is_array: for each input, whether it is an array. All other inputs are scalars.
      is_positive: whether to record the operand x of IF_POSITIVE. Otherwise y is recorded.
    """

    def __init__(self, is_array: Sequence[bool], dtype: DType, is_positive: bool) -> None:
        self.is_array = list(is_array)
        self.num_inputs, self.type, self.is_positive = len(is_array), dtype, is_positive
        self.constants: dict[Any, tuple[str, int]] = {}
        self.operations: dict[Any, _Operation] = {}
        self.condition: int | None = None

    def _number(self, is_array: bool) -> int:
        self.is_array.append(is_array)
        return len(self.is_array) - 1

    def constant(self, value: Any, dtype: DType) -> int:
        """Return the number of the value that is the constant `value`."""
        if value not in self.constants:
            name = f"{'c' if self.is_positive else 'd'}{len(self.constants)}"
            self.constants[value] = name, self._number(False)
        return self.constants[value][1]

    def apply(
        self,
        kernel: Elementwise | str,
        inputs: Sequence[int],
        dtype: DType,
        type: DType | None = None,
        fails: tuple[str, str] = ("", ""),
    ) -> int:
        """Record an expression, unless an equal expression has been recorded. Return the number of
        its value.
        """
        if kernel == IF_POSITIVE:
            self.condition = inputs[2]
            return inputs[0] if self.is_positive else inputs[1]
        key = kernel, *inputs
        if key not in self.operations:
            output = self._number(any(self.is_array[number] for number in inputs))
            self.operations[key] = _Operation(str(kernel), tuple(inputs), output)
        return self.operations[key].output

    def index(self, size: int, dtype: DType) -> int:
        """Raise NotImplementedError. The array is processed in pieces, so a piece does not know the
        index of an element in the whole array.
        """
        raise NotImplementedError("pieces of a variable have no coordinates")

    def reduce(self, kernel: Reduction, value: int, axes: Sequence[int] | None = None) -> int:
        """Raise NotImplementedError, because an update has no reductions."""
        raise NotImplementedError("pieces of a variable are not reduced")

    def expand(self, value: int, shape: Sequence[int]) -> int:
        """Return `value`, because shapes are not traced."""
        return value

    def shape(self, value: int) -> tuple[int, ...]:
        """Return (), because shapes are not traced."""
        return ()

    def dtype(self, value: int) -> DType:
        """Return the dtype of all values."""
        return self.type


class _Program:
    """The recorded operations as Python statements, for all pieces of the arrays.

    The variables in the statements are `c0` or `d0`, ... (constants), `s0`, ... (scalars), `a0`,
    ... (arrays) and `t0`, ... (temporaries). The first arrays are the variable and its slots, which
    the statements write.
    """

    def __init__(self, trace: _Trace, outputs: Sequence[int]) -> None:
        numbers = range(trace.num_inputs)
        self.arrays = [number for number in numbers if trace.is_array[number]]
        scalars = [number for number in numbers if not trace.is_array[number]]
        self.names = {number: f"s{index}" for index, number in enumerate(scalars)}
        self.names |= {number: f"a{index}" for index, number in enumerate(self.arrays)}
        self.names |= {number: name for name, number in trace.constants.values()}
        self.temporaries: list[str] = []
        operations = _needed(list(trace.operations.values()), outputs)
        self.computed = [self._scalar(op) for op in operations if not trace.is_array[op.output]]
        self.calls = self._calls([op for op in operations if trace.is_array[op.output]], outputs)

    def lines(self, num_temporaries: int) -> list[str]:
        """Return the statements. The statements on scalars come first, followed by a loop over the
        pieces.
        """
        arrays = [f"a{index}" for index in range(len(self.arrays))]
        temporaries = [f"t{index}" for index in range(num_temporaries)]
        loop = f"for [{', '.join(arrays + temporaries)}] in pieces:"
        return [*self.computed, loop, *(f"    {call}" for call in self.calls)]

    def _scalar(self, operation: _Operation) -> str:
        name = self.names[operation.output] = f"s{len(self.names)}"
        operands = dict(zip("xy", (self.names[number] for number in operation.inputs)))
        expression = operation.expression.replace("(U)x", "cast(x)")
        return f"{name} = " + re.sub(r"\b[xy]\b", lambda match: operands[match[0]], expression)

    def _calls(self, operations: Sequence[_Operation], outputs: Sequence[int]) -> list[str]:
        """Return the NumPy calls in the order of execution. Choose an array for each result."""
        written = self.arrays[: len(outputs)]
        homes = {number: f"a{index}" for index, number in enumerate(outputs)}
        uses = {n: index for index, operation in enumerate(operations) for n in operation.inputs}
        uses |= dict.fromkeys(outputs, len(operations))
        preserved = {*self.arrays[len(outputs) :], *outputs}
        free = {self.names[number] for number in written if number not in {*uses, *outputs}}
        calls = []
        for index, (expression, inputs, output) in enumerate(operations):
            operands = [self.names[number] for number in inputs]
            dead = [
                name
                for number, name in zip(inputs, operands)
                if name[0] in "at" and uses[number] == index and number not in preserved
            ]
            free.update(dead)
            wanted = [homes[output]] if output in homes else dead
            names = [name for name in [*wanted, *self.temporaries] if name in free]
            if not names:
                names = [f"t{len(self.temporaries)}"]
                self.temporaries += names
            self.names[output] = names[0]
            free.discard(names[0])
            function = _ARRAY_FUNCTIONS[expression].__name__
            calls.append(f"{function}({', '.join([*operands, names[0]])})")
        return calls + [
            f"copyto({home}, {self.names[output]})"
            for output, home in homes.items()
            if self.names[output] != home
        ]


def _needed(operations: Sequence[_Operation], outputs: Sequence[int]) -> list[_Operation]:
    needed = set(outputs)
    for operation in reversed(operations):
        if operation.output in needed:
            needed.update(operation.inputs)
    return [operation for operation in operations if operation.output in needed]


class NumpyUpdate:
    """A formula as a Python function, whose text is `source`.

    The function receives the scalars and, for each piece, a list of arrays: the variable, the
    slots, the gradient and `num_temporaries` temporaries.
    """

    def __init__(
        self, formula: Formula, attrs: Mapping[str, Any], is_array: list[bool], dtype: DType
    ) -> None:
        signature = cast(Signature, SimpleNamespace(attrs=attrs))
        scope: dict[str, Any] = {**_GLOBALS, "cast": dtype.as_numpy_dtype}
        programs = []
        for is_positive in (True, False):
            trace = _Trace(is_array, dtype, is_positive)
            terms = formula(signature, *(Term(trace, number) for number in range(len(is_array))))
            programs.append(_Program(trace, [term.value for term in terms]))
            scope |= {name: value for value, (name, _) in trace.constants.items()}
        self.num_temporaries = max(len(program.temporaries) for program in programs)
        lines, other = (program.lines(self.num_temporaries) for program in programs)
        if trace.condition is not None:
            condition = programs[0].names[trace.condition]
            lines = [f"if {condition} > 0:", *_indented(lines), "else:", *_indented(other)]
        scalars = ", ".join(f"s{index}" for index in range(is_array.count(False)))
        lines = ["def update(scalars, pieces):", *_indented([f"[{scalars}] = scalars", *lines])]
        self.source = "\n".join(lines)
        exec(self.source, scope)
        self._update: Callable[[Sequence[Any], Sequence[list[Any]]], None] = scope["update"]

    def __call__(self, scalars: Sequence[Any], pieces: Sequence[list[Any]]) -> None:
        self._update(scalars, pieces)


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class UpdateFormula:
    """An optimizer's formula. It has a Python function for each dtype and set of attrs, which is
    created on first use.

    Args:
      is_array: for each input of the dense op, whether it is the variable, a slot or the gradient.
        All other inputs are scalars.
      attrs: the names of the attrs that the formula reads.
    """

    def __init__(self, formula: Formula, is_array: Sequence[bool], attrs: Sequence[str]) -> None:
        self.formula, self.is_array, self.attrs = formula, list(is_array), list(attrs)
        self._updates: dict[Any, NumpyUpdate] = {}

    def numpy_update(self, context: KernelContext) -> NumpyUpdate:
        """Return the NumPy function for a node's dtype and attrs."""
        dtype = context.input_types[0].base_dtype
        attrs = {name: context.attrs[name] for name in self.attrs}
        key = dtype, *attrs.values()
        if key not in self._updates:
            self._updates[key] = NumpyUpdate(self.formula, attrs, self.is_array, dtype)
        return self._updates[key]
