"""Launches of generated kernels: the geometry, scratch memory and arguments for launching a
program's CUDA source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import NamedTuple

from gpugraph.base.dtypes import DType, bfloat16, float16, float32
from gpugraph.devices.cuda.driver.driver_interface import Geometry
from gpugraph.devices.cuda.launching.cuda_kernel_source import CudaSource, Form
from gpugraph.devices.cuda.launching.online_totals import SourceVariant
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.native import NotNativeError, Program

THREADS = 256
"""The number of threads in a block of a generated kernel. A program without axes has a single
thread instead.
"""

BLOCKS = 132 * 32
"""The maximum number of blocks of an elementwise kernel. If there are more elements, each thread
computes several packs.
"""

PARTS = 256
"""The maximum number of parts into which rows are divided if each part stores a partial total of
each column.
"""

LONG = 16384
"""The length of an axis above which a reduction along it is divided among blocks."""

NARROW = 16
"""The maximum length of a row that a single thread reduces."""

MAX_ARGUMENTS = 32764 // 8
"""The maximum number of a kernel's arguments. Each argument has 8 bytes."""

_HALF = (1 << 31) - (1 << 24)
"""With at least this number of elements, offsets need 64 bits. The number includes a margin for the
last blocks.
"""


class GeneratedLaunch(NamedTuple):
    """One launch of a generated kernel: its name, geometry and arguments."""

    function: str
    geometry: Geometry
    arguments: tuple[int, ...]


class Launches(NamedTuple):
    """A CUDA source, a name for messages, and the launches of the source in order.

    Args:
      parts: the program and variant of the source if several launches of it may be joined (see
        `joined_launches`), otherwise None. They may be joined if the source has a single kernel
        with independent blocks.
    """

    text: str
    name: str
    launches: tuple[GeneratedLaunch, ...]
    parts: tuple[Program, SourceVariant] | None


def variant_for(program: Program, sizes: Sequence[int], arrays: Sequence[Array]) -> SourceVariant:
    """Return the variant of a program's source that suits these sizes and the alignment of these
    arrays.
    """
    total = prod(sizes)
    inner = sizes[-1] if sizes else 1
    wide = total >= _HALF
    if not program.reductions:
        return SourceVariant(_pack(program, inner, arrays), THREADS, wide)
    if program.axes == 1 and not program.trailing() and inner > LONG:
        return SourceVariant(1, THREADS, wide, True)
    if inner <= NARROW:
        return SourceVariant(1, 1, wide)
    pack = _pack(program, inner, arrays)
    while inner % pack:
        pack //= 2
    return SourceVariant(pack, 32 if inner <= 1024 * pack else THREADS, wide)


