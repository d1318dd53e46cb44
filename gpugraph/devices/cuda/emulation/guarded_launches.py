"""Guarded launches: kernels run on copies of their arrays, so that AddressSanitizer detects
out-of-bounds accesses.

The arrays of a GPU are adjacent in large regions, so a read beyond one array would be a valid read
of the next array. With GPUGRAPH_CUDA_SANITIZE=1, kernels are compiled for AddressSanitizer. Before
a launch, each array that it declares is copied to a separate block from malloc, and after the
launch it is copied back. ci/sanitize runs tests with this setting, and with the sanitizer's library
preloaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from gpugraph.config.environment import is_on
from gpugraph.devices.cuda.driver.driver_interface import Span

FLAGS: tuple[str, ...] = ("-fsanitize=address", "-g1")
"""Additional flags of the C++ compiler for AddressSanitizer."""


def is_sanitizing() -> bool:
    """Return whether GPUGRAPH_CUDA_SANITIZE is 1."""
    return is_on("GPUGRAPH_CUDA_SANITIZE")


def on_copies(
    launch: Callable[[Sequence[int | float]], None],
    arguments: Sequence[int | float],
    pointers: Sequence[tuple[int, int]],
    reads: Sequence[Span],
    writes: Sequence[Span],
) -> None:
    """Copy the memory of `reads` and `writes`, call `launch` with arguments that point to the
    copies, and copy everything back.

    Args:
      pointers: the index and the value of each argument that may be an address.
    """
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    library.free.argtypes = (ctypes.c_void_p,)
    moved = [(*span, library.malloc(span[1])) for span in _joined([*reads, *writes])]
    replaced = list(arguments)
    for index, address in pointers:
        for start, size, copy in moved:
            if start <= address < start + size:
                replaced[index] = copy + address - start
    try:
        for start, size, copy in moved:
            ctypes.memmove(copy, start, size)
        launch(replaced)
        for start, size, copy in moved:
            ctypes.memmove(start, copy, size)
    finally:
        for _, _, copy in moved:
            library.free(copy)


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return the spans sorted by address. Overlapping spans are merged, and empty spans are
    omitted.
    """
    joined: list[Span] = []
    for start, size in sorted({span for span in spans if span[1]}):
        if joined and start < sum(joined[-1]):
            before = joined.pop()
            start, size = before[0], max(sum(before), start + size) - before[0]
        joined.append((start, size))
    return joined
