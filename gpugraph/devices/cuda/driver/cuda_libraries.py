"""Search for CUDA's libraries: first in NVIDIA's wheels, then in the toolkits of CUDA_PATH and
CUDA_HOME, then in the system.

    nvidia/cublas/lib/libcublasLt.so.12      in wheels for CUDA 12: a folder for each library
    nvidia/cu13/lib/libcublasLt.so.13        in wheels for CUDA 13: one folder for all libraries
    $CUDA_PATH/lib64, $CUDA_HOME/lib64       in a toolkit
    libcublasLt.so.12                        found by the system's loader
"""

from __future__ import annotations

import ctypes
import glob
import os
import sys
from collections.abc import Iterator, Sequence

from gpugraph.config.environment import setting

LIBRARY_FOLDERS = ("lib64", "lib", os.path.join("targets", "*", "lib"))
"""Patterns of the folders with libraries, below one of `cuda_roots`."""


def cuda_roots() -> Iterator[str]:
    """Yield folders that may contain lib/ and include/ of a CUDA version, the most likely folders
    first.
    """
    for place in sys.path:
        yield from sorted(glob.glob(os.path.join(glob.escape(place), "nvidia", "*")), reverse=True)
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if folder := setting(variable):
            yield folder
    yield from sorted(glob.glob("/usr/local/cuda*"), reverse=True)


def load_library(stem: str, versions: Sequence[int]) -> ctypes.CDLL:
    """Load the CUDA library whose name has this stem, such as `cublasLt`. Use the first of these
    major CUDA versions that is found.

    Raises OSError, with the loader's errors, if no version can be loaded.
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
