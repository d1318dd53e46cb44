"""NumPy kernels that are derived from an op's formula, so that its arithmetic is written once.

    op("Softsign", ..., cpu=numpy_elementwise("x / rounded((T)1 + fabs(x))"))
    op("Softmax", ..., cpu=numpy_rows(formula), native=decomposition(formula))

A formula is traced into NumPy calls when the kernel is bound. Equal values are computed once. A
result is written over an operand that is no longer needed, or to scratch memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from math import prod
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from gpugraph.base.dtypes import (
    DType,
    as_dtype,
    bool as bool_type,
    float16,
    float32,
    float64,
    int16,
    int32,
    int64,
)
from gpugraph.kernel import Builder, Call, Elementwise, KernelContext, Reduction
from gpugraph.ops.framework.formula_terms import Formula, Term
from gpugraph.ops.framework.kernel_helpers import run_all
from gpugraph.ops.framework.numpy_derivation.c_expressions import Expression, parse

LARGER = "gg_larger(a, b)"
SMALLER = "gg_smaller(a, b)"
"""The expressions by which maxima and minima are reduced. NaN is the result if there is one."""

_REDUCTIONS = {"a + b": np.add, "a * b": np.multiply, LARGER: np.maximum, SMALLER: np.minimum}
_TESTS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_TESTS |= {"==": "equal", "!=": "not_equal", "&&": "logical_and", "||": "logical_or"}
_FUNCTIONS = {"+": "add", "- ": "negative", "-": "subtract", "*": "multiply", "/": "divide"}
_FUNCTIONS |= {"fabs": "abs", "!": "logical_not", **_TESTS}

_NARROW = 32
"""The maximum row size at which scratch memory of rows is transposed.

