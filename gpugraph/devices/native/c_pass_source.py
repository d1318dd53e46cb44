"""C source of one pass over a row. Kernels and loops share this code.

Names in the generated code, in addition to those of `ProgramSource`:

    b                      the kernel's block (host_kernel.h)
    start, stop            the range of a row's elements that a pass covers
    begin, end             the range of one block of a reduction within that range
    i, lane                the first element of the next group of lanes, and one of the lanes
    lanes<n>, few<n>       a reduction's totals in many lanes, and in the few that combine them
    tail<n>                the elements after the last full group of lanes, padded with neutral ones
    total<n>               a tree: the totals of a reduction's blocks, combined two by two
"""

from __future__ import annotations

from gpugraph.devices.codegen.loop_schedule import Pass
from gpugraph.devices.codegen.program import Program
from gpugraph.devices.codegen.program_source import ProgramSource, brace

_TREE = """typedef struct {{ {T} totals[GG_DEPTH]; int64_t depth, count; }} {name}_tree;
GG_INLINE void {name}_push({name}_tree *tree, {T} value) {{
    for (int64_t count = tree->count++; count & 1; count >>= 1)
        value = {name}_two(tree->totals[--tree->depth], value);
    tree->totals[tree->depth++] = value;
}}
GG_INLINE {T} {name}_total({name}_tree *tree) {{
    {T} total = tree->depth ? tree->totals[--tree->depth] : {name}_start();
    while (tree->depth) total = {name}_two(tree->totals[--tree->depth], total);
    return total;
}}
GG_INLINE {T} {name}_short(const {T} *tail, int64_t rest) {{
    {T} total = {name}_start();
    for (int64_t lane = 0; lane < rest; lane++) total = {name}_two(total, tail[lane]);
    return total;
}}
GG_INLINE void {name}_gather({T} *lanes, {T} *few) {{
    for (int64_t width = GG_LANES / 2; width > GG_FEW; width /= 2)
        GG_LOOP for (int64_t lane = 0; lane < width; lane++)
            lanes[lane] = {name}_two(lanes[lane], lanes[lane + width]);
    GG_LOOP for (int64_t lane = 0; lane < GG_FEW; lane++)
        few[lane] = {name}_two(lanes[lane], lanes[lane + GG_FEW]);
}}
GG_INLINE {T} {name}_lanes({T} *few, const {T} *tail) {{
    {T} half[GG_FEW / 2], quarter[GG_FEW / 4];
    for (int64_t lane = 0; lane < GG_FEW; lane++) few[lane] = {name}_two(few[lane], tail[lane]);
    for (int64_t lane = 0; lane < GG_FEW / 2; lane++)
        half[lane] = {name}_two(few[lane], few[lane + GG_FEW / 2]);
    for (int64_t lane = 0; lane < GG_FEW / 4; lane++)
        quarter[lane] = {name}_two(half[lane], half[lane + GG_FEW / 4]);
    return {name}_two({name}_two(quarter[0], quarter[2]), {name}_two(quarter[1], quarter[3]));
}}
static __attribute__((unused)) {T} {name}_fold({T} *parts, int64_t count, int64_t width) {{
    for (int64_t step = 1; step < count; step *= 2)
        for (int64_t part = 0; part + step < count; part += 2 * step) {{
            {T} *left = parts + part * width, *right = parts + (part + step) * width;
            GG_LOOP for (int64_t e = 0; e < width; e++) left[e] = {name}_two(left[e], right[e]);
        }}
    return count ? parts[0] : {name}_start();
}}
"""


TINY = 16
"""The maximum size of rows whose passes are written for vectors across rows: the compiler unrolls
the loops over a row. The sums have the same order as those of other short rows.
"""


