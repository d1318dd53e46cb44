"""C source of a kernel: a program becomes a function `int name(void *block)`, in one of these
forms:

    elements   without reductions: each part has some rows and columns, and is one loop
    rows       for reductions along rows or over rows: each part has whole rows, and several passes
    whole      for reductions of a single axis: each pass is divided into parts; scalars are
               computed between the passes

A part is the share of the work that one thread computes. A call of `void name_part(void *block,
int64_t which)` runs one part.
"""

from __future__ import annotations

from gpugraph.devices.codegen.program import Program
from gpugraph.devices.codegen.program_source import brace, function_source
from gpugraph.devices.native.c_pass_source import PassSource


class KernelSource(PassSource):
    """The source of one program's kernel, and the properties from which the kernel's block is
    computed.

    Attributes:
      source: the text of the source.
      splits_rows: whether a part may be less than a whole row.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program, program, whole=program.axes == 1)
        self.splits_rows = not self.has_row_results
        is_whole = "whole" in self.scratch.values()
        body = self._scalar() if not program.axes else self._whole() if is_whole else self._rows()
        self.source = self.values.source + body

    # -- parts of functions

    def _addresses(self) -> list[str]:
        """Return declarations of the block, and of the kernel's arrays and sizes."""
        lines = [
            "gg_block *b = block;",
            self.declaration("rows", "b->rows"),
            self.declaration("inner", str(self.program.narrow or "b->inner")),
        ]
        for slot, (kind, name) in enumerate(self.pointers()):
            lines.append(f"{kind}{name} = b->at[{slot}];")
        return [*lines, *self.second_inputs(), *(["int bad = 0;"] if self.values.can_fail else [])]

    def _part(self, name: str, lines: list[str]) -> str:
        return function_source(
            f"static void {name}(void *block, int64_t which)",
            [*self._addresses(), *lines, *self._failure()],
        )

    def _failure(self) -> list[str]:
        return ["if (bad) b->failed = 1;"] if self.values.can_fail else []

    def _entry(self, lines: list[str]) -> str:
        lines = [*self._addresses(), "b->failed = 0;", *lines, *self._failure()]
        result = "return b->failed ? GG_FAILED : GG_DONE;"
        return function_source(f"int {self.name}(void *block)", [*lines, result])

    def _run(self, part: str) -> list[str]:
        """Return statements that run all parts by the function `part`. If the block permits several
        threads, the parts run on these threads.
        """
        return [
            f"if (b->threads > 1) b->parallel({part}, b, b->parts, b->threads);",
            f"else for (int64_t which = 0; which < b->parts; which++) {part}(b, which);",
        ]

    def _fold(self, index: int, scratch: str, count: str = "b->parts", width: str = "1") -> str:
        return f"{self.values.reduction(index)}_fold({scratch}, {count}, {width})"

    def _scalar(self) -> str:
        return self._entry([*self.scalars(self.schedule.once), *self.scalar_stores()])

    # -- rows (and plain elements, which have no reductions)

    def _rows(self) -> str:
        sums = self.reductions_in("parts")
        lines = [
            "int64_t row = which / b->across * b->rows_each;",
            "const int64_t end_row = gg_min(row + b->rows_each, rows);",
            *self._share(),
            *self.scalars(self.schedule.once),
            *self.strides(),
            *map(self._start, sums),
        ]
        for index in self.reductions_in("columns"):
            lines += [
                f"{self.values.kind(index)} *sums{index} = "
                f"scratch{index} + which / b->across * inner;",
                f"for (int64_t e = start; e < stop; e++) sums{index}[e] = "
                f"{self.values.reduction(index)}_start();",
            ]
        row = [*self.row_starts(), *self.passes(self.schedule), *self.row_results()]
        hint = "GG_LOOP " if self.has_tiny_rows else ""
        lines += brace(f"{hint}for (; row < end_row; row++)", row)
        lines += [f"scratch{index}[which] = {self._total(index)};" for index in sums]
        part = f"{self.name}_part"
        return self._part(part, lines) + self._entry([*self._run(part), *self._late()])

    def _share(self) -> list[str]:
        """Return declarations of the range of a row's elements that a part computes."""
        if self.program.narrow:
            return ["const int64_t start = 0, stop = inner;"]
        return [
            "const int64_t start = which % b->across * b->inner_each;",
            "const int64_t stop = gg_min(start + b->inner_each, inner);",
        ]

    def _total_of_parts(self, index: int) -> str:
        return self._fold(index, f"scratch{index}")

    def _column(self, index: int) -> list[str]:
        total = f"chunks ? scratch{index}[e] : {self.values.reduction(index)}_start()"
        return [self.values.finish(index, total, "rows")]

    def _late(self) -> list[str]:
        """Return the statements that run after all rows. They combine the partial results of the
        threads.
        """
        if not self.scratch:
            return []
        scalars, elements, stores = self.after_rows()
        lines = [self.declaration("chunks", "b->across ? b->parts / b->across : 0")]
        for index in self.reductions_in("columns"):
            lines.append(self._fold(index, f"scratch{index}", "chunks", "inner") + ";")
        loop = brace("GG_LOOP for (int64_t e = 0; e < inner; e++)", elements) if elements else []
        return [*lines, *scalars, *stores, *loop]

    # -- whole

    def _whole(self) -> str:
        """Return the functions for the form `whole`. One function runs each pass over the axis in
        parts. The entry function runs the passes and combines their results.
        """
        order, values = self.schedule, self.values
        source, runs, scalars = "", [], set(order.once)
        known: list[int] = []
        share = [
            "const int64_t row = 0, start = which * b->inner_each;",
            "const int64_t stop = gg_min(start + b->inner_each, inner);",
        ]
        for number, row_pass in enumerate(order.passes):
            part = f"{self.name}_part{number}"
            scalars.update(row_pass.rows)
            lines = [*share, *self.row_starts(), *self._totals(known)]
            lines += [*self.scalars(sorted(scalars)), *map(self._start, row_pass.lanes)]
            lines += self._row_elements(row_pass)
            for index in row_pass.lanes:
                lines.append(f"scratch{index}[1 + which] = {self._total(index)};")
            source += self._part(part, lines)
            runs += self._run(part)
            for index in row_pass.lanes:
                total = values.finish(index, self._fold(index, f"scratch{index} + 1"), "inner")
                runs.append(f"{{ {total} scratch{index}[0] = v{index}; }}")
            known += row_pass.lanes
        last = [*self._totals(known), *self.scalars(sorted(scalars.union(order.after)))]
        return source + self._entry([*runs, *last, *self.scalar_stores()])

    def _totals(self, known: list[int]) -> list[str]:
        """Return declarations of the results of the reductions `known`, which were computed in
        earlier passes.
        """
        return [f"const {self.values.kind(index)} v{index} = scratch{index}[0];" for index in known]
