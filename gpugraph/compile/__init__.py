"""Compilation: from the client's graph, fetches and feeds to a plan, pass by pass.

    prune      what the fetches and targets need
    collectives  ops on several devices get what follows from the inputs of all
    serial     updates of one variable take effect one after the other
    reread     what runs after a write of a variable reads what was written
    fold       exact shapes; what follows from them becomes constant
    simplify   ops that change nothing are views
    transposes what a matrix product can do itself
    cancel     ops that undo each other are views
    common     ops that compute the same are done once
    dependencies  ops that are only waited for are not run
    place      a device for every op, with its reason
    remap      a convolution does its bias and activation itself
    attention  products around a softmax are one kernel
    weights    products in loops do not turn what stays the same
    epilogues  a matrix product does its bias, addition and activation itself
    restores   a checkpoint is read into the memory of variables
    stacks     loops do not keep what their gradients can compute of what else they keep
    recompute  what gradients need of the forward pass is computed again, where that is asked for
    sums       large sums add each term when it comes
    fuse       groups of ops that run as one kernel
    partition  Send and Recv between devices
    swap       tensors of GPUs are on the host between two uses, where that is asked for
    flow       which loop each op is in, and under which condition it runs
    order      one sequence for all devices, by depth
    memory     lifetimes to offsets in one arena a device
    bind       kernels to callables, offsets to arrays: the plan

`verify` checks the unit between any two of them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from gpugraph.base.proto_messages import unused
from gpugraph.compile.analysis.flow_analysis import flow
from gpugraph.compile.analysis.step_time_model import recomputed_part
from gpugraph.compile.binding.binder import bind
from gpugraph.compile.binding.fitting_advice import advice
from gpugraph.compile.binding.graph_recording import graph_record
from gpugraph.compile.fusion.attention_fusion import attention
from gpugraph.compile.fusion.convolution_remapper import remap
from gpugraph.compile.fusion.fusion_groups import fuse
from gpugraph.compile.fusion.loop_weights import weights
from gpugraph.compile.fusion.matmul_epilogues import epilogues
from gpugraph.compile.fusion.variable_restores import restores
from gpugraph.compile.lowering.collectives_joined import collectives
from gpugraph.compile.lowering.prune import prune
from gpugraph.compile.lowering.read_after_write import reread
from gpugraph.compile.lowering.serial_updates import serial
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
from gpugraph.compile.rewriting.stacked_values import stacks
from gpugraph.compile.rewriting.transpose_folding import transposes
from gpugraph.compile.steps.early_compilation import compile_early
from gpugraph.compile.unit.compile_unit import (
    FeedSpec as FeedSpec,
    RunRequest as RunRequest,
    Swap,
    Target as Target,
    Unit,
)
from gpugraph.compile.verification import verify
from gpugraph.config import RewriterConfig
from gpugraph.memory import human_readable_bytes
from gpugraph.plan import GraphRecord, Plan

PASSES: tuple[Callable[[Unit], None], ...] = (
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
"""The passes between `prune`, which makes the unit, and `bind`, which makes the plan of it."""


_RECOMPUTING = (RewriterConfig.HEURISTICS, RewriterConfig.RECOMPUTATION_HEURISTICS)
_SWAPPING = (RewriterConfig.HEURISTICS, RewriterConfig.SWAPPING_HEURISTICS)


def compile_plan(target: Target, request: RunRequest) -> Plan:
    """The plan that computes the fetches and runs the targets when the feeds are fed.

    Raises what the passes raise: InvalidArgumentError for an unfed placeholder, shapes that don't
    fit, a cycle or a device that isn't there; ResourceExhaustedError for too little memory.
    """
    with _without_collector():
        unit = _fitted(target, request)
        unit.advise = partial(advice, _compiled, target, request)
        plan = bind(unit)
        compile_early(target, request.graph)
        return plan


def part_of_memory(target: Target, request: RunRequest) -> float:
    """The part that the arena of such a run has of what a GPU has left, the most of all GPUs.

    ResourceExhaustedError where it has not enough left, also without the session's idle plans.
    """
    gpus = [device for device in target.devices if device.device_type == "GPU"]
    with _without_collector():
        unit = _fitted(target, request)
        unit.advise = partial(advice, _compiled, target, request)
        return max((part_of_room(unit, device) for device in gpus), default=0.0)


def compile_record(target: Target, request: RunRequest) -> GraphRecord:
    """Each device's part of the graph of such a run, and the memory of its tensors."""
    with _without_collector():
        return graph_record(_fitted(target, request))


