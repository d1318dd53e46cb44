"""Fused kernels for the CPU: programs of elementwise and reduction texts as C functions.

    Fusion      told what is computed of which shapes; gives a program     fusion, program
    prepare     programs compiled in the background                        prepared
    Function    bound to arrays: a call of 50 ns and what it computes      function, runtime
    product     a matrix product by NumPy's BLAS, as such a call           blas
    sequence    calls, one after the other, as one                         here
    Loop        variables, a condition, next values: a whole while loop    loop_text

The text of a program is written by `schedule` (which pass computes what), `values` (single values),
`passes` (one loop) and `text` (the function).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpugraph.devices.native.blas import blas_reason, product
from gpugraph.devices.native.element_types import NOT_NATIVE, not_native
from gpugraph.devices.native.function import Function, LoopFunction, estimate
from gpugraph.devices.native.fusion import Fused, Fusion
from gpugraph.devices.native.prepared import Prepared, prepare, prepare_loops
from gpugraph.devices.native.program import Loop, NotNativeError, Program
from gpugraph.devices.native.runtime import RUNTIME

__all__ = [
    "NOT_NATIVE",
    "Function",
    "Fused",
    "Fusion",
    "Loop",
    "LoopFunction",
    "NotNativeError",
    "Prepared",
    "Program",
    "blas_reason",
    "estimate",
    "not_native",
    "prepare",
    "prepare_loops",
    "product",
    "sequence",
]


def sequence(calls: Sequence[Callable[[], int]]) -> Callable[[], int]:
    """What `Function.bind` (of kernels that can't fail), `product` and this returned, as one."""
    runtime = RUNTIME.get(True)
    assert runtime is not None, "there are calls, so there is a runtime"
    return runtime.sequence(calls)
