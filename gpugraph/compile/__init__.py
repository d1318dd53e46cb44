"""Compilation of the client's graph, for given fetches and feeds, to a plan. These are the passes,
in order:

    prune                             keep the ancestors of the fetches and targets; create the unit
    shared_copies                     let equal copies of variables share memory and updates
    collectives_joined                compute collectives from the inputs of all members
    serial_updates                    order several updates of one variable
    read_after_write                  repeat reads of variables for ops after a write
    constant_folding                  infer exact shapes; fold constants
    no_op_elimination                 replace ops without effect by views
    transpose_folding                 fold transposes into matrix products
    arithmetic_simplification         replace inverse ops and neutral operands by views
    common_subexpression_elimination  merge ops that compute the same value
    dependency_optimization           remove redundant control dependencies
    placer                            assign a device to every op, with the reason
    layout_optimizer                  compute images with channels last on GPUs
    convolution_remapper              fuse bias and activation into convolutions
    attention_fusion                  fuse the products around a softmax into one kernel
    loop_weights                      hoist loop-invariant transposes
    matmul_epilogues                  fuse bias, addition and activation into matrix products
    variable_restores                 read a checkpoint directly into the memory of variables
    stacked_values                    rematerialize values of loops instead of keeping them
    activation_recomputation          rematerialize forward values for gradients, if requested
    gradual_sums                      split large sums to add each term when it is computed
    fusion_groups                     form groups of ops that run as one kernel
    graph_partition                   insert a Send and a Recv where data crosses devices
    host_swapping                     move idle tensors of GPUs to the host, if requested
    flow_analysis                     determine each op's loop and guard (its condition)
    execution_order                   create one sequence for all devices, by depth
    memory_planning                   assign offsets in a block per device, by lifetimes
    binder                            bind kernels and arrays; create the plan

If verification is enabled, `verify` checks the unit after each pass.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from gpugraph.base.interruptions.garbage_collection import nothing_collected
from gpugraph.base.proto_messages import unused
from gpugraph.base.sizes import FedSizes, OpenSizeError, SizeTrace, SizeValues
from gpugraph.compile.analysis.flow_analysis import flow
from gpugraph.compile.analysis.step_time_model import recomputed_part
from gpugraph.compile.binding.binder import Binder, bind, bind_by
from gpugraph.compile.binding.bound_sets import UnitOfSizes, can_open
from gpugraph.compile.binding.fitting_advice import advice
from gpugraph.compile.binding.graph_recording import graph_record
from gpugraph.compile.binding.loop_sizes import NotReportedError as NotReportedError
from gpugraph.compile.binding.open_plan import OpenPlan
from gpugraph.compile.binding.open_program import NotOpenError
from gpugraph.compile.binding.open_programs import open_programs
from gpugraph.compile.binding.size_reports import Reports
from gpugraph.compile.fusion.attention_fusion import attention
from gpugraph.compile.fusion.convolution_remapper import remap
from gpugraph.compile.fusion.fusion_groups import fuse
from gpugraph.compile.fusion.layout_optimizer import layouts
from gpugraph.compile.fusion.loop_weights import weights
from gpugraph.compile.fusion.matmul_epilogues import epilogues
from gpugraph.compile.fusion.variable_restores import restores
from gpugraph.compile.lowering.collectives_joined import collectives
from gpugraph.compile.lowering.prune import prune
from gpugraph.compile.lowering.read_after_write import reread
from gpugraph.compile.lowering.serial_updates import serial
from gpugraph.compile.memory.arena_layout import Relayout
from gpugraph.compile.memory.arena_refusal import part_of_room
from gpugraph.compile.memory.execution_order import order
from gpugraph.compile.memory.host_swapping import swap
from gpugraph.compile.memory.memory_planning import memory
from gpugraph.compile.memory.swap_choice import chosen_swaps
from gpugraph.compile.placement.graph_partition import partition
from gpugraph.compile.placement.placer import place
from gpugraph.compile.rewriting.activation_recomputation import ALL, CHEAP, HINTED, recompute
from gpugraph.compile.rewriting.arithmetic_simplification import cancel
from gpugraph.compile.rewriting.common_subexpression_elimination import common
from gpugraph.compile.rewriting.constant_folding import fold
from gpugraph.compile.rewriting.dependency_optimization import dependencies
from gpugraph.compile.rewriting.gradual_sums import sums
from gpugraph.compile.rewriting.no_op_elimination import simplify
from gpugraph.compile.rewriting.shared_copies import share
from gpugraph.compile.rewriting.stacked_values import stacks
from gpugraph.compile.rewriting.transpose_folding import transposes
from gpugraph.compile.steps.early_compilation import compile_early
from gpugraph.compile.unit.compile_unit import (
    FeedSpec as FeedSpec,
    RunRequest as RunRequest,
    Storage,
    Swap,
    Target as Target,
    Unit,
)
from gpugraph.compile.unit.unit_sizes import OpenParts
from gpugraph.compile.verification import verify
from gpugraph.config import RewriterConfig
from gpugraph.devices.native import NotNativeError
from gpugraph.memory import human_readable_bytes
from gpugraph.plan import GraphRecord, Plan

PASSES: tuple[Callable[[Unit], None], ...] = (
    share,
    collectives,
    serial,
    reread,
    fold,
    simplify,
    transposes,
    cancel,
    common,
    dependencies,
    place,
    layouts,
    remap,
    attention,
    weights,
    epilogues,
    restores,
    stacks,
    recompute,
    sums,
    fuse,
    partition,
    swap,
    flow,
    order,
    memory,
)
"""The passes in their order. `prune`, before them, creates the unit; `bind`, after them, creates
the plan from it.
"""


def pass_names() -> list[str]:
    """Return the names of the passes, as reports show them, in the order of execution."""
    passes = [change.__module__.rpartition(".")[2] for change in PASSES]
    return ["run options", "settings", "open_sizes", "prune", *passes, "binder"]


_RECOMPUTING = (RewriterConfig.HEURISTICS, RewriterConfig.RECOMPUTATION_HEURISTICS)
_SWAPPING = (RewriterConfig.HEURISTICS, RewriterConfig.SWAPPING_HEURISTICS)


def compile_plan(target: Target, request: RunRequest) -> Plan:
    """Return the plan that computes the fetches and runs the targets of `request`.

    Raises the errors of the passes, such as InvalidArgumentError if a placeholder is not fed, if
    shapes don't match, if the graph has a cycle, or if a device does not exist. Raises
    ResourceExhaustedError if a device can't hold its arena.
    """
    with nothing_collected():
        unit = _fitted(target, request)
        unit.advise = partial(advice, _compiled, target, request)
        plan = bind(unit)
        compile_early(target, request.graph)
        return plan


_LOG = logging.getLogger("gpugraph")

_OPEN_NOTE = ("a number with ? in these reports is that of the first shapes",)


class OpenUnit:
    """A run that is compiled once for feeds whose sizes are open. `plan` returns a plan for known
    sizes.
    """

    def __init__(self, target: Target, request: RunRequest, trace: SizeTrace) -> None:
        """Compile the run.

        Raises the error of a pass. If the shapes of an op in a branch or a loop don't match, the
        constructor raises the error of this op. The caller then compiles without open sizes, since
        only that compilation gives the right error message. Raises NotReportedError if sizes depend
        on values and the plan can't receive such sizes during a run.

        Args:
          request: the run. The shapes of its feeds contain Sizes of `trace`.
        """
        with nothing_collected():
            unit = _fitted(target, request)
            if unit.failures:
                raise next(iter(unit.failures.values()))
            unit.programs = open_programs(unit)
            is_reporting = unit.reported or trace.loop_sizes
            self.reports = Reports(unit, trace) if is_reporting else None
            part_of = _first_part if self.reports is None else self.reports.part_of
            self._relayout = Relayout(unit, part_of)
            self._parts = OpenParts(unit, trace.first_values)
        self.sizes = UnitOfSizes(self._parts, self._relayout, trace, self.reports)
        self._trace = trace

    @property
    def is_worth_binding(self) -> bool:
        """Whether less than a third of the tensors have sizes that are known only during a run."""
        kinds = [home.storage.kind for home in self._parts.unit.homes.values()]
        return 2 * kinds.count("cell") < kinds.count("arena")

    def at(
        self, inputs: Sequence[int], reported: Mapping[str, int] | None = None
    ) -> SizeValues | None:
        """Return the values of all Sizes, given the input sizes and the sizes that kernels report.
        If these values violate a condition of the unit, return None.
        """
        return self._trace.values(inputs, reported)

    @property
    def first_values(self) -> SizeValues:
        """The values of all Sizes with which the unit was compiled."""
        return self._trace.first_values

    def shapes_of(self, values: SizeValues) -> list[tuple[int, ...]]:
        """Return the shapes that the feeds have with these values of the Sizes."""
        return [values.shape(feed.shape or ()) for feed in self._parts.unit.feeds]

    def plan(self, values: SizeValues, target: Target, request: RunRequest) -> Plan:
        """Return the plan for these values of the Sizes.

        Raises ResourceExhaustedError if a device can't hold its arena or a variable.

        Args:
          request: the request that was compiled, with the shapes of this run.
        """
        with nothing_collected():
            unit = self._parts.at(values)
            unit.target = target
            unit.advise = partial(advice, _compiled, target, request)
            self._relayout.apply(unit)
            unit.reports = self._relayout.reports(unit)
            with unit.report("open_sizes") as set_outcome:
                count = len(self._trace.conditions)
                set_outcome(f"compiled for all sizes that meet {count} conditions", _OPEN_NOTE)
            _check(unit)
            binder = Binder(unit)
            plan = bind_by(binder)
            plan.reported = {}
            plan.opening = Opening(self, binder)
            return plan


class Opening(NamedTuple):
    """The data for making a plan an open plan: the unit with open sizes from which the plan was
    bound, and the binder that created the plan.
    """

    unit: OpenUnit
    binder: Binder

    def open(self, plan: Plan, fed: FedSizes, lock: Any) -> bool:
        """Make `plan` an open plan, which runs with all shapes that its unit allows. Return False
        if this is impossible, or not possible yet.

        Args:
          fed: a mapping between the sizes of the feeds and the inputs of the unit's trace.
          lock: the session's lock. The caller must hold the plan's lock.
        """
        plan.warm = plan.warm or all(state.initialized for state in plan.variables)
        if not can_open(plan, self.binder.unit):
            return False
        try:
            plan.sizes = OpenPlan(plan, self.binder, self.unit.sizes, fed, lock)
        except (NotOpenError, NotNativeError, OpenSizeError) as error:
            _LOG.debug("A plan is for one set of shapes: %s", error)
            plan.opening = None
        return plan.sizes is not None


def _first_part(_: Storage) -> int:
    return 0


def part_of_memory(target: Target, request: RunRequest) -> float:
    """Return the fraction of a GPU's free memory that the arena of the requested run would occupy.

    If there are several GPUs, return the largest fraction. If an arena does not fit, drop the
    session's idle plans first. Raises ResourceExhaustedError if the arena still does not fit.
    """
    gpus = [device for device in target.devices if device.device_type == "GPU"]
    with nothing_collected():
        unit = _fitted(target, request)
        unit.advise = partial(advice, _compiled, target, request)
        return max((part_of_room(unit, device) for device in gpus), default=0.0)


def compile_record(target: Target, request: RunRequest) -> GraphRecord:
    """Return a record of the graph that the requested run would execute on each device, and of the
    memory of its tensors.
    """
    with nothing_collected():
        return graph_record(_fitted(target, request))


def _fitted(target: Target, request: RunRequest) -> Unit:
    """Compile the request. Recompute activations and swap tensors as the setting
    `memory_optimization` requires.
    """
    rewrites = target.config.graph_options.rewrite_options
    optimization = rewrites.memory_optimization
    if rewrites.disable_meta_optimizer:
        return _compiled(target, request)
    if optimization in _RECOMPUTING:
        unit = _recomputed(target, request, rewrites.recomputation_limit_mb << 20)
    else:
        is_manual = optimization == RewriterConfig.MANUAL
        unit = _compiled(target, request, HINTED if is_manual else 0)
    if optimization in _SWAPPING or optimization == RewriterConfig.MANUAL:
        unit = _swapped(target, request, unit, optimization in _SWAPPING)
    return unit


def _recomputed(target: Target, request: RunRequest, limit: int) -> Unit:
    """Compile with recomputation of activations and return the unit.

    There are three degrees of recomputation: no ops, cheap ops, and all ops.

    Args:
      limit: the maximum number of bytes of all arenas together. The first degree that meets the
        limit is chosen. If none does, the unit with the smallest arenas is returned. If the limit
        is 0, cheap ops are recomputed.
    """
    if not limit:
        unit = _compiled(target, request, CHEAP)
        unit.amend("activation_recomputation", _time_of_recomputation(unit), ())
        return unit
    units = []
    for degree in (0, CHEAP, ALL):
        units.append(_compiled(target, request, degree))
        if sum(units[-1].arena_sizes.values()) <= limit:
            break
    unit = min(units, key=lambda unit: sum(unit.arena_sizes.values()))
    lines = _degrees_tried(units, limit)
    if any(feed.shape is None or None in feed.shape for feed in request.feeds):
        lines.append("sizes are left open: the limit excludes tensors sized in the run")
    unit.amend("activation_recomputation", _time_of_recomputation(unit), lines)
    return unit


_DEGREES = {0: "nothing", CHEAP: "cheap ones", ALL: "all between checkpoints"}


def _time_of_recomputation(unit: Unit) -> str:
    """Return the summary of the recomputation pass, including the increase of the modelled time of
    a step, if there is any.
    """
    (summary,) = [
        report.summary for report in unit.reports if report.name == "activation_recomputation"
    ]
    part = recomputed_part(unit)
    return f"{summary}; about {100 * part:.0f} % more time, by a model" if part else ""


def _degrees_tried(units: Sequence[Unit], limit: int) -> list[str]:
    """Return report lines with the memory and time of each degree of recomputation that was tried.
    If none fits into `limit` bytes, the last line states this.
    """
    sizes = [sum(unit.arena_sizes.values()) for unit in units]
    lines = [
        f"{_DEGREES[unit.recomputation]}: arenas of {human_readable_bytes(size)}"
        + (f", about {100 * recomputed_part(unit):.0f} % more time" if unit.recomputation else "")
        for unit, size in zip(units, sizes)
    ]
    if min(sizes) > limit:
        lines.append(f"none fits recomputation_limit_mb = {limit >> 20}: the smallest is used")
    return lines


def _swapped(target: Target, request: RunRequest, unit: Unit, by_heuristics: bool) -> Unit:
    """Return the unit compiled with some tensors swapped to the host. If no GPU tensor can be
    swapped, return `unit` itself.

    Args:
      by_heuristics: whether to choose the tensors by the time for which they are idle. Such swaps
        are undone if the arenas of the GPUs do not shrink.
    """
    if "GPU" not in unit.device_types.values():
        unit.amend("host_swapping", f"nothing: no GPU. {target.no_gpu}", ())
        return unit
    swaps, lines = chosen_swaps(unit, by_heuristics)
    if not swaps:
        unit.amend("host_swapping", "nothing: no tensor of a GPU is idle for long enough", lines)
        return unit
    other = _compiled(target, request, unit.recomputation, swaps)
    if by_heuristics and _gpu_bytes(other) >= _gpu_bytes(unit):
        unit.amend("host_swapping", "nothing: arenas would be no smaller", lines)
        return unit
    other.amend("host_swapping", "", lines)
    return other


def _gpu_bytes(unit: Unit) -> int:
    """Return the total size of the arenas on GPUs."""
    types = unit.device_types
    return sum(size for device, size in unit.arena_sizes.items() if types[device] == "GPU")


def _compiled(
    target: Target, request: RunRequest, recomputation: int = 0, swaps: Sequence[Swap] | None = None
) -> Unit:
    """Run `prune` and all other passes, and return the unit."""
    unit = prune(target, request)
    unit.recomputation, unit.swaps = recomputation, swaps
    _report_unused(unit)
    _check(unit)
    for change in PASSES:
        change(unit)
        _check(unit)
    return unit


def _report_unused(unit: Unit) -> None:
    """Add a report of the settings that the user has changed without an effect on this unit."""
    names = unused(unit.target.config)
    if names:
        with unit.report("settings") as set_outcome:
            set_outcome(f"{len(names)} settings have no effect here", names)


def _check(unit: Unit) -> None:
    if unit.target.verify:
        verify(unit)
