"""C source of one pass over a row. Kernels and loops share this code.

Names in the generated code, in addition to those of `ProgramSource`:

    b                      the kernel's block (host_kernel.h)
    start, stop            the range of a row's elements that a pass covers
    begin, end             the range of one block of a reduction within that range
    i, lane                the start of the next lanes in the block, and one of the lanes
    lanes<n>, tail<n>      a reduction's total in each lane; elements after the last full lanes
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
GG_INLINE {T} {name}_lanes({T} *lanes, const {T} *tail, int64_t rest) {{
    for (int64_t lane = 0; lane < rest; lane++) lanes[lane] = {name}_two(lanes[lane], tail[lane]);
    for (int64_t width = GG_LANES / 2; width; width /= 2)
        for (int64_t lane = 0; lane < width; lane++)
            lanes[lane] = {name}_two(lanes[lane], lanes[lane + width]);
    return lanes[0];
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


class CSource(ProgramSource):
    """The C code of a program's passes and reductions."""

    def __init__(self, program: Program, key: object, whole: bool = False) -> None:
        super().__init__(program, key, _TREE, whole)
        self.inputs = program.inputs

    def _start(self, index: int) -> str:
        total = f"total{index}"
        return f"{self.values.reduction(index)}_tree {total}; {total}.depth = {total}.count = 0;"

    def _add(self, index: int) -> str:
        return self._push(index, self.values.map_element(index))

    def _total(self, index: int) -> str:
        return f"{self.values.reduction(index)}_total(&total{index})"

    def _push(self, index: int, value: str) -> str:
        return f"{self.values.reduction(index)}_push(&total{index}, {value});"

    def _row_elements(self, row_pass: Pass) -> list[str]:
        """Return the loop of a pass over the elements from `start` to `stop`. If the pass computes
        a reduction, it pushes the total of each block of elements to the reduction's tree.
        """
        statements = [*self.element(row_pass), *self.column_sums(row_pass)]
        if not row_pass.lanes:
            return brace("GG_LOOP for (int64_t e = start; e < stop; e++)", statements)
        statements = ["const int64_t e = i + lane;", *statements]
        lines = [
            "const int64_t end = gg_min(begin + GG_BLOCK, stop);",
            "const int is_short = end - begin <= GG_SHORT;",
            "int64_t i = begin;",
        ]
        full, tail, totals = [], [], []
        for index in row_pass.lanes:
            name, element = self.values.reduction(index), self.values.map_element(index)
            lanes, rest = f"lanes{index}", f"tail{index}"
            lines += [
                f"{self.values.kind(index)} {lanes}[GG_LANES], {rest}[GG_LANES];",
                "if (!is_short)",
                "    for (int64_t lane = 0; lane < GG_LANES; lane++) "
                f"{lanes}[lane] = {name}_start();",
            ]
            full.append(f"{lanes}[lane] = {name}_two({lanes}[lane], {element});")
            tail.append(f"{rest}[lane] = {element};")
            short, wide = f"{name}_short({rest}, rest)", f"{name}_lanes({lanes}, {rest}, rest)"
            totals.append(self._push(index, f"is_short ? {short} : {wide}"))
        loop = "GG_LOOP for (int64_t lane = 0; lane < {}; lane++)"
        whole = brace(loop.format("GG_LANES"), [*statements, *full])
        lines += brace("for (; i + GG_LANES <= end; i += GG_LANES)", whole)
        lines += ["const int64_t rest = end - i;"]
        lines += [*brace(loop.format("rest"), [*statements, *tail]), *totals]
        return brace("for (int64_t begin = start; begin < stop; begin += GG_BLOCK)", lines)
