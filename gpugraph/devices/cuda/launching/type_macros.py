"""Element types in CUDA text: the macros by which files of `kernels/` are of any dtype."""

from __future__ import annotations

from collections.abc import Mapping

from gpugraph.base.dtypes import DType
from gpugraph.devices.codegen.c_types import C_TYPES, CType, not_native
from gpugraph.devices.native import NotNativeError


def cuda_type(dtype: DType) -> CType:
    """How a dtype lies in memory and what it is computed with. NotNativeError where it has none."""
    base = dtype.base_dtype
    reason = not_native(base, gpu=True)
    if reason:
        raise NotNativeError(reason)
    return C_TYPES[base]


def type_macros(types: Mapping[str, DType], defines: Mapping[str, str | int]) -> str:
    """The head of a text of `kernels/`: lines that define them, as `kernel.Launch` says, behind
    what all files include (which has names of its own that are short)."""
    lines = ['#include "gpu_kernel.cuh"']
    for name, dtype in types.items():
        made = cuda_type(dtype)
        lines += [
            f"#define {name} {made.memory}",
            f"#define {name}_VALUE {made.value}",
            f"#define {name}_LOAD(x) {made.load.format('(x)')}",
            f"#define {name}_STORE(x) {made.store.format('(x)')}",
        ]
    lines += [f"#define {name} {value}" for name, value in defines.items()]
    return "".join(f"{line}\n" for line in lines)