NumPy reduces and broadcasts long rows faster.
"""

Scratch = Callable[[tuple[int, ...], DType], Any]
"""A function that allocates memory for a shape and a dtype."""


def _choose(condition: Any, x: Any, y: Any, out: Any) -> None:
    if out is not y:
        np.copyto(out, y)
    np.copyto(out, x, where=condition)


def _choose_bits(mask: Any, x: Any, y: Any, out: Any) -> None:
    """Write x where all bits of `mask` are set, and y where none is."""
    bits, y_bits = out.view(mask.dtype), y.view(mask.dtype)
    np.bitwise_xor(x.view(mask.dtype), y_bits, bits)
    np.bitwise_and(bits, mask, bits)
    np.bitwise_xor(bits, y_bits, bits)


def _larger(x: Any, y: Any, out: Any) -> None:
    np.maximum(x, y, out=out)


_OWN: dict[str, Any] = {"?": _choose, "fmax": _larger}


def _keep_bits(mask: Any, x: Any, out: Any) -> None:
    """Write x where all bits of `mask` are set, and 0 where none is."""
    np.bitwise_and(x.view(mask.dtype), mask, out.view(mask.dtype))


def _all_bits(condition: Any, out: Any) -> None:
    """Set all bits where the condition is true."""
    np.multiply(condition, -1, out, dtype=out.dtype)


def _all_bits_unless(condition: Any, out: Any) -> None:
    """Set all bits where the condition is false."""
    np.subtract(condition, 1, out, dtype=out.dtype)


_LATE: dict[Any, slice] = {_choose: slice(1, 2), _choose_bits: slice(2, 3)}
"""The operands that a function reads after it has written a part of the result."""

_BITS = {float16: int16, float32: int32, float64: int64}
_MANY = 2048
"""The number of elements above which bits are chosen. A masked copy is up to ten times slower if
the processor cannot predict the mask.
"""


def _copy(x: Any, out: Any) -> None:
    np.copyto(out, x)


def _reduce(ufunc: Any, axes: tuple[int, ...], x: Any, out: Any) -> None:
    ufunc.reduce(x, axes, None, out, True)


def _sum_rows(ones: Any, x: Any, out: Any) -> None:
    np.matmul(x, ones, out.reshape(-1))


class _Value(NamedTuple):
    """A value of a program. It is the result of a NumPy function of other values. `operands` has
    the indices of these values.
    """

    shape: tuple[int, ...]
    dtype: DType
    function: Callable[..., Any] | None = None
    operands: tuple[int, ...] = ()


class NumpyTerms(Builder):
    """A builder of a program of NumPy calls.

    Args:
      inputs: the arrays of the inputs, which are the first values of the program.
      sums_rows: whether to sum the last axis of matrices as a matrix product.
      transposed: whether the arrays are transposed. The axis numbers of reductions refer to the
        arrays before the transposition.
    """

    def __init__(
        self, inputs: Sequence[Any], sums_rows: bool = False, transposed: bool = False
    ) -> None:
        self.sums_rows, self.transposed = sums_rows, transposed
        self.values = [_Value(array.shape, as_dtype(array.dtype)) for array in inputs]
        self.arrays = dict(enumerate(inputs))
        self._known: dict[Any, int] = {}

    def _add(self, key: Any, value: _Value) -> int:
        """Return the index of the value with this key. If there is no such value, add it first."""
        if key not in self._known:
            self._known[key] = len(self.values)
            self.values.append(value)
        return self._known[key]

    def shape(self, value: int) -> tuple[int, ...]:
        """Return a value's shape."""
        return self.values[value].shape

    def dtype(self, value: int) -> DType:
        """Return a value's dtype."""
        return self.values[value].dtype

    def constant(self, value: Any, dtype: DType) -> int:
        """Add a constant and return its index."""
        scalar = dtype.as_numpy_dtype(value)
        number = self._add((repr(scalar), dtype), _Value((), dtype))
        self.arrays[number] = scalar
        return number

    def index(self, size: int, dtype: DType) -> int:
        """Raise NotImplementedError, because formulas of NumPy kernels do not use indices."""
        raise NotImplementedError("NumPy kernels of formulas have no indices")

    def expand(self, value: int, shape: Sequence[int]) -> int:
        """Raise NotImplementedError, because the values of a NumPy kernel are broadcast without
        it.
        """
        raise NotImplementedError("NumPy kernels of formulas do not change shapes")

    def reduce(self, kernel: Reduction, value: int, axes: Sequence[int] | None = None) -> int:
        """Add a sum, product, maximum or minimum over axes, which remain with size 1."""
        shape, dtype, *_ = self.values[value]
        over = tuple(axis % len(shape) for axis in (range(len(shape)) if axes is None else axes))
        over = tuple(len(shape) - 1 - axis for axis in over) if self.transposed else over
        reduced = tuple(1 if axis in over else size for axis, size in enumerate(shape))
        function = partial(_reduce, _REDUCTIONS[kernel.combine], over)
        if self.sums_rows and kernel.combine == "a + b":
            ones = np.ones(shape[-1], dtype.as_numpy_dtype, like=self.arrays[0])
            function = partial(_sum_rows, ones)
        return self._add((kernel.combine, over, value), _Value(reduced, dtype, function, (value,)))

    def apply(
        self,
        kernel: Elementwise | str,
        inputs: Sequence[int],
        dtype: DType,
        type: DType | None = None,
        fails: tuple[str, str] = ("", ""),
    ) -> int:
        """Add an elementwise expression of values. The values are broadcast."""
        tree = parse(kernel if isinstance(kernel, str) else kernel.expression)
        shape = np.broadcast_shapes(*(self.shape(value) for value in inputs))
        number = self._walk(tree, dict(zip("xyz", inputs)), type or self.dtype(inputs[-1]))
        return number if self.shape(number) == shape else self.copy(number, shape)

    def copy(self, value: int, shape: tuple[int, ...]) -> int:
        """Add a copy of a value, which is broadcast to the shape `shape`."""
        return self._add((value, shape), _Value(shape, self.dtype(value), _copy, (value,)))

    def _walk(self, node: Expression, names: dict[str, int], element: DType) -> int:
        """Add the operations of an expression.

        Args:
          element: the dtype of `T` in the expression.
        """
        kind, operands, text = node
        if kind == "name":
            return names[text]
        if kind == "number":
            return self.constant(text, element)
        numbers = tuple(self._walk(operand, names, element) for operand in operands)
        if kind == "(T)":  # NumPy converts bools that it multiplies
            return numbers[0]
        name = f"{kind} " if kind == "-" and len(operands) == 1 else kind
        function = _OWN.get(kind) or getattr(np, _FUNCTIONS.get(name, name))
        dtype = bool_type if kind in _TESTS or kind == "!" else element
        constants = [self.arrays.get(number) for number in numbers]
        if function is not _larger and all(isinstance(value, np.generic) for value in constants):
            if kind == "?":
                return numbers[1 if constants[0] else 2]
            return self.constant(function(*constants), dtype)
        shape = np.broadcast_shapes(*(self.shape(number) for number in numbers))
        is_predictable = self.values[numbers[0]].function is np.equal  # few elements are equal
        if kind == "?" and dtype in _BITS and prod(shape) > _MANY and not is_predictable:
            return self._choice(numbers, shape, dtype)
        return self._add((name, numbers), _Value(shape, dtype, function, numbers))

    def _choice(self, numbers: tuple[int, ...], shape: tuple[int, ...], dtype: DType) -> int:
        """Add the selection of one of two values by a condition. The selection combines bits with a
        mask.
        """
        condition, *values = numbers
        zeros = [number for number in values if self._is_zero(number)]
        of_mask = _all_bits_unless if zeros and values[0] in zeros else _all_bits
        mask = _Value(self.shape(condition), _BITS[dtype], of_mask, (condition,))
        masked = self._add((of_mask, condition, dtype), mask)
        function: Callable[..., Any] = _choose_bits
        if zeros:
            function, values = _keep_bits, [values[1] if values[0] in zeros else values[0]]
        return self._add(
            (function, masked, *values), _Value(shape, dtype, function, (masked, *values))
        )

    def _is_zero(self, number: int) -> bool:
        value = self.arrays.get(number)
        return isinstance(value, np.generic) and value == 0 and not np.signbit(value)


