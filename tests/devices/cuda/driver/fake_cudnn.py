"""The fake libcudnn.so.9 (fake_cudnn.c), compiled for tests."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Any

from gpugraph.devices.cuda.driver.cudnn_numbers import NUMBERS

__all__ = ["FakeCudnn", "build"]

CUDA = """#pragma once
#include <stddef.h>
typedef struct CUstream_st *cudaStream_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef enum { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;
"""
SOURCE = Path(__file__).with_name("fake_cudnn.c")


def build(compiler: str, folder: Path) -> Path:
    """Compile the fake library into a folder, and return its path.

    GPUGRAPH_CUDNN_HEADERS, if set, is the folder of cuDNN's headers, against which it is compiled.
    """
    lines = [f"#define {name} {number}" for name, number in NUMBERS.items()]
    (folder / "cudnn_numbers.h").write_text("\n".join(lines) + "\n")
    path = folder / "libcudnn.so.9"
    command = [compiler, "-O1", "-shared", "-fPIC", "-w", f"-I{folder}", "-o", str(path)]
    if headers := os.environ.get("GPUGRAPH_CUDNN_HEADERS"):
        (folder / "cuda_runtime_api.h").write_text(CUDA)  # CUDA's own needs parts of its compiler
        (folder / "library_types.h").write_text("")
        command += ["-DREAL_HEADER", f"-I{headers}"]
    subprocess.run([*command, str(SOURCE)], check=True)
    return path


class FakeCudnn:
    """The library with its settings, and what it has noticed."""

    def __init__(self, path: Path) -> None:
        self.library: Any = ctypes.CDLL(str(path))
        self.error.value = b""
        self.set("fake_engines", 3)
        self.set("fake_unsupported", -1)
        self.set("fake_needs_handle", 1)
        self.set("fake_fails_at_create", 0)
        self.set("fake_executions", 0)
        self.engines([[4], [1], []], [0, 0, 1024])

    @property
    def error(self) -> Any:
        """The first broken rule."""
        return (ctypes.c_char * 300).in_dll(self.library, "fake_error")

    def get(self, name: str) -> int:
        """Return a counter."""
        return ctypes.c_int.in_dll(self.library, name).value

    def set(self, name: str, number: int) -> None:
        """Change a setting."""
        ctypes.c_int.in_dll(self.library, name).value = number

    def engines(self, notes: list[list[int]], workspaces: list[int]) -> None:
        """Define the engines that the heuristic proposes."""
        self.set("fake_engines", len(notes))
        rows = ((ctypes.c_int * 4) * 8).in_dll(self.library, "fake_notes")
        sizes = (ctypes.c_int64 * 8).in_dll(self.library, "fake_workspace")
        for index, (row, size) in enumerate(zip(notes, workspaces, strict=True)):
            rows[index][:] = [*row, *[-1] * (4 - len(row))]
            sizes[index] = size
