"""What the kernels of a program have in common: parameters, where rows begin, single elements."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from gpugraph.devices.codegen.c_pass_source import as_text
from gpugraph.devices.codegen.c_value_expressions import Values
from gpugraph.devices.codegen.loop_schedule import Pass, Schedule, schedule
from gpugraph.devices.codegen.program import Input, Program


class Variant(NamedTuple):
    """What a text depends on beside its program.

    pack: elements that a thread loads as one; group: threads of a row; wide: whether places need
    64 bits; whole: whether the one axis is cut into parts.
    """

    pack: int = 1
    group: int = 256
    wide: bool = False
    whole: bool = False


class Form(NamedTuple):
    """One of the text's kernels: its name, and which form it has (see above)."""

    name: str
    kind: str


class TextParts:
    """Writes parts of kernels. Each is given inputs, outputs, scratch, where to note that it failed
    (if it may), then rows, inner, parts, rows of a part, and the sizes of all axes but the last."""

    block, blocks = "blockIdx.x", "gridDim.x"
    """What a kernel's text says for the number of its block, and for how many there are."""

    def __init__(self, program: Program, variant: Variant, *more: object) -> None:
        """more: what else the text depends on."""
        self.program = program
        self.variant = variant
        key = repr((program, variant, *more)).encode()
        self.name = "gg_" + hashlib.sha256(key).hexdigest()[:16]
        self.values = Values(program, self.name, trees="")
        self.made: Schedule = schedule(program)
        self.arrays = program.arrays
        self.scratch: dict[int, str] = {}
        self.forms: list[Form] = []

    def _kernel(self, kind: str, lines: list[str]) -> str:
        name = f"{self.name}_k{len(self.forms)}"
        self.forms.append(Form(name, kind))
        given = ", ".join(f"{kind}{each}" for kind, each in self._parameters())
        return f'extern "C" __global__ void {name}({given}) {{\n{self._within(lines)}}}\n'

    def _parameters(self) -> list[tuple[str, str]]:
        """The types and names of what a kernel is given."""
        values = self.values
        given = [(f"const {values.memory(at)} *", f"in{at}") for at in self.program.inputs]
        given += [
            (f"{values.memory(at)} *", f"o{slot}") for slot, at in enumerate(self.program.outputs)
        ]
        given += [(f"{values.kind(at)} *", f"s{at}") for at in self.scratch]
        given += [("int *", "failed_")] if values.can_fail else []
        numbers = ["rows_", "inner_", "parts_", "rows_each_"]
        numbers += [f"n{axis}_" for axis in range(max(self.program.axes - 1, 0))]
        return given + [("long long ", each) for each in numbers]

    def _within(self, lines: list[str]) -> str:
        """What is in a kernel's braces."""
        failing = ["if (bad) *failed_ = 1;"] if self.values.can_fail else []
        return as_text([*self._head(), *lines, *failing])

    def _head(self) -> list[str]:
        narrow = self.program.narrow
        lines = [
            "const gg_index rows = (gg_index)rows_, parts = (gg_index)parts_;",
            f"const gg_index inner = {narrow or '(gg_index)inner_'};",
            "const gg_index rows_each = (gg_index)rows_each_;",
            "(void)rows; (void)parts; (void)inner; (void)rows_each;",
        ]
        if self.values.can_fail:
            lines.append("int bad = 0;")
        for at in self.arrays:
            source = self.program.source(at)
            lines.append(f"const {self.values.memory(at)} *a{at} = in{source}; (void)a{at};")
        for axis in range(self.program.axes - 1):
            lines.append(f"const gg_index n{axis} = (gg_index)n{axis}_; (void)n{axis};")
        for at in self.arrays:
            lines += self._strides(at)
        return lines

    def _strides(self, at: int) -> list[str]:
        """Declares how far an input's elements are apart along each axis but the last."""
        value, axes = self.program.values[at], self.program.axes
        assert isinstance(value, Input)
        lines = []
        for axis in range(axes - 1):
            if value.spans[axis]:
                below = [
                    f"n{other}" if other < axes - 1 else "inner"
                    for other in range(axis + 1, axes)
                    if value.spans[other]
                ]
                lines.append(f"const gg_index t{at}_{axis} = {' * '.join(below) or '1'};")
        return lines

    def _places(self) -> list[str]:
        """Declares p<input> and q<output>: where row `row` begins."""
        outer = self.program.axes - 1
        lines = []
        if outer > 1:
            lines.append("gg_index left = row;")
            for axis in range(outer - 1, 0, -1):
                lines.append(f"const gg_index i{axis} = left % n{axis}; left /= n{axis};")
            lines.append("const gg_index i0 = left; (void)i0;")
        elif outer == 1:
            lines.append("const gg_index i0 = row; (void)i0;")
        for at in self.arrays:
            value = self.program.values[at]
            assert isinstance(value, Input)
            steps = [f"i{axis} * t{at}_{axis}" for axis in range(outer) if value.spans[axis]]
            where = " + ".join([f"a{at}", *steps])
            lines.append(f"const {self.values.memory(at)} *p{at} = {where}; (void)p{at};")
        for slot, at in enumerate(self.program.outputs):
            if all(self.program.along[slot]):
                lines.append(
                    f"{self.values.memory(at)} *q{slot} = o{slot} + row * inner; (void)q{slot};"
                )
        return lines

    def _numbers(self, wanted: list[int], load: str = "a{}[0]") -> list[str]:
        """Declares values that are no elements; `load` says where an input's number is."""
        return [self.values.statement(at, lambda each: load.format(each)) for at in wanted]

    def _body(self, each: Pass, read: str, write: str) -> list[str]:
        """What is done with element `e`; where inputs are read, outputs written (`{}`: which)."""
        values, lines = self.values, []
        kept = {at: write.format(slot) for at, slot in each.kept.items()}
        for at in sorted({*each.values, *each.kept}):
            if at in kept:
                load = values.load(at, kept[at])
                lines.append(f"const {values.kind(at)} v{at} = {load}; (void)v{at};")
            else:
                lines.append(values.statement(at, lambda which: read.format(which)))
        return lines + [values.store(at, write.format(slot)) for at, slot in each.stores]

    def _start(self, at: int, prefix: str) -> str:
        return f"{self.values.kind(at)} {prefix}{at} = {self.values.reduction(at)}_start();"

    def _add(self, at: int, total: str) -> str:
        """The statement that adds an element to a total."""
        return f"{total} = {self.values.reduction(at)}_two({total}, {self.values.mapped(at)});"

    def _threads(self, function: str, at: int, more: str = "") -> str:
        """A call of a reduction of threads (see gpu_kernel.cuh) up to its arguments."""
        return f"{function}<{self.values.kind(at)}, {self.values.reduction(at)}_two{more}>"
