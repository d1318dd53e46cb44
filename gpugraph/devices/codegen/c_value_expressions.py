"""C source for the values of a program. Each expression becomes a function, and each value is
computed by a statement.
"""

from __future__ import annotations

from gpugraph.devices.codegen.c_types import C_TYPES, failure, in_c
from gpugraph.devices.codegen.program import Apply, Index, Input, Literal, Program, Reduce

_Signature = tuple[object, ...]


class Values:
    """The C functions of a program's expressions. The names of these functions begin with `prefix`.
    Equal expressions share one function.
    """

    def __init__(self, program: Program, prefix: str, reduction_functions: str) -> None:
        """Create the functions.

        Args:
          reduction_functions: a template, with {T} and {name}, of additional functions for each
            reduction. Each reduction has the functions start, two, map and finish in any case.
        """
        self.program = program
        self.prefix = prefix
        self._reduction_functions = reduction_functions
        self.source = ""
        self.failure = failure_of(program)
        self.can_fail = bool(self.failure)
        self._names: dict[_Signature, str] = {}
        for value in program.values:
            if isinstance(value, (Apply, Reduce)):
                signature = self._signature(value)
                if signature not in self._names:
                    name = self._names[signature] = f"{self.prefix}_{len(self._names)}"
                    define = self._apply if isinstance(value, Apply) else self._reduce
                    self.source += define(name, value)  # type: ignore[arg-type]

    # -- functions

    def _signature(self, value: Apply | Reduce) -> _Signature:
        """Return a key of a value. Values with equal keys share a function."""
        if isinstance(value, Reduce):
            return *value[:4], value.dtype
        operands = tuple(self.program.values[index].dtype for index in value.inputs)
        return value.expression, operands, value.dtype, value.type, value.fails

    def _apply(self, name: str, value: Apply) -> str:
        operands = [self.program.values[index].dtype for index in value.inputs]
        parameters = ", ".join(
            f"{C_TYPES[dtype].value} {letter}" for dtype, letter in zip(operands, "xyz")
        )
        kind, result = C_TYPES[value.type].value, C_TYPES[value.dtype].value
        expression = in_c(value.expression, value.type, value.dtype)
        source = (
            f"GG_INLINE {result} {name}({parameters or 'void'}) {{ typedef {kind} T; "
            f"typedef {result} U; return {expression}; }}\n"
        )
        condition, _ = _failure(value)
        if condition:
            source += (
                f"GG_INLINE int {name}_fails({parameters}) {{ typedef {kind} T; "
                f"return {condition}; }}\n"
            )
        return source

    def _reduce(self, name: str, value: Reduce) -> str:
        kind = C_TYPES[value.dtype].value
        source = ""
        for ending, parameters, expression in (
            ("start", "void", value.start),
            ("two", f"{kind} a, {kind} b", value.combine),
            ("map", f"{kind} x", value.map),
            ("finish", f"{kind} a, int64_t n", value.finish),
        ):
            head = f"GG_INLINE {kind} {name}_{ending}({parameters})"
            source += f"{head} {{ typedef {kind} T; return {expression}; }}\n"
        return source + self._reduction_functions.format(T=kind, name=name)

    def reduction(self, index: int) -> str:
        """Return the prefix of the names of a reduction's functions.

        Args:
          index: the number of the reduction.
        """
        value = self.program.values[index]
        assert isinstance(value, Reduce)
        return self._names[self._signature(value)]

    # -- values

    def kind(self, index: int) -> str:
        """Return the C type of the variable that holds value number `index`."""
        return C_TYPES[self.program.values[index].dtype].value

    def memory(self, index: int) -> str:
        """Return the C type of the elements of an array that holds the value."""
        return C_TYPES[self.program.values[index].dtype].memory

    def load(self, index: int, place: str) -> str:
        """Return the C expression that loads the value from `place`, a C expression for an array
        element.
        """
        return C_TYPES[self.program.values[index].dtype].load.format(place)

    def store(self, index: int, place: str) -> str:
        """Return the C statement that stores the value in `place`, a C expression for an array
        element.
        """
        return f"{place} = {self.store_expression(index, f'v{index}')};"

    def store_expression(self, index: int, value: str) -> str:
        """Return the C expression that converts a value to an array's element.

        Args:
          index: the number of the value.
          value: the C expression of the value.
        """
        return C_TYPES[self.program.values[index].dtype].store.format(value)

    def statement(self, index: int, load: str) -> str:
        """Return the C declaration of `v<index>`, the variable that holds the value.

        Args:
          load: a template of the expression for an input's element, in which `{}` is the input's
            number.
        """
        value = self.program.values[index]
        expression, check = self._expression(index, load), ""
        if isinstance(value, Apply) and _failure(value)[0]:
            name = self._names[self._signature(value)]
            check = f" bad |= {name}_fails({_arguments(value)});"
        return f"const {self.kind(index)} v{index} = {expression};{check}"

    def finish(self, index: int, total: str, count: str) -> str:
        """Return the C declaration of a reduction's result.

        Args:
          total: the C expression of the reduction's total.
          count: the number of elements.
        """
        value = self.program.values[index]
        result = f"{self.reduction(index)}_finish({total}, {count})"
        return f"const {self.kind(index)} v{index} = {C_TYPES[value.dtype].rounded.format(result)};"

    def map_element(self, index: int) -> str:
        """Return the C expression that transforms an element before a reduction combines it."""
        return f"{self.reduction(index)}_map(v{self.program.operands(index)[0]})"

    def _expression(self, index: int, load: str) -> str:
        value = self.program.values[index]
        if isinstance(value, Input):
            return self.load(index, load.format(index))
        if isinstance(value, Literal):
            return value.literal
        if isinstance(value, Index):
            return f"({self.kind(index)}){_place(value)}"
        name = self._names[self._signature(value)]
        if isinstance(value, Reduce):  # of one element
            call = f"{name}_finish({name}_two({name}_start(), {self.map_element(index)}), 1)"
        else:
            call = f"{name}({_arguments(value)})"
        return C_TYPES[value.dtype].rounded.format(call)


def _place(value: Index) -> str:
    """Return the C variable that contains the index along the axis of an `Index` value. If this
    axis has size 1, return "0".
    """
    if True not in value.spans:
        return "0"
    axis = value.spans.index(True)
    return "e" if axis == len(value.spans) - 1 else f"index{axis}"


def failure_of(program: Program) -> str:
    """Return the messages of all failures that the program's values may cause, joined by ", ", or
    "" if no failure is possible.
    """
    failures = [_failure(value) for value in program.values if isinstance(value, Apply)]
    return ", or ".join(dict.fromkeys(message for condition, message in failures if condition))


def _failure(value: Apply) -> tuple[str, str]:
    return value.fails if value.fails[0] else failure(value.expression, value.type)


def _arguments(value: Apply) -> str:
    return ", ".join(f"v{index}" for index in value.inputs)
