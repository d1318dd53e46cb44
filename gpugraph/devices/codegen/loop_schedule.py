"""Which loop computes what: a program's values, sorted into passes over the last axis.

A row is gone over once for each reduction that waits for another one: softmax is (largest), (sum of
exp), (quotient). What a later pass needs of an earlier one is computed again, unless it is dear and
can wait in the memory of an output. Outputs are written in the last pass, so that they may be the
memory of an input, element for element.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gpugraph.devices.codegen.c_types import EXPENSIVE
from gpugraph.devices.codegen.program import Apply, Input, Program

Store = tuple[int, int]
"""A value and the output that it is."""


@dataclass
class Pass:
    """One loop along the last axis.

    rows: what is computed before it, once a row. values: what is computed of each element, in
    order. kept: what an earlier pass left in an output's memory: value to output. lanes: the
    reductions it ends. columns: the reductions over rows to which it adds each element.
    """

    rows: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    kept: dict[int, int] = field(default_factory=dict)
    lanes: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)


@dataclass
class Schedule:
    """A program's passes, and what is before, between and after them.

    once: numbers that no reduction goes into. after: what is computed when a row's passes are done,
    for row_stores (outputs of one element a row) and row_sums (reductions over rows of those).
    late: what is computed when all rows are done, of the reductions over rows; late_stores.
    """

    program: Program
    spans: list[tuple[bool, ...]]
    once: list[int] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    row_stores: list[Store] = field(default_factory=list)
    row_sums: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    late_stores: list[Store] = field(default_factory=list)

    def is_element(self, at: int) -> bool:
        """Whether the value differs along the last axis."""
        return bool(self.spans[at]) and self.spans[at][-1]


def schedule(program: Program) -> Schedule:
    """Sorts the values of a program into passes."""
    made = Schedule(program, program.spans())
    turn = _turns(program)
    late = program.made_of(program.trailing())
    ends = _ends(made, turn, late)
    made.passes = [Pass() for _ in range(1 + max(ends, default=-1))]
    for at, value in program.reductions.items():
        if at in program.trailing() and not made.is_element(value.input):
            made.row_sums.append(at)
        elif value.axis == "rows":
            made.passes[turn[value.input]].columns.append(at)
        else:
            made.passes[turn[value.input]].lanes.append(at)
    for slot, at in enumerate(program.outputs):
        if at in late:
            made.late_stores.append((at, slot))
        elif program.along[slot][-1:] == (True,):
            made.passes[-1].stores.append((at, slot))
        else:
            made.row_stores.append((at, slot))
    _keep(made, turn)
    _fill(made)
    return made


def _turns(program: Program) -> list[int]:
    """In (or, of one number a row, before) which pass each value can be known."""
    found: list[int] = []
    waits = set(program.reductions) - set(program.trailing())
    for at in range(len(program.values)):
        before = max((found[each] for each in program.operands(at)), default=0)
        found.append(before + (at in waits))
    return found


def _ends(made: Schedule, turn: list[int], late: set[int]) -> Iterable[int]:
    """The passes that there must be."""
    program = made.program
    for at, value in program.reductions.items():
        if at not in program.trailing() or made.is_element(value.input):
            yield turn[value.input]
    for at, along in zip(program.outputs, program.along):
        if at not in late and along[-1:] == (True,):
            yield turn[at]


def _targets(made: Schedule, each: Pass) -> list[int]:
    """What a pass is for."""
    reduced = [made.program.operands(at)[0] for at in (*each.lanes, *each.columns)]
    return reduced + [at for at, _ in each.stores]


def _keep(made: Schedule, turn: list[int]) -> None:
    """Lets what is dear wait in an output's memory for the last pass, where nothing hinders it.

    What hinders is a later pass that reads an input: the output may be its memory.
    """
    if len(made.passes) < 2:
        return
    program, last = made.program, made.passes[-1]
    free = [slot for _, slot in last.stores]
    chosen: dict[int, int] = {}
    for at in reversed(program.needed(_targets(made, last))):
        is_needed = at in program.needed(_targets(made, last), set(chosen))
        if not is_needed or turn[at] == len(made.passes) - 1 or not _is_dear(made, at):
            continue
        dtype = program.values[at].dtype
        slots = [slot for slot in free if program.values[program.outputs[slot]].dtype is dtype]
        if slots:
            chosen[at] = slots[0]
            free.remove(slots[0])
    if not chosen:
        return
    first = min(turn[at] for at in chosen)
    for each in made.passes[first + 1 :]:
        for at in program.needed(_targets(made, each), set(chosen)):
            if isinstance(program.values[at], Input) and made.is_element(at):
                return
    for at, slot in chosen.items():
        made.passes[turn[at]].stores.append((at, slot))
        for each in made.passes[turn[at] + 1 :]:
            each.kept[at] = slot


def _is_dear(made: Schedule, at: int) -> bool:
    value = made.program.values[at]
    return isinstance(value, Apply) and all(made.spans[at]) and bool(EXPENSIVE.search(value.text))


def _fill(made: Schedule) -> None:
    """Says what each pass computes for its targets, and what is computed around them."""
    program = made.program
    trailing = program.trailing()
    of_rows = set(program.reductions) - set(trailing)
    bound = program.made_of(program.reductions)
    known = set(of_rows)

    def numbers(wanted: Iterable[int], into: list[int]) -> None:
        """Adds what is no element and not yet computed, and what that is made of."""
        for at in program.needed((at for at in wanted if not made.is_element(at)), known):
            is_free = not any(made.spans[at]) and at not in bound
            (made.once if is_free else into).append(at)
            known.add(at)

    for each in made.passes:
        wanted = program.needed(_targets(made, each), {*each.kept, *known})
        each.values = [at for at in wanted if made.is_element(at)]
        below = {operand for at in each.values for operand in program.operands(at)}
        numbers({*wanted, *below}, each.rows)
    ends = [at for at, _ in made.row_stores]
    numbers([*ends, *(program.operands(at)[0] for at in made.row_sums)], made.after)
    made.late = program.needed((at for at, _ in made.late_stores), set(trailing))
