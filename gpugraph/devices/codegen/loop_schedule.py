"""Loop schedule: the values of a program, divided into passes (loops) over the last axis.

If one reduction depends on another, the dependent reduction needs a later pass over the row. For
example, softmax has passes for the maximum, for the sum of exp, and for the quotient. A later pass
recomputes the values of earlier passes that it needs. If possible, a value that is expensive to
compute is stored in the memory of an output instead. Outputs are written in the last pass, so that
an output may share the memory of an input element by element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gpugraph.devices.codegen.c_types import EXPENSIVE
from gpugraph.devices.codegen.program import Apply, Input, Program, Reduce, Value

Store = tuple[int, int]
"""The number of a value, and the index of the output to which the value is stored."""


@dataclass
class Pass:
    """One loop along the last axis. Values are identified by their numbers in the program.

    Args:
      rows: values that are computed once per row, before the loop.
      values: the values that are computed for each element, in order.
      reloads: for each value that an earlier pass has stored, the output that contains it.
      lanes: the reductions along the last axis that this pass computes.
      columns: the reductions over rows. The pass adds each element to the total of its column.
      stores: the values that the pass writes to outputs.
    """

    rows: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    reloads: dict[int, int] = field(default_factory=dict)
    lanes: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)


@dataclass
class Schedule:
    """The passes of a program over each row, and the values that are computed outside of passes.

    Args:
      spans: for each value, the axes along which it varies.
      once: scalars that depend on no reduction. They are computed before all rows.
      after: values that are computed after a row's passes, for row_stores (outputs with one element
        per row) and row_sums (reductions over rows of such values).
      late: values that are computed after all rows, from the reductions over rows.
      late_stores: the outputs to which these values are written.
      online: the reductions that are computed in the same pass as their maximum (see `schedule`).
    """

    program: Program
    spans: list[tuple[bool, ...]]
    online: Mapping[int, int] = field(default_factory=dict)
    once: list[int] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    row_stores: list[Store] = field(default_factory=list)
    row_sums: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    late_stores: list[Store] = field(default_factory=list)

    def is_element(self, index: int) -> bool:
        """Return whether the value varies along the last axis."""
        return bool(self.spans[index]) and self.spans[index][-1]


_MAXIMUM = ("(T)(-1.0 / 0.0)", "gg_larger(a, b)", "x", "a")


def online_sums(program: Program) -> dict[int, int]:
    """Return the sums of exp(x - the maximum of x) along rows, with the maximum for each sum.

    Such a sum can be computed in one pass with its maximum (M. Milakov and N. Gimelshein, "Online
    normalizer calculation for softmax", 2018).
    """
    sums: dict[int, int] = {}  # by maximum
    rows, values, spans = program.row_reductions(), program.values, program.spans()
    for index in rows:
        total = values[index]
        assert isinstance(total, Reduce)
        power = values[total.input]
        if total[:4] != ("(T)0", "a + b", "x", "a") or not _is_apply(power, "exp(x)"):
            continue
        difference = values[program.operands(total.input)[0]]
        if not _is_apply(difference, "x - y"):
            continue
        source, largest = program.operands(program.operands(total.input)[0])
        maximum = values[largest]
        if not isinstance(maximum, Reduce) or largest not in rows:
            continue
        if maximum[:4] == _MAXIMUM and maximum.input == source and spans[source][-1]:
            sums.setdefault(largest, index)
    return {index: largest for largest, index in sums.items()}


def _is_apply(value: Value, expression: str) -> bool:
    return isinstance(value, Apply) and value.expression == expression


def schedule(program: Program, online: Mapping[int, int] = MappingProxyType({})) -> Schedule:
    """Return the schedule of a program.

    Args:
      online: sums that are computed in one pass with their maximum, and the maximum for each sum.
    """
    order = Schedule(program, program.spans(), online)
    first = _first_passes(program, online)
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
            ends.append((first[_element(program, index, online)], index))
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


def _element(program: Program, index: int, online: Mapping[int, int]) -> int:
    """Return the value whose elements a reduction adds in its pass: its operand or, if the
    reduction is online, the operand of its maximum.
    """
    return program.operands(online.get(index, index))[0]


def _first_passes(program: Program, online: Mapping[int, int]) -> list[int]:
    """Return, for each value, the number of the first pass that can compute it. A value with one
    number per row is computed between passes. For such a value, return the number of the first pass
    before which it can be computed.
    """
    passes: list[int] = []
    row_reductions = program.row_reductions()
    for index in range(len(program.values)):
        operands = max((passes[operand] for operand in program.operands(index)), default=0)
        if index in online:
            passes.append(passes[online[index]])
        else:
            passes.append(operands + (index in row_reductions))
    return passes


def _targets(order: Schedule, row_pass: Pass) -> list[int]:
    """Return the values that `row_pass` must compute because it reduces or stores them."""
    ends = (*row_pass.lanes, *row_pass.columns)
    reduced = [_element(order.program, index, order.online) for index in ends]
    return reduced + [index for index, _ in row_pass.stores]


# -- expensive values that are kept in the memory of an output for later passes


def _reuse_expensive_values(order: Schedule, first: list[int]) -> None:
    """For each expensive value, make the first pass that computes it store it in an output's
    memory, and make later passes load it from that memory.
    """
    slots = _slots_of_expensive_values(order, first)
    if not slots or _reads_inputs_later(order, slots, min(first[index] for index in slots)):
        return
    for index, slot in slots.items():
        order.passes[first[index]].stores.append((index, slot))
        for row_pass in order.passes[first[index] + 1 :]:
            row_pass.reloads[index] = slot


def _slots_of_expensive_values(order: Schedule, first: list[int]) -> dict[int, int]:
    """Find outputs that can hold expensive values which an earlier pass computes and the last pass
    needs. Return a dict with the output of each such value.

    The last pass must write this output anyway, and the output must have the value's dtype. If both
    a value and one of its operands could be stored, only the value is stored.
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
    """Return whether the value varies along all axes, as an output does, and takes longer to
    compute than to load.
    """
    value = order.program.values[index]
    is_dear = isinstance(value, Apply) and bool(EXPENSIVE.search(value.expression))
    return is_dear and all(order.spans[index])


def _reads_inputs_later(order: Schedule, slots: dict[int, int], number: int) -> bool:
    """Return whether any pass after pass `number` still reads an input, even if that pass loads the
    values in `slots`. Such an input might share the memory of the output that holds a value.
    """
    program = order.program
    return any(
        isinstance(program.values[index], Input) and order.is_element(index)
        for row_pass in order.passes[number + 1 :]
        for index in program.needed(_targets(order, row_pass), slots)
    )


def _assign_values(order: Schedule) -> None:
    """Determine the values that each pass computes, and the values that are computed before,
    between and after passes.
    """
    program = order.program
    dependent = program.made_of(program.reductions)
    known = set(program.row_reductions())

    def assign_scalars(wanted: Iterable[int], target: list[int]) -> None:
        """Add to `target` the `wanted` values and their operands, if they do not vary along the
        last axis and are not computed earlier. Scalars that depend on no reduction are added to
        `once` instead.
        """
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
