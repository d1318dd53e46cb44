"""Compiled kernels of batch normalization: CUDA launches and native kernels.

Sources: kernels/cuda/nn/batch_norm.cu, host_batch_norm.h.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, prod
from typing import NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType, float32, float64
from gpugraph.kernel import Arg, Call, Launch, RowSource, Scratch, Signature, Source
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.nn.windows.window_geometry import IMAGES
from gpugraph.ops.nn.windows.window_launches import place_type

_BLOCKS = 1056
_PARTS = 256
"""The maximum number of parts into which the sum of one channel is split."""


class _Work(NamedTuple):
    """The view of images as (outer, channels, inner), and the division of each channel's sum into
    parts.

    Args:
      last: whether channels are the last axis.
      width: the number of channels that one block sums.
      parts: the number of parts into which a sum is divided.
      per_part: the number of elements of each part.
    """

    signature: Signature
    outer: int
    channels: int
    inner: int
    last: bool
    width: int
    parts: int
    per_part: int
    dtype: DType
    """The dtype of the computation."""

    @property
    def total(self) -> int:
        """The number of elements of a channel."""
        return self.outer * self.inner

    @property
    def pack(self) -> int:
        """The number of elements that are loaded from memory at once."""
        size = self.channels if self.last else self.inner
        return 4 if size % 4 == 0 else 1

    @property
    def columns(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """The grid and block of the launch that computes the parts of each channel's sum."""
        grid = ceil(self.channels / self.width), self.parts, 1
        return grid, (self.width, THREADS // self.width, 1)

    @property
    def by_channel(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """The grid and block of the launch that adds the parts of each channel's sum."""
        return (self.channels, 1, 1), (1, THREADS, 1)

    @property
    def whole(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """The grid and block of a launch over all elements of the images."""
        return grid_of(self.total * self.channels // self.pack), (THREADS, 1, 1)

    def vector(self, name: str, times: int = 1) -> Scratch:
        """Return scratch memory `name` for `times` numbers per channel."""
        return Scratch(name, times * self.channels, self.dtype)

    def launch(
        self,
        function: str,
        shape: tuple[tuple[int, int, int], tuple[int, int, int]],
        *arguments: Arg | Scratch | int | float,
    ) -> Launch:
        """Return a launch of `function` with this grid and block, and the macros of
        batch_norm.cu.
        """
        types = self.signature.input_types
        images, vectors = types[0].base_dtype, types[2].base_dtype
        macros: dict[str, str | int] = {
            "GG_LAST": int(self.last),
            "GG_PACK": self.pack,
            "GG_TRAINING": int(bool(self.signature.attrs["is_training"])),
            "PLACE": place_type(self.total * self.channels),
        }
        dtypes = {"T": images, "U": vectors, "S": self.dtype}
        return Launch(function, *shape, arguments, dtypes, macros)


def _work(signature: Signature, index: int) -> _Work:
    """Return the `_Work` for the images, which are input `index` of the op."""
    if not prod(signature.input_shapes[index]):
        raise NotImplementedError("there are no images")
    shape, last = signature.input_shapes[index], IMAGES.channels_last(signature.attrs)
    channels = shape[3 if last else 1]
    outer = prod(shape[:3]) if last else shape[0]
    inner = 1 if last else prod(shape[2:])
    width = 32 if last else 1
    while width > 1 and width >= 2 * channels:
        width //= 2
    height, total = THREADS // width, outer * inner
    max_parts = max(1, min(_PARTS, ceil(_BLOCKS * width / channels), ceil(total / (8 * height))))
    per_part = ceil(total / max_parts)
    wide = float64 in (type.base_dtype for type in signature.input_types)
    dtype = float64 if wide else float32
    return _Work(
        signature, outer, channels, inner, last, width, ceil(total / per_part), per_part, dtype
    )  # fmt: skip


def _forward(signature: Signature) -> list[Launch]:
    """Return the launches of the forward kernel.

    Arguments 0 to 4 are x, scale, offset, mean and variance. Arguments 5 to 9 are y and the four
    outputs with one number per channel.
    """
    work, epsilon = _work(signature, 0), float(signature.attrs["epsilon"])
    factor, channels, inner = work.vector("factor"), work.channels, work.inner
    outputs = Arg(6), Arg(7), Arg(8), Arg(9)
    last = work.launch(
        "gg_normalize",
        work.whole,
        *(Arg(0), Arg(8), factor, Arg(2), Arg(5)),
        *(work.total * channels // work.pack, channels, inner),
    )
    if not signature.attrs["is_training"]:
        moments = (Arg(3), Arg(4), Arg(1), *outputs, factor, channels, epsilon)
        shape = grid_of(channels), (THREADS, 1, 1)
        return [work.launch("gg_norm_given", shape, *moments), last]
    if prod(signature.input_shapes[3]) or prod(signature.input_shapes[4]):
        raise NotImplementedError("mean and variance are given in training, which computes them")
    means, squares = work.vector("means", work.parts), work.vector("squares", work.parts)
    sizes = work.outer, channels, inner, work.per_part
    merged = work.parts, work.per_part, work.total, epsilon, channels
    return [
        work.launch("gg_norm_moments", work.columns, Arg(0), means, squares, *sizes),
        work.launch(
            "gg_norm_finish", work.by_channel, means, squares, Arg(1), *outputs, factor, *merged
        ),
        last,
    ]


def _backward(signature: Signature) -> list[Launch]:
    """Return the launches of the gradient.

    The inputs are dy, x, scale, mean and variance. FusedBatchNormGradV3 has a sixth input. The
    outputs are dx, dscale and doffset.
    """
    work, epsilon = _work(signature, 1), float(signature.attrs["epsilon"])
    out, channels, inner = len(signature.input_types), work.channels, work.inner
    slopes, products = work.vector("slopes", work.parts), work.vector("products", work.parts)
    factor, less, tilt = work.vector("factor"), work.vector("less"), work.vector("tilt")
    return [
        work.launch(
            "gg_norm_back_sums",
            work.columns,
            *(Arg(0), Arg(1), Arg(3), slopes, products),
            *(work.outer, channels, inner, work.per_part),
        ),
        work.launch(
            "gg_norm_back_finish",
            work.by_channel,
            *(slopes, products, Arg(2), Arg(4), Arg(out + 1), Arg(out + 2), factor, less, tilt),
            *(work.parts, work.total, epsilon, channels),
        ),
        work.launch(
            "gg_norm_back",
            work.whole,
            *(Arg(0), Arg(1), Arg(3), factor, less, tilt, Arg(out)),
            *(work.total * channels // work.pack, channels, inner),
        ),
    ]


def norm_gpu(host: Call) -> Source:
    """Return the CUDA kernel of batch normalization.

    Args:
      host: the NumPy kernel, which is the fallback.
    """
    return Source("batch_norm.cu", _forward, host, optional=[3, 4, 10])


def norm_back_gpu(host: Call, inputs: int) -> Source:
    """Return the CUDA kernel of the gradients for an op with `inputs` inputs.

    A sixth input is not read.
    """
    empty = [*range(5, inputs), inputs + 3, inputs + 4]
    return Source("batch_norm.cu", _backward, host, optional=empty)


def native(function: str, images: int, extra: Callable[[Signature], int]) -> RowSource:
    """Return the native kernel that calls `function` in host_batch_norm.h.

    Args:
      images: the index of the input that holds the images.
      extra: a function that returns the integer parameter that precedes epsilon.
    """

    def parameters(signature: Signature) -> list[int]:
        shape = signature.input_shapes[images]
        last = IMAGES.channels_last(signature.attrs)
        channels, pixels = shape[3 if last else 1], prod(shape[1:3] if last else shape[2:])
        if not prod(shape):
            raise NotImplementedError("there are no images")
        training = signature.attrs["is_training"]
        epsilon = int.from_bytes(np.float64(signature.attrs["epsilon"]).tobytes(), "little")
        return [shape[0], pixels, channels, int(last), int(training), extra(signature), epsilon]

    return RowSource(
        "host_batch_norm.h", function, parameters, images, takes_empty=True, is_exact=False
    )


def no_moments(signature: Signature) -> int:
    """Return 0. Raises NotImplementedError if the op is in training mode and has nonempty inputs
    mean or variance.

    In that case, the NumPy kernel runs instead, and raises the error.
    """
    elements = prod(signature.input_shapes[3]) + prod(signature.input_shapes[4])
    if signature.attrs["is_training"] and elements:
        raise NotImplementedError("mean and variance are not empty")
    return 0
