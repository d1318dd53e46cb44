"""The conditions of figures of a GPU: the GPU, its driver, the packages, and the commit.

    python benchmarks/gpu_machine.py [--emulated]

prints them; the exit status is 2, with the reason on stderr, where there is no GPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np

from gpugraph import __version__
from gpugraph.devices.cuda.detection.cupy_packages import find_cupy
from gpugraph.devices.cuda.detection.gpu_detection import detect
from gpugraph.devices.cuda.driver.cublaslt import load_cublaslt
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.driver.libcuda import LibCuda, version_text
from gpugraph.devices.cuda.driver.nvrtc import find_nvrtc

__all__ = ["machine", "sources"]

ROOT = Path(__file__).resolve().parents[1]


def machine(emulated: bool) -> dict[str, str]:
    """By name: the version of each component, or why it is missing."""
    return {
        "GPU": "emulated by the host's C++ compiler" if emulated else _gpu(),
        "driver": _driver(),
        "CuPy": _cupy(),
        "NVRTC": _nvrtc(),
        "cublasLt": _cublaslt(),
        "gpugraph": f"{__version__}, {_commit()}",
        "Python": f"{platform.python_version()}, NumPy {np.__version__}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def _gpu() -> str:
    gpus = [
        f"{gpu.name}, compute capability {gpu.capability_text}, {gpu.total_bytes >> 20} MiB"
        for gpu in detect().gpus
    ]
    return "; ".join(gpus) or f"none: {detect().reason}"


def _driver() -> str:
    try:
        serves = f"CUDA {version_text(LibCuda().version())}"
    except (OSError, DriverError) as error:
        return f"none ({error})"
    loaded = Path("/sys/module/nvidia/version")
    name = loaded.read_text().strip() if loaded.exists() else _nvidia_smi()
    return f"{name or 'of unknown version'}, serves {serves}"


def _nvidia_smi() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().partition("\n")[0]


def _cupy() -> str:
    cupy = find_cupy(None)
    return f"none: {cupy.reason}" if cupy.reason else f"{cupy.name} {cupy.version}"


def _nvrtc() -> str:
    nvrtc = find_nvrtc()
    return nvrtc.reason if nvrtc.nvrtc is None else ".".join(map(str, nvrtc.nvrtc.version))


def _cublaslt() -> str:
    """cuBLASLt of CuPy's CUDA version if it is installed, as gpugraph loads it."""
    versions = (12, 13) if find_cupy(None).cuda == 12 else (13, 12)
    try:
        ask = load_cublaslt(versions).cublasLtGetVersion
    except OSError as error:
        return f"none ({error})"
    ask.restype = ctypes.c_size_t
    number = int(ask())
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _commit() -> str:
    """Return the commit, where this is a checkout, and the digest of gpugraph's files."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        commit = done.stdout.strip()
    except OSError:
        commit = ""
    commit = commit or os.environ.get("GPUGRAPH_COMMIT", "")
    return f"commit {commit or 'unknown'}, sources {sources()}"


def sources() -> str:
    """Return the digest of gpugraph's files: copies of one commit have the same."""
    digest = hashlib.sha256()
    files = [*ROOT.glob("gpugraph/**/*.py"), *ROOT.glob("kernels/**/*.*")]
    for path in sorted(files, key=lambda path: path.relative_to(ROOT).as_posix()):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def main() -> None:
    emulated = "--emulated" in sys.argv[1:]
    for name, value in machine(emulated).items():
        print(f"{name:<10}{value}")
    reason = "" if emulated else detect().reason
    if reason:
        print(f"no GPU: {reason}", file=sys.stderr)
        raise SystemExit(2)


if __name__ == "__main__":
    main()
