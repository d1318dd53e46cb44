"""Where CUDA's libraries lie: NVIDIA's wheels, the toolkit that CUDA_HOME names, the system.

    nvidia/cublas/lib/libcublasLt.so.12      wheels for CUDA 12: a folder for each library
    nvidia/cu13/lib/libcublasLt.so.13        wheels for CUDA 13: one folder for all
    $CUDA_HOME/lib64, $CUDA_PATH/lib64       a toolkit
    libcublasLt.so.12                        what the system's loader finds

Of several CUDA versions the first that is asked for is taken wherever it lies, so that all
libraries of a process are of one version.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["load_library", "nvidia_wheels"]


def load_library(stem: str, folder: str, versions: Sequence[int]) -> ctypes.CDLL:
    """A CUDA library by its stem (`cublasLt`), the folder of its wheel for CUDA 12 (`cublas`), and
    the CUDA versions that will do, best first.

    OSError that says where it was looked for, and what the loader said of those found.
    """
    failures = []
    for version in versions:
        for path in _places(f"lib{stem}.so.{version}", folder, version):
            try:
                return ctypes.CDLL(path)
            except OSError as error:
                failures.append(str(error))
    wanted = " or ".join(map(str, versions))
    raise OSError(
        f"lib{stem} of CUDA {wanted} is neither in NVIDIA's wheels nor under CUDA_HOME, CUDA_PATH "
        f"or the system's libraries ({'; '.join(failures)})"
    )


def nvidia_wheels() -> list[Path]:
    """The folders that hold NVIDIA's wheels: `nvidia` in site-packages."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return []
    return [Path(each) for each in (spec.submodule_search_locations or ())] if spec else []


def _places(name: str, folder: str, version: int) -> Iterator[str]:
    for wheels in nvidia_wheels():
        yield from _there(wheels / f"cu{version}" / "lib" / name)
        yield from _there(wheels / folder / "lib" / name)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield from _there(Path(home, "lib64", name))
            yield from _there(Path(home, "lib", name))
    yield name


def _there(path: Path) -> Iterator[str]:
    if path.exists():
        yield str(path)
