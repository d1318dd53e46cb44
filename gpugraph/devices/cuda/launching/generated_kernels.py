"""Generated kernels bound to arrays: geometry, scratch and arguments of a program's launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import NamedTuple

from gpugraph.base.dtypes import DType, bfloat16, float16, float32
from gpugraph.devices.cuda.driver.driver_interface import Geometry
from gpugraph.devices.cuda.launching.cuda_kernel_source import CudaSource, Form, Variant
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.native import NotNativeError, Program

THREADS = 256
"""Threads of a block, of all generated kernels."""

BLOCKS = 132 * 32
"""Blocks of elements at most: each thread then goes on with further ones."""

PARTS = 256
"""Parts at most that leave columns to be added up."""

LONG = 16384
"""Elements of an axis from which a reduction of it is cut into parts."""

NARROW = 16
"""Elements of a row up to which one thread has all of it."""

MOST_ARGUMENTS = 32764 // 8
"""Of a kernel: of 8 bytes each, of which there is room for so many in all."""

_HALF = (1 << 31) - (1 << 24)
"""Elements from which places need 64 bits."""


class Launch(NamedTuple):
    """One launch; `arrays` are those among its arguments that it may write."""

    function: str
    geometry: Geometry
    arguments: tuple[int, ...]


class Launches(NamedTuple):
    """A text and what is launched of it, in order.

    parts: what the text was made of, where it is one kernel whose blocks know of no others, so that
    launches may be joined (see `joined`).
    """

    text: str
    name: str
    launches: tuple[Launch, ...]
    parts: tuple[Program, Variant] | None


def chosen(program: Program, sizes: Sequence[int], arrays: Sequence[Array]) -> Variant:
    """The variant for these sizes and addresses."""
    total = prod(sizes)
    inner = sizes[-1] if sizes else 1
    wide = total >= _HALF
    if not program.reductions:
        return Variant(_pack(program, inner, arrays), THREADS, wide)
    if program.axes == 1 and not program.trailing() and inner > LONG:
        return Variant(1, THREADS, wide, True)
    if inner <= NARROW:
        return Variant(1, 1, wide)
    pack = _pack(program, inner, arrays)
    while inner % pack:
        pack //= 2
    return Variant(pack, 32 if inner <= 1024 * pack else THREADS, wide)


def _pack(program: Program, inner: int, arrays: Sequence[Array]) -> int:
    """How many elements a thread loads as one: 16 bytes of the largest, if all are aligned."""
    pack = min(8, 16 // max(int(array.dtype.itemsize) for array in arrays))
    while pack > 1 and program.axes > 1 and inner % pack:
        pack //= 2
    while pack > 1 and any(array.address % (pack * array.dtype.itemsize) for array in arrays):
        pack //= 2
    return pack


class _Shape(NamedTuple):
    """How the work of the first kernel is cut. sums: how many blocks leave sums of all."""

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
    failed: Callable[[str], int],
) -> Launches:
    """What computes a program. scratch: gives an address for so many elements of a dtype; failed:
    one where a kernel writes 1 when it meets what the given message says. NotNativeError for more
    arrays than a kernel takes."""
    arrays = [*inputs, *outputs]
    text = CudaSource(program, chosen(program, sizes, arrays))
    rows, inner = prod(sizes[:-1]), sizes[-1] if sizes else 1
    shape = _cut(text, rows, inner)
    lengths = {"columns": shape.parts * inner, "parts": shape.sums, "whole": shape.parts}
    own = [
        scratch(lengths[kind], _held(program.values[at].dtype)) for at, kind in text.scratch.items()
    ]
    addresses = [array.address for array in arrays] + own
    if text.values.can_fail:
        addresses.append(failed(text.values.failure))
    if len(addresses) + 4 + len(sizes) > MOST_ARGUMENTS:
        raise NotNativeError(f"{len(addresses)} arrays are more than a kernel takes")
    found = []
    for form in text.forms:
        geometry, rows_each = _geometry(form, shape, inner)
        numbers = (rows, inner, shape.parts, rows_each, *sizes[:-1])
        found.append(Launch(form.name, geometry, (*addresses, *numbers)))
    alone = len(found) == 1 and text.forms[0].kind in ("elements", "rows", "one")
    return Launches(
        text.source, text.name, tuple(found), (program, text.variant) if alone else None
    )


def _held(dtype: DType) -> DType:
    """What registers, and scratch, hold of a dtype."""
    return float32 if dtype in (float16, bfloat16) else dtype


def _cut(text: CudaSource, rows: int, inner: int) -> _Shape:
    """How the work is cut, by sizes alone: results don't depend on the GPU."""
    kind, block = text.forms[0].kind, (THREADS, 1, 1)
    if kind == "elements":
        packs = ceil(rows * inner / text.variant.pack)
        return _Shape((min(BLOCKS, max(1, ceil(packs / THREADS))), 1, 1), block, 1, rows, 1)
    if kind == "whole":
        each = THREADS * max(16, ceil(inner / (512 * THREADS)))
        parts = ceil(inner / each)
        return _Shape((parts, 1, 1), block, parts, each, parts)
    if kind == "columns":
        return _columns(rows, inner)
    if kind == "one":
        return _Shape((1, 1, 1), (1, 1, 1), 1, 1, 1)
    groups = THREADS // text.variant.group
    most = PARTS if "columns" in text.scratch.values() else 4 * PARTS
    each = max(1, ceil(rows / most)) if text.scratch else 1
    parts = ceil(rows / each)
    blocks = ceil(parts / groups)
    return _Shape((blocks, 1, 1), block, parts, each, blocks)


def _columns(rows: int, inner: int) -> _Shape:
    """Blocks of 32 columns (or as many as there are, up to a power of two), the rest rows."""
    width = 1
    while width < min(inner, 32):
        width *= 2
    height = THREADS // width
    across = ceil(inner / width)
    chunks = max(1, min(PARTS, ceil(1024 / across), ceil(rows / (4 * height))))
    each = ceil(rows / chunks)
    chunks = ceil(rows / each)
    return _Shape((across, chunks, 1), (width, height, 1), chunks, each, across * chunks)


def _geometry(form: Form, shape: _Shape, inner: int) -> tuple[Geometry, int]:
    """A kernel's geometry, and what it is given as `rows_each`."""
    if form.kind == "late":
        return Geometry((max(1, ceil(inner / THREADS)), 1, 1), (THREADS, 1, 1)), shape.sums
    if form.kind == "end":
        return Geometry((1, 1, 1), (THREADS, 1, 1)), shape.rows_each
    return Geometry(shape.grid, shape.block), shape.rows_each
