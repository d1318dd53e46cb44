"""CUDA text on the host under AddressSanitizer: accesses out of bounds are found, and only they."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler, host_source

pytestmark = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)

TEXT = """
extern "C" __global__ void sums(const float* x, float* out, long long n, long long shift) {
  __shared__ float part[4];
  float sum = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  for (int m = 16; m; m >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, m);
  if ((threadIdx.x & 31) == 0) part[(threadIdx.x >> 5) + shift] = sum;
  __syncthreads();
  if (threadIdx.x == 0) *out = part[0] + part[1] + part[2] + part[3];
}
"""

PROGRAM = r"""
#include <cstdlib>
#include <vector>
int main(int count, char** arguments) {
  const long long n = atoll(arguments[1]), shift = atoll(arguments[2]), stack = 64 << 10;
  std::vector<char> stacks(stack * (gg_host::kMostThreads + 1)), message(gg_host::kMessage);
  float *x = new float[1000], *out = new float[1];
  for (int i = 0; i < 1000; i++) x[i] = 1;
  gg_host::Launch how{};
  for (int i = 0; i < 3; i++) how.grid[i] = how.block[i] = 1;
  how.block[0] = 128, how.grid[0] = 3;
  how.stacks = stacks.data(), how.stack_bytes = stack, how.message = message.data();
  const int64_t words[] = {int64_t(x), int64_t(out), n, shift};
  const int status = gg_launch_sums(&how, words);
  printf("status %d, sum %g, %s\n", status, *out, message.data());
  delete[] x;
  delete[] out;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sanitized")
    text, path = folder / "program.cpp", folder / "program"
    text.write_text(host_source(TEXT)[0] + PROGRAM, "utf-8")
    flags = ["-std=c++17", "-O1", "-g", "-w", "-fsanitize=address"]
    process = subprocess.run(
        [host_compiler().path, *flags, str(text), "-o", str(path)], capture_output=True, text=True
    )
    if process.returncode and "asan" in process.stderr:
        pytest.skip(f"no AddressSanitizer here: {process.stderr[:200]}")
    assert process.returncode == 0, process.stderr
    return path


def run(program: Path, *arguments: int) -> subprocess.CompletedProcess[str]:
    command = [str(program), *map(str, arguments)]
    no_addresses = shutil.which("setarch")  # some kernels' random addresses are too random for it
    if no_addresses:
        command = [no_addresses, "-R", *command]
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


def test_a_sound_kernel_has_no_faults(program: Path) -> None:
    done = run(program, 1000, 0)
    assert (done.returncode, done.stdout.strip()) == (0, "status 0, sum 1000,"), done.stderr


def test_reading_behind_an_array_is_found(program: Path) -> None:
    done = run(program, 1001, 0)
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr and "text.cu:5" in done.stderr


def test_writing_behind_shared_memory_is_found(program: Path) -> None:
    done = run(program, 1000, 1)
    assert done.returncode != 0
    assert "global-buffer-overflow" in done.stderr and "part" in done.stderr