class _Binding:
    """The calls of a program, with the memory of its values.

    Args:
      terms: the program.
      results: for each output, the index of its value, and its array.
      scratch: a function that allocates scratch memory.
      shared: the outputs that share memory with inputs, if this is known.
    """

    def __init__(
        self,
        terms: NumpyTerms,
        results: Sequence[tuple[int, Any]],
        scratch: Scratch,
        shared: Sequence[Any] | None = None,
    ) -> None:
        self.terms, self.scratch, self.arrays = terms, scratch, dict(terms.arrays)
        self.homes = {number: _in_shape(array, terms.shape(number)) for number, array in results}
        inputs, homes = terms.arrays.values(), self.homes.values()
        self.shared = [h for h in homes if _overlaps(h, inputs)] if shared is None else shared
        order = self._needed()
        self.last = {n: number for number in order for n in terms.values[number].operands}
        self.last |= dict.fromkeys(self.homes, len(terms.values))
        self.calls: list[Any] = [self._call(number) for number in order]
        for number, home in self.homes.items():
            if self.arrays[number] is not home:
                self.calls.append(partial(np.copyto, home, self.arrays[number]))

    def _needed(self) -> list[int]:
        """Return the sorted indices of the values that must be computed for the outputs."""
        needed: set[int] = set()
        pending = list(self.homes)
        while pending:
            number = pending.pop()
            if number not in needed and number not in self.arrays:
                needed.add(number)
                pending += self.terms.values[number].operands
        return sorted(needed)

    def _call(self, number: int) -> Callable[[], Any]:
        _, _, function, operands = self.terms.values[number]
        values = [self.arrays[operand] for operand in operands]
        is_reduction = isinstance(function, partial)
        late = values if is_reduction else values[_LATE.get(function, slice(0))]
        target = self.arrays[number] = self._target(number, late)
        return partial(cast(Any, function), *values, target)

    def _target(self, number: int, late: Sequence[Any]) -> Any:
        """Return an array for a value. If the value is an output, return the array of the output.
        Otherwise, reuse the array of a value that is not needed any more, or of an output that is
        computed later, or else allocate scratch memory.
        """
        shape, dtype, function, _ = self.terms.values[number]
        computed = [n for n in self.arrays if n not in self.terms.arrays]
        used = [*late, *(self.arrays[n] for n in computed if self.last[n] > number)]
        if number in self.homes:
            candidates = [self.homes[number]]
            in_place = isinstance(function, np.ufunc) or function is _keep_bits
            used += [] if in_place else self.shared
        else:
            homes = [] if self.terms.transposed else self.homes.values()
            candidates = [*(self.arrays[n] for n in computed), *homes]
            used += self.shared
            used += [home for n, home in self.homes.items() if n < self.last[number]]
        numpy_type = dtype.as_numpy_dtype
        for array in candidates:
            if (array.shape, array.dtype) == (shape, numpy_type) and not _is_in(array, used):
                return array
        return self.scratch(shape, dtype)


def _is_in(array: Any, others: Sequence[Any]) -> bool:
    return any(array is other for other in others)


def _overlaps(array: Any, others: Iterable[Any]) -> bool:
    return any(np.may_share_memory(array, other) for other in others)


def _in_shape(array: Any, shape: tuple[int, ...]) -> Any:
    return array if array.shape == shape else array.reshape(shape)


