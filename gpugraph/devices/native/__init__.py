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

from gpugraph.devices.codegen.c_types import NOT_NATIVE, not_native
from gpugraph.devices.codegen.c_value_expressions import failure_of
from gpugraph.devices.codegen.program import Loop, NotNativeError, Program
from gpugraph.devices.codegen.program_builder import Fused, Fusion
from gpugraph.devices.native.background_compilation import Prepared, prepare, prepare_loops
from gpugraph.devices.native.compiled_functions import Function, LoopFunction, estimate
from gpugraph.devices.native.handwritten_kernels import SourceFile, prepare_source
from gpugraph.devices.native.native_runtime import RUNTIME
from gpugraph.devices.native.numpy_blas import blas_reason, blas_threads_reason, product, products
from gpugraph.devices.native.strided_copies import Axis, axes_of, move

__all__ = [
    "NOT_NATIVE",
    "Axis",
    "Function",
    "Fused",
    "Fusion",
    "Loop",
    "LoopFunction",
    "NotNativeError",
    "Prepared",
    "Program",
    "SourceFile",
    "axes_of",
    "blas_reason",
    "blas_threads_reason",
    "estimate",
    "failed_at",
    "failure_of",
    "move",
    "not_native",
    "prepare",
    "prepare_loops",
    "prepare_source",
    "product",
    "products",
    "runtime_reason",
    "sequence",
]


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