def _fitted(target: Target, request: RunRequest) -> Unit:
    """The unit with as much recomputation and swapping as its settings ask for."""
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
    """With a limit, no more recomputation than fits it, or what needs least."""
    if not limit:
        unit = _compiled(target, request, CHEAP)
        unit.amend("recompute", _time_of_recomputation(unit), ())
        return unit
    units = []
    for degree in (0, CHEAP, ALL):
        units.append(_compiled(target, request, degree))
        if sum(units[-1].arena_sizes.values()) <= limit:
            break
    unit = min(units, key=lambda unit: sum(unit.arena_sizes.values()))
    lines = _degrees_tried(units, limit)
    if any(feed.shape is None or None in feed.shape for feed in request.feeds):
        lines.append("sizes are left open: the limit does not count what is sized in the run")
    unit.amend("recompute", _time_of_recomputation(unit), lines)
    return unit


_DEGREES = {0: "nothing", CHEAP: "cheap ones", ALL: "all between checkpoints"}


def _time_of_recomputation(unit: Unit) -> str:
    """What the pass has reported, and what that costs by a model; nothing where it did nothing."""
    (summary,) = [report.summary for report in unit.reports if report.name == "recompute"]
    part = recomputed_part(unit)
    return f"{summary}; about {100 * part:.0f} % more time, by a model" if part else ""


def _degrees_tried(units: Sequence[Unit], limit: int) -> list[str]:
    """The memory and time of each degree of recomputation, and whether one fits the limit."""
    sizes = [sum(unit.arena_sizes.values()) for unit in units]
    lines = [
        f"{_DEGREES[unit.recomputation]}: arenas of {human_readable_bytes(size)}"
        + (f", about {100 * recomputed_part(unit):.0f} % more time" if unit.recomputation else "")
        for unit, size in zip(units, sizes)
    ]
    if min(sizes) > limit:
        lines.append(f"none fits recomputation_limit_mb = {limit >> 20}: the least is taken")
    return lines


def _swapped(target: Target, request: RunRequest, unit: Unit, by_heuristics: bool) -> Unit:
    """The unit with tensors on the host meanwhile, if GPUs need less memory with that."""
    if "GPU" not in unit.device_types.values():
        unit.amend("swap", f"nothing: no GPU. {target.no_gpu}", ())
        return unit
    swaps, lines = chosen_swaps(unit, by_heuristics)
    if not swaps:
        unit.amend("swap", "nothing: no tensor of a GPU is idle for long enough", lines)
        return unit
    other = _compiled(target, request, unit.recomputation, swaps)
    if by_heuristics and _gpu_bytes(other) >= _gpu_bytes(unit):
        unit.amend("swap", "nothing: arenas would be no smaller", lines)
        return unit
    other.amend("swap", "", lines)
    return other


def _gpu_bytes(unit: Unit) -> int:
    """The bytes of all arenas on GPUs."""
    types = unit.device_types
    return sum(size for device, size in unit.arena_sizes.items() if types[device] == "GPU")


def _compiled(
    target: Target, request: RunRequest, recomputation: int = 0, swaps: Sequence[Swap] | None = None
) -> Unit:
    """The unit that all passes have changed."""
    unit = prune(target, request)
    unit.recomputation, unit.swaps = recomputation, swaps
    _report_unused(unit)
    _check(unit)
    for change in PASSES:
        change(unit)
        _check(unit)
    return unit


def _report_unused(unit: Unit) -> None:
    """Reports the settings that are set and have no effect, where there are such."""
    names = unused(unit.target.config)
    if names:
        with unit.report("settings") as say:
            say(f"{len(names)} settings have no effect here", names)


def _check(unit: Unit) -> None:
    if unit.target.verify:
        verify(unit)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pauses the garbage collector: it would walk the many records of a large graph in vain."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
