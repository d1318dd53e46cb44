"""Steps of a device with kernels of its own (a CUDA GPU): what a node's kernel is there.

    Source                   launches of functions of kernels/*.cu
    Elementwise, Reduction,  one generated kernel or a few: by the same program of values as
    Recipe, _Fused           native code on the CPU
    Moves                    copies of views
    Products, FusedProducts  matrix products, and what is done to them at once
    Sized                    launches that find sizes, then others: compile/steps/measured_steps.py

What is none of these runs on the host, on copies, which the report of `bind` says with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.compile.steps.kernel_context import Bound
from gpugraph.compile.steps.native_node_code import program_of, said_by
from gpugraph.devices import Block, Device
from gpugraph.devices.native import Fusion, NotNativeError
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import (
    CSource,
    Kernel,
    MatmulWithEpilogue,
    MatrixProducts,
    Reduction,
    Source,
    State,
    ViewCopies,
    reference,
)
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.reductions.reduction_ops import reduced_axes


def bound_on(
    runner: Device,
    node: Node,
    kernel: Kernel,
    context: Bound,
    arrays: Sequence[Any],
    taken: Sequence[int],
    refusals: Any,
    told: list[str] | None = None,
) -> Callable[[], Any]:
    """The step of a node over arrays: inputs `taken`, then outputs. refusals: of the plan, on this
    device. `told` gets why it runs on the host if it does though its device has kernels, and what
    else is to be known of how it runs."""
    if not runner.has_kernels:
        return runner.bind(kernel, context, arrays)
    try:
        made = _enqueued(runner, node, kernel, context, arrays, taken, refusals)
    except NotNativeError as error:
        if told is not None:
            told.append(on_host(runner, node, str(error)))
        return runner.bind(kernel, context, arrays)
    if told is not None:
        told += [f"{node.name} ({node.type}) on {runner.name} {note}" for note in made.notes]
    return made


def at_run_time(runner: Device, node: Node, kernel: Kernel) -> list[str]:
    """What is known, before a run, of a step that is bound anew by each."""
    call = reference(kernel)
    if not runner.has_kernels or not (call.dynamic or call.late):
        return []
    why = _SIZES if call.dynamic else _VALUES
    return [on_host(runner, node, why)]


def on_host(runner: Device, node: Node, why: str) -> str:
    """A line of the report: a node of a device with kernels that runs on the host."""
    return f"{node.name} ({node.type}) runs on the host for {runner.name}: {why}"


_SIZES = "the sizes of what it makes depend on values"
_VALUES = "it takes values of the host during a run"


def _enqueued(
    runner: Any,
    node: Node,
    kernel: Kernel,
    context: Bound,
    arrays: Sequence[Any],
    taken: Sequence[int],
    refusals: Any,
) -> Any:
    call = reference(kernel)
    if call.dynamic:
        raise NotNativeError(_SIZES)
    if context.on_host:
        raise NotNativeError(_VALUES)
    if not all(runner.has_array(array) for array in arrays):
        raise NotNativeError("it takes or makes objects")
    results = arrays[len(taken) :]
    optional = kernel.optional if isinstance(kernel, Source) else ()
    if not all(array.size for at, array in enumerate(arrays) if at not in optional):
        if results and not any(array.size for array in results):
            return runner.kernels.nothing()
        raise NotNativeError("a tensor is empty")
    try:
        return _by_kind(runner, node, kernel, context, arrays, taken, refusals)
    except NotImplementedError as error:
        raise NotNativeError(str(error)) from error


def _by_kind(
    runner: Any,
    node: Node,
    kernel: Kernel,
    context: Bound,
    arrays: Sequence[Any],
    taken: Sequence[int],
    refusals: Any,
) -> Any:
    launcher = runner.kernels
    if isinstance(kernel, Source):
        refused = refusals.of(node.name, node.origin)
        stored = partial(_stored, runner, context)
        return launcher.source(kernel, context, arrays, context.scratch, refused, stored)
    native = said_by(node, runner.device_type)
    if native is None or isinstance(native, CSource):
        raise NotNativeError("it has no kernel for GPUs")
    if isinstance(native, ViewCopies):
        return launcher.moves(native, context, arrays)
    if isinstance(native, (MatrixProducts, MatmulWithEpilogue)):
        return launcher.products(native, context, arrays)
    count = len(taken)
    writes = sorted(DECLARATIONS[node.type].writes)
    written = [arrays[taken.index(at)] for at in writes] if writes else list(arrays[count:])
    types = [node.input_types[slot].base_dtype for slot in taken]
    refused = refusals.of(node.name, node.origin)
    if isinstance(native, Reduction) and count == 1 and len(node.input_types) == 2:
        axes = sorted(reduced_axes(context.value(1), arrays[0].ndim))
        if not _is_regular(arrays[0].shape, axes):
            return _turned(launcher, native, context, arrays, axes, refused)
    made = program_of(native, context, types, arrays[:count], written, gpu=True)
    return launcher.program(*made, arrays[:count], written, context.scratch, refused)


def _stored(runner: Device, context: Bound, state: State) -> Any:
    """Where a state of the node is in the device's memory."""

    def put(numbers: Any) -> Block:
        block = context.allocate(numbers.shape, as_dtype(numbers.dtype))
        block.write(numbers)
        return block

    return context.state(state.make).move(runner.name, put).array


def _is_regular(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether a program has loops for it: the reduced axes are the last ones, or the first."""
    over = [axis in axes for axis, size in enumerate(shape) if size != 1]
    return over in (sorted(over), sorted(over, reverse=True))


def _turned(
    launcher: Any,
    kernel: Reduction,
    context: Bound,
    arrays: Sequence[Any],
    axes: Sequence[int],
    refused: Callable[[str], int],
) -> Any:
    """A reduction over axes among others: of a copy that has them last."""
    source, out = arrays
    kept = [axis for axis in range(source.ndim) if axis not in axes]
    order = (*kept, *axes)
    dtype = context.input_types[0].base_dtype
    copy = context.scratch(tuple(source.shape[axis] for axis in order), dtype)
    columns = prod(source.shape[axis] for axis in axes)
    turn = launcher.moves(
        ViewCopies(lambda _, x, y: [(x.transpose(order), y)]), context, [source, copy]
    )
    rows = copy.reshape((copy.size // columns, columns))
    fusion = Fusion(gpu=True)
    fusion.output(fusion.reduce(kernel, fusion.input(dtype, rows.shape), [1]))
    result = out.reshape((rows.shape[0], 1))
    reduce = launcher.program(*fusion.finish(), [rows], [result], context.scratch, refused)
    return launcher.both(turn, reduce)