class PassSource(ProgramSource):
    """A writer of the C code of a program's passes and reductions.

    Attributes:
      has_tiny_rows: whether rows are at most `TINY` long and do not depend on each other.
    """

    def __init__(self, program: Program, key: object, whole: bool = False) -> None:
        super().__init__(program, key, _TREE, whole)
        self.inputs = program.inputs
        self.has_tiny_rows = (
            0 < program.narrow <= TINY
            and not self.scratch
            and not self.values.can_fail
            and not self.schedule.row_sums
        )

    def _start(self, index: int) -> str:
        total = f"total{index}"
        if self.has_tiny_rows:
            kind, name = self.values.kind(index), self.values.reduction(index)
            return f"{kind} {total} = {name}_start();"
        return f"{self.values.reduction(index)}_tree {total}; {total}.depth = {total}.count = 0;"

    def _add(self, index: int) -> str:
        return self._push(index, self.values.map_element(index))

    def _total(self, index: int) -> str:
        if self.has_tiny_rows:
            return f"total{index}"
        return f"{self.values.reduction(index)}_total(&total{index})"

    def _push(self, index: int, value: str) -> str:
        return f"{self.values.reduction(index)}_push(&total{index}, {value});"

    def _row_elements(self, row_pass: Pass) -> list[str]:
        """Return the loop of a pass over the elements from `start` to `stop`. If the pass computes
        a reduction, the loop adds the total of each block of elements to the reduction's tree.
        """
        statements = [*self.element(row_pass), *self.column_sums(row_pass)]
        if not row_pass.lanes:
            return brace("GG_LOOP for (int64_t e = start; e < stop; e++)", statements)
        if self.has_tiny_rows:
            for index in row_pass.lanes:
                two, element = f"{self.values.reduction(index)}_two", self.values.map_element(index)
                statements.append(f"total{index} = {two}(total{index}, {element});")
            return brace("for (int64_t e = 0; e < inner; e++)", statements)
        statements = ["const int64_t e = i + lane;", *statements]
        lines = [
            "const int64_t end = gg_min(begin + GG_BLOCK, stop);",
            "const int is_short = end - begin <= GG_FEW, is_long = end - begin >= GG_LANES;",
            "(void)is_long;",
            "int64_t i = begin;",
        ]
        full, few, tail, gathers, totals = [], [], [], [], []
        for index in row_pass.lanes:
            name, element = self.values.reduction(index), self.values.map_element(index)
            lanes, fewer, rest = f"lanes{index}", f"few{index}", f"tail{index}"
            lines += [
                f"{self.values.kind(index)} {lanes}[GG_LANES], {fewer}[GG_FEW], {rest}[GG_FEW];",
                f"if (is_long) for (int64_t lane = 0; lane < GG_LANES; lane++) {lanes}[lane] = "
                f"{name}_start();",
                f"for (int64_t lane = 0; lane < GG_FEW; lane++) {fewer}[lane] = {rest}[lane] = "
                f"{name}_start();",
            ]
            full.append(f"{lanes}[lane] = {name}_two({lanes}[lane], {element});")
            few.append(f"{fewer}[lane] = {name}_two({fewer}[lane], {element});")
            tail.append(f"{rest}[lane] = {element};")
            gathers.append(f"if (is_long) {name}_gather({lanes}, {fewer});")
            short, wide = f"{name}_short({rest}, rest)", f"{name}_lanes({fewer}, {rest})"
            totals.append(self._push(index, f"is_short ? {short} : {wide}"))
        loop = "GG_LOOP for (int64_t lane = 0; lane < {}; lane++)"
        whole = brace(loop.format("GG_LANES"), [*statements, *full])
        lines += brace("for (; i + GG_LANES <= end; i += GG_LANES)", whole)
        lines += gathers
        whole = brace(loop.format("GG_FEW"), [*statements, *few])
        lines += brace("if (!is_short) for (; i + GG_FEW <= end; i += GG_FEW)", whole)
        lines += ["const int64_t rest = end - i;"]
        lines += [*brace(loop.format("rest"), [*statements, *tail]), *totals]
        return brace("for (int64_t begin = start; begin < stop; begin += GG_BLOCK)", lines)
