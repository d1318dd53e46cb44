"""The checks of ci/image that run inside of an image: python ci/in_image.py CHECK.

facts     its user, and the places of installed files
kernels   native code is compiled once, kept in the volume, and loaded by the next process
nvrtc     without a GPU: CuPy is there, and its NVRTC compiles texts with CUDA's headers
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import CompilerStatus, compiler

CUDA = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void add(const __half* x, const __nv_bfloat16* y, float* z, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) z[i] = __half2float(x[i]) + __bfloat162float(y[i]);
}
"""


def facts() -> None:
    home = Path(tf.__path__[0])
    assert os.getuid() != 0, "the image runs as root"
    assert "site-packages" in home.parts, f"gpugraph is not installed: {home}"
    assert not os.access(home, os.W_OK), f"{home} can be written"
    assert not Path("/opt/pip").exists() or not list(Path("/opt/pip").iterdir()), "pip was left"
    secrets = Path("/run/secrets")
    left = [path for path in secrets.glob("*") if path.stat().st_size] if secrets.exists() else []
    assert not left, f"secrets of the build were left: {left}"
    print(f"user {os.getuid()}, Python {platform.python_version()}, NumPy {np.__version__},")
    print(f"gpugraph {tf.__version__} in {home}")


def run_a_kernel() -> CompilerStatus:
    x = tf.placeholder(tf.float32, [100_000])
    y = tf.tanh(2.0 * x + 1.0) * tf.sigmoid(x)
    fed = np.linspace(-3, 3, 100_000, dtype=np.float32)
    with tf.Session() as session:
        got = [session.run(y, {x: fed}) for _ in range(3)]
    np.testing.assert_allclose(got[2], np.tanh(2 * fed + 1) / (1 + np.exp(-fed)), rtol=1e-5)
    return compiler().status()


def kernels() -> None:
    os.environ["GPUGRAPH_NATIVE"] = "wait"
    mine = run_a_kernel()
    if not mine.path:
        print(f"no native code: {mine.reason}")
        return
    assert not mine.failed and not mine.cache_reason, mine
    assert Path(mine.folder).is_relative_to(os.environ["XDG_CACHE_HOME"]), mine
    again = [sys.executable, __file__, "loaded"]
    print(f"{mine.version}: {mine.compiled} compiled, {mine.loaded} loaded; the next process:")
    sys.stdout.flush()
    subprocess.run(again, check=True)


def loaded() -> None:
    theirs = run_a_kernel()
    assert theirs.loaded and not theirs.compiled, theirs
    print(f"0 compiled, {theirs.loaded} loaded from {theirs.folder}")


def nvrtc() -> None:
    import cupy  # noqa: PLC0415 - only the gpu image has it
    from cuda.pathfinder import find_nvidia_header_directory  # noqa: PLC0415
    from cupy.cuda import nvrtc as compiler_of_cuda  # noqa: PLC0415

    major, minor = compiler_of_cuda.getVersion()
    headers = find_nvidia_header_directory("cudart")
    sizes = []
    for arch in ("sm_75", "sm_80", "sm_90", "sm_120"):
        program = compiler_of_cuda.createProgram(CUDA, "add.cu", (), ())
        options = (f"--gpu-architecture={arch}", f"-I{headers}")
        try:
            compiler_of_cuda.compileProgram(program, options)
        except compiler_of_cuda.NVRTCError:
            raise SystemExit(compiler_of_cuda.getProgramLog(program)) from None
        sizes.append(f"{arch} {len(compiler_of_cuda.getCUBIN(program))}")
    print(f"CuPy {cupy.__version__}, NVRTC {major}.{minor}; bytes of a cubin: {', '.join(sizes)}")


CHECKS: dict[str, Callable[[], None]] = {
    check.__name__: check for check in (facts, kernels, loaded, nvrtc)
}

if __name__ == "__main__":
    CHECKS[sys.argv[1]]()
