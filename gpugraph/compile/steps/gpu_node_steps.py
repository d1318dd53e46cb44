"""Steps on a CUDA GPU: launches that execute the kernel of a node.

    Source                       launches of functions of kernels/*.cu
    Elementwise, Reduction,      one or a few generated kernels, from the same program of values as
    Decomposition, fused ops     native code on the CPU
    ViewCopies                   copies of views
    MatrixProducts,              matrix products, with their epilogues
    MatmulWithEpilogue
    Sized                        launches that count rows, then launches that write the outputs

All other kernels run on the host, on copies of the arrays. The report contains the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.compile.steps.kernel_context import BoundNode, KernelBinding
from gpugraph.compile.steps.native_node_code import native_form, program_of
from gpugraph.devices import Block, Device
from gpugraph.devices.native import Fusion, NotNativeError, one_blas_thread
from gpugraph.kernel import (
    CSource,
    MatmulWithEpilogue,
    MatrixProducts,
    Reduction,
    RowSource,
    Source,
    SourceStages,
    State,
    ViewCopies,
    reference,
)
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.reductions.reduction_ops import reduced_axes

_DYNAMIC = "the sizes of its outputs depend on values"
_LATE = "it reads values on the host during a run"


def bind_on_device(
    bound: BoundNode,
    context: KernelBinding,
    arrays: Sequence[Any],
    report_lines: list[str] | None = None,
) -> Callable[[], Any]:
    """Return the callable of a node's step.

    Args:
      arrays: the inputs in `bound.array_slots`, then the outputs.
      report_lines: a list to which notes on the launches are added. If the node runs on the host
        although its device has kernels, the reason is added.
    """
    node, runner = bound.node, bound.runner
    if not runner.has_kernels:
        run = runner.bind(bound.kernel, context, arrays)
        return _with_one_thread(run) if _factors_small_matrices(bound, arrays) else run
    try:
        launches = _launches(bound, context, arrays)
    except (NotNativeError, NotImplementedError) as error:
        if report_lines is not None:
            report_lines.append(host_report(bound, str(error)))
        return runner.bind(bound.kernel, context, arrays)
    if report_lines is not None:
        report_lines += [f"{node.name} ({node.type}) on {runner.name} {x}" for x in launches.notes]
    return launches


_WORTH_TWO_THREADS = 1024
"""The number of rows and columns from which on two threads of a LAPACK factor a matrix faster."""


def _factors_small_matrices(bound: BoundNode, arrays: Sequence[Any]) -> bool:
    if not reference(bound.kernel).by_lapack:
        return False
    return all(min(array.shape[-2:], default=0) < _WORTH_TWO_THREADS for array in arrays)


def _with_one_thread(run: Callable[[], Any]) -> Callable[[], Any]:
    """Return a callable that calls `run` with NumPy's BLAS limited to one thread. Additional BLAS
    threads would keep spinning after the call.
    """

    def limited() -> Any:
        with one_blas_thread():
            return run()

    return limited


def run_time_reason(bound: BoundNode) -> str:
    """Return the reason why a step that is bound in each run runs on the host. Return "" if the
    step may run on the GPU.
    """
    if not bound.runner.has_kernels:
        return ""
    return _DYNAMIC if reference(bound.kernel).dynamic else _LATE if bound.is_late else ""


def host_report(bound: BoundNode, reason: str) -> str:
    """Return the report line for a node that is placed on a GPU but runs on the host."""
    node = bound.node
    return f"{node.name} ({node.type}) runs on the host for {bound.runner.name}: {reason}"


def _launches(bound: BoundNode, context: KernelBinding, arrays: Sequence[Any]) -> Any:
    """Return the launches of a node. Raises NotNativeError or NotImplementedError if the node must
    run on the host.
    """
    node, runner, kernel, slots = bound.node, bound.runner, bound.kernel, bound.array_slots
    if reference(kernel).dynamic:
        raise NotNativeError(_DYNAMIC)
    if context.on_host:
        raise NotNativeError(_LATE)
    if not all(runner.has_array(array) for array in arrays):
        raise NotNativeError("its inputs or outputs are objects")
    launcher, count = runner.kernels, len(slots)
    inputs, results = arrays[:count], list(arrays[count:])
    optional = kernel.optional if isinstance(kernel, Source) else ()
    if not all(array.size for index, array in enumerate(arrays) if index not in optional):
        if results and not any(array.size for array in results):
            return launcher.nothing()
        raise NotNativeError("a tensor is empty")
    if isinstance(kernel, Source):
        product = None if kernel.product is None else kernel.product(context)
        if product is not None:
            with suppress(NotNativeError):  # cublasLt does not have it
                return launcher.products(product, context, arrays, by_library=True)
        sums = None if kernel.sums is None else kernel.sums(context)
        if sums is not None:
            by_library = launcher.convolution(sums, context, arrays, context.scratch)
            if by_library is not None:
                return by_library
        refused = bound.refusals.of(node.name, node.origin)
        stored = partial(_stored, runner, context)
        step = launcher.source(kernel, context, arrays, context.scratch, refused, stored)
        if sums is not None:
            why = "has no plan for it" if launcher.driver.cudnn else "is not installed"
            step.notes = (*step.notes, f"is computed by kernels/cuda/nn: cuDNN {why}")
        return step
    native = native_form(node, runner.device_type)
    if native is None or isinstance(native, (CSource, SourceStages, RowSource)):
        raise NotNativeError("it has no kernel for GPUs")
    if isinstance(native, ViewCopies):
        return launcher.moves(native, context, arrays)
    if isinstance(native, (MatrixProducts, MatmulWithEpilogue)):
        return launcher.products(native, context, arrays)
    refused = bound.refusals.of(node.name, node.origin)
    if isinstance(native, Reduction) and count == 1 and len(node.input_types) == 2:
        axes = sorted(reduced_axes(context.value(1), arrays[0].ndim))
        if not _is_regular(arrays[0].shape, axes):
            return _transposed_reduction(launcher, native, context, arrays, axes, refused)
    writes = sorted(DECLARATIONS[node.type].memory.writes)
    written = [arrays[slots.index(slot)] for slot in writes] if writes else results
    types = [node.input_types[slot].base_dtype for slot in slots]
    program, sizes = program_of(native, context, types, inputs, written)
    return launcher.program(program, sizes, inputs, written, context.scratch, refused)


def _stored(runner: Device, context: KernelBinding, state: State) -> Any:
    """Return an array in the device's memory that holds the state of the node between runs."""

    def put(numbers: Any) -> Block:
        block = context.allocate(numbers.shape, as_dtype(numbers.dtype))
        block.write(numbers)
        return block

    return context.state(state.make).move(runner.name, put).array


