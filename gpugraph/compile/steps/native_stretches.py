"""Runs of steps on the CPU: adjacent steps become as few native calls as possible.

    steps      x@w   +b,relu   gather   h@v   loss
    runs       [ one call ]    gather   [ one call ]

NumPy runs the steps until their native code is compiled. The compilation starts in the background
when the steps have run for a certain total time. With ON_1 or GPUGRAPH_NATIVE=wait, the run waits
for the compilation (`compiled_stretch`). A step without native code remains a separate step between
two calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from gpugraph.compile.analysis.native_cost import numpy_calls
from gpugraph.compile.steps.compiled_stretch import CompiledStretch
from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.compile.steps.stretch import stretch_of, without_guards

SMALL = 4096
"""For a single NumPy call over fewer elements than this, NumPy is as fast as native code."""

_STRING = 256
"""The number of elements that take NumPy as long as one string."""


def with_native_stretches(
    entries: Sequence[GuardedStep],
    waits: bool,
    in_loop: bool = False,
    verifies: bool = False,
    begins: bool = False,
) -> list[GuardedStep]:
    """Merge adjacent steps that may become native into runs of steps. Return the resulting list of
    steps.

    Args:
      in_loop: whether the steps belong to a loop. If so, even a single small step becomes a run
        of steps, since the whole iteration may become one call.
      waits, verifies: the arguments of `CompiledStretch`.
      begins: whether to compile the steps before their first run.
    """
    stretches: list[GuardedStep] = []
    for _, group in groupby(entries, key=_stretch_key):
        members = list(group)
        if not _is_worth(members, in_loop):
            stretches += members
            continue
        code = CompiledStretch(without_guards(members), waits, verifies)
        if begins:
            code.begin()
        stretches.append(stretch_of(members, code))
    return stretches


def _stretch_key(entry: GuardedStep) -> Any:
    """Return a key of a step. Adjacent steps with equal keys form a run of steps. A step that can't
    be part of a run of steps has a unique key.
    """
    is_single = entry.step.kind in ("kernel", "guard", "copy")
    if not is_single or entry.sets or entry.reads or entry.assigns:
        return id(entry)
    return entry.guard


def _is_worth(members: Sequence[GuardedStep], in_loop: bool) -> bool:
    native = [entry.native for entry in members if entry.native is not None]
    if len(native) != 1 or in_loop:
        return len(native) > (0 if in_loop else 1)
    is_fused = native[0].context.attrs.get("members") is not None
    if is_fused or numpy_calls(native[0].native) > 1:
        return True
    sizes = [array.size * (_STRING if array.dtype.hasobject else 1) for array in native[0].arrays]
    return max(sizes) >= SMALL
