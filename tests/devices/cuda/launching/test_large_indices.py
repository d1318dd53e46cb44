"""Products of block, grid and thread numbers in kernels do not overflow 32 bits.

blockIdx, gridDim, blockDim and threadIdx are unsigned 32-bit numbers, and so are their products,
unless an operand is wider. No test can launch 2**27 blocks, so these read the sources.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpugraph.devices.cuda.launching.cuda_kernel_source import CudaSource
from gpugraph.devices.cuda.launching.joined_launches import JoinedSource
from gpugraph.devices.cuda.launching.online_totals import SourceVariant

from ...native_programs import SUM, Made

KERNELS = Path(__file__).resolve().parents[4] / "kernels" / "cuda"
CHANNELS = "const int channel = blockIdx.x * blockDim.x + threadIdx.x;"
"""The number of channels is an int, which that kernel's grid covers."""


def program(axes: list[int]) -> Any:
    """Return a program over two axes with a sum over `axes` of them, or without a sum."""
    builder = Made()
    x = builder.input(np.ones((6, 40), np.float32))
    builder.output(builder.apply("x * x", x))
    if axes:
        builder.output(builder.reduce(SUM, x, axes))
    return builder.finish()[0]


@pytest.mark.parametrize("axes", [[], [0], [1], [0, 1]])
@pytest.mark.parametrize("group", [1, 32, 256])
def test_generated_kernels_widen_block_numbers_before_they_multiply(
    axes: list[int], group: int
) -> None:
    source = CudaSource(program(axes), SourceVariant(group=group, wide=True)).source
    numbers = re.findall(r".{10}(?:blockIdx|gridDim)\.[xyz]", source)
    assert numbers and all(number.startswith("(gg_index)") for number in numbers)


def test_reductions_of_one_long_axis_widen_block_numbers() -> None:
    builder = Made()
    builder.output(builder.reduce(SUM, builder.input(np.ones(40, np.float32)), [0]))
    source = CudaSource(builder.finish()[0], SourceVariant(wide=True, whole=True)).source
    numbers = re.findall(r".{10}(?:blockIdx|gridDim)\.[xyz]", source)
    assert numbers and all(number.startswith("(gg_index)") for number in numbers)


def test_joined_kernels_receive_wide_block_numbers() -> None:
    source = JoinedSource(program([]), SourceVariant(wide=True), (0, 1, 2, 3, 4, 5, 6)).source
    assert "const gg_index block_, const gg_index blocks_" in source


@pytest.mark.parametrize("path", sorted(KERNELS.rglob("*.cu*")), ids=lambda path: path.name)
def test_kernels_widen_block_numbers_before_they_multiply(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL).replace(CHANNELS, "")
    narrow = r"(?<!\))\b(?:blockIdx|gridDim)\.[xyz] \* (?:blockDim|gridDim)"
    assert re.findall(narrow, text) == []
