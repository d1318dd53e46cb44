"""Finds CUDA's libraries: in NVIDIA's wheels, the toolkit of CUDA_HOME, the system.

nvidia/cublas/lib/libcublasLt.so.12      wheels for CUDA 12: a folder for each library
nvidia/cu13/lib/libcublasLt.so.13        wheels for CUDA 13: one folder for all
$CUDA_PATH/lib64, $CUDA_HOME/lib64       a toolkit
libcublasLt.so.12                        by the system's loader
"""

from __future__ import annotations

import ctypes
import glob
import os
import sys
from collections.abc import Iterator, Sequence

from gpugraph.config.environment import setting

LIBRARY_FOLDERS = ("lib64", "lib", os.path.join("targets", "*", "lib"))
"""Patterns of folders below a root."""


def cuda_roots() -> Iterator[str]:
    """Yield folders that may hold lib/ and include/ of a CUDA version, the likeliest first."""
    for place in sys.path:
        yield from sorted(glob.glob(os.path.join(glob.escape(place), "nvidia", "*")), reverse=True)
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if folder := setting(variable):
            yield folder
    yield from sorted(glob.glob("/usr/local/cuda*"), reverse=True)


def load_library(stem: str, versions: Sequence[int]) -> ctypes.CDLL:
    """Load a CUDA library by its stem (`cublasLt`), of one of these CUDA versions, best first.

    OSError with the searched paths and the loader's errors.
    """
    failures = []
    for version in versions:
        for path in _places(f"lib{stem}.so.{version}"):
            try:
                return ctypes.CDLL(path)
            except OSError as error:
                failures.append(str(error))
    wanted = " or ".join(map(str, versions))
    raise OSError(
        f"lib{stem} of CUDA {wanted} is neither in NVIDIA's wheels nor under CUDA_PATH, CUDA_HOME "
        f"or the system's libraries ({'; '.join(failures)})"
    )


def _places(name: str) -> Iterator[str]:
    for root in cuda_roots():
        for folder in LIBRARY_FOLDERS:
            yield from sorted(glob.glob(os.path.join(glob.escape(root), folder, name)))
    yield name
