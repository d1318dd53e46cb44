"""CUDA source of a program: one or more kernels of these forms:

    elements   no reductions: each thread has a few adjacent elements, loaded and stored as one
    rows       reductions along rows: a group of threads (1, 32, or a block) passes over a row
               several times; each thread has the same elements in each pass
    columns    reductions over rows, with one result for each column: each block has some rows and
               columns; then the kernel `late` runs
    whole      reductions of one long axis: one kernel for each pass, in which each block has a
               part of the axis; then the kernel `end` runs
    late       the kernel after all rows, which combines partial results
    one        a program without axes: one thread

Blocks or groups of threads store their partial results in scratch memory. The next kernel combines
these partial results, always in the same order, so that the result is the same in each run.

Names in the generated code, in addition to those of `ProgramSource`:

    gg_index                    the type of sizes and offsets: 32 bits, if they suffice
    rows_, inner_, size<axis>_  the parameters with the sizes
    parts, rows_each            the number of parts, and of rows (or elements) in each part
    failed_                     the parameter with the address where a kernel writes 1 if it fails
    lane                        the number of a thread among the threads of its row
    part                        the part of a group of threads
    first                       the first element of a pack
    item                        the number of an element in its pack
    pack_in<n>, pack_out<slot>  several elements that are loaded or stored as one
    end                         the end of a part's rows (or elements)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpugraph.devices.codegen.loop_schedule import Pass, online_sums
from gpugraph.devices.codegen.program import Program
from gpugraph.devices.codegen.program_source import brace, function_source, indent
from gpugraph.devices.cuda.launching.online_totals import OnlineTotals, SourceVariant


class Form(NamedTuple):
    """One kernel of the source: its name and its form, which is one of the forms in the module's
    docstring.
    """

    name: str
    kind: str


class CudaSource(OnlineTotals):
    """The CUDA source of a program for one variant.

    The parameters of each kernel are: inputs, outputs, scratch, `failed_` (if the kernel may fail),
    rows, inner, parts, rows in a part, and the sizes of all axes except the last. The module's
    docstring explains these names.

    Attributes:
      source: the text of the source.
      forms: the kernels in the order of their launches.
    """

    index_type = "gg_index"
    size_expression = "(gg_index)size{}_"

    block, blocks = "(gg_index)blockIdx.x", "(gg_index)gridDim.x"
    """The CUDA expressions for a block's number and for the number of blocks. They have the type of
    offsets, so that a product with a number of threads or of rows does not overflow 32 bits."""

    second_block = "(gg_index)blockIdx.y"

    def __init__(self, program: Program, variant: SourceVariant, *layout: object) -> None:
        """Generate the source.

        Args:
          layout: for a joined kernel, the positions of its arguments in the table
            (`joined_launches`). These positions affect the source and therefore its key.
        """
        online = online_sums(program) if variant.group == 256 else {}
        key = (program, variant, *layout)
        super().__init__(program, key, whole=variant.whole, online=online)
        self.variant = variant
        self.forms: list[Form] = []
        body = self._kernels()
        index = "int64_t" if variant.wide else "int32_t"
        include = f'#include "gpu_kernel.cuh"\ntypedef {index} gg_index;\n'
        self.source = f"{include}\n{self.values.source}\n{body}"

    @property
    def has_row_results(self) -> bool:
        """Whether a reduction has a result for each row. If so, a row must not be divided between
        groups of threads.
        """
        return super().has_row_results or bool(self.schedule.row_stores)

    def _kernels(self) -> str:
        if not self.program.axes:
            return self._kernel("one", self._scalar())
        if self.variant.whole:
            return self._whole()
        if self.has_row_results:
            source = self._kernel("rows", self._rows())
        elif self.scratch:
            source = self._kernel("columns", self._columns())
        else:
            return self._kernel("elements", self._elements())
        return source + (self._kernel("late", self._late()) if self.scratch else "")

    # -- parts of kernels

    def _kernel(self, kind: str, lines: list[str]) -> str:
        name = f"{self.name}_k{len(self.forms)}"
        self.forms.append(Form(name, kind))
        parameters = ", ".join(f"{c_type}{its_name}" for c_type, its_name in self._parameters())
        head = f'extern "C" __global__ void {name}({parameters})'
        return function_source(head, self._within(lines))

    def _parameters(self) -> list[tuple[str, str]]:
        """Return the C types and names of the parameters that all kernels of the source have."""
        pointers = self.pointers() + ([("int *", "failed_")] if self.values.can_fail else [])
        numbers = ["rows_", "inner_", "parts_", "rows_each_"]
        numbers += [f"size{axis}_" for axis in range(max(self.program.axes - 1, 0))]
        return pointers + [("long long ", name) for name in numbers]

    def _within(self, lines: list[str]) -> list[str]:
        """Return the body of a kernel: the declarations that all kernels have, around `lines`."""
        sizes = {name: f"(gg_index){name}_" for name in ("rows", "inner", "parts", "rows_each")}
        if self.program.narrow:
            sizes["inner"] = str(self.program.narrow)
        can_fail = self.values.can_fail
        return [
            *(self.declaration(name, value) for name, value in sizes.items()),
            *(["int bad = 0;"] if can_fail else []),
            *self.second_inputs(),
            *self.strides(),
            *lines,
            *(["if (bad) *failed_ = 1;"] if can_fail else []),
        ]

    def _end(self, part: str, total: str) -> list[str]:
        """Return statements that declare the end of part `part` of `total` rows or elements."""
        return [f"gg_index end = ({part} + 1) * rows_each;", f"if (end > {total}) end = {total};"]

    def _threads(self, function: str, index: int, group: str = "") -> str:
        """Return the call, without its arguments, of a function template of gpu_kernel.cuh that
        reduces over threads.
        """
        reduction = f"{self.values.reduction(index)}_two{group}"
        return f"{function}<{self.values.kind(index)}, {reduction}>"

    def _leave(self, function: str, index: int, is_first: str, place: str) -> list[str]:
        """Return statements that combine the totals of a block's threads. The thread for which the
        C condition `is_first` is true writes the result to `place` in scratch memory.
        """
        total = f"total{index}"
        return [
            f"{total} = {self._threads(function, index)}({total});",
            f"if ({is_first}) scratch{index}[{place}] = {total};",
        ]

    def _start(self, index: int) -> str:
        start = f"{self.values.reduction(index)}_start()"
        return f"{self.values.kind(index)} total{index} = {start};"

    def _add(self, index: int) -> str:
        return self.combine(index, f"total{index}")

    # -- forms

    def _scalar(self) -> list[str]:
        return [*self.scalars(self.schedule.once), *self.scalar_stores()]

    def _elements(self) -> list[str]:
        [row_pass] = self.schedule.passes
        pack = self.variant.pack
        thread = f"{self.block} * blockDim.x + threadIdx.x"
        row = [*self.row_starts(), *self.scalars(row_pass.rows, "row_in{}[0]")]
        lines = [
            *self.scalars(self.schedule.once),
            f"const gg_index stride = {self.blocks} * blockDim.x;",
            f"const gg_index packs = rows * inner / {pack};",
            f"for (gg_index pack = {thread}; pack < packs; pack += stride) {{",
            f"    const gg_index row = {f'pack * {pack} / inner' if self.program.axes > 1 else 0};",
            f"    const gg_index first = pack * {pack} - row * inner;",
            *indent([*row, *self._pack(row_pass)]),
            "}",
        ]
        if pack > 1 and self.program.axes == 1:  # the remainder of the axis
            body = [self.declaration("row", "0"), *row, *self.element(row_pass)]
            lines.append(f"const gg_index e = packs * {pack} + {thread};")
            lines += brace("if (e < inner)", body)
        return lines

    def _pack(self, row_pass: Pass, sums: Sequence[str] = ()) -> list[str]:
        """Return statements that compute one pack of elements.

        Args:
          sums: statements that add each element to the totals.
        """
        pack, values = self.variant.pack, self.values
        if pack == 1:
            return [self.declaration("e", "first"), *self.element(row_pass), *sums]
        lines = []
        for index in [index for index in self.program.arrays if index in row_pass.values]:
            kind = f"const gg_pack<{values.memory(index)}, {pack}>"
            lines.append(f"{kind} pack_in{index} = *({kind} *)(row_in{index} + first);")
        reloads = row_pass.reloads.values()
        for slot in sorted({*reloads, *(slot for _, slot in row_pass.stores)}):
            kind = f"gg_pack<{values.memory(self.program.outputs[slot])}, {pack}>"
            reload = f" = *(const {kind} *)(row_out{slot} + first)" if slot in reloads else ""
            lines.append(f"{kind} pack_out{slot}{reload};")
        body = [
            self.declaration("e", "first + item"),
            *self.element(row_pass, "pack_in{}.of[item]", "pack_out{}.of[item]"),
            *sums,
        ]
        lines += ["#pragma unroll", *brace(f"for (int item = 0; item < {pack}; item++)", body)]
        for index, slot in row_pass.stores:
            kind = f"gg_pack<{values.memory(index)}, {pack}>"
            lines.append(f"*({kind} *)(row_out{slot} + first) = pack_out{slot};")
        return lines

    def _rows(self) -> list[str]:
        """Return the body of the form `rows`: each group of threads computes `rows_each` rows."""
        group, sums = self.variant.group, self.reductions_in("parts")
        lines = [
            f"const gg_index lane = threadIdx.x % {group};",
            f"const gg_index part = ({self.block} * blockDim.x + threadIdx.x) / {group};",
            *self.scalars(self.schedule.once),
            *map(self._start, sums),
        ]
        for index in self.reductions_in("columns"):
            lines += [
                f"{self.values.kind(index)} *sums{index} = scratch{index} + part * inner;",
                f"if (part < parts) for (gg_index e = lane; e < inner; e += {group}) "
                f"sums{index}[e] = {self.values.reduction(index)}_start();",
            ]
        row = [*self.row_starts(), *self.passes(self.schedule)]
        results = self.row_results()
        row += brace("if (lane == 0)", results) if results else []
        lines += self._end("part", "rows")
        lines += brace("for (gg_index row = part * rows_each; row < end; row++)", row)
        for index in sums:
            lines += self._leave("gg_block", index, "threadIdx.x == 0", self.block)
        return lines

    def _row_elements(self, row_pass: Pass) -> list[str]:
        """Return the loop in which a group of threads processes the elements of a row in one
        pass.
        """
        pack = self.variant.pack
        declared, adds, after = self._sums(row_pass)
        step = f"first += {self.variant.group * pack}"
        head = f"for (gg_index first = lane * {pack}; first < inner; {step})"
        pack_lines = self._pack(row_pass, [*adds, *self.column_sums(row_pass)])
        return brace(head, [*declared, *pack_lines, *after])

    def _total(self, index: int) -> str:
        total, largest = f"total{index}", self.schedule.online.get(index)
        if largest is not None:  # each thread's sum refers to the thread's own maximum
            total = f"{total} * exp(total{largest} - v{largest})"
        return f"{self._threads('gg_group', index, f', {self.variant.group}')}({total})"

    def _columns(self) -> list[str]:
        """Return the body of the form `columns`.

        A block has one pack of columns for each threadIdx.x. blockIdx.y selects `rows_each` rows,
        and threadIdx.y selects some of these rows.
        """
        [row_pass] = self.schedule.passes
        pack, columns = self.variant.pack, self.reductions_in("columns")
        totals = {
            index: f"total{index}[item]" if pack > 1 and index in columns else f"total{index}"
            for index in self.scratch
        }
        sums = [self.combine(index, total) for index, total in totals.items()]
        row = [*self.row_starts(), *self.scalars(row_pass.rows, "row_in{}[0]")]
        row += self._pack(row_pass, sums)
        head = f"for (gg_index row = {self.second_block} * rows_each + threadIdx.y; row < end;"
        lines = [
            *self.scalars(self.schedule.once),
            f"const gg_index first = ({self.block} * blockDim.x + threadIdx.x) * {pack};",
        ]
        for index, total in totals.items():
            lines += self._starts(index, pack) if "[" in total else [self._start(index)]
        lines += [
            *self._end(self.second_block, "rows"),
            "if (first < inner)",
            *brace(f"{head} row += blockDim.y)", row),
        ]
        for index in columns:
            place = f"{self.second_block} * inner + first"
            call, is_first = self._threads("gg_column", index), "threadIdx.y == 0 && first < inner"
            if pack == 1:
                lines += self._leave("gg_column", index, is_first, place)
                continue
            total = f"total{index}[item]"
            lines += [
                "#pragma unroll",
                *brace(
                    f"for (int item = 0; item < {pack}; item++)",
                    [
                        f"{total} = {call}({total});",
                        f"if ({is_first}) scratch{index}[{place} + item] = {total};",
                    ],
                ),
            ]
        for index in self.reductions_in("parts"):
            place = f"{self.second_block} * {self.blocks} + {self.block}"
            lines += self._leave("gg_block", index, "threadIdx.x == 0 && threadIdx.y == 0", place)
        return lines

    def _starts(self, index: int, count: int) -> list[str]:
        """Return statements that declare the totals of a pack of columns."""
        start = f"{self.values.reduction(index)}_start()"
        return [
            f"{self.values.kind(index)} total{index}[{count}];",
            "#pragma unroll",
            f"for (int item = 0; item < {count}; item++) total{index}[item] = {start};",
        ]

    def _total_of_parts(self, index: int, parts: str = "rows_each") -> str:
        start = f"{self.values.reduction(index)}_start()"
        return f"{self._threads('gg_parts', index)}(scratch{index}, {parts}, {start})"

    def _column(self, index: int) -> list[str]:
        element = f"scratch{index}[part * inner + e]"
        name, total = self.values.reduction(index), f"total{index}"
        return [
            self._start(index),
            "for (gg_index part = 0; part < parts; part++)",
            f"    {total} = {name}_two({total}, {element});",
            self.values.finish(index, total, "rows"),
        ]

    def _late(self) -> list[str]:
        """Return the body of the form `late`, which runs after all rows.

        It combines the `parts` partial totals of each column, and the `rows_each` partial results
        of each sum.
        """
        scalars, elements, stores = self.after_rows()
        return [
            *scalars,
            f"const gg_index e = {self.block} * blockDim.x + threadIdx.x;",
            *(brace("if (e < inner)", elements) if elements else []),
            *(brace("if (e == 0)", stores) if stores else []),
        ]

    def _whole(self) -> str:
        """Return the kernels of the form `whole`, one for each pass. Each kernel first combines the
        partial results of the preceding passes. The last kernel, `end`, stores the scalars.
        """
        order, source = self.schedule, ""
        scalars = set(order.once)
        known: list[int] = []
        for row_pass in order.passes:
            scalars.update(row_pass.rows)
            declared, adds, after = self._sums(row_pass)
            head = f"for (gg_index e = {self.block} * rows_each + threadIdx.x; e < end; e += 256)"
            lines = [
                *self._totals(known),
                *self.scalars(sorted(scalars)),
                self.declaration("row", "0"),
                *self.row_starts(),
                *map(self._start, row_pass.lanes),
                *self._end(self.block, "inner"),
                *brace(head, [*declared, *self.element(row_pass), *adds, *after]),
            ]
            for index in row_pass.lanes:
                lines += self._leave_online(index)
                lines += self._leave("gg_block", index, "threadIdx.x == 0", self.block)
            source += self._kernel("whole", lines)
            known += row_pass.lanes
        if order.row_stores:
            last = [*self._totals(known), *self.scalars(sorted(scalars.union(order.after)))]
            last += brace("if (threadIdx.x == 0)", self.scalar_stores())
            source += self._kernel("end", last)
        return source

    def _totals(self, known: list[int]) -> list[str]:
        """Return declarations of the results of the reductions `known`. These results are combined
        from the partial results that earlier kernels have stored.
        """
        lines, online = [], self.schedule.online
        for index in known:
            total = self._total_of_parts(index, "parts")
            if index in online:
                call, largest = self._threads("gg_parts_online", index), online[index]
                total = f"{call}(scratch{index}, scratch{largest}, parts, v{largest})"
            lines.append(self.values.finish(index, total, "inner"))
        return lines
