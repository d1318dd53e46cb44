"""`tf.image.is_jpeg`, and functions that lower the quality of images to that of a JPEG file. The
module `jpeg_ops` decodes and encodes files.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.image.color_adjustments import convert_image_dtype
from gpugraph.ops.image.files.pillow_images import pillow
from gpugraph.ops.random.random_ops import random_uniform

_FIRST_BYTES = b"\xff\xd8\xff"


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Return a bool scalar that tells whether a string scalar, the contents of a file, begins with
    the signature of a JPEG file.
    """
    with op_scope(name, "is_jpeg", contents):
        start = raw_ops.Substr(contents, 0, len(_FIRST_BYTES))
        return raw_ops.Equal(start, _FIRST_BYTES, name=name)


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """Encode an image [height, width, 1 or 3] as a JPEG file of the given quality, and decode it.

    The result has the dtype of the image. Raises ModuleNotFoundError if Pillow is not installed.

    Args:
      image: an image with values in [0, 1], or of an integer dtype.
      jpeg_quality: the quality from 0 to 100, an int32 scalar.
    """
    pillow()
    with op_scope(name, "adjust_jpeg_quality", image):
        source = convert_to_tensor(image, name="image")
        pixels = convert_image_dtype(source, dtypes.uint8)
        quality = convert_to_tensor(jpeg_quality, dtypes.int32, name="jpeg_quality")
        file = raw_ops.EncodeJpegVariableQuality(pixels, quality)
        decoded = raw_ops.DecodeJpeg(file, channels=source.shape.as_list()[-1] or 0)
        result = convert_image_dtype(decoded, source.dtype)
        result.set_shape([None, None, source.shape.as_list()[-1]])
        return result


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """Encode an image as a JPEG file of random quality, and decode it.

    Raises ValueError if the bounds are outside [0, 100], or if the minimum is not below the
    maximum.
    """
    low = whole_number("min_jpeg_quality", min_jpeg_quality)
    high = whole_number("max_jpeg_quality", max_jpeg_quality)
    if low < 0 or high < 0 or low > 100 or high > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], low, high, dtypes.int32, seed=seed)
    return adjust_jpeg_quality(image, quality)
