"""emulated GPUs, for tests: devices, and programs run by their CUDA text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from gpugraph.base.dtypes import as_dtype
from gpugraph.devices import CudaDevice
from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler
from gpugraph.devices.cuda.emulation.host_driver import HostDriver
from gpugraph.devices.native import Fused

__all__ = ["gpu", "needs_cxx", "on_gpu", "run_program"]

needs_cxx = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)


def gpu(**how: Any) -> CudaDevice:
    """Return a GPU of 256 MiB, whose fresh memory holds NaNs."""
    return CudaDevice("/device:GPU:0", 0, HostDriver(fill=255, **how), 192 << 20)


def on_gpu(device: CudaDevice, value: Any) -> Any:
    """Return a value in the GPU's memory, for as long as the device lives."""
    value = np.asarray(value)
    block = device.allocate(value.shape, as_dtype(value.dtype), "a test")
    device.__dict__.setdefault("kept", []).append(block)
    device.write(block.array, value)
    return block.array


def run_program(fused: Fused, inputs: Sequence[Any], outputs: Sequence[Any], **how: Any) -> None:
    """Compute outputs (host arrays, written) of inputs."""
    with closing(gpu(**how)) as device:
        blocks: list[Any] = []

        def take(shape: tuple[int, ...], dtype: Any) -> Any:
            blocks.append(device.allocate(shape, dtype, "scratch"))
            return blocks[-1].array

        for value in (*inputs, *outputs):
            take(value.shape, as_dtype(value.dtype))
        given = [block.array for block in blocks]
        for array, value in zip(given, inputs):
            device.write(array, np.asarray(value))
        count = len(inputs)
        run = device.kernels.program(*fused, given[:count], given[count:], take, ("a test", None))
        run()
        for array, out in zip(given[count:], outputs):
            out[...] = device.read(array)
        for block in blocks:
            block.release()
