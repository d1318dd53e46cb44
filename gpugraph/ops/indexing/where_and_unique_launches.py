"""Launches of the kernels in where_nonzero.cu and unique.cu, which select elements in order.

The number of selected elements is known only after a first kernel has counted them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, prod
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import COMPLEX, REAL, DType
from gpugraph.kernel import SIZES, Arg, Call, Launch, Scratch, Signature, Sized
from gpugraph.ops.framework.cuda_grids import THREADS, Arguments, grid_of
from gpugraph.ops.indexing.sort_launches import element_order, order_defines

_TILE = 4096
_BLOCK = (THREADS, 1, 1)
_TOTAL = Scratch(SIZES, 1, dtypes.int64)

Shapes = list[tuple[int, ...]]


def _count_launches(
    function: str,
    arguments: Arguments,
    count: int,
    options: Mapping[str, Any],
    name: str = "starts",
) -> tuple[list[Launch], Scratch]:
    """Return launches that count the selected elements in each tile of `count` elements, and a
    scratch array with each tile's offset.

    A tile consists of the elements of one thread block. Its offset is the number of selected
    elements before it.
    """
    tiles = ceil(count / _TILE)
    starts = Scratch(name, tiles, dtypes.int64)
    return [
        _by_tile(function, (*arguments, starts, count), count, options),
        Launch("gg_tile_starts", (1, 1, 1), (1024, 1, 1), (starts, _TOTAL, tiles), **options),
    ], starts


def _by_tile(function: str, arguments: Arguments, count: int, options: Mapping[str, Any]) -> Launch:
    """Return a launch of `function` with one thread block per tile of `count` elements."""
    return Launch(function, (ceil(count / _TILE), 1, 1), _BLOCK, arguments, **options)


# -- where


def _where_options(dtype: DType) -> dict[str, Any]:
    base = dtype.base_dtype
    parts = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}
    return {
        "types": {"ELEMENT": parts.get(base, base)},
        "defines": {"PARTS": 2 if base in parts else 1},
    }


def _count_where(signature: Signature) -> list[Launch]:
    sizes = signature.input_shapes[0]
    if len(sizes) > 8:
        raise NotImplementedError(f"positions have {len(sizes)} coordinates, more than 8")
    count = prod(sizes)
    if not count:
        return []
    options = _where_options(signature.input_types[0])
    return _count_launches("gg_where_counts", (Arg(0),), count, options)[0]


def _shape_where(signature: Signature, numbers: Sequence[int]) -> Shapes:
    return [(sum(numbers), len(signature.input_shapes[0]))]


def _fill_where(signature: Signature, numbers: Sequence[int]) -> list[Launch]:
    sizes = signature.input_shapes[0]
    if not sum(numbers) or not sizes:
        return []
    options, count = _where_options(signature.input_types[0]), prod(sizes)
    starts = Scratch("starts", ceil(count / _TILE), dtypes.int64)
    padded = [*sizes, *(1,) * (8 - len(sizes))]
    arguments: Arguments = (Arg(0), starts, Arg(1), count, len(sizes), *padded)
    return [_by_tile("gg_where", arguments, count, options)]


def where_nonzero_elements(host: Call) -> Sized:
    """Return the CUDA kernel that finds the coordinates of the elements that are not 0.

    Args:
      host: the NumPy kernel, which is the fallback.
    """
    types = (*REAL, *COMPLEX, dtypes.bool)
    return Sized("where_nonzero.cu", _count_where, _shape_where, _fill_where, host, types)


# -- unique


def _count_unique(signature: Signature) -> list[Launch]:
    (count,) = signature.input_shapes[0]
    if not count:
        return []
    launches, keys, order = element_order(Arg(0), count, signature.input_types[0])
    options, (run, first, begins) = _unique_options(signature), _runs(count)
    heads, starts = _count_launches("gg_head_counts", (keys,), count, options)
    runs = (keys, order, starts, run, first, begins, count)
    launches += [*heads, _by_tile("gg_unique_runs", runs, count, options)]
    firsts, _ = _count_launches("gg_first_counts", (run, first), count, options, "firsts")
    return [*launches, *firsts]


def _runs(count: int) -> tuple[Scratch, Scratch, Scratch]:
    """Return three scratch arrays. In sorted order, a sequence of equal elements is called a run
    here. The first array holds, for each element, the index of its run. The second array holds the
    index in the input of each run's first element. The third array holds the start of each run in
    sorted order.
    """
    names = "runs", "first", "begins"
    run, first, begins = (Scratch(name, count, dtypes.int32) for name in names)
    return run, first, begins


def _unique_options(signature: Signature) -> dict[str, Any]:
    dtype = signature.input_types[0]
    index = signature.output_types[1]
    defines = {**order_defines(dtype), "INDEX": f"int{8 * index.size}_t"}
    return {"defines": defines, "file": "unique.cu"}


def _shapes_unique(signature: Signature, numbers: Sequence[int]) -> Shapes:
    runs = (sum(numbers),)
    return [runs, signature.input_shapes[0], runs][: len(signature.output_types)]


def _fill_unique(signature: Signature, numbers: Sequence[int]) -> list[Launch]:
    (count,) = signature.input_shapes[0]
    if not count:
        return []
    (total,), options = numbers, _unique_options(signature)
    run, first, begins = _runs(count)
    ranks = Scratch("ranks", total, dtypes.int32)
    starts = Scratch("firsts", ceil(count / _TILE), dtypes.int64)
    ranked = (Arg(0), run, first, starts, ranks, Arg(1), count)
    index = (run, ranks, Arg(2), count)
    launches = [
        _by_tile("gg_unique_ranks", ranked, count, options),
        Launch("gg_unique_index", grid_of(count), _BLOCK, index, **options),
    ]
    if len(signature.output_types) > 2:
        sizes = (begins, ranks, Arg(3), count, total)
        launches.append(Launch("gg_unique_sizes", grid_of(total), _BLOCK, sizes, **options))
    return launches


def unique_elements(host: Call) -> Sized:
    """Return the CUDA kernel that finds the distinct elements in order of appearance.

    The kernel also returns the index of each element among the distinct elements. If the op has a
    third output, the kernel also returns their counts.

    Args:
      host: the NumPy kernel, which is the fallback.
    """
    types = (*REAL, dtypes.bool)
    return Sized("unique.cu", _count_unique, _shapes_unique, _fill_unique, host, types)
