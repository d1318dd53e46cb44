"""Where TF32 is in force: the process's setting, CUDA's variable, and GPUs that have it."""

from __future__ import annotations

import pytest

from gpugraph.config.experimental import enable_tensor_float_32_execution
from gpugraph.devices.cuda.launching.tf32_precision import is_tf32


@pytest.mark.parametrize(
    ("override", "off", "on"), [("", False, True), ("0", False, False), ("1", True, True)]
)
def test_cudas_variable_has_the_last_word(
    override: str, off: bool, on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", override)
    try:
        for enabled, wanted in ((False, off), (True, on)):
            enable_tensor_float_32_execution(enabled)
            assert [is_tf32(arch) for arch in ("sm_80", "sm_90", "sm_120")] == [wanted] * 3
            assert not is_tf32("sm_75")
    finally:
        enable_tensor_float_32_execution(False)
