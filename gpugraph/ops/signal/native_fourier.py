"""The native kernels of Fourier transforms (host_fft.h), for sizes that are powers of 2."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from gpugraph.base.dtypes import complex64
from gpugraph.kernel import RowSource, Signature
from gpugraph.ops.framework.kernel_helpers import ints

_SIZES = [2**power for power in range(3, 13)]
_LANES = 16
"""The largest number of float32 in a vector. Real rows are at least as long."""

_FEW = 8
"""With fewer transforms at a time, most lanes of a vector are idle."""


_FORWARD, _INVERSE, _REAL = range(3)
"""The kinds of transforms in host_fft.h."""


def complex_transform(inverse: bool, axes: int) -> RowSource:
    """Return the native kernel of a transform of complex numbers along the last `axes` axes."""

    def parameters(signature: Signature) -> list[int]:
        if signature.input_types[0].base_dtype is not complex64:
            raise NotImplementedError("native transforms are of complex64")
        kind = _INVERSE if inverse else _FORWARD
        shape = signature.input_shapes[0]
        return _described(shape, shape, axes, kind)

    return RowSource("host_fft.h", "gg_fft", parameters, None, is_exact=False)


def real_transform(axes: int) -> RowSource:
    """Return the native kernel of a transform of real numbers along the last `axes` axes."""

    def parameters(signature: Signature) -> list[int]:
        shape = signature.input_shapes[0]
        if signature.output_types[0].base_dtype is not complex64:
            raise NotImplementedError("native transforms are of complex64")
        whole = (*shape[: len(shape) - axes], *ints(signature.value(1)))
        if whole[:-1] != shape[:-1] or not shape[-1]:
            raise NotImplementedError("an axis before the last one is cut or padded")
        return _described(whole, signature.output_shapes[0], axes, _REAL, shape[-1])

    return RowSource("host_fft.h", "gg_fft", parameters, None, is_exact=False)


def _described(
    shape: Sequence[int], output_shape: Sequence[int], axes: int, kind: int, length: int = 0
) -> list[int]:
    """Return the parameters of a transform. Raises NotImplementedError if a size is not supported.

    Args:
      shape: the shape of the input, after it is cut or padded.
      length: the number of elements of a row of a real input.
    """
    rank = len(shape)
    is_short = kind == _REAL and shape[-1] < _LANES
    if is_short or not all(size in _SIZES for size in shape[rank - axes :]):
        raise NotImplementedError("a size is not a power of 2 between 8 and 4,096")
    described: list[int] = []
    factors: list[int] = []
    for axis in range(rank - 1, rank - axes - 1, -1):
        outer, inner = prod(shape[:axis]), prod(output_shape[axis + 1 :])
        fewest = 2 * _FEW if kind == _REAL and axis == rank - 1 else _FEW
        if (inner if inner > 1 else outer) < fewest:
            raise NotImplementedError("there are few transforms")
        described += [outer, shape[axis], inner]
        factors += _factors(shape[axis])
    return [axes, kind, length, *described, *factors]


@lru_cache(maxsize=16)
def _factors(size: int) -> list[int]:
    """Return exp(-2 pi i k / size) for each k. The real and imaginary parts of a number are
    float32, and together are one 64-bit integer.
    """
    angles = np.arange(size) * (-2 * np.pi / size)
    parts = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    words: list[int] = parts.view(np.int64).reshape(-1).tolist()
    return words
