"""Native kernels for the CPU: fused programs of elementwise expressions and reductions become C
functions, and other ops become native calls.

    Fusion      collects ops with shapes; returns a program                codegen/program_builder
    prepare     compiles programs in the background                        background_compilation
    Function    bound to arrays: a call, 50 ns plus the computation        compiled_functions
    products    matrix products by NumPy's BLAS, as such a call            numpy_blas
    tiled_product  a matrix product by gpugraph's own tiled code           tiled_products
    move        a copy from one strided array to another, as such a call   strided_copies
    SourceFile  C functions of single ops, written by hand                 handwritten_kernels
    sequence    one call that makes several calls, one after another       here
    beside      one call that makes several calls at the same time         here
    Loop        variables, a condition, next values: a whole while loop    c_while_loop_source
    Iterations  calls, jumps, accesses to stacks: any other while loop     iterations

Several modules write the source of a program. `codegen/loop_schedule` divides its values among
passes, `codegen/c_value_expressions` writes the computation of single values, `c_pass_source`
writes one loop, and `c_kernel_source` writes the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpugraph.config.environment import thread_count
from gpugraph.devices.codegen.c_types import NOT_NATIVE as NOT_NATIVE, not_native as not_native
from gpugraph.devices.codegen.c_value_expressions import failure_of as failure_of
from gpugraph.devices.codegen.program import (
    NotNativeError as NotNativeError,
    Program as Program,
    WhileProgram as WhileProgram,
)
from gpugraph.devices.codegen.program_builder import Fused as Fused, Fusion as Fusion
from gpugraph.devices.native.background_compilation import (
    Prepared as Prepared,
    prepare as prepare,
    prepare_loops as prepare_loops,
)
from gpugraph.devices.native.compiled_functions import (
    FAILED as FAILED,
    CompiledFunction as CompiledFunction,
    LoopFunction as LoopFunction,
    estimate as estimate,
)
from gpugraph.devices.native.handwritten_kernels import (
    BYTES as BYTES,
    ROW_TYPES as ROW_TYPES,
    Macros as Macros,
    SourceFile as SourceFile,
    prepare_source as prepare_source,
)
from gpugraph.devices.native.iterations import (
    ElementAccess as ElementAccess,
    Instruction as Instruction,
    InstructionKind as InstructionKind,
    Iterations as Iterations,
)
from gpugraph.devices.native.native_runtime import RUNTIME, Runtime, call_of
from gpugraph.devices.native.numpy_blas import (
    blas_reason as blas_reason,
    blas_threads_reason as blas_threads_reason,
    one_blas_thread as one_blas_thread,
    product as product,
    products as products,
)
from gpugraph.devices.native.open_calls import (
    BlockWords as BlockWords,
    OpenCall as OpenCall,
    OpenTable as OpenTable,
    words_of as words_of,
)
from gpugraph.devices.native.open_views import Address as Address, OpenView as OpenView
from gpugraph.devices.native.size_stages import (
    SizeStages as SizeStages,
    StageRows as StageRows,
    StageStatus as StageStatus,
)
from gpugraph.devices.native.strided_copies import (
    CopyAxis as CopyAxis,
    axes_of as axes_of,
    move as move,
)
from gpugraph.devices.native.tiled_products import (
    TILED_PRODUCTS as TILED_PRODUCTS,
    is_tiled as is_tiled,
    pays_by_tiles as pays_by_tiles,
    tiled_product as tiled_product,
)


def failed_at(call: Callable[[], int]) -> int:
    """Return the index of the call that ended a `sequence`."""
    return _running().failed_at(call)


def failed_lanes(call: Callable[[], int]) -> list[int]:
    """Return the indices of the calls of `beside` that have failed."""
    return _running().failed_lanes(call)


def _running() -> Runtime:
    """Return the runtime, which exists because there are calls."""
    runtime = RUNTIME.get(False)
    assert runtime is not None, "there are calls, so there is a runtime"
    return runtime


def runtime_reason(wait: bool) -> str | None:
    """Return the reason why native code can't run, or "" if it can. Return None while the native
    runtime is being compiled.

    Args:
      wait: whether to wait for the compilation.
    """
    if RUNTIME.get(wait) is not None:
        return ""
    return RUNTIME.reason or None


def runtime_failure() -> str:
    """Return the reason why native code can't run, without starting a compilation. If no reason is
    known, return "".
    """
    return RUNTIME.failure


def sequence(calls: Sequence[Callable[[], int]]) -> Callable[[], int]:
    """Return one call that makes these calls in order and stops at the first nonzero status.

    Args:
      calls: native calls, which are the results of `CompiledFunction.bind` (for kernels that can't
        fail), `CompiledFunction.call`, `products`, `move` or `sequence`.
    """
    runtime = RUNTIME.get(True)
    assert runtime is not None, "there are calls, so there is a runtime"
    return runtime.sequence(calls)


def threads_of(call: Callable[[], int]) -> int:
    """Return the number of threads that a native call may use."""
    return int(getattr(call_of(call)[2], "threads", 1))


def beside(calls: Sequence[Callable[[], int]]) -> Callable[[], int]:
    """Return one call that makes these native calls at the same time. It returns the first nonzero
    status of these calls, or 0.
    """
    runtime = RUNTIME.get(True)
    assert runtime is not None, "there are calls, so there is a runtime"
    return runtime.beside(calls, thread_count())


def block_of(call: Callable[[], int]) -> int:
    """Return the address of the block of memory from which a call reads its arguments."""
    return int(call_of(call)[0])
