"""Stretches: steps that follow each other, as few native calls.

    steps      x@w   +b,relu   gather   h@v   loss
    runs       [ one call ]    gather   [ one call ]

The steps remain: they run until their native code is compiled, which is begun in the background
once they have taken a while, or waited for where that is asked for (`native_code`). What has no
native code stays a step between two calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from gpugraph.compile.steps.guarded_regions import Entry
from gpugraph.compile.steps.tiered_native_code import Code, Item
from gpugraph.plan import Step, blame

SMALL = 4096
"""Elements below which a single step is as fast by NumPy."""


class Stretch:
    """Runs a stretch. `checks` are the guards of variables, all before anything else."""

    __slots__ = ("checks", "code", "guards")

    def __init__(self, code: Code, checks: Sequence[Step]) -> None:
        self.code = code
        self.checks = checks
        self.guards = [step.run for step in checks]

    def plain(self) -> Stretch:
        return Stretch(self.code, ())

    def parts(self, traced: bool) -> list[Step]:
        """The steps that it runs, one by one, in a trace or not."""
        return [*self.checks, *self.code.steps()]

    def __call__(self) -> None:
        current = None
        try:
            for current in self.guards:
                current()
        except Exception as error:
            blame(error, current)
            raise
        self.code.run()


def stretched(entries: Sequence[Entry], waits: bool, told: list[str]) -> list[Entry]:
    """The entries, those that follow each other and may be native as one; `told` gets lines."""
    found: list[Entry] = []
    for _, group in groupby(entries, key=_kind):
        members = list(group)
        if not _is_worth(members):
            found += members
            continue
        found.append(_made(members, waits))
        told.append(_said(members))
    return found


def _said(members: Sequence[Entry]) -> str:
    """Which steps may be native, and which can't."""
    named = sum(each.native is not None for each in members)
    rest = [e.step for e in members if e.native is None and e.step.kind != "guard"]
    said = f"native from {members[0].step.name} to {members[-1].step.name}: {named} steps"
    if not rest:
        return said
    others = ", ".join(f"{step.name} ({step.op_type})" for step in rest[:8])
    return f"{said}; by NumPy {len(rest)}: {others}{' ...' if len(rest) > 8 else ''}"


def _kind(entry: Entry) -> Any:
    """What entries of one stretch have in common; one that can be in none is alone."""
    plain = entry.step.kind in ("kernel", "guard", "copy") and not entry.step.body
    if not plain or entry.sets or entry.reads or entry.assigns:
        return id(entry)
    return entry.guard


def _is_worth(members: Sequence[Entry]) -> bool:
    native = [each.native for each in members if each.native is not None]
    if len(native) != 1:
        return len(native) > 1
    is_fused = native[0].context.attrs.get("members") is not None
    return is_fused or max(array.size for array in native[0].arrays) >= SMALL


def _made(members: Sequence[Entry], waits: bool) -> Entry:
    guards = [each.step for each in members if each.step.kind == "guard"]
    steps = [each.step for each in members]
    items = [Item(each.step, each.native) for each in members if each.step.kind != "guard"]
    first = steps[0]
    step = Step(
        first.name,
        first.op_type,
        first.device,
        first.depth,
        Stretch(Code(items, waits), guards),
        first.origin,
        "stretch",
        sum(each.output_bytes for each in steps),
        tuple(steps),
    )
    return Entry(members[0].guard, step)
