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
from gpugraph.kernel import Call, KernelContext, OpMemory
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


def _first(offsets: Any, images: Any, out: Any, attrs: Any) -> Any:
    """Return the rows and columns [batch, 2] at which the windows begin. A window may begin outside
    of its image.
    """
    sizes, news = np.float32(images.shape[1:3]), np.float32(out.shape[1:3])
    places = offsets * sizes if attrs["normalized"] else offsets
    if attrs["centered"]:
        places = (places + sizes) / np.float32(2)
    return np.trunc(places - news / np.float32(2)).astype(np.int64)


def _random(shape: Any) -> Any:
    """Return random float64 numbers in [0, 1). Each call uses a new seed of the operating
    system.
    """
    generator = Philox(int.from_bytes(os.urandom(8), "little"), 0)
    count = int(np.prod(shape))
    return doubles(generator.words(2 * count).view(np.uint64)).reshape(shape)


def _filling(images: Any, shape: Any, noise: str) -> Any:
    """Return noise for windows of this shape. It fills the parts of the windows that are outside of
    the images.
    """
    if noise == "zero" or not images.size:
        return np.zeros((), np.float32)
    if noise == "uniform":
        low, high = (limit(axis=(1, 2, 3), keepdims=True) for limit in (images.min, images.max))
        return (low + (high - low) * _random(shape)).astype(np.float32)
    one, other = _random(shape), _random(shape)
    normal = np.sqrt(-2 * np.log1p(-one)) * np.cos(2 * np.pi * other)
    means, spreads = (of(axis=(1, 2), keepdims=True) for of in (images.mean, images.std))
    return (means + spreads * normal).astype(np.float32)


def _copy(out: Any, images: Any, first: Any, noise: str) -> None:
    height, width = images.shape[1:3]
    rows = first[:, :1] + np.arange(out.shape[1])
    columns = first[:, 1:] + np.arange(out.shape[2])
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[
        :, None
    ]
    if images.size:
        places = (np.clip(rows, 0, height - 1) * width)[:, :, None]
        places = places + np.clip(columns, 0, width - 1)[:, None]
        places += (np.arange(len(images)) * height * width)[:, None, None]
        np.take(images.reshape(-1, images.shape[3]), places, axis=0, out=out, mode="clip")
    crossing = ~inside.all(axis=(1, 2))
    if crossing.any():
        shape = (int(crossing.sum()), *out.shape[1:])
        filling = _filling(images[crossing], shape, noise)
        out[crossing] = np.where(inside[crossing][..., None], out[crossing], filling)


def _bind(context: KernelContext, images: Any, offsets: Any, out: Any) -> Callable[[], Any]:
    attrs, noise = context.attrs, context.attrs["noise"]
    if noise not in _NOISES:
        raise invalid_argument(f"noise must be one of {_NOISES}, not '{noise}'")
    if noise != "uniform" and attrs["uniform_noise"]:
        raise invalid_argument("The uniform_noise should not be True when noise is not uniform")
    if noise == "uniform" and not attrs["uniform_noise"]:
        noise = "gaussian"

    def run() -> None:
        if out.size:
            _copy(out, images, _first(offsets, images, out, attrs), noise)

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
    memory=OpMemory(host_inputs=[1]),
    cpu=Call(make=_bind),
    gpu=HostOnly("where it reads depends on offsets, which the host must read"),
    grad=NO_GRADIENT,
    doc=(
        "A window of shape `size` of each image [b, h, w, c]. `offsets` has the position of each "
        "window."
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