def _pack(program: Program, inner: int, arrays: Sequence[Array]) -> int:
    """Return the number of elements that a thread loads in one access. Together, these elements
    have 16 bytes in the largest dtype, or fewer if addresses or rows are not aligned to 16 bytes.
    """
    pack = min(8, 16 // max(int(array.dtype.itemsize) for array in arrays))
    while pack > 1 and program.axes > 1 and inner % pack:
        pack //= 2
    while pack > 1 and any(array.address % (pack * array.dtype.itemsize) for array in arrays):
        pack //= 2
    return pack


class _Shape(NamedTuple):
    """The division of the first kernel's rows or elements among blocks.

    Args:
      parts: the number of parts into which the rows (or the only axis) are divided. Each part has
        `rows_each` rows.
      sums: the number of blocks that store a partial result.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    parts: int
    rows_each: int
    sums: int


def launches(
    program: Program,
    sizes: Sequence[int],
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    scratch: Callable[[int, DType], int],
    error_flag: Callable[[str], int],
) -> Launches:
    """Return the launches of a program for these arrays.

    Raises NotNativeError if there are more arrays than a kernel can have parameters.

    Args:
      scratch: a function that allocates memory for a number of elements of a dtype and returns the
        address.
      error_flag: a function that receives a message and returns the address of its error flag.
    """
    arrays = [*inputs, *outputs]
    text = CudaSource(program, variant_for(program, sizes, arrays))
    rows, inner = prod(sizes[:-1]), sizes[-1] if sizes else 1
    shape = _divided(text, rows, inner)
    lengths = {"columns": shape.parts * inner, "parts": shape.sums, "whole": shape.parts}
    addresses = [array.address for array in arrays]
    for value, kind in text.scratch.items():
        addresses.append(scratch(lengths[kind], _register_type(program.values[value].dtype)))
    if text.values.can_fail:
        addresses.append(error_flag(text.values.failure))
    if len(addresses) + 4 + len(sizes) > MAX_ARGUMENTS:
        raise NotNativeError(f"{len(addresses)} arrays are more than a kernel takes")
    result = []
    for form in text.forms:
        geometry, rows_each = _geometry(form, shape, inner)
        numbers = (rows, inner, shape.parts, rows_each, *sizes[:-1])
        result.append(GeneratedLaunch(form.name, geometry, (*addresses, *numbers)))
    is_alone = len(result) == 1 and text.forms[0].kind in ("elements", "rows", "one")
    parts = (program, text.variant) if is_alone else None
    return Launches(text.source, text.name, tuple(result), parts)


def _register_type(dtype: DType) -> DType:
    """Return the dtype in which values of this dtype are computed, and stored in scratch memory."""
    return float32 if dtype in (float16, bfloat16) else dtype


def _divided(text: CudaSource, rows: int, inner: int) -> _Shape:
    """Return the division of the first kernel's work among blocks. It depends only on the sizes, so
    that results are the same on all GPUs.
    """
    kind, block = text.forms[0].kind, (THREADS, 1, 1)
    if kind == "elements":
        packs = ceil(rows * inner / text.variant.pack)
        return _Shape((min(BLOCKS, max(1, ceil(packs / THREADS))), 1, 1), block, 1, rows, 1)
    if kind == "whole":
        length = THREADS * max(16, ceil(inner / (512 * THREADS)))
        parts = ceil(inner / length)
        return _Shape((parts, 1, 1), block, parts, length, parts)
    if kind == "columns":
        return _columns(rows, inner // text.variant.pack)
    if kind == "one":
        return _Shape((1, 1, 1), (1, 1, 1), 1, 1, 1)
    groups = THREADS // text.variant.group
    most = PARTS if "columns" in text.scratch.values() else 4 * PARTS
    rows_each = max(1, ceil(rows / most)) if text.scratch else 1
    parts = ceil(rows / rows_each)
    blocks = ceil(parts / groups)
    return _Shape((blocks, 1, 1), block, parts, rows_each, blocks)


def _columns(rows: int, packs: int) -> _Shape:
    """Return the division of the rows, and of the packs of columns, among blocks. A block has 32
    packs, or fewer if a lower power of two covers all columns.
    """
    width = 1
    while width < min(packs, 32):
        width *= 2
    height = THREADS // width
    across = ceil(packs / width)
    chunks = max(1, min(PARTS, ceil(1024 / across), ceil(rows / (4 * height))))
    rows_each = ceil(rows / chunks)
    chunks = ceil(rows / rows_each)
    return _Shape((across, chunks, 1), (width, height, 1), chunks, rows_each, across * chunks)


def _geometry(form: Form, shape: _Shape, inner: int) -> tuple[Geometry, int]:
    """Return the geometry of a kernel, and the value of its argument `rows_each`."""
    if form.kind == "late":
        return Geometry((max(1, ceil(inner / THREADS)), 1, 1), (THREADS, 1, 1)), shape.sums
    if form.kind == "end":
        return Geometry((1, 1, 1), (THREADS, 1, 1)), shape.rows_each
    return Geometry(shape.grid, shape.block), shape.rows_each
