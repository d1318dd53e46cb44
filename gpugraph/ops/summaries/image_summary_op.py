"""ImageSummary, which encodes the images of a batch as PNG files. Each image has its own tag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.shapes import shape_text
from gpugraph.formats.summary_bytes import image_summary
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.image.files.png_format import encoded_png
from gpugraph.ops.summaries.scalar_and_histogram_summary_ops import summary_op, tag_of

_TYPES = (dtypes.uint8, dtypes.float16, dtypes.float32, dtypes.float64)
_DARKEST = 1e-6
"""An image whose largest magnitude is below this is drawn black, or grey if it has negative
values.
"""


def numbered_tags(tag: bytes, kind: bytes, count: int, max_count: int) -> list[bytes]:
    """Return the tags of `count` items of a batch, such as `tag/image/0` for the kind "image".

    The tags have no numbers if `max_count`, the maximum number of items, is 1.
    """
    if max_count == 1:
        return [tag + b"/" + kind] * count
    return [b"%s/%s/%d" % (tag, kind, index) for index in range(count)]


def _pixels(image: Any, bad_color: Any) -> Any:
    """Convert a float image to bytes. Its values are scaled to [0, 255], where 0 is black.

    If there are negative values, 0 is mapped to 128 instead. A pixel that is not finite has the
    colour `bad_color`.
    """
    kind = image.dtype.type
    finite = np.isfinite(image).all(axis=2)
    known = image[finite]
    ends = (known.min(), known.max()) if known.size else (0, 0)
    # float32 for images of any dtype; the product below has the image's dtype
    lowest, highest = map(np.float32, ends)
    if lowest < 0:
        size, offset, span = max(abs(lowest), abs(highest)), kind(128), np.float32(127)
    else:
        size, offset, span = highest, kind(0), np.float32(255)
    scale = np.float32(0) if size < _DARKEST else span / size
    if scale <= np.finfo(kind).max:
        scale = kind(scale)
    result = np.empty(image.shape, np.uint8)
    result[...] = bad_color[: image.shape[2]]
    result[finite] = (known * scale + offset).astype(np.uint8)
    return result


def _checked_shape(images: Any, bad_color: Any) -> None:
    if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
        raise refusal(
            f"Tensor must be 4-D with last dim 1, 3, or 4, not {shape_text(images.shape)}"
        )
    largest = np.iinfo(np.int32).max
    if images.shape[1] * images.shape[2] > largest:
        raise refusal(f"Tensor too large for summary {shape_text(images.shape)}")
    if images.dtype != np.uint8 and bad_color.shape[0] < images.shape[3]:
        raise refusal(
            f"expected depth <= bad_color.size, got depth = {images.shape[3]}, "
            f"bad_color.size = {bad_color.shape[0]}"
        )


def _bind_image(context: KernelContext, tag: Any, images: Any, out: Any) -> Callable[[], Any]:
    max_images, bad_color = context.attrs["max_images"], np.asarray(context.attrs["bad_color"])
    if bad_color.dtype != np.uint8:
        raise refusal(f"bad_color must be uint8, got {dtypes.as_dtype(bad_color.dtype).name}")
    if bad_color.ndim != 1:
        raise refusal(f"bad_color must be a vector, got shape {shape_text(bad_color.shape)}")

    def run() -> None:
        name = tag_of(tag)
        _checked_shape(images, bad_color)
        tags = numbered_tags(name, b"image", min(max_images, len(images)), max_images)
        out[()] = b"".join(
            _summary(text, image, bad_color) for text, image in zip(tags, images, strict=False)
        )

    return run


def _summary(tag: bytes, image: Any, bad_color: Any) -> bytes:
    if not image.size:
        raise refusal(f"image must have pixels, got shape {shape_text(image.shape)}")
    pixels = image if image.dtype == np.uint8 else _pixels(image, bad_color)
    height, width, channels = pixels.shape
    return image_summary(tag, height, width, channels, encoded_png(pixels))


image_summary_op = summary_op(
    "ImageSummary",
    Call(make=_bind_image),
    "A Summary of the first images [b, h, w, 1, 3 or 4], as PNG files.",
    "tag: string, tensor: T",
    max_images=Attr("int", 3, minimum=1),
    T=Attr("type", dtypes.float32, allowed=_TYPES),
    bad_color=Attr("tensor", np.array([255, 0, 0, 255], np.uint8)),
)
