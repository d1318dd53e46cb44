"""`BoundSet`: the state of an open plan that is bound to one set of shapes. `can_open` tests
whether a plan can become an open plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base.sizes import SizeTrace, SizeValues
from gpugraph.compile.binding.open_steps import AccessStep
from gpugraph.compile.binding.size_reports import Reports
from gpugraph.compile.control_flow.native_while_loops import NativeLoop
from gpugraph.compile.memory.arena_layout import Relayout
from gpugraph.compile.steps.compiled_stretch import CompiledStretch
from gpugraph.compile.steps.stretch import Stretch
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.unit_sizes import OpenParts
from gpugraph.devices.native import runtime_reason
from gpugraph.plan import FeedSlot, FetchSlot, Plan, PlanKey, Run, all_steps

_KINDS = ("kernel", "guard", "copy", "flag")

Shapes = tuple[tuple[int, ...], ...]

SetKey = tuple[Shapes, tuple[int, ...]]
"""A set of shapes, and the sizes that kernels report."""


class UnitOfSizes(NamedTuple):
    """A compiled unit with open sizes, and the data that is needed to bind the unit to values of
    these sizes.
    """

    parts: OpenParts
    relayout: Relayout
    trace: SizeTrace
    reports: Reports | None = None


class BoundSet(NamedTuple):
    """The state of an open plan that is bound to one set of shapes.

    A native call reads its arguments from a block of memory, which consists of words of 64 bits.

    Args:
      words: the values of the words in the blocks of all native calls.
      pointers: the addresses of the blocks.
      releases: whether the native call releases the GIL.
      constants: pairs of an array that native calls read, and its value.
      runs: the callables of the NumPy steps.
      owned: memory that is released together with the set.
      keep: other objects that the calls use.
      starts: maps the id of a storage to its address.
      accesses: maps a step that accesses a container to its callable.
    """

    words: Any
    pointers: Any
    releases: bool
    constants: Sequence[tuple[Any, Any]]
    runs: Sequence[Run]
    feeds: tuple[FeedSlot, ...]
    fetches: tuple[FetchSlot, ...]
    key: PlanKey
    owned: list[Any]
    keep: Any
    values: SizeValues
    starts: Mapping[int, int]
    accesses: dict[AccessStep, Run]

    def release(self) -> None:
        """Release the memory that only the steps of this set use."""
        while self.owned:
            self.owned.pop().release()


def can_open(plan: Plan, unit: Unit) -> bool:
    """Return whether a plan can become an open plan now. It must have one device, its variables
    must have values, and all steps must have their final code.
    """
    if not plan.warm or unit.parallel or plan.runs_once or len(unit.device_types) != 1:
        return False
    if len(unit.arena_sizes) > 1 or set(unit.device_types.values()) != {"CPU"}:
        return False
    if runtime_reason(wait=False) != "":
        return False
    is_final = True
    for step in all_steps(plan.steps):
        group = step.group
        if isinstance(group, Stretch):
            code = group.code
            is_final &= isinstance(code, CompiledStretch) and code.advance()
        elif isinstance(group, NativeLoop):
            is_final &= group.is_compiled()
        elif group is None and step.kind not in _KINDS:
            return False
    return is_final and any(step.kind in ("stretch", "loop") for step in all_steps(plan.steps))
