"""The parts of a generated kernel's source that are the same in C and in CUDA. A generated kernel
computes the values of a `Program` (`program.py`).

Names in the generated code, where `<n>` is the number of a value and `<slot>` of an output:

    in<n>, out<slot>            the array of an input, of an output
    scratch<n>                  the partial results of a reduction, by parts of a launch
    rows, inner                 the number of rows; the size of the last axis
    size<axis>                  the size of another axis
    stride<n>_<axis>            the stride of an input along that axis, in elements
    row, index<axis>            the row's number, and its index along each axis
    row_in<n>, row_out<slot>    the start of the row in an array
    e                           the element: its index along the last axis
    v<n>                        a value
    total<n>                    a sum (or another reduction) so far
    sums<n>                     the totals of the columns: one for each `e`
    bad                         whether an operation has failed, such as a division by zero
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from gpugraph.devices.codegen.c_value_expressions import Values
from gpugraph.devices.codegen.loop_schedule import Pass, Schedule, schedule
from gpugraph.devices.codegen.program import Input, Program


class ProgramSource:
    """The parts of a program's source that are the same in C and CUDA.

    Attributes:
      scratch: for each reduction, the kind of its partial results in scratch memory: "columns" (a
        total for each column), "parts" (a total for each part of the rows) or "whole" (a total for
        each part of the only axis).
    """

    index_type = "int64_t"
    """The C type of sizes and offsets."""

    size_expression = "b->sizes[{}]"
    """A template of the expression for the size of an axis, in a kernel."""

    def __init__(
        self,
        program: Program,
        key: object,
        reduction_functions: str = "",
        whole: bool = False,
        online: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """Schedule the program.

        Args:
          key: everything that affects the source. The digest of the key becomes the kernel's name.
          reduction_functions: a template of additional functions (see `Values`).
          whole: whether the only axis of the program is divided among the parts of a launch.
          online: sums that are computed in one pass with their maximum, as in `schedule`.
        """
        self.program = program
        self.name = "gg_" + hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        self.values = Values(program, self.name, reduction_functions)
        self.schedule: Schedule = schedule(program, online)
        self.scratch: dict[int, str] = {}
        trailing = program.trailing()
        columns = {index for row_pass in self.schedule.passes for index in row_pass.columns}
        for index in program.reductions:
            if index in trailing:
                self.scratch[index] = "columns" if index in columns else "parts"
            elif whole:
                self.scratch[index] = "whole"

    def reductions_in(self, kind: str) -> list[int]:
        """Return the indices of the reductions whose entry in `scratch` is this kind."""
        return [index for index, its_kind in self.scratch.items() if its_kind == kind]

    @property
    def has_row_results(self) -> bool:
        """Whether a reduction has a result for each row. If so, a row must not be divided among
        parts of a launch.
        """
        return bool(self.program.row_reductions() or self.schedule.row_sums)

    # -- addresses

    def declaration(self, name: str, value: str, kind: str = "") -> str:
        """Return the declaration of a variable. The code need not use the variable.

        Args:
          kind: the C type of the variable, by default the type of indices.
        """
        return f"{kind or f'const {self.index_type} '}{name} = {value}; (void){name};"

    def pointers(self) -> list[tuple[str, str]]:
        """Return the C types and names of the arrays that a kernel receives."""
        values, program = self.values, self.program
        pointers = [(f"const {values.memory(index)} *", f"in{index}") for index in program.inputs]
        for slot, index in enumerate(program.outputs):
            pointers.append((f"{values.memory(index)} *", f"out{slot}"))
        return pointers + [(f"{values.kind(index)} *", f"scratch{index}") for index in self.scratch]

    def second_inputs(self) -> list[str]:
        """Return declarations of the inputs that read the array of another input."""
        program = self.program
        return [
            self.declaration(
                f"in{index}", f"in{program.source(index)}", f"const {self.values.memory(index)} *"
            )
            for index in program.arrays
            if program.source(index) != index
        ]

    def strides(self) -> list[str]:
        """Return declarations of the sizes of all axes except the last, and of the inputs' strides
        along these axes.
        """
        axes = self.program.axes
        sizes = [*(f"size{axis}" for axis in range(axes - 1)), "inner"]
        lines = [
            self.declaration(sizes[axis], self.size_expression.format(axis))
            for axis in range(axes - 1)
        ]
        for index, spans in self._spans_of_inputs():
            for axis in range(axes - 1):
                if spans[axis]:
                    below = [sizes[i] for i in range(axis + 1, axes) if spans[i]]
                    stride = " * ".join(below) or "1"
                    lines.append(self.declaration(f"stride{index}_{axis}", stride))
        return lines

    def row_starts(self) -> list[str]:
        """Return declarations of the start of row `row` in each input and output."""
        outer = self.program.axes - 1
        lines = [f"{self.index_type} left = row;"] if outer > 1 else []
        for axis in range(outer - 1, 0, -1):
            lines.append(self.declaration(f"index{axis}", f"left % size{axis}"))
            lines.append(f"left /= size{axis};")
        if outer > 0:
            lines.append(self.declaration("index0", "left" if outer > 1 else "row"))
        for index, spans in self._spans_of_inputs():
            steps = [f"index{axis} * stride{index}_{axis}" for axis in range(outer) if spans[axis]]
            start, kind = " + ".join([f"in{index}", *steps]), self.values.memory(index)
            lines.append(self.declaration(f"row_in{index}", start, f"const {kind} *"))
        for slot, index in enumerate(self.program.outputs):
            if all(self.program.along[slot]):
                start, kind = f"out{slot} + row * inner", self.values.memory(index)
                lines.append(self.declaration(f"row_out{slot}", start, f"{kind} *"))
        return lines

    def _spans_of_inputs(self) -> Iterable[tuple[int, tuple[bool, ...]]]:
        for index in self.program.arrays:
            value = self.program.values[index]
            assert isinstance(value, Input)
            yield index, value.spans

    # -- values

    def scalars(
        self, wanted: Iterable[int], load: str = "in{}[0]", known: Collection[int] = ()
    ) -> list[str]:
        """Return declarations of the `wanted` values that are not in `known`.

        Args:
          load: a template of the expression for an input's element.
        """
        return [self.values.statement(index, load) for index in wanted if index not in known]

    def element(
        self, row_pass: Pass, load: str = "row_in{}[e]", store: str = "row_out{}[e]"
    ) -> list[str]:
        """Return the statements of a pass for element `e`: loads, computations and stores, but no
        reductions.

        Args:
          load, store: templates of the expressions for the elements of inputs and outputs.
        """
        values, lines = self.values, []
        for index in sorted({*row_pass.values, *row_pass.reloads}):
            if index in row_pass.reloads:
                place = store.format(row_pass.reloads[index])
                kind = f"const {values.kind(index)} "
                lines.append(self.declaration(f"v{index}", values.load(index, place), kind))
            else:
                lines.append(values.statement(index, load))
        return lines + [values.store(index, store.format(slot)) for index, slot in row_pass.stores]

    def combine(self, index: int, total: str) -> str:
        """Return the statement that combines the current element of a reduction with a total."""
        name = self.values.reduction(index)
        return f"{total} = {name}_two({total}, {self.values.map_element(index)});"

    def column_sums(self, row_pass: Pass) -> list[str]:
        """Return statements that combine element `e` with the totals of its column."""
        return [self.combine(index, f"sums{index}[e]") for index in row_pass.columns]

    # -- rows: code that C and CUDA write differently

    def _start(self, index: int) -> str:
        """Return the declaration of the variable for the total of a reduction along a row."""
        raise NotImplementedError

    def _add(self, index: int) -> str:
        """Return the statement that combines the result of a row with the total of a reduction over
        rows.
        """
        raise NotImplementedError

    def _total(self, index: int) -> str:
        """Return the expression for the total of a reduction along a row, for use after the row's
        elements.
        """
        raise NotImplementedError

    def _row_elements(self, row_pass: Pass) -> list[str]:
        """Return the loop of one pass over the elements of a row."""
        raise NotImplementedError

    def _total_of_parts(self, index: int) -> str:
        """Return the expression for the total of a reduction from the partial results of all
        parts.
        """
        raise NotImplementedError

    def _column(self, index: int) -> list[str]:
        """Return the declaration of the total of column `e` of a reduction over rows, computed from
        the partial results of all parts.
        """
        raise NotImplementedError

    # -- rows: code that is the same in C and CUDA

    def passes(self, order: Schedule, known: Collection[int] = ()) -> list[str]:
        """Return the code of all passes over one row, and of the values that are computed between
        and after the passes.

        Args:
          known: values that are already declared.
        """
        lines = []
        for row_pass in order.passes:
            totals = [index for index in row_pass.lanes if index not in self.scratch]
            lines += self.scalars(row_pass.rows, "row_in{}[0]", known)
            lines += [*map(self._start, totals), *self._row_elements(row_pass)]
            lines += [self.values.finish(index, self._total(index), "inner") for index in totals]
        return lines + self.scalars(order.after, "row_in{}[0]", known)

    def scalar_stores(self) -> list[str]:
        """Return statements that store the results of a program that has no rows or only one
        row.
        """
        stores = self.schedule.row_stores
        return [self.values.store(index, f"out{slot}[0]") for index, slot in stores]

    def row_results(self) -> list[str]:
        """Return statements that store the results of a row, and combine these results with the
        totals of all rows.
        """
        order = self.schedule
        stores = [self.values.store(index, f"out{slot}[row]") for index, slot in order.row_stores]
        return stores + [self._add(index) for index in order.row_sums]

    def after_rows(self) -> tuple[list[str], list[str], list[str]]:
        """Return the code that runs after all rows, in three parts: declarations of scalars,
        statements for each element of the last axis, and stores of scalars.
        """
        order, scalars, elements, stores = self.schedule, [], [], []
        for index, kind in self.scratch.items():
            if kind == "columns":
                elements += self._column(index)
            else:
                count = "rows" if index in order.row_sums else "rows * inner"
                scalars.append(self.values.finish(index, self._total_of_parts(index), count))
        for index in order.late:
            if order.is_element(index):
                elements.append(self.values.statement(index, "in{}[e]"))
            elif index not in self.scratch:
                scalars += self.scalars([index])
        for index, slot in order.late_stores:
            if self.program.along[slot][-1:] == (True,):
                elements.append(self.values.store(index, f"out{slot}[e]"))
            else:
                stores.append(self.values.store(index, f"out{slot}[0]"))
        return scalars, elements, stores


def indent(lines: Iterable[str]) -> list[str]:
    """Indent the lines by one level."""
    return [f"    {line}" for line in lines]


def brace(head: str, lines: Iterable[str]) -> list[str]:
    """Return the lines of a C block: `head`, then the lines in braces."""
    return [f"{head} {{", *indent(lines), "}"]


def function_source(head: str, lines: Iterable[str]) -> str:
    """Return the source of a function with this head and body."""
    return "\n".join([*brace(head, lines), ""])
