"""TF32: whether matrix products of float32 on a GPU may round to it."""

from __future__ import annotations

from gpugraph.config.environment import setting
from gpugraph.config.experimental import tensor_float_32_execution_enabled

_ARCH = 80
"""The architecture of the first GPUs whose tensor cores compute float32 as TF32."""


def is_tf32(arch: str) -> bool:
    """Return whether products are computed in TF32 on GPUs of an architecture (`sm_90`).

    The process has a setting, which CUDA's own environment variable overrides."""
    if int(arch.removeprefix("sm_")) < _ARCH:
        return False
    override = setting("NVIDIA_TF32_OVERRIDE")
    return override == "1" or (override != "0" and tensor_float_32_execution_enabled())
