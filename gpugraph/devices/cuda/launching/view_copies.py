"""Copies between views of GPU arrays, through memory copies or the kernels of
`kernels/cuda/arrays/strided_copy.cu`.

Ops declare copies as views of NumPy arrays (`ViewCopies`). For a GPU, these are views of stand-ins,
which are host arrays with the shapes of the GPU arrays. The memory of a stand-in is never accessed,
so the system allocates none, and a stand-in may be larger than the host's memory. The position of a
view in its stand-in determines its GPU address.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Sequence
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.devices.cuda.driver.driver_interface import Geometry, Span
from gpugraph.devices.cuda.launching.unbound_launch import Work, number_words
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.native import CopyAxis, NotNativeError, axes_of

THREADS = 256
BLOCKS = 132 * 32
MAX_AXES = 8
MAX_OUTER_BLOCKS = 65535
"""The maximum number of blocks along the second and third axis of a grid, by CUDA."""
_MAX_PLAIN_BYTES = 1 << 26
_MAP_NORESERVE = 0x4000
"""Linux's flag for reserved addresses that do not count as memory in use. Python defines it only
from 3.13 on.
"""
_ITEMS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "uint4"}


class Copy(NamedTuple):
    """A copy of contiguous bytes between two GPU addresses. It needs no kernel."""

    target: int
    source: int
    num_bytes: int


class StandIns:
    """Host arrays that represent GPU arrays when views are computed. If GPU arrays have equal
    addresses, their stand-ins share memory.
    """

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._memory: dict[int, tuple[int, Any]] = {}  # by GPU address: size and host memory
        for array in arrays:
            count, _ = self._memory.get(array.address, (-1, None))
            if array.nbytes > count:
                memory = _address_range(max(array.nbytes, 1))
                self._memory[array.address] = array.nbytes, memory
        self.arrays: list[Any] = [
            np.ndarray(array.shape, array.dtype, self._memory[array.address][1]) for array in arrays
        ]
        self._bases = sorted(
            (memory.ctypes.data, count, address)
            for address, (count, memory) in self._memory.items()
        )

    def address(self, host_address: int) -> int | None:
        """Return the GPU address that corresponds to an address in a stand-in, or None if the
        address is in no stand-in.
        """
        index = bisect_right(self._bases, host_address, key=lambda base: base[0]) - 1
        if index < 0:
            return None
        start, count, address = self._bases[index]
        offset = host_address - start
        return address + offset if offset < max(count, 1) else None

    def of(self, view: Any) -> int | None:
        """Return the GPU address of a view, or None if it is not a view of a stand-in."""
        return self.address(view.__array_interface__["data"][0])


def _address_range(num_bytes: int) -> Any:
    """Return an array of bytes whose addresses are reserved, but which has no memory. Raises
    NotNativeError if the system can't reserve the addresses.
    """
    if num_bytes < _MAX_PLAIN_BYTES:
        return np.empty(num_bytes, np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    try:
        return np.frombuffer(mmap.mmap(-1, num_bytes, flags), np.uint8)
    except (OSError, ValueError) as error:
        raise NotNativeError(f"the host can't reserve {num_bytes} addresses: {error}") from error


def copies(stand_ins: StandIns, source: Any, target: Any) -> list[Copy | Work]:
    """Return the commands that copy `source`, a view of a stand-in or a number, to `target`, a view
    of a stand-in.

    If there is nothing to copy, or source and target are the same, return an empty list. Raises
    NotNativeError if no kernel supports the copy.
    """
    if not target.size:
        return []
    if not isinstance(source, np.ndarray) or stand_ins.of(source) is None:
        value = np.asarray(source, target.dtype)
        if value.size != 1:
            raise NotNativeError("a copy of an array of the host's")
        return [_fill(stand_ins, value, target)]
    if source.dtype != target.dtype:
        raise NotNativeError(f"a copy of {source.dtype} to {target.dtype}")
    axes, source_start, target_start = axes_of(source, target)
    starts = stand_ins.address(source_start), stand_ins.address(target_start)
    if starts[0] is None or starts[1] is None:
        raise NotNativeError("a copy of an array of the host's")
    if starts[0] == starts[1] and all(axis.source == axis.target for axis in axes):
        return []
    item = target.itemsize
    touched = _span(axes, starts[0], item, "source"), _span(axes, starts[1], item, "target")
    axes, item = _widened(axes, item, (starts[0], starts[1]))
    if not axes or (len(axes) == 1 and axes[0].source == axes[0].target == item):
        return [Copy(starts[1], starts[0], item * prod(axis.size for axis in axes))]
    _check(axes, item)
    return [_transposed(axes, item, starts, touched) or _strided(axes, item, starts, touched)]


def _span(axes: Sequence[CopyAxis], start: int, item: int, which: str) -> Span:
    """Return the lowest address of a view, and the number of bytes from there to the end of the
    view.
    """
    low = high = start
    for axis in axes:
        reach = getattr(axis, which) * (axis.size - 1)
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + item - low


def _widened(
    axes: list[CopyAxis], item: int, starts: tuple[int, int]
) -> tuple[list[CopyAxis], int]:
    """Combine pairs of elements that are adjacent in both views into elements of twice the size, as
    long as the larger elements have at most 16 bytes.
    """
    while item < 16 and axes:
        last, twice = axes[-1], 2 * item
        others = [step for axis in axes[:-1] for step in (axis.source, axis.target)]
        if (last.source, last.target) != (item, item) or last.size % 2:
            break
        if any(number % twice for number in (*others, *starts)):
            break
        axes = [*axes[:-1], CopyAxis(last.size // 2, twice, twice)]
        item = twice
        if axes[-1].size == 1:
            axes = axes[:-1]
            break
    return axes, item


def _check(axes: Sequence[CopyAxis], item: int) -> None:
    if item not in _ITEMS:
        raise NotNativeError(f"elements of {item} bytes")
    if len(axes) > MAX_AXES:
        raise NotNativeError(f"a copy over {len(axes)} axes; {MAX_AXES} are possible")
    if any(step % item for axis in axes for step in (axis.source, axis.target)):
        raise NotNativeError("strides that are no multiples of an element")


def _transposed(
    axes: Sequence[CopyAxis], item: int, starts: Sequence[Any], touched: tuple[Span, Span]
) -> Work | None:
    """Return a launch that computes the copy as a transpose in tiles.

    A transpose is worthwhile if an axis of the source is contiguous, and if elements that are
    adjacent in the target are not adjacent in the source. In all other cases, return None.
    """
    outside, last = list(axes[:-1]), axes[-1]
    if last.target != item or last.source == item or last.size < 8:
        return None
    rows = [axis for axis in outside if axis.source == item and axis.size >= 8]
    if not rows or last.source == 0:
        return None
    outside.remove(rows[0])
    if len(outside) > 2 or prod(axis.size for axis in outside) > MAX_OUTER_BLOCKS:
        return None
    if ceil(last.size / 32) > MAX_OUTER_BLOCKS:
        return None
    one, other = [*[CopyAxis(1, 0, 0)] * (2 - len(outside)), *outside]
    numbers = [rows[0].size, last.size, last.source // item, rows[0].target // item, other.size]
    strides = (one.source, one.target, other.source, other.target)
    arguments = (*starts, *numbers, *(stride // item for stride in strides))
    grid = ceil(rows[0].size / 32), ceil(last.size / 32), one.size * other.size
    geometry = Geometry(grid, (32, 8, 1))
    return Work(_source(item, 1), "gg_turn", geometry, arguments, touched[:1], touched[1:])


def _strided(
    axes: Sequence[CopyAxis], item: int, starts: Sequence[Any], touched: tuple[Span, Span]
) -> Work:
    numbers = [prod(axis.size for axis in axes)]
    for axis in _padded(axes):
        numbers += [axis.size, axis.source // item, axis.target // item]
    source, geometry = _source(item, len(axes)), _geometry(numbers[0])
    return Work(source, "gg_copy", geometry, (*starts, *numbers), touched[:1], touched[1:])


def _fill(stand_ins: StandIns, value: Any, target: Any) -> Work:
    axes, _, host_address = axes_of(value, target)
    start, item = stand_ins.address(host_address), target.itemsize
    if start is None:
        raise NotNativeError("a fill of an array of the host's")
    _check(axes, item)
    numbers = [*number_words(value, target.dtype), prod(axis.size for axis in axes)]
    for axis in _padded(axes):
        numbers += [axis.size, axis.target // item]
    source, geometry = _source(item, max(len(axes), 1)), _geometry(numbers[2])
    span = _span(axes, start, item, "target")
    return Work(source, "gg_fill", geometry, (start, *numbers), (), (span,))


def _padded(axes: Sequence[CopyAxis]) -> list[CopyAxis]:
    """Add axes of size 1, until there are as many axes as the kernels' parameters have."""
    return [*axes, *[CopyAxis(1, 0, 0)] * (MAX_AXES - len(axes))]


def _geometry(count: int) -> Geometry:
    return Geometry((min(BLOCKS, max(1, ceil(count / THREADS))), 1, 1), (THREADS, 1, 1))


def _source(item: int, rank: int) -> str:
    return f'#define ITEM {_ITEMS[item]}\n#define GG_RANK {rank}\n#include "strided_copy.cu"\n'