def bind_rows(
    formula: Formula, context: KernelContext, inputs: Sequence[Any], outputs: Sequence[Any]
) -> Callable[[], Any]:
    """Return a function that computes a formula on matrices, along their rows.

    If there are many narrow rows, the scratch memory is transposed. If an input has no elements,
    the results are 0.
    """
    if not all(array.size for array in inputs):
        return run_all([partial(out.fill, 0) for out in outputs])
    matrices = [array.reshape(-1, array.shape[-1]) for array in inputs]
    count, width = shape = np.broadcast_shapes(*(matrix.shape for matrix in matrices))
    is_narrow = width <= _NARROW and width < count
    if is_narrow:
        matrices = [matrix.T for matrix in matrices]
        outputs = [out.reshape(shape).T if out.size > count else out for out in outputs]
    is_exact = context.output_types[0].base_dtype is not float16
    terms = NumpyTerms(matrices, is_exact and not is_narrow, is_narrow)
    numbers = range(len(matrices))
    sources = [terms.copy(n, shape[::-1]) if is_narrow else n for n in numbers]
    results = formula(context, *(Term(terms, number) for number in sources))
    pairs = [(term.value, out) for term, out in zip(results, outputs)]
    return run_all(_Binding(terms, pairs, context.scratch).calls)


def numpy_rows(formula: Formula) -> Call:
    """Return the NumPy kernel of a formula on rows, which `bind_rows` binds."""

    def bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        count = len(context.output_types)
        return bind_rows(formula, context, arrays[:-count], arrays[-count:])

    return Call(make=bind)


def numpy_kernel(formula: Formula) -> Call:
    """Return the NumPy kernel of a formula with one result."""

    def bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        terms = NumpyTerms(arrays[:-1])
        [result] = formula(context, *(Term(terms, number) for number in terms.arrays))
        return run_all(_Binding(terms, [(result.value, arrays[-1])], context.scratch).calls)

    return Call(make=bind)


def numpy_elementwise(expression: str) -> Call:
    """Return the NumPy kernel of a C expression of the inputs `x`, `y` and `z`."""

    def bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        *inputs, out = arrays
        specs = [(array.shape, array.dtype) for array in arrays]
        shape, calls, scratch, constants = _calls_of(expression, _overlaps(out, inputs), *specs)
        memory = [*inputs, _in_shape(out, shape), *(context.scratch(*spec) for spec in scratch)]
        memory += constants
        return run_all([partial(function, *arguments(memory)) for function, arguments in calls])

    return Call(make=bind)


class _Calls(NamedTuple):
    """The calls of a kernel, before its arrays are known.

    Args:
      shape: the shape of the output.
      calls: the functions, each with a function that takes its arguments from a list: the inputs,
        the output, the scratch memory and the constants.
    """

    shape: tuple[int, ...]
    calls: Sequence[tuple[Callable[..., Any], Callable[[list[Any]], tuple[Any, ...]]]]
    scratch: list[tuple[tuple[int, ...], DType]]
    constants: list[Any]


@lru_cache(1024)  # the ops of a graph often have equal programs
def _calls_of(expression: str, overlaps: bool, *specs: tuple[tuple[int, ...], Any]) -> _Calls:
    """Return the calls that compute an expression.

    Args:
      overlaps: whether the output shares memory with an input.
      specs: the shapes and dtypes of the inputs and of the output.
    """
    *inputs, out = [SimpleNamespace(shape=shape, dtype=dtype) for shape, dtype in specs]
    terms, dtype = NumpyTerms(inputs), as_dtype(inputs[0].dtype)
    number = terms.apply(expression, range(len(inputs)), dtype, dtype)
    out.shape = terms.shape(number)
    memory, scratch = [*inputs, out], []

    def allocate(shape: tuple[int, ...], dtype: DType) -> Any:
        scratch.append((shape, dtype))
        memory.append(SimpleNamespace(shape=shape, dtype=dtype.as_numpy_dtype))
        return memory[-1]

    binding = _Binding(terms, [(number, out)], allocate, [out] if overlaps else [])
    constants = [value for value in binding.arrays.values() if isinstance(value, np.generic)]
    places = {id(array): index for index, array in enumerate([*memory, *constants])}
    calls = [
        (call.func, itemgetter(*(places[id(argument)] for argument in call.args)))
        for call in binding.calls
    ]
    return _Calls(out.shape, calls, scratch, constants)