def _is_regular(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Return whether generated code can reduce over these axes directly. It can if they are the
    first or the last axes of the shape.
    """
    over = [axis in axes for axis, size in enumerate(shape) if size != 1]
    return over in (sorted(over), sorted(over, reverse=True))


def _transposed_reduction(
    launcher: Any,
    kernel: Reduction,
    context: KernelBinding,
    arrays: Sequence[Any],
    axes: Sequence[int],
    refused: Callable[[str], int],
) -> Any:
    """Return the launches for a reduction over inner axes: a copy that moves the reduced axes to
    the end, followed by a reduction over the last axes.
    """
    source, out = arrays
    order = (*(axis for axis in range(source.ndim) if axis not in axes), *axes)
    dtype = context.input_types[0].base_dtype
    copy = context.scratch(tuple(source.shape[axis] for axis in order), dtype)
    columns = prod(source.shape[axis] for axis in axes)
    transpose = launcher.moves(
        ViewCopies(lambda _, x, y: [(x.transpose(order), y)]), context, [source, copy]
    )
    rows = copy.reshape((copy.size // columns, columns))
    fusion = Fusion()
    fusion.output(fusion.reduce(kernel, fusion.input(dtype, rows.shape), [1]))
    result = out.reshape((rows.shape[0], 1))
    reduce = launcher.program(*fusion.finish(), [rows], [result], context.scratch, refused)
    return launcher.both(transpose, reduce)
