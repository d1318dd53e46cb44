"""The schedule of a program's values: passes over the last axis.

There is one pass over a row for each reduction that waits for another one: softmax is (largest),
(sum of exp), (quotient). A later pass recomputes the values of an earlier one that it needs, unless
they are expensive and can wait in the memory of an output. Outputs are written in the last pass, so
that they may be the memory of an input, element for element.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gpugraph.devices.codegen.c_types import EXPENSIVE
from gpugraph.devices.codegen.program import Apply, Input, Program

Store = tuple[int, int]
"""A value and its output."""


@dataclass
class Pass:
    """One loop along the last axis.

    rows: values computed before it, once per row. values: values computed for each element, in
    order. reloads: values that an earlier pass left in an output's memory: value to output. lanes:
    the reductions it ends. columns: the reductions over rows to which it adds each element.
    """

    rows: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    reloads: dict[int, int] = field(default_factory=dict)
    lanes: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)


@dataclass
class Schedule:
    """A program's passes, and the values before, between and after them.

    once: numbers without a reduction among their operands. after: values computed after a row's
    passes, for row_stores (outputs of one element per row) and row_sums (reductions over rows of
    those).
    late: values computed after all rows, from the reductions over rows; late_stores: their outputs.
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

    def is_element(self, index: int) -> bool:
        """Return whether the value differs along the last axis."""
        return bool(self.spans[index]) and self.spans[index][-1]


def schedule(program: Program) -> Schedule:
    """Schedule the values of a program in passes."""
    order = Schedule(program, program.spans())
    first = _first_passes(program)
    trailing = program.trailing()
    late = program.made_of(trailing)
    lanes: list[tuple[int, int]] = []  # pass, reduction
    columns: list[tuple[int, int]] = []
    stores: list[Store] = []
    for index, value in program.reductions.items():
        if index in trailing and not order.is_element(value.input):
            order.row_sums.append(index)
        else:
            ends = columns if value.axis == "rows" else lanes
            ends.append((first[value.input], index))
    for slot, index in enumerate(program.outputs):
        is_row = program.along[slot][-1:] == (True,)
        targets = order.late_stores if index in late else stores if is_row else order.row_stores
        targets.append((index, slot))
    last = [number for number, _ in lanes + columns] + [first[index] for index, _ in stores]
    order.passes = [Pass() for _ in range(1 + max(last, default=-1))]
    for number, index in lanes:
        order.passes[number].lanes.append(index)
    for number, index in columns:
        order.passes[number].columns.append(index)
    if stores:
        order.passes[-1].stores += stores
    _reuse_expensive_values(order, first)
    _assign_values(order)
    return order


def _first_passes(program: Program) -> list[int]:
    """Return the first pass in which (before which, for one number per row) each value is ready."""
    passes: list[int] = []
    row_reductions = program.row_reductions()
    for index in range(len(program.values)):
        operands = max((passes[operand] for operand in program.operands(index)), default=0)
        passes.append(operands + (index in row_reductions))
    return passes


def _targets(order: Schedule, row_pass: Pass) -> list[int]:
    """Return the values that a pass reduces or stores."""
    ends = (*row_pass.lanes, *row_pass.columns)
    reduced = [order.program.operands(index)[0] for index in ends]
    return reduced + [index for index, _ in row_pass.stores]


# -- expensive values that wait in the memory of an output for later passes


def _reuse_expensive_values(order: Schedule, first: list[int]) -> None:
    """Store expensive values in the pass that computes them, and load them in later ones."""
    slots = _slots_of_expensive_values(order, first)
    if not slots or _reads_inputs_later(order, slots, min(first[index] for index in slots)):
        return
    for index, slot in slots.items():
        order.passes[first[index]].stores.append((index, slot))
        for row_pass in order.passes[first[index] + 1 :]:
            row_pass.reloads[index] = slot


def _slots_of_expensive_values(order: Schedule, first: list[int]) -> dict[int, int]:
    """Return the values that the last pass needs and should not recompute, each with an output.

    The output is of the last pass and has the value's dtype. Of a value and its operand the value
    is chosen.
    """
    program = order.program
    slots: dict[int, int] = {}
    if not order.passes:
        return slots
    last, targets = len(order.passes) - 1, _targets(order, order.passes[-1])
    free = [slot for _, slot in order.passes[-1].stores]
    needed = program.needed(targets)
    still_needed = set(needed)
    for index in reversed(needed):
        if index in still_needed and first[index] < last and _is_expensive(order, index):
            dtype = program.values[index].dtype
            for slot in free:
                if program.values[program.outputs[slot]].dtype is dtype:
                    slots[index] = slot
                    free.remove(slot)
                    still_needed = set(program.needed(targets, slots))
                    break
    return slots


def _is_expensive(order: Schedule, index: int) -> bool:
    """Return whether the value has all axes, as an output, and is slower to compute than load."""
    value = order.program.values[index]
    is_dear = isinstance(value, Apply) and bool(EXPENSIVE.search(value.expression))
    return is_dear and all(order.spans[index])


def _reads_inputs_later(order: Schedule, slots: dict[int, int], number: int) -> bool:
    """Return whether a pass after this one reads elements of an input, although these values are
    loaded: the input may be the memory of the output that holds them."""
    program = order.program
    return any(
        isinstance(program.values[index], Input) and order.is_element(index)
        for row_pass in order.passes[number + 1 :]
        for index in program.needed(_targets(order, row_pass), slots)
    )


def _assign_values(order: Schedule) -> None:
    """List the values that each pass computes for its targets, and those around the passes."""
    program = order.program
    dependent = program.made_of(program.reductions)
    known = set(program.row_reductions())

    def assign_scalars(wanted: Iterable[int], target: list[int]) -> None:
        """Add the scalars that are not yet computed, with their operands."""
        scalars = (index for index in wanted if not order.is_element(index))
        for index in program.needed(scalars, known):
            is_free = not any(order.spans[index]) and index not in dependent
            (order.once if is_free else target).append(index)
            known.add(index)

    for row_pass in order.passes:
        wanted = program.needed(_targets(order, row_pass), {*row_pass.reloads, *known})
        row_pass.values = [index for index in wanted if order.is_element(index)]
        operands = {operand for index in row_pass.values for operand in program.operands(index)}
        assign_scalars({*wanted, *operands}, row_pass.rows)
    sums = [program.operands(index)[0] for index in order.row_sums]
    assign_scalars([*(index for index, _ in order.row_stores), *sums], order.after)
    late = (index for index, _ in order.late_stores)
    order.late = program.needed(late, program.trailing())
