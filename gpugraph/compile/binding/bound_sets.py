"""`BoundSet`, the steps of an open plan that are bound to one set of sizes, and `can_open`, which
tests whether a plan can become an open plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpugraph.base.sizes import SizeTrace
from gpugraph.compile.binding.size_reports import Reports
from gpugraph.compile.control_flow.native_while_loops import NativeLoop
from gpugraph.compile.memory.arena_layout import Relayout
from gpugraph.compile.steps.compiled_stretch import CompiledStretch
from gpugraph.compile.steps.dynamic_steps import DynamicStep
from gpugraph.compile.steps.stretch import Stretch
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.unit_sizes import OpenParts
from gpugraph.devices.native import runtime_reason
from gpugraph.plan import Plan, Run, all_steps

_KINDS = ("kernel", "guard", "copy", "flag")

Shapes = tuple[tuple[int, ...], ...]

SetKey = tuple[int, Shapes, tuple[int, ...]]
"""The number of a stage, a set of shapes, and the sizes that kernels have reported so far."""


class UnitOfSizes(NamedTuple):
    """A compiled unit with open sizes, and the data for binding the unit to values of these
    sizes.
    """

    parts: OpenParts
    relayout: Relayout
    trace: SizeTrace
    reports: Reports | None = None


class BoundSet(NamedTuple):
    """The steps of one stage that are bound to arrays of one set of sizes.

    Args:
      runs: the callables of the NumPy steps.
      calls: pairs of the index of a native call and the call that replaces it for these sizes.
      owned: memory that is released with the set.
      keep: other objects that the steps use.
      accesses: maps each step that accesses a container to its callable.
    """

    runs: Sequence[Run]
    calls: Sequence[tuple[int, Run]]
    owned: list[Any]
    keep: Any
    accesses: dict[Any, Run]

    def release(self) -> None:
        """Release the memory that only the steps of this set use."""
        while self.owned:
            self.owned.pop().release()


def can_open(plan: Plan, unit: Unit) -> bool:
    """Return whether a plan can become an open plan now. The plan must have one device, its
    variables must have values, and all steps must have their final code.
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
            is_final &= group.start_compilation()
        elif group is None and step.kind not in _KINDS:
            return False
        elif isinstance(step.run, DynamicStep) and step.run.node.id in unit.reported:
            is_final &= step.run.is_settled()
    return is_final and any(step.kind in ("stretch", "loop") for step in all_steps(plan.steps))
