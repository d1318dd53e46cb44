"""Type macros: the C macros with which the CUDA files of `kernels/` are compiled for different
dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpugraph.base.dtypes import DType
from gpugraph.devices.codegen.c_types import C_TYPES, CType, not_native
from gpugraph.devices.native import NotNativeError


def cuda_type(dtype: DType) -> CType:
    """Return the C types of a dtype in memory and for computation. Raises NotNativeError if kernels
    don't support the dtype.
    """
    base = dtype.base_dtype
    reason = not_native(base)
    if reason:
        raise NotNativeError(reason)
    return C_TYPES[base]


def type_macros(types: Mapping[str, DType], defines: Mapping[str, str | int]) -> str:
    """Return the beginning of a source: the common include of all files in `kernels/`, followed by
    macros for a launch's dtypes and constants. The include comes first, so that the macros do not
    replace names in the included file.
    """
    lines = ['#include "gpu_kernel.cuh"']
    for name, dtype in types.items():
        types_of = cuda_type(dtype)
        lines += [
            f"#define {name} {types_of.memory}",
            f"#define {name}_VALUE {types_of.value}",
            f"#define {name}_LOAD(x) {types_of.load.format('(x)')}",
            f"#define {name}_STORE(x) {types_of.store.format('(x)')}",
        ]
    lines += [f"#define {name} {value}" for name, value in defines.items()]
    return "".join(f"{line}\n" for line in lines)
