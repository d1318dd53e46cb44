"""Measures of images (PSNR, total variation and gradients), and standardization."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.image.color_adjustments import convert_image_dtype
from gpugraph.ops.image.flip_crop_pad_resize import as_images
from gpugraph.ops.reductions.reduction_functions import reduce_mean, reduce_sum


def per_image_standardization(image: Any) -> Tensor:
    """Subtract from each image its mean, and divide the difference by the standard deviation.

    The divisor is at least 1 / sqrt(number of elements of an image). As in TensorFlow 1.15, the
    result has the dtype of `image`: integers are scaled to [0, 1] before, and the result is scaled
    to the range of their dtype and clipped to it. Cast integers to float32 to avoid this.

    Args:
      image: one image, or several images.
    """
    with op_scope(None, "per_image_standardization", image) as scope:
        source, height = as_images(image)
        dtype = source.dtype.base_dtype
        is_float = dtype in (dtypes.float16, dtypes.float32)
        floats = source if is_float else convert_image_dtype(source, dtypes.float32)
        axes = [height, height + 1, height + 2]
        shape = raw_ops.Shape(floats)[height:]
        count = raw_ops.Prod(shape, np.array([0], np.int32))
        smallest = raw_ops.Rsqrt(raw_ops.Cast(count, DstT=floats.dtype.base_dtype))
        centered = raw_ops.Sub(floats, reduce_mean(floats, axes, True))
        deviation = raw_ops.Sqrt(reduce_mean(raw_ops.Square(centered), axes, True))
        standard = raw_ops.RealDiv(centered, raw_ops.Maximum(deviation, smallest), name=scope)
        return convert_image_dtype(standard, dtype, saturate=True)


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """Return, for each image, the sum of the absolute differences of adjacent pixels."""
    with op_scope(name, "total_variation", images):
        source, height = as_images(images, "images")
        index: tuple[Any, ...] = (slice(None),) * height
        down = source[(*index, slice(1, None))] - source[(*index, slice(None, -1))]
        index = (slice(None),) * (height + 1)
        right = source[(*index, slice(1, None))] - source[(*index, slice(None, -1))]
        axes = [1, 2, 3] if height else None
        return reduce_sum(raw_ops.Abs(down), axes) + reduce_sum(raw_ops.Abs(right), axes)


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """Return (dy, dx), the differences of adjacent pixels. dy is the pixel below minus the pixel
    itself, and dx is the pixel to the right minus the pixel itself.

    The last row of dy and the last column of dx are 0.

    Args:
      image: a tensor of shape [batch, height, width, channels].
    """
    source = convert_to_tensor(image)
    if source.shape.rank != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {source.shape}."
        )
    down = source[:, 1:] - source[:, :-1]
    right = source[:, :, 1:] - source[:, :, :-1]
    after = [np.zeros((4, 2), np.int32) for _ in range(2)]
    after[0][1, 1] = after[1][2, 1] = 1
    return raw_ops.Pad(down, after[0]), raw_ops.Pad(right, after[1])


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """Return the peak signal-to-noise ratio of `a` and `b` in decibels. Images [..., h, w, c] give
    a result [...].

    Raises ValueError if the shapes differ.

    Args:
      max_val: the difference between the largest and the smallest value that a pixel may have.
    """
    with op_scope(name, "PSNR", a, b):
        one, other = convert_to_tensor(a), convert_to_tensor(b)
        one.shape.assert_is_compatible_with(other.shape)
        largest = convert_image_dtype(cast(max_val, one.dtype.base_dtype), dtypes.float32)
        left, right = (convert_image_dtype(image, dtypes.float32) for image in (one, other))
        error = reduce_mean(raw_ops.SquaredDifference(left, right), [-3, -2, -1])
        decibel = np.float32(10 / np.log(10))
        return raw_ops.Sub(
            raw_ops.Mul(raw_ops.Log(largest), 2 * decibel), raw_ops.Mul(raw_ops.Log(error), decibel)
        )
