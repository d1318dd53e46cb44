"""What the C and the CUDA source of a program have in common: names, addresses, rows, values.

Names in the generated code, where `<n>` is the number of a value and `<slot>` of an output:

    in<n>, out<slot>            the array of an input, of an output
    scratch<n>                  what the parts of a launch leave of a reduction
    rows, inner                 how many rows there are; the size of the last axis
    size<axis>                  the size of another axis
    stride<n>_<axis>            how far apart an input's elements are along it
    row, index<axis>            the row, and its index along each axis
    row_in<n>, row_out<slot>    where the row begins in an array
    e                           the element: its index along the last axis
    v<n>                        a value
    total<n>                    a sum (or another reduction) so far
    sums<n>                     the same of each column: one total for each `e`
    bad                         whether an operation has failed, as a division by zero does
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable

from gpugraph.devices.codegen.c_value_expressions import Values
from gpugraph.devices.codegen.loop_schedule import Pass, Schedule, schedule
from gpugraph.devices.codegen.program import Input, Program


class ProgramSource:
    """Writes the parts of a program's kernels that are the same in C and in CUDA.

    scratch: for each reduction that parts leave something of, "parts", "columns" or "whole".
    """

    index_type = "int64_t"
    """The C type of sizes and offsets."""

    size_expression = "b->sizes[{}]"
    """Where a kernel finds the size of an axis."""

    def __init__(
        self, program: Program, key: object, reduction_functions: str = "", whole: bool = False
    ) -> None:
        """key: all that the source depends on; it gives the name. reduction_functions: a template
        (see `Values`). whole: whether the program's one axis is cut into parts."""
        self.program = program
        self.name = "gg_" + hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        self.values = Values(program, self.name, reduction_functions)
        self.schedule: Schedule = schedule(program)
        self.scratch: dict[int, str] = {}
        trailing = program.trailing()
        columns = {index for row_pass in self.schedule.passes for index in row_pass.columns}
        for index in program.reductions:
            if index in trailing:
                self.scratch[index] = "columns" if index in columns else "parts"
            elif whole:
                self.scratch[index] = "whole"

    def reductions_in(self, kind: str) -> list[int]:
        """The reductions whose scratch memory is of this kind."""
        return [index for index, its_kind in self.scratch.items() if its_kind == kind]

    @property
    def has_row_results(self) -> bool:
        """Whether a row has a reduction of its own, so that no part may be a piece of a row."""
        return bool(self.program.row_reductions() or self.schedule.row_sums)

    # -- addresses

    def declaration(self, name: str, value: str, kind: str = "") -> str:
        """The declaration of a variable that may stay unused, by default of an index."""
        return f"{kind or f'const {self.index_type} '}{name} = {value}; (void){name};"

    def pointers(self) -> list[tuple[str, str]]:
        """The C types and names of the arrays that a kernel is given."""
        values, program = self.values, self.program
        pointers = [(f"const {values.memory(index)} *", f"in{index}") for index in program.inputs]
        for slot, index in enumerate(program.outputs):
            pointers.append((f"{values.memory(index)} *", f"out{slot}"))
        return pointers + [(f"{values.kind(index)} *", f"scratch{index}") for index in self.scratch]

    def second_inputs(self) -> list[str]:
        """Declares the inputs that are another input's array."""
        program = self.program
        return [
            self.declaration(
                f"in{index}", f"in{program.source(index)}", f"const {self.values.memory(index)} *"
            )
            for index in program.arrays
            if program.source(index) != index
        ]

    def strides(self) -> list[str]:
        """Declares the sizes of all axes but the last, and the inputs' strides along them."""
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
        """Declares where row `row` begins in each input and output."""
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
        """Declares values that are no elements, but what is known; `load`: where an input's is."""
        return [self.values.statement(index, load) for index in wanted if index not in known]

    def element(
        self, row_pass: Pass, load: str = "row_in{}[e]", store: str = "row_out{}[e]"
    ) -> list[str]:
        """What a pass computes of element `e`, from where inputs are read, to where it is written;
        reductions are not among it."""
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
        """The statement that adds a reduction's element to a total."""
        name = self.values.reduction(index)
        return f"{total} = {name}_two({total}, {self.values.map_element(index)});"

    def column_sums(self, row_pass: Pass) -> list[str]:
        """Adds element `e` to the totals of its column."""
        return [self.combine(index, f"sums{index}[e]") for index in row_pass.columns]

    # -- rows: what a language has its own form of

    def _start(self, index: int) -> str:
        """The declaration of a reduction's total."""
        raise NotImplementedError

    def _add(self, index: int) -> str:
        """The statement that adds an element to a reduction's total."""
        raise NotImplementedError

    def _total(self, index: int) -> str:
        """A row's total, as an expression."""
        raise NotImplementedError

    def _row_elements(self, row_pass: Pass) -> list[str]:
        """One pass over the elements of a row."""
        raise NotImplementedError

    def _total_of_parts(self, index: int) -> str:
        """What the parts of the launch have left of a reduction, combined, as an expression."""
        raise NotImplementedError

    def _column(self, index: int) -> list[str]:
        """Declares element `e` of a reduction over rows, of what the parts have left of it."""
        raise NotImplementedError

    # -- rows: what is the same

    def passes(self, order: Schedule, known: Collection[int] = ()) -> list[str]:
        """All passes over one row, and its values that need them; what is known is left out."""
        lines = []
        for row_pass in order.passes:
            totals = [index for index in row_pass.lanes if index not in self.scratch]
            lines += self.scalars(row_pass.rows, "row_in{}[0]", known)
            lines += [*map(self._start, totals), *self._row_elements(row_pass)]
            lines += [self.values.finish(index, self._total(index), "inner") for index in totals]
        return lines + self.scalars(order.after, "row_in{}[0]", known)

    def scalar_stores(self) -> list[str]:
        """Stores the results of a program whose rows are none, or one."""
        stores = self.schedule.row_stores
        return [self.values.store(index, f"out{slot}[0]") for index, slot in stores]

    def row_results(self) -> list[str]:
        """Stores a row's results, and adds them to the totals of all rows."""
        order = self.schedule
        stores = [self.values.store(index, f"out{slot}[row]") for index, slot in order.row_stores]
        return stores + [self._add(index) for index in order.row_sums]

    def after_rows(self) -> tuple[list[str], list[str], list[str]]:
        """When all rows are done: scalars; statements for each element; stores of scalars."""
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
    """The lines, one level deeper."""
    return [f"    {line}" for line in lines]


def brace(head: str, lines: Iterable[str]) -> list[str]:
    """A statement and its block."""
    return [f"{head} {{", *indent(lines), "}"]


def function_source(head: str, lines: Iterable[str]) -> str:
    """The definition of a function."""
    return "\n".join([*brace(head, lines), ""])
