"""Conversions between RGB and the television colour spaces YIQ and YUV. Each is a product with a
matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.tensordot import tensordot

# Row i: the contribution of one unit of source channel i to each target channel.
_RGB_TO_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YIQ_TO_RGB = [
    [1.0, 1.0, 1.0],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_RGB_TO_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_YUV_TO_RGB = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]


def _convert(images: Any, matrix: list[list[float]]) -> Tensor:
    source = convert_to_tensor(images, name="images")
    if source.shape.rank == 0:
        raise ValueError(f"images must have at least one dimension, but {source} has none")
    kernel = convert_to_tensor(np.array(matrix, np.float64), source.dtype.base_dtype, name="kernel")
    return tensordot(source, kernel, [[(source.shape.rank or 0) - 1], [0]])


def rgb_to_yiq(images: Any) -> Tensor:
    """Convert floating-point RGB colours [..., 3] in [0, 1] to YIQ, which is luma and two colour
    differences.
    """
    return _convert(images, _RGB_TO_YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """Convert YIQ to RGB colours [..., 3]. This is the inverse of `rgb_to_yiq`. The result is not
    clipped to [0, 1].
    """
    return _convert(images, _YIQ_TO_RGB)


def rgb_to_yuv(images: Any) -> Tensor:
    """Convert floating-point RGB colours [..., 3] in [0, 1] to YUV, which is luma and two colour
    differences.
    """
    return _convert(images, _RGB_TO_YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """Convert YUV to RGB colours [..., 3]. This is the inverse of `rgb_to_yuv`. The result is not
    clipped to [0, 1].
    """
    return _convert(images, _YUV_TO_RGB)
