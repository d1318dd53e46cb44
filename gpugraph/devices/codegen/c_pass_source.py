"""C text of one pass over an axis: what the texts of kernels and of loops have in common.

Within a pass `e` is the element, `p<input>` and `q<output>` point to the row's first one, `v<at>`
is a value, `g<at>` where a reduction over rows is added up; `lane<at>` and `tree<at>` are of one
along the row.
"""

from __future__ import annotations

from gpugraph.devices.codegen.c_value_expressions import Values
from gpugraph.devices.codegen.loop_schedule import Pass
from gpugraph.devices.codegen.program import Program


class Passes:
    """Writes passes over a program's values."""

    def __init__(self, program: Program, values: Values) -> None:
        self.program = program
        self.values = values

    def numbers(self, wanted: list[int], load: str = "a{}[0]") -> list[str]:
        """Declares values that are no elements; `load` says where an input's number is."""
        return [self.values.statement(at, lambda each: load.format(each)) for at in wanted]

    def body(self, each: Pass) -> list[str]:
        """What is done with element `e`, but reductions along the row."""
        kept = {at: f"q{slot}[e]" for at, slot in each.kept.items()}
        lines = []
        for at in sorted({*each.values, *(each.kept.keys() & self._used(each))}):
            if at in kept:
                load = self.values.load(at, kept[at])
                lines.append(f"const {self.values.kind(at)} v{at} = {load};")
            else:
                lines.append(self.values.statement(at, lambda which: f"p{which}[e]"))
        lines += [self.values.store(at, f"q{slot}[e]") for at, slot in each.stores]
        for at in each.columns:
            name, sums = self.values.reduction(at), f"g{at}[e]"
            lines.append(f"{sums} = {name}_two({sums}, {self.values.mapped(at)});")
        return lines

    def _used(self, each: Pass) -> set[int]:
        reduced = {self.program.operands(at)[0] for at in (*each.lanes, *each.columns)}
        operands = {one for at in each.values for one in self.program.operands(at)}
        return reduced | operands | {at for at, _ in each.stores}

    def one_pass(self, each: Pass) -> list[str]:
        """The pass over elements `start` to `stop`; totals are pushed to tree<reduction>."""
        if not each.lanes:
            head = "GG_LOOP for (int64_t e = start; e < stop; e++) {"
            return [head, *indented(self.body(each)), "}"]
        body = ["const int64_t e = i + l;", *self.body(each)]
        inside = [
            "const int64_t to = gg_min(from + GG_BLOCK, stop);",
            "const int is_short = to - from <= GG_SHORT;",
            "int64_t i = from;",
        ]
        full, tail = [], []
        for at in each.lanes:
            name, element = self.values.reduction(at), self.values.mapped(at)
            inside += [
                f"{self.values.kind(at)} lane{at}[GG_LANES], tail{at}[GG_LANES];",
                "if (!is_short)",
                f"    for (int64_t l = 0; l < GG_LANES; l++) lane{at}[l] = {name}_start();",
            ]
            full.append(f"lane{at}[l] = {name}_two(lane{at}[l], {element});")
            tail.append(f"tail{at}[l] = {element};")
        inside += [
            "for (; i + GG_LANES <= to; i += GG_LANES) {",
            "    GG_LOOP for (int64_t l = 0; l < GG_LANES; l++) {",
            *indented(indented([*body, *full])),
            "    }",
            "}",
            "const int64_t rest = to - i;",
            "GG_LOOP for (int64_t l = 0; l < rest; l++) {",
            *indented([*body, *tail]),
            "}",
        ]
        for at in each.lanes:
            name = self.values.reduction(at)
            short, wide = f"{name}_short(tail{at}, rest)", f"{name}_lanes(lane{at}, tail{at}, rest)"
            inside.append(f"{name}_push(&tree{at}, is_short ? {short} : {wide});")
        head = "for (int64_t from = start; from < stop; from += GG_BLOCK) {"
        return [head, *indented(inside), "}"]

    def tree(self, at: int) -> str:
        tree = f"tree{at}"
        return f"{self.values.reduction(at)}_tree {tree}; {tree}.depth = {tree}.turn = 0;"


def indented(lines: list[str]) -> list[str]:
    """The lines, one level deeper."""
    return [f"    {line}" for line in lines]


def as_text(lines: list[str]) -> str:
    """The lines of a function's body."""
    return "".join(f"    {line}\n" for line in lines)
