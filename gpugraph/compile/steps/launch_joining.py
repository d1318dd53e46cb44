"""Joining: launches of one kernel that are independent of each other, told to a GPU as one.

    steps    Adam(a)  x@w  Adam(b)  relu  Adam(c)       Adam(d) reads what relu makes
    runs     [ Adam(a), Adam(b), Adam(c) ]  x@w  relu  Adam(d)

An optimizer's updates of many variables, their gradients' casts and the like are small launches of
one text: each costs a GPU some microseconds, whatever it does. Of the steps of a stretch, whose
order is that of their memory alone, one comes earlier, to be joined with others of its kind, where
nothing between them writes what it touches or reads what it writes. The bits are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.compile.unit.rewrite_switches import JOIN, is_off
from gpugraph.devices import Touches, is_blocking
from gpugraph.plan import Step

LEAST = 3
"""Launches that are worth a text of their own."""


class Command(NamedTuple):
    """A step. kind: None where it stays alone; touches: None where that is not known."""

    kind: Hashable
    touches: Touches | None


class _Turns:
    """Of all bytes, in which turn they were written and read last."""

    def __init__(self, commands: Sequence[Command]) -> None:
        known = [each.touches for each in commands if each.touches is not None]
        spans = {span for each in known for span in (*each.reads, *each.writes)}
        edges = sorted({edge for at, size in spans for edge in (at, at + size)})
        place = {edge: number for number, edge in enumerate(edges)}
        self._bytes = {(at, size): slice(place[at], place[at + size]) for at, size in spans}
        self._written = np.full(len(edges), -1)
        self._read = np.full(len(edges), -1)

    def last(self, touches: Touches) -> int:
        """The last turn that must be over before something may touch this."""
        found = -1
        for span in (*touches.reads, *touches.writes):
            found = max(found, self._written[self._bytes[span]].max(initial=-1))
        for span in touches.writes:
            found = max(found, self._read[self._bytes[span]].max(initial=-1))
        return int(found)

    def note(self, touches: Touches, turn: int) -> None:
        for spans, turns in ((touches.reads, self._read), (touches.writes, self._written)):
            for span in spans:
                where = self._bytes[span]
                np.maximum(turns[where], turn, out=turns[where])


def grouped(commands: Sequence[Command]) -> list[list[int]]:
    """The commands by turns: those of one turn are of one kind, and independent of each other.

    What touches the same memory, one of them writing, keeps its order.
    """
    turns = _Turns(commands)
    found: list[list[int]] = []
    latest: dict[Hashable, int] = {}
    barrier = -1
    for at, (kind, touches) in enumerate(commands):
        last = len(found) if touches is None else max(barrier, turns.last(touches))
        turn = latest.get(kind, -1)
        if turn <= last:
            turn = len(found)
            found.append([])
            if kind is not None:
                latest[kind] = turn
        found[turn].append(at)
        if touches is None:
            barrier = turn
        else:
            turns.note(touches, turn)
    return found


def joined(steps: Sequence[Step], launcher: Any, told: list[str]) -> list[Step]:
    """The steps of a stretch of one GPU, launches that can be one as one; `told` gets lines."""
    why = f"{JOIN} is 0" if is_off(JOIN) else ""
    why = why or ("CUDA_LAUNCH_BLOCKING is set" if is_blocking() else "")
    kinds = [step.run.kind() for step in steps]  # type: ignore[attr-defined]
    often = {kind for kind, count in Counter(kinds).items() if count >= LEAST} - {None}
    if not often:
        return list(steps)
    commands = [
        Command(kind if kind in often else None, step.run.touches())  # type: ignore[attr-defined]
        for kind, step in zip(kinds, steps)
    ]
    found: list[Step] = []
    for turn in grouped(commands):
        members = [steps[at] for at in turn]
        if len(members) < LEAST:
            found += members
            continue
        name = f"{len(members)} launches from {members[0].name} to {members[-1].name}"
        if why:
            told.append(f"not joined {name}, for {why}")
            continue
        found.append(_one(members, launcher))
        told.append(f"joined {name} ({found[-1].op_type}) into {len(found[-1].run.calls)}")  # type: ignore[attr-defined]
    return list(steps) if why else found


def _one(members: Sequence[Step], launcher: Any) -> Step:
    first, last = members[0], members[-1]
    return Step(
        f"{first.name} .. {last.name}",
        ", ".join(dict.fromkeys(step.op_type for step in members)),
        first.device,
        first.depth,
        launcher.joined([step.run for step in members]),
        first.origin,
        "joined",
        sum(step.output_bytes for step in members),
        tuple(members),
    )
