"""The native kernel of complex Fourier transforms (host_fft.h), for sizes that are powers of 2."""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from gpugraph.base.dtypes import complex64
from gpugraph.kernel import RowSource, Signature

_SIZES = [2**power for power in range(3, 13)]
_FEW = 8
"""With fewer transforms at a time, most lanes of a vector are idle."""


def powers_of_two(inverse: bool, axes: int) -> RowSource:
    """Return the native kernel of a transform along the last `axes` axes."""

    def parameters(signature: Signature) -> list[int]:
        shape = signature.input_shapes[0]
        rank = len(shape)
        if signature.input_types[0].base_dtype is not complex64:
            raise NotImplementedError("native transforms are of complex64")
        sizes = shape[rank - axes :]
        if not all(size in _SIZES for size in sizes):
            raise NotImplementedError("a size is not a power of 2 between 8 and 4,096")
        described: list[int] = []
        for axis in range(rank - 1, rank - axes - 1, -1):
            outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
            if (inner if inner > 1 else outer) < _FEW:
                raise NotImplementedError("there are few transforms")
            described += [outer, shape[axis], inner]
        factors = [word for size in reversed(sizes) for word in _factors(size)]
        return [axes, int(inverse), *described, *factors]

    return RowSource("host_fft.h", "gg_fft", parameters, None, is_exact=False)


@lru_cache(maxsize=16)
def _factors(size: int) -> list[int]:
    """Return exp(-2 pi i k / size) for each k. The two parts of a number are float32, in one
    64-bit integer.
    """
    angles = np.arange(size) * (-2 * np.pi / size)
    parts = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    words: list[int] = parts.view(np.int64).reshape(-1).tolist()
    return words
