"""Checks of the emulation: races, orders of blocks, parts of huge grids, other arithmetic."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.devices.cuda.driver.driver_interface import Geometry
from gpugraph.devices.cuda.emulation.checked_arithmetic import check_flags
from gpugraph.devices.cuda.emulation.cxx_compiler import load

from ..gpus import needs_cxx

pytestmark = needs_cxx

ROOT = Path(__file__).resolve().parents[4]

ORDER = """
extern "C" __global__ void order(long long *out, long long *count) {
  if (threadIdx.x == 0) out[(*count)++] = blockIdx.x;
}
"""
PLACE = """
extern "C" __global__ void place(long long *out, long long first) {
  const long long block = blockIdx.x + (long long)blockIdx.y * gridDim.x;
  out[block - first] = block * blockDim.x;
}
"""
RACES = """
#define KERNEL(name, ...) extern "C" __global__ void name(int *x) { __shared__ int s[64]; \\
  const int t = threadIdx.x; __VA_ARGS__ }
KERNEL(missing_barrier, s[t] = t; x[blockIdx.x * 64 + t] = s[63 - t];)
KERNEL(with_barrier, s[t] = t; __syncthreads(); x[blockIdx.x * 64 + t] = s[63 - t];)
KERNEL(within_a_warp, s[t] = t; __syncwarp(); x[blockIdx.x * 64 + t] = s[t ^ 1];)
KERNEL(across_warps, s[t] = t; __syncwarp(); x[blockIdx.x * 64 + t] = s[t ^ 32];)
KERNEL(overwritten, s[t] = t; __syncthreads(); s[t] = s[63 - t]; x[blockIdx.x * 64 + t] = s[t];)
KERNEL(one_place_of_all_blocks, x[t] = blockIdx.x;)
KERNEL(atomics, atomicAdd(x, 1);)
KERNEL(only_reads, x[blockIdx.x * 64 + t] = 1 + (t > 99 ? x[300] : 0) + s[0] * 0;)
KERNEL(all_bytes, for (int i = blockIdx.x * 64 + t; i < 1 << 20; i += 192) x[i] = i;)
"""
PROGRAM = """
import re
import sys
import numpy as np
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Geometry
from gpugraph.devices.cuda.emulation.cxx_compiler import load
module = load(sys.argv[1], "races")
for name in module.kernels:
    x = np.zeros(1 << 20 if name == "all_bytes" else 1024, np.int32)
    span = (x.ctypes.data, x.nbytes)
    try:
        module.launch(name, Geometry((3, 1, 1), (64, 1, 1)), [x.ctypes.data], watched=[span])
        print(name, "fine")
    except DriverError as error:
        print(name, "race" if "a race" in str(error) else error)
most = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print("memory", "bounded" if most < 400_000 else most)
"""
NOISE = """
import numpy as np, sys
from gpugraph.devices.cuda.driver.driver_interface import Geometry
from gpugraph.devices.cuda.emulation.cxx_compiler import load
text = '''
#include "gpu_kernel.cuh"
extern "C" __global__ void f(float *x) {
  const int i = threadIdx.x;
  const float a = x[i];
  x[i] = i < 128 ? tanh(a) : a * a + -1.0f;
}'''
x = np.linspace(0.1, 2, 256, dtype=np.float32)
load(text, "noise").launch("f", Geometry((1, 1, 1), (256, 1, 1)), [x.ctypes.data])
sys.stdout.buffer.write(x.tobytes())
"""


def run(program: str, checks: str, *arguments: str) -> bytes:
    settings = os.environ | {"GPUGRAPH_CUDA_CHECKS": checks, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=settings, capture_output=True, check=True).stdout


def test_races_are_errors_and_barriers_order() -> None:
    lines = dict(line.split() for line in run(PROGRAM, "races", RACES).decode().splitlines())
    assert lines == {
        "missing_barrier": "race",
        "with_barrier": "fine",
        "within_a_warp": "fine",
        "across_warps": "race",
        "overwritten": "race",
        "one_place_of_all_blocks": "race",
        "atomics": "fine",
        "only_reads": "fine",
        "all_bytes": "fine",
        "memory": "bounded",
    }


@pytest.mark.parametrize("count", [1, 2, 7, 64, 1000])
def test_blocks_run_in_a_random_order_each_once(count: int) -> None:
    orders = []
    for seed in (0, 1, 5, 12345):
        out, number = np.zeros(count, np.int64), np.zeros(1, np.int64)
        arguments = [out.ctypes.data, number.ctypes.data]
        load(ORDER, "order").launch(
            "order", Geometry((count, 1, 1), (8, 1, 1)), arguments, backwards=seed
        )
        assert sorted(out) == list(range(count))
        orders.append(out.tolist())
    assert orders[0] == list(range(count)) and orders[1] == orders[0][::-1]
    assert count < 7 or len({tuple(order) for order in orders}) == 4


@pytest.mark.parametrize("first", [0, 2**31 - 4, 2**31 + 3, 2**31 * 1000])
def test_a_few_blocks_of_a_huge_grid(first: int) -> None:
    out = np.zeros(3, np.int64)
    geometry = Geometry((2**31 - 1, 65535, 1), (256, 1, 1))
    arguments = [out.ctypes.data, first]
    load(PLACE, "place").launch("place", geometry, arguments, blocks=(first, 3))
    assert out.tolist() == [256 * (first + at) for at in range(3)]


def test_noise_and_contraction_change_results_a_little() -> None:
    plain, noisy, contracted = (
        np.frombuffer(run(NOISE, checks), np.float32) for checks in ("", "noise", "contraction")
    )
    ulps = np.abs(plain.view(np.int32) - noisy.view(np.int32))
    assert 1 <= ulps[:128].max() <= 3 and (ulps[128:] == 0).all()
    assert (contracted[:128] == plain[:128]).all() and (contracted[128:] != plain[128:]).any()
    np.testing.assert_allclose(contracted[128:], plain[128:], 1e-5, 1e-6)


def test_unknown_checks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_CUDA_CHECKS", "races,typo")
    with pytest.raises(InvalidArgumentError, match="has typo; possible are races"):
        check_flags()
