"""CUDA text of a program (`devices/native/program`): which kernels it takes, and what each is.

    elements   no reductions: each thread a few neighbouring elements, loaded and stored as one
    rows       reductions along rows: a group of threads (1, 32, or a block) goes over a row,
               pass after pass; threads with their own elements all the while
    columns    reductions over rows, of elements: blocks of columns times rows, then `late`
    whole      reductions of one long axis: a kernel a pass, each block a part, then `late`

What is left of a reduction by blocks or groups lies in scratch memory, which the next kernel
combines: always in the same order, so that results don't vary from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.devices.codegen.c_pass_source import indented
from gpugraph.devices.codegen.loop_schedule import Pass
from gpugraph.devices.codegen.program import Program
from gpugraph.devices.cuda.launching.cuda_source_fragments import (
    Form as Form,
    TextParts,
    Variant as Variant,
)


class CudaText(TextParts):
    """`text` and `forms`, in the order in which they are launched."""

    def __init__(self, program: Program, variant: Variant, *more: object) -> None:
        super().__init__(program, variant, *more)
        self._find_scratch()
        body = self._kernels()
        index = "int64_t" if variant.wide else "int32_t"
        self.text = (
            f'#include "gpu_kernel.cuh"\ntypedef {index} gg_index;\n\n{self.values.text}\n{body}'
        )

    def _find_scratch(self) -> None:
        """Of each reduction that one kernel leaves to another: "columns", "parts" or "whole"."""
        trailing = self.program.trailing()
        for at in self.program.reductions:
            if at in trailing:
                columns = any(at in each.columns for each in self.made.passes)
                self.scratch[at] = "columns" if columns else "parts"
            elif self.variant.whole:
                self.scratch[at] = "whole"

    @property
    def has_rows(self) -> bool:
        """Whether a row has reductions of its own, so that it can't be split."""
        of_rows = set(self.program.reductions) - set(self.program.trailing())
        return bool(of_rows or self.made.row_sums or self.made.row_stores)

    def _kernels(self) -> str:
        if not self.program.axes:
            return self._kernel("one", self._single())
        if self.variant.whole:
            return self._whole()
        if self.has_rows:
            text = self._kernel("rows", self._rows())
        elif self.scratch:
            text = self._kernel("columns", self._columns())
        else:
            return self._kernel("elements", self._elements())
        return text + (self._kernel("late", self._late()) if self.scratch else "")

    # -- forms

    def _single(self) -> list[str]:
        stores = [self.values.store(at, f"o{slot}[0]") for at, slot in self._all_stores()]
        return [*self._numbers(self.made.once), *stores]

    def _all_stores(self) -> list[tuple[int, int]]:
        made = self.made
        return [*made.row_stores, *made.late_stores, *(s for p in made.passes for s in p.stores)]

    def _elements(self) -> list[str]:
        [each] = self.made.passes
        pack = self.variant.pack
        row = f"at * {pack} / inner" if self.program.axes > 1 else "0"
        lines = [
            *self._numbers(self.made.once),
            f"const gg_index stride = {self.blocks} * blockDim.x;",
            f"const gg_index packs = rows * inner / {pack};",
            f"for (gg_index at = {self.block} * blockDim.x + threadIdx.x; at < packs; "
            "at += stride) {",
            f"    const gg_index row = {row}, first = at * {pack} - row * inner;",
            *indented([*self._places(), *self._numbers(each.rows, "p{}[0]")]),
            *indented(self._packed(each)),
            "}",
        ]
        if pack > 1 and self.program.axes == 1:  # what is left when the axis is no multiple
            lines += [
                f"const gg_index e = packs * {pack} + {self.block} * blockDim.x + threadIdx.x;",
                "if (e < inner) {",
                "    const gg_index row = 0; (void)row;",
                *indented([*self._places(), *self._numbers(each.rows, "p{}[0]")]),
                *indented(self._body(each, "p{}[e]", "q{}[e]")),
                "}",
            ]
        return lines

    def _packed(self, each: Pass, more: Sequence[str] = ()) -> list[str]:
        """The elements of one pack, and what else is done with each of them."""
        pack, values = self.variant.pack, self.values
        if pack == 1:
            body = self._body(each, "p{}[e]", "q{}[e]")
            return ["const gg_index e = first; (void)e;", *body, *more]
        lines = []
        for at in [at for at in self.arrays if at in each.values]:
            kind = f"gg_pack<{values.memory(at)}, {pack}>"
            lines.append(f"const {kind} c{at} = *(const {kind} *)(p{at} + first);")
        for slot in sorted({*each.kept.values(), *(slot for _, slot in each.stores)}):
            kind = f"gg_pack<{values.memory(self.program.outputs[slot])}, {pack}>"
            kept = f" = *(const {kind} *)(q{slot} + first)" if slot in each.kept.values() else ""
            lines.append(f"{kind} d{slot}{kept};")
        lines += ["#pragma unroll", f"for (int l = 0; l < {pack}; l++) {{"]
        lines.append("    const gg_index e = first + l; (void)e;")
        lines += [*indented([*self._body(each, "c{}.of[l]", "d{}.of[l]"), *more]), "}"]
        for at, slot in each.stores:
            kind = f"gg_pack<{values.memory(at)}, {pack}>"
            lines.append(f"*({kind} *)(q{slot} + first) = d{slot};")
        return lines

    def _rows(self) -> list[str]:
        """Each group of threads has `rows_each` rows; `parts` is how many groups there are."""
        group = self.variant.group
        columns = [at for at, kind in self.scratch.items() if kind == "columns"]
        sums = [at for at, kind in self.scratch.items() if kind == "parts"]
        lines = [
            f"const gg_index lane = threadIdx.x % {group};",
            f"const gg_index part = ({self.block} * blockDim.x + threadIdx.x) / {group};",
            *self._numbers(self.made.once),
            *(self._start(at, "t") for at in sums),
        ]
        for at in columns:
            name = self.values.reduction(at)
            lines += [
                f"{self.values.kind(at)} *g{at} = s{at} + part * inner;",
                f"if (part < parts) for (gg_index e = lane; e < inner; e += {group}) "
                f"g{at}[e] = {name}_start();",
            ]
        lines += [
            "gg_index end = (part + 1) * rows_each;",
            "if (end > rows) end = rows;",
            "for (gg_index row = part * rows_each; row < end; row++) {",
            *indented(self._row()),
            "}",
        ]
        for at in sums:
            lines.append(f"t{at} = {self._threads('gg_block', at)}(t{at});")
            lines.append(f"if (threadIdx.x == 0) s{at}[blockIdx.x] = t{at};")
        return lines

    def _row(self) -> list[str]:
        made, values = self.made, self.values
        group, pack = self.variant.group, self.variant.pack
        lines = self._places()
        for each in made.passes:
            own = [at for at in each.lanes if at not in self.scratch]
            lines += [*self._numbers(each.rows, "p{}[0]"), *(self._start(at, "l") for at in own)]
            more = [self._add(at, f"l{at}") for at in own]
            more += [self._add(at, f"t{at}") for at in each.lanes if at not in own]
            more += [self._add(at, f"g{at}[e]") for at in each.columns]
            step = f"first += {group * pack}"
            lines += [f"for (gg_index first = lane * {pack}; first < inner; {step}) {{"]
            lines += [*indented(self._packed(each, more)), "}"]
            for at in own:
                total = f"{self._threads('gg_group', at, f', {group}')}(l{at})"
                lines.append(values.finished(at, total, "inner"))
        lines += self._numbers(made.after, "p{}[0]")
        ends = [values.store(at, f"o{slot}[row]") for at, slot in made.row_stores]
        ends += [self._add(at, f"t{at}") for at in made.row_sums]
        if ends:
            lines += ["if (lane == 0) {", *indented(ends), "}"]
        return lines

    def _columns(self) -> list[str]:
        """Blocks of blockDim.x columns; blockIdx.y has `rows_each` rows, threadIdx.y its turn."""
        [each] = self.made.passes
        lines = [
            *self._numbers(self.made.once),
            "const gg_index e = blockIdx.x * blockDim.x + threadIdx.x;",
            *(self._start(at, "t") for at in self.scratch),
            "gg_index end = (blockIdx.y + 1) * rows_each;",
            "if (end > rows) end = rows;",
            "if (e < inner)",
            "for (gg_index row = blockIdx.y * rows_each + threadIdx.y; row < end; "
            "row += blockDim.y) {",
            *indented([*self._places(), *self._numbers(each.rows, "p{}[0]")]),
            *indented(self._body(each, "p{}[e]", "q{}[e]")),
            *(f"    {self._add(at, f't{at}')}" for at in self.scratch),
            "}",
        ]
        for at, kind in self.scratch.items():
            if kind == "columns":
                lines.append(f"t{at} = {self._threads('gg_column', at)}(t{at});")
                lines.append(
                    f"if (threadIdx.y == 0 && e < inner) s{at}[blockIdx.y * inner + e] = t{at};"
                )
            else:
                lines.append(f"t{at} = {self._threads('gg_block', at)}(t{at});")
                lines.append(
                    "if (threadIdx.x == 0 && threadIdx.y == 0) "
                    f"s{at}[blockIdx.y * gridDim.x + blockIdx.x] = t{at};"
                )
        return lines

    def _late(self) -> list[str]:
        """What follows when all rows are done: `parts` parts of columns, `rows_each` of sums."""
        made, values = self.made, self.values
        lines = []
        for at, kind in self.scratch.items():
            if kind == "parts":
                count = "rows_" if at in made.row_sums else "rows_ * inner_"
                start = f"{values.reduction(at)}_start()"
                total = f"{self._threads('gg_parts', at)}(s{at}, rows_each, {start})"
                lines.append(values.finished(at, total, count))
        numbers = [at for at in made.late if not made.is_element(at)]
        lines += self._numbers([at for at in numbers if at not in self.scratch])
        lines.append("const gg_index e = blockIdx.x * blockDim.x + threadIdx.x;")
        inside: list[str] = []
        for at, kind in self.scratch.items():
            if kind == "columns":
                inside += [
                    self._start(at, "t"),
                    f"for (gg_index part = 0; part < parts; part++) t{at} = "
                    f"{values.reduction(at)}_two(t{at}, s{at}[part * inner + e]);",
                    values.finished(at, f"t{at}", "rows_"),
                ]
        for at in made.late:
            if made.is_element(at):
                inside.append(values.statement(at, lambda which: f"a{which}[e]"))
        single: list[str] = []
        for at, slot in made.late_stores:
            if self.program.along[slot][-1:] == (True,):
                inside.append(values.store(at, f"o{slot}[e]"))
            else:
                single.append(values.store(at, f"o{slot}[0]"))
        if inside:
            lines += ["if (e < inner) {", *indented(inside), "}"]
        return lines + (["if (e == 0) {", *indented(single), "}"] if single else [])

    def _whole(self) -> str:
        """A kernel a pass; each begins with what the one before left."""
        made, values = self.made, self.values
        text, numbers = "", list(made.once)
        known: list[int] = []
        for each in made.passes:
            numbers += each.rows
            lines = [*self._totals(known), *self._numbers(sorted(set(numbers)))]
            lines.append("const gg_index row = 0; (void)row;")
            lines += [*self._places(), *(self._start(at, "t") for at in each.lanes)]
            lines += [
                "gg_index end = (blockIdx.x + 1) * rows_each;",
                "if (end > inner) end = inner;",
                "for (gg_index e = blockIdx.x * rows_each + threadIdx.x; e < end; e += 256) {",
                *indented(self._body(each, "p{}[e]", "q{}[e]")),
                *(f"    {self._add(at, f't{at}')}" for at in each.lanes),
                "}",
            ]
            for at in each.lanes:
                lines.append(f"t{at} = {self._threads('gg_block', at)}(t{at});")
                lines.append(f"if (threadIdx.x == 0) s{at}[blockIdx.x] = t{at};")
            text += self._kernel("whole", lines)
            known += each.lanes
        if made.row_stores:
            last = self._totals(known)
            last += self._numbers(sorted({*numbers, *made.after}))
            ends = [values.store(at, f"o{slot}[0]") for at, slot in made.row_stores]
            text += self._kernel("end", [*last, "if (threadIdx.x == 0) {", *indented(ends), "}"])
        return text

    def _totals(self, known: list[int]) -> list[str]:
        lines = []
        for at in known:
            start = f"{self.values.reduction(at)}_start()"
            total = f"{self._threads('gg_parts', at)}(s{at}, parts, {start})"
            lines.append(self.values.finished(at, total, "inner_"))
        return lines
