"""ExtractGlimpse, which cuts a window out of each image.

Parts of a window that are outside the image are filled with noise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.random.bits_to_distributions import doubles
from gpugraph.ops.random.philox import Philox

_NOISES = ("uniform", "gaussian", "zero")


def _infer(context: InferContext) -> Sequence[TensorShape]:
    batch, _, _, depth = of_rank(context.shapes[0], 4, "input")
    of_rank(context.shapes[1], 1, "size")
    others, columns = of_rank(context.shapes[2], 2, "offsets")
    if columns not in (2, None):
        raise ValueError(f"offsets need 2 columns, but have {columns}")
    if batch is not None and others is not None and batch != others:
        raise ValueError(f"There are {batch} images, but {others} offsets")
    height, width = of_rank(context.value_as_shape(1), 2, "size")
    return [TensorShape.of((others if batch is None else batch, height, width, depth))]


def _first(offsets: Any, image: Any, window: Any, attrs: Any) -> list[int]:
    """Return the row and column of the image at which a window begins. Both may be outside the
    image.
    """
    sizes, news = np.float32(image.shape[:2]), np.float32(window.shape[:2])
    place = offsets * sizes if attrs["normalized"] else offsets
    if attrs["centered"]:
        place = (place + sizes) / np.float32(2)
    return np.trunc(place - news / np.float32(2)).astype(np.int64).tolist()


def _random(shape: Any) -> Any:
    """Return random float64 numbers in [0, 1). Each call uses a new seed of the operating
    system.
    """
    generator = Philox(int.from_bytes(os.urandom(8), "little"), 0)
    count = int(np.prod(shape))
    return doubles(generator.words(2 * count).view(np.uint64)).reshape(shape)


def _fill(window: Any, image: Any, noise: str) -> None:
    if noise == "zero" or not image.size:
        window.fill(0)
    elif noise == "uniform":
        low, high = image.min(), image.max()
        np.copyto(window, low + (high - low) * _random(window.shape), casting="same_kind")
    else:
        one, other = _random(window.shape), _random(window.shape)
        normal = np.sqrt(-2 * np.log1p(-one)) * np.cos(2 * np.pi * other)
        means, spreads = image.mean(axis=(0, 1)), image.std(axis=(0, 1))
        np.copyto(window, means + spreads * normal, casting="same_kind")


def _copy(window: Any, image: Any, first: list[int], noise: str) -> None:
    window_slices, image_slices = [], []
    for start, size, new in zip(first, image.shape, window.shape, strict=False):
        low, high = max(0, -start), min(new, size - start)
        window_slices.append(slice(low, max(low, high)))
        image_slices.append(slice(start + low, start + max(low, high)))
    inside = window[tuple(window_slices)]
    if inside.shape != window.shape:
        _fill(window, image, noise)
    if inside.size:
        inside[...] = image[tuple(image_slices)]


def _bind(context: KernelContext, images: Any, offsets: Any, out: Any) -> Callable[[], Any]:
    attrs, noise = context.attrs, context.attrs["noise"]
    if noise not in _NOISES:
        raise invalid_argument(f"noise must be one of {_NOISES}, not '{noise}'")
    if noise != "uniform" and attrs["uniform_noise"]:
        raise invalid_argument("The uniform_noise should not be True when noise is not uniform")
    if noise == "uniform" and not attrs["uniform_noise"]:
        noise = "gaussian"

    def run() -> None:
        for image, place, window in zip(images, offsets, out, strict=True):
            _copy(window, image, _first(place, image, window, attrs), noise)

    return run


_extract_glimpse = op(
    "ExtractGlimpse",
    inputs="input: float32, size: int32, offsets: float32",
    outputs="glimpse: float32",
    attrs={
        "centered": Attr("bool", True),
        "normalized": Attr("bool", True),
        "uniform_noise": Attr("bool", True),
        "noise": Attr("string", "uniform"),
    },
    infer=_infer,
    host=[1],
    cpu=Call(make=_bind),
    gpu=HostOnly("where it reads depends on offsets, which the host must read"),
    grad=NO_GRADIENT,
    doc=(
        "A window of shape `size` of each image [b, h, w, c]; `offsets` has the position "
        "for each image."
    ),
)


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Extract a window of `size` (rows, columns) of each image [b, h, w, c] at `offsets` [b, 2].

    The result is float32. An offset (y, x) is the position of the window's center.

    There is no gradient.

    Args:
      centered: whether offsets are relative to the image's center instead of its first pixel.
      normalized: whether offsets are fractions of the image, or of half the image if `centered` is
        true. Otherwise they are in pixels, or in half pixels if `centered` is true.
      uniform_noise: whether the noise outside the image is uniformly distributed between the
        image's minimum and maximum. Otherwise it is normally distributed, with each channel's mean
        and standard deviation.
    """
    return _extract_glimpse(
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )
