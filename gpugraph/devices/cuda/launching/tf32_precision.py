"""TF32 precision: whether float32 matrix products on a GPU may round their operands to TF32."""

from __future__ import annotations

from gpugraph.config.environment import setting
from gpugraph.config.experimental import tensor_float_32_execution_enabled

_ARCH = 80
"""The compute capability, times 10, of the first GPUs whose tensor cores support TF32."""


def is_tf32(arch: str) -> bool:
    """Return whether float32 products are computed in TF32 on GPUs that have an architecture such
    as `sm_90`.

    A setting of the process determines whether TF32 is used (`tensor_float_32_execution_enabled`).
    CUDA's environment variable NVIDIA_TF32_OVERRIDE overrides the setting.
    """
    if int(arch.removeprefix("sm_")) < _ARCH:
        return False
    override = setting("NVIDIA_TF32_OVERRIDE")
    return override == "1" or (override != "0" and tensor_float_32_execution_enabled())
