"""Launches of the CUDA kernels of pooling (kernels/cuda/nn/pooling.cu)."""

from __future__ import annotations

import numpy as np

from gpugraph.base.dtypes import DType, int32, uint8
from gpugraph.kernel import Arg, Launch, Scratch, Signature
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.nn.windows.window_geometry import Layout
from gpugraph.ops.nn.windows.window_launches import WindowBatch, geometry_of

Arguments = tuple[Arg | Scratch, ...]


def _lowest(is_volume: bool, dtype: DType) -> str:
    """Return the C expression for the initial value of a search for the maximum."""
    if dtype.is_floating:
        return "-INFINITY" if is_volume else f"(T_VALUE)({float(dtype.min)!r})"
    low = int(np.iinfo(dtype.as_numpy_dtype).min)
    return f"(T_VALUE)({low + 1}ll - 1)" if low else "0"


def _number(work: WindowBatch) -> DType:
    """Return the dtype for the index of an element in its window. It also has room for one more
    value, which means "no element".
    """
    return uint8 if work.window < 255 else int32


def _launch(
    function: str, work: WindowBatch, pixels: int, arguments: Arguments, dtype: DType
) -> Launch:
    """Return a launch of `function` over all pixels and channels.

    Args:
      pixels: the number of pixels of the images, or of the results.
    """
    pack = work.pack()
    count = pixels * work.channels // pack
    macros = {
        **work.macros(),
        "GG_PACK": pack,
        "GG_NUMBER": f"{_number(work).name}_t",
        "GG_LOWEST": _lowest(work.volume, dtype),
    }
    numbers = (*arguments, count, work.channels, *work.numbers)
    return Launch(function, grid_of(count), (THREADS, 1, 1), numbers, {"T": dtype}, macros)


def _dtype(signature: Signature) -> DType:
    return signature.output_types[0].base_dtype


def forward_launches(function: str, layout: Layout, signature: Signature) -> list[Launch]:
    """Return a launch of `function`, which computes the maximum or the mean of each window."""
    work = geometry_of(layout, signature, signature.input_shapes[0])
    return [_launch(function, work, work.places, (Arg(0), Arg(1)), _dtype(signature))]


def max_gradient_launches(layout: Layout, signature: Signature) -> list[Launch]:
    """Return launches for the gradient of max pooling.

    The first launch stores the index of each window's largest element. The second sums, for each
    pixel, the gradients of the windows in which the pixel is the largest element.
    """
    work, dtype = geometry_of(layout, signature, signature.input_shapes[0]), _dtype(signature)
    numbers = Scratch("numbers", max(1, work.places * work.channels), _number(work))
    back = _launch("gg_max_pool_back", work, work.pixels, (numbers, Arg(2), Arg(3)), dtype)
    if not work.places:
        return [back]
    return [_launch("gg_max_places", work, work.places, (Arg(0), numbers), dtype), back]


def max_gradient_gradient_launches(layout: Layout, signature: Signature) -> list[Launch]:
    """Return a launch that reads, for each window, the gradient at the window's largest element."""
    work = geometry_of(layout, signature, signature.input_shapes[0])
    arrays = Arg(0), Arg(2), Arg(3)
    return [_launch("gg_max_pool_back_back", work, work.places, arrays, _dtype(signature))]


def mean_gradient_launches(layout: Layout, signature: Signature) -> list[Launch]:
    """Return launches that divide each window's gradient equally among its elements."""
    work = geometry_of(layout, signature, signature.output_shapes[0])
    return [_launch("gg_mean_pool_back", work, work.pixels, (Arg(0), Arg(1)), _dtype(signature))]
