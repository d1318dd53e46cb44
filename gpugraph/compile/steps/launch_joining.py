"""Joining: independent launches of one kernel become one launch.

    steps    Adam(a)  x@w  Adam(b)  relu  Adam(c)       Adam(d) reads relu's output
    runs     [ Adam(a), Adam(b), Adam(c) ]  x@w  relu  Adam(d)

An optimizer's updates of many variables, and the casts of their gradients, are small launches of
one kernel source. Each launch takes a GPU at least a few microseconds, even if it is tiny. So a
step is joined with an earlier step of the same kind, if only steps on the same GPU are between
them. If two launches access the same memory and one of them writes it, the launches keep their
order. Joining does not change a bit of the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.compile.unit.rewrite_switches import JOIN, is_off
from gpugraph.devices import Enqueued, Touches, is_blocking
from gpugraph.plan import Step, StepGroup

LEAST = 3
"""The minimum number of launches to join: with fewer, the joined kernel is not worth its
compilation.
"""


class JoinableStep(NamedTuple):
    """The properties of a step that decide whether it can be joined.

    Args:
      kind: a key that is equal for steps that may be joined, or None if the step can't be joined.
      touches: the memory that the step reads and writes, or None if this memory is unknown.
    """

    kind: Hashable
    touches: Touches | None


class _LastTouches:
    """For each byte of memory, the last group of commands that wrote it, and the last group that
    read it.
    """

    def __init__(self, commands: Sequence[JoinableStep]) -> None:
        known = [command.touches for command in commands if command.touches is not None]
        spans = {span for touches in known for span in (*touches.reads, *touches.writes)}
        edges = sorted({edge for start, size in spans for edge in (start, start + size)})
        position = {edge: number for number, edge in enumerate(edges)}
        self._bytes = {
            (start, size): slice(position[start], position[start + size]) for start, size in spans
        }
        self._written = np.full(len(edges), -1)
        self._read = np.full(len(edges), -1)

    def last(self, touches: Touches) -> int:
        """Return the last group that must end before a command may access this memory."""
        last = -1
        for span in (*touches.reads, *touches.writes):
            last = max(last, self._written[self._bytes[span]].max(initial=-1))
        for span in touches.writes:
            last = max(last, self._read[self._bytes[span]].max(initial=-1))
        return int(last)

    def note(self, touches: Touches, group: int) -> None:
        """Record that a command of `group` accesses this memory."""
        for spans, groups in ((touches.reads, self._read), (touches.writes, self._written)):
            for span in spans:
                where = self._bytes[span]
                np.maximum(groups[where], group, out=groups[where])


def independent_groups(commands: Sequence[JoinableStep]) -> list[list[int]]:
    """Divide the commands into groups, and return the groups in the order in which they must run.

    The commands of one group have the same kind and do not depend on each other. Two commands that
    access the same memory keep their order if at least one writes it.
    """
    touched = _LastTouches(commands)
    groups: list[list[int]] = []
    latest: dict[Hashable, int] = {}
    barrier = -1
    for index, (kind, touches) in enumerate(commands):
        last = len(groups) if touches is None else max(barrier, touched.last(touches))
        group = latest.get(kind, -1)
        if group <= last:
            group = len(groups)
            groups.append([])
            if kind is not None:
                latest[kind] = group
        groups[group].append(index)
        if touches is None:
            barrier = group
        else:
            touched.note(touches, group)
    return groups


class JoinedLaunches(StepGroup):
    """Steps that a GPU executes as a few joined launches."""

    def __init__(self, steps: Sequence[Step], launches: Enqueued) -> None:
        self.steps = steps
        self.launches = launches

    def run(self) -> None:
        """Enqueue the launches."""
        self.launches()


def switched_off(switch: str) -> str:
    """If the environment variable `switch` disables a rewrite, return a text that states this.
    Otherwise return "".
    """
    if is_off(switch):
        return f"{switch} is 0"
    return "CUDA_LAUNCH_BLOCKING is set" if is_blocking() else ""


def with_joined_launches(
    steps: Sequence[Step], launcher: Any, report_lines: list[str]
) -> list[Step]:
    """Return the steps, with launches of the same kind joined if there are at least `LEAST` of
    them. The steps must be adjacent and on one GPU.
    """
    reason = switched_off(JOIN)
    launches: list[Any] = [step.run for step in steps]
    kinds = [launch.kind() for launch in launches]
    frequent = {kind for kind, count in Counter(kinds).items() if count >= LEAST} - {None}
    if not frequent:
        return list(steps)
    commands = [
        JoinableStep(kind if kind in frequent else None, launch.touches())
        for kind, launch in zip(kinds, launches)
    ]
    joined_steps: list[Step] = []
    for indices in independent_groups(commands):
        members = [steps[index] for index in indices]
        if len(members) < LEAST:
            joined_steps += members
            continue
        name = f"{len(members)} launches from {members[0].name} to {members[-1].name}"
        if reason:
            report_lines.append(f"not joined {name}, for {reason}")
            continue
        joined = launcher.joined([launches[index] for index in indices])
        op_types = ", ".join(dict.fromkeys(step.op_type for step in members))
        group_name = f"{members[0].name} .. {members[-1].name}"
        joined_steps.append(
            Step.of(JoinedLaunches(members, joined), "joined", group_name, op_types)
        )
        report_lines.append(f"joined {name} ({op_types}) into {len(joined.calls)}")
    return list(steps) if reason else joined_steps
