"""Launches on copies of their arrays, so that AddressSanitizer detects accesses out of bounds.

Arrays of a GPU lie side by side in large regions, where a read beyond one of them is a read of
another. With GPUGRAPH_CUDA_SANITIZE=1 kernels are compiled for AddressSanitizer, and each array
that a launch declares is copied to memory from malloc before it, and back after it. ci/sanitize
runs tests in this way, with the sanitizer's library preloaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from gpugraph.config.environment import is_on
from gpugraph.devices.cuda.driver.driver_interface import Span

FLAGS: tuple[str, ...] = ("-fsanitize=address", "-g1")
"""Further flags of the C++ compiler."""


def is_sanitizing() -> bool:
    """Return whether GPUGRAPH_CUDA_SANITIZE is set."""
    return is_on("GPUGRAPH_CUDA_SANITIZE")


def on_copies(
    launch: Callable[[Sequence[int | float]], None],
    arguments: Sequence[int | float],
    pointers: Sequence[tuple[int, int]],
    reads: Sequence[Span],
    writes: Sequence[Span],
) -> None:
    """Call `launch` on copies of the memory of `reads` and `writes`, and copy it back.

    pointers: the indices and values of the arguments that may be addresses.
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
    """Merge overlapping spans."""
    joined: list[Span] = []
    for start, size in sorted({span for span in spans if span[1]}):
        if joined and start < sum(joined[-1]):
            before = joined.pop()
            start, size = before[0], max(sum(before), start + size) - before[0]
        joined.append((start, size))
    return joined
