"""The probe: a small kernel that is compiled and run to check that a GPU works.

The kernel includes the header of generated kernels, which includes CUDA's own headers. So if an
installation lacks these headers, the probe fails and gives the reason. Without a probe, the first
operation of the user's program would fail.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator

from gpugraph.devices.cuda.driver.driver_interface import Driver, DriverError, Geometry

_SOURCE = """\
#include "gpu_kernel.cuh"
extern "C" __global__ void gpugraph_probe(long long *out, long long value, double factor) {
  out[threadIdx.x] = value * (long long)factor + (long long)threadIdx.x;
}
"""
_THREADS, _VALUE, _FACTOR = 32, 1234567890123, 2.0
_BYTES = 8 * _THREADS


def probe(driver: Driver) -> None:
    """Compile and run the kernel, and check its result. Raises DriverError if the compiler, the
    memory, the launch or the copy fails, or if the result is wrong.
    """
    module = driver.compile(_SOURCE, "gpugraph_probe")
    with _memory(driver) as (device, host):
        stream = driver.stream("probe")
        geometry = Geometry((1, 1, 1), (_THREADS, 1, 1))
        arguments = (device, _VALUE, _FACTOR)
        driver.launcher(module, "gpugraph_probe", geometry, arguments, stream)()
        driver.copy_out(host, device, _BYTES, stream)
        driver.synchronize(stream)
        answers = list((ctypes.c_int64 * _THREADS).from_address(host))
    expected = [_VALUE * int(_FACTOR) + thread for thread in range(_THREADS)]
    if answers != expected:
        raise DriverError(f"a kernel that should have answered {expected[:2]}... did {answers[:2]}")


@contextlib.contextmanager
def _memory(driver: Driver) -> Iterator[tuple[int, int]]:
    device = driver.malloc(_BYTES)
    if device is None:
        raise DriverError(f"there is no memory for {_BYTES} bytes: other processes use all of it")
    try:
        host = driver.malloc_host(_BYTES)
        if host is None:
            raise DriverError(f"there is no pinned host memory for {_BYTES} bytes")
        try:
            yield device, host.base
        finally:
            _free(driver.free_host, host.base)
    finally:
        _free(driver.free, device)


def _free(call: Callable[[int], None], address: int) -> None:
    """Free memory, and ignore a failure. A failure here follows an earlier fatal error, which is
    more informative.
    """
    with contextlib.suppress(DriverError):
        call(address)
