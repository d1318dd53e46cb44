"""Fused kernels for the CPU: programs of elementwise and reduction texts as C functions.

    Fusion      told what is computed of which shapes; gives a program     fusion, program
    prepare     programs compiled in the background                        prepared
    Function    bound to arrays: a call of 50 ns and what it computes      function, runtime
    products    matrix products by NumPy's BLAS, as such a call            blas
    move        a copy from one strided array to another, as such a call   moves
    SourceFile  C functions of single ops, written by hand                 source
    sequence    calls, one after the other, as one                         here
    Loop        variables, a condition, next values: a whole while loop    loop_text

The text of a program is written by `schedule` (which pass computes what), `values` (single values),
`passes` (one loop) and `text` (the function).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpugraph.devices.codegen.c_types import NOT_NATIVE as NOT_NATIVE, not_native as not_native
from gpugraph.devices.codegen.c_value_expressions import failure_of as failure_of
from gpugraph.devices.codegen.program import (
    Loop as Loop,
    NotNativeError as NotNativeError,
    Program as Program,
)
from gpugraph.devices.codegen.program_builder import Fused as Fused, Fusion as Fusion
from gpugraph.devices.native.background_compilation import (
    Prepared as Prepared,
    prepare as prepare,
    prepare_loops as prepare_loops,
)
from gpugraph.devices.native.compiled_functions import (
    Function as Function,
    LoopFunction as LoopFunction,
    estimate as estimate,
)
from gpugraph.devices.native.handwritten_kernels import (
    SourceFile as SourceFile,
    prepare_source as prepare_source,
)
from gpugraph.devices.native.native_runtime import RUNTIME
from gpugraph.devices.native.numpy_blas import (
    blas_reason as blas_reason,
    blas_threads_reason as blas_threads_reason,
    product as product,
    products as products,
)
from gpugraph.devices.native.strided_copies import Axis as Axis, axes_of as axes_of, move as move


def failed_at(call: Callable[[], int]) -> int:
    """Which of its calls ended a `sequence` that has returned something true."""
    runtime = RUNTIME.get(True)
    assert runtime is not None, "there are calls, so there is a runtime"
    return runtime.failed_at(call)


def runtime_reason(wait: bool) -> str | None:
    """Why there is no runtime of native code; empty where there is, None while it is compiled."""
    if RUNTIME.get(wait) is not None:
        return ""
    return RUNTIME.reason or None


def sequence(calls: Sequence[Callable[[], int]]) -> Callable[[], int]:
    """Calls as one: of `Function.bind` (kernels that can't fail), `products`, `move` and this."""
    runtime = RUNTIME.get(True)
    assert runtime is not None, "there are calls, so there is a runtime"
    return runtime.sequence(calls)
