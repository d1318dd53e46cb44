"""C text of a kernel: a function `int name(void *block)` for a program.

elements   no reductions: parts of rows and columns, one loop
rows       reductions along rows, or over them: parts of whole rows, pass after pass
whole      reductions of the one axis there is: each pass in parts, numbers in between
"""

from __future__ import annotations

import hashlib

from gpugraph.devices.codegen.c_pass_source import Passes, as_text, indented
from gpugraph.devices.codegen.c_value_expressions import Values
from gpugraph.devices.codegen.loop_schedule import Schedule, schedule
from gpugraph.devices.codegen.program import Input, Program

_RUN = """    if (b->threads > 1) b->parallel({part}, b, b->parts, b->threads);
    else for (int64_t which = 0; which < b->parts; which++) {part}(b, which);
"""


def kernel_name(program: Program) -> str:
    """The function's name: the same for equal programs."""
    return "gg_" + hashlib.sha256(repr(program).encode()).hexdigest()[:16]


class KernelText(Passes):
    """The text of one program's kernel, `text`, and what its block needs.

    splits_rows: whether a part may be a piece of a row. scratch: for each reduction that parts
    leave something of, "parts", "columns" or "whole" (see `function`).
    """

    def __init__(self, program: Program) -> None:
        self.name = kernel_name(program)
        super().__init__(program, Values(program, self.name))
        self.made: Schedule = schedule(program)
        self.inputs = program.inputs
        self.arrays = program.arrays
        self.scratch: dict[int, str] = {}
        trailing = program.trailing()
        of_rows = set(program.reductions) - set(trailing)
        self.splits_rows = not (of_rows or self.made.row_sums)
        for at in program.reductions:
            if at in trailing:
                columns = any(at in each.columns for each in self.made.passes)
                self.scratch[at] = "columns" if columns else "parts"
            elif program.axes == 1:
                self.scratch[at] = "whole"
        body = self._whole() if "whole" in self.scratch.values() else self._rows()
        self.text = self.values.text + body

    # -- where things are

    def _slot(self, at: int) -> int:
        """Where the block holds an input's, or a reduction's, address."""
        if at in self.scratch:
            own = list(self.scratch).index(at)
            return len(self.inputs) + len(self.program.outputs) + own
        return self.inputs.index(self.program.source(at))

    def _addresses(self) -> list[str]:
        """Declares a<input>, o<output>, s<reduction>."""
        lines = [
            "gg_block *b = block;",
            f"const int64_t inner = {self.program.narrow or 'b->inner'}; (void)inner;",
        ]
        for at in self.arrays:
            lines.append(f"const {self.values.memory(at)} *a{at} = b->at[{self._slot(at)}];")
        for slot, at in enumerate(self.program.outputs):
            place = len(self.inputs) + slot
            lines.append(f"{self.values.memory(at)} *o{slot} = b->at[{place}];")
        for at in self.scratch:
            lines.append(f"{self.values.kind(at)} *s{at} = b->at[{self._slot(at)}];")
        if self.values.can_fail:
            lines.append("int bad = 0;")
        return lines

    def _ended(self) -> list[str]:
        return ["if (bad) b->failed = 1;"] if self.values.can_fail else []

    def _result(self) -> str:
        return "    return b->failed ? GG_FAILED : GG_DONE;\n}\n"

    # -- rows (and plain elements, which have no reductions)

    def _rows(self) -> str:
        made, values = self.made, self.values
        sums = [at for at in self.scratch if self.scratch[at] == "parts"]
        columns = [at for at in self.scratch if self.scratch[at] == "columns"]
        lines = [
            *self._addresses(),
            "int64_t row = which / b->across * b->rows_each;",
            "const int64_t end = gg_min(row + b->rows_each, b->rows);",
            *self._share(),
            *self.numbers(made.once),
            *self._strides(),
            *(self.tree(at) for at in sums),
        ]
        for at in columns:
            lines += [
                f"{values.kind(at)} *g{at} = s{at} + which / b->across * inner;",
                f"for (int64_t e = start; e < stop; e++) g{at}[e] = "
                f"{values.reduction(at)}_start();",
            ]
        lines += ["for (; row < end; row++) {", *indented(self._row()), "}"]
        lines += [f"s{at}[which] = {values.reduction(at)}_total(&tree{at});" for at in sums]
        part = f"static void {self.name}_part(void *block, int64_t which) {{\n"
        part += as_text([*lines, *self._ended()]) + "}\n"
        return part + self._entry(_RUN.format(part=f"{self.name}_part"), self._late())

    def _share(self) -> list[str]:
        """Declares which elements of a row the part has."""
        if self.program.narrow:
            return ["const int64_t start = 0, stop = inner;"]
        return [
            "const int64_t start = which % b->across * b->inner_each;",
            "const int64_t stop = gg_min(start + b->inner_each, inner);",
        ]

    def _row(self) -> list[str]:
        """All passes over one row."""
        made, values = self.made, self.values
        lines = self._offsets()
        for each in made.passes:
            own = [at for at in each.lanes if at not in self.scratch]
            lines += [*self.numbers(each.rows, "p{}[0]"), *map(self.tree, own)]
            lines += self.one_pass(each)
            for at in own:
                total = f"{values.reduction(at)}_total(&tree{at})"
                lines.append(values.finished(at, total, "inner"))
        lines += self.numbers(made.after, "p{}[0]")
        for at, slot in made.row_stores:
            lines.append(values.store(at, f"o{slot}[row]"))
        for at in made.row_sums:
            lines.append(f"{values.reduction(at)}_push(&tree{at}, {values.mapped(at)});")
        return lines

    def _strides(self) -> list[str]:
        """Declares how far each input's elements of neighbouring rows are apart, axis by axis."""
        lines = []
        for axis in range(self.program.axes - 1):
            lines.append(f"const int64_t n{axis} = b->sizes[{axis}]; (void)n{axis};")
        for at in self.arrays:
            value = self.program.values[at]
            assert isinstance(value, Input)
            for axis in range(self.program.axes - 1):
                if value.spans[axis]:
                    below = [
                        f"n{other}" if other < self.program.axes - 1 else "inner"
                        for other in range(axis + 1, self.program.axes)
                        if value.spans[other]
                    ]
                    lines.append(f"const int64_t t{at}_{axis} = {' * '.join(below) or '1'};")
        return lines

    def _offsets(self) -> list[str]:
        """Declares p<input> and q<output>: where this row begins."""
        outer = self.program.axes - 1
        lines = []
        if outer > 1:
            lines.append("int64_t left = row;")
            for axis in range(outer - 1, 0, -1):
                lines.append(f"const int64_t i{axis} = left % n{axis}; left /= n{axis};")
            lines.append("const int64_t i0 = left;")
        else:
            lines.append("const int64_t i0 = row; (void)i0;")
        for at in self.arrays:
            value = self.program.values[at]
            assert isinstance(value, Input)
            steps = [f"i{axis} * t{at}_{axis}" for axis in range(outer) if value.spans[axis]]
            where = " + ".join([f"a{at}", *steps])
            lines.append(f"const {self.values.memory(at)} *p{at} = {where};")
        for slot, at in enumerate(self.program.outputs):
            if all(self.program.along[slot]):
                lines.append(f"{self.values.memory(at)} *q{slot} = o{slot} + row * inner;")
        return lines

    def _late(self) -> list[str]:
        """What follows when all rows are done."""
        made, values = self.made, self.values
        if not self.scratch:
            return []
        lines = self._addresses()
        lines.append("const int64_t chunks = b->across ? b->parts / b->across : 0; (void)chunks;")
        for at, kind in self.scratch.items():
            name = values.reduction(at)
            if kind == "columns":
                lines.append(f"{name}_fold(s{at}, chunks, inner);")
            else:
                count = "b->rows" if at in made.row_sums else "b->rows * inner"
                total = f"{name}_fold(s{at}, b->parts, 1)"
                lines.append(values.finished(at, total, count))
        numbers = [at for at in made.late if not made.is_element(at)]
        lines += self.numbers([at for at in numbers if at not in self.scratch])
        inside = []
        for at, kind in self.scratch.items():
            if kind == "columns":
                start = f"{values.reduction(at)}_start()"
                inside.append(values.finished(at, f"chunks ? s{at}[e] : {start}", "b->rows"))
        for at in made.late:
            if made.is_element(at):
                inside.append(values.statement(at, lambda which: f"a{which}[e]"))
        for at, slot in made.late_stores:
            if self.program.along[slot][-1:] == (True,):
                inside.append(values.store(at, f"o{slot}[e]"))
            else:
                lines.append(values.store(at, f"o{slot}[0]"))
        if inside:
            lines += ["GG_LOOP for (int64_t e = 0; e < inner; e++) {", *indented(inside), "}"]
        return [*lines, *self._ended()]

    # -- whole

    def _whole(self) -> str:
        """Each pass over the one axis in parts; between them the parts' results become one."""
        made, values = self.made, self.values
        numbers = list(made.once)
        text = runs = ""
        known: list[int] = []
        for turn, each in enumerate(made.passes):
            part = f"{self.name}_part{turn}"
            before = [f"const {values.kind(at)} v{at} = s{at}[0];" for at in known]
            numbers += each.rows
            lines = [
                *self._addresses(),
                "const int64_t start = which * b->inner_each;",
                "const int64_t stop = gg_min(start + b->inner_each, inner);",
                *(f"const {values.memory(at)} *p{at} = a{at};" for at in self.arrays),
                *(
                    f"{values.memory(at)} *q{slot} = o{slot};"
                    for slot, at in enumerate(self.program.outputs)
                ),
                *before,
                *self._in_order(numbers),
                *map(self.tree, each.lanes),
                *self.one_pass(each),
            ]
            for at in each.lanes:
                lines.append(f"s{at}[1 + which] = {values.reduction(at)}_total(&tree{at});")
            text += f"static void {part}(void *block, int64_t which) {{\n"
            text += as_text([*lines, *self._ended()]) + "}\n"
            runs += _RUN.format(part=part)
            for at in each.lanes:
                total = f"{values.reduction(at)}_fold(s{at} + 1, b->parts, 1)"
                done = values.finished(at, total, "b->inner")
                runs += f"    {{ {values.kind(at)} *s{at} = b->at[{self._slot(at)}]; "
                runs += f"{done} s{at}[0] = v{at}; }}\n"
            known += each.lanes
        last = [*self._addresses()]
        last += [f"const {values.kind(at)} v{at} = s{at}[0];" for at in known]
        last += self._in_order([*numbers, *made.after])
        last += [values.store(at, f"o{slot}[0]") for at, slot in made.row_stores]
        return text + self._entry(runs, [*last, *self._ended()])

    def _in_order(self, wanted: list[int]) -> list[str]:
        return self.numbers(sorted(set(wanted)))

    # -- the entry

    def _entry(self, runs: str, after: list[str]) -> str:
        text = f"int {self.name}(void *block) {{\n"
        if not self.program.axes:
            lines = [*self._addresses(), "b->failed = 0;", *self.numbers(self.made.once)]
            lines += [self.values.store(at, f"o{slot}[0]") for at, slot in self.made.row_stores]
            return text + as_text([*lines, *self._ended()]) + self._result()
        text += "    {\n    gg_block *b = block;\n    b->failed = 0;\n" + runs + "    }\n"
        head = [] if after else ["gg_block *b = block;"]
        return text + as_text([*head, *after]) + self._result()
