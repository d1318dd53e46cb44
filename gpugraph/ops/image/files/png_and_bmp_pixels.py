"""Pixels of PNG and BMP files, and conversions between channels and dtypes of pixels."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from gpugraph.base.errors import UnimplementedError, invalid_argument as refusal
from gpugraph.base.lfs_pointers import pointer_text
from gpugraph.ops.image.files.native_png import NativePng
from gpugraph.ops.image.files.png_format import decoded_png

_RED, _GREEN, _BLUE = 9797, 19234, 3737
"""The weights of red, green and blue in grey, in units of 1 / 32768; libpng uses the same."""

BMP_SIGNATURE = b"BM"


# -- channels and dtypes


def _grey(pixels: Any) -> Any:
    wide = pixels.astype(np.uint64)
    grey = wide[..., 0] * _RED + wide[..., 1] * _GREEN + wide[..., 2] * _BLUE
    if pixels.dtype == np.uint16:
        grey += 1 << 14
    return (grey >> np.uint64(15)).astype(pixels.dtype)[..., None]


def with_channels(pixels: Any, channels: int) -> Any:
    """Convert pixels [h, w, 1 to 4] to `channels` channels.

    A missing alpha channel becomes opaque.

    Args:
      channels: 1 for grey, 2 for grey and alpha, 3 for RGB, 4 for RGB and alpha.
    """
    colors = pixels[..., : pixels.shape[2] - 1 + pixels.shape[2] % 2]
    alpha = pixels[..., colors.shape[2] :]
    if channels > 2:
        colors = np.broadcast_to(colors, (*colors.shape[:2], 3))
    elif colors.shape[2] == 3:
        colors = _grey(colors)
    if channels % 2:
        return colors
    if not alpha.shape[2]:
        opaque = np.iinfo(pixels.dtype).max
        alpha = np.full((*pixels.shape[:2], 1), opaque, pixels.dtype)
    return np.concatenate([colors, alpha], axis=2)


BY_256, BY_257 = 256, 257
"""TensorFlow's factors from uint8 to uint16: 256 for JPEG, GIF and BMP, and 257 for PNG."""


def as_type(pixels: Any, wanted: Any, factor: int = BY_257) -> Any:
    """Convert uint8 or uint16 pixels to the dtype `wanted`. Float pixels are in [0, 1].

    Args:
      factor: the factor with which uint8 values are converted to uint16.
    """
    if wanted == pixels.dtype:
        return pixels
    if wanted.kind == "f":
        return pixels.astype(wanted) / wanted.type(np.iinfo(pixels.dtype).max)
    if wanted == np.uint8:
        return (pixels >> 8).astype(np.uint8)
    return pixels.astype(np.uint16) * np.uint16(factor)


def png_pixels(data: bytes, channels: int, wanted: Any, native: NativePng) -> Any:
    """Return the pixels [h, w, channels] of a PNG file.

    Args:
      channels: 1 for grey, 3 for RGB, 4 for RGB and alpha, or 0 for the channels of the file.
      wanted: the NumPy dtype of the pixels.
      native: the native code that removes PNG filters.
    """
    try:
        pixels, clear = decoded_png(data, native)
    except ValueError as error:
        reason = f"{error}{pointer_text(data)}"
        raise refusal(f"Invalid PNG data, size {len(data)}: {reason}") from None
    except NotImplementedError as error:
        raise UnimplementedError(None, None, str(error)) from None
    if clear is not None and channels in (2, 4):
        pixels = np.concatenate([pixels, clear], axis=2)
    return as_type(with_channels(pixels, channels or pixels.shape[2]), wanted)


# -- BMP

_BMP_HEADER = struct.Struct("<2sIHHIIiiHH")


def bmp_pixels(data: bytes, channels: int) -> Any:
    """Return the pixels [h, w, channels] of an uncompressed BMP file of 8 (grey), 24 or 32 bits.

    Args:
      channels: the number of channels that the file must have, or 0 for any number.
    """
    if len(data) < _BMP_HEADER.size or not data.startswith(BMP_SIGNATURE):
        reason = f"it does not begin as a BMP file{pointer_text(data)}"
        raise refusal(f"Invalid BMP data, size {len(data)}: {reason}")
    *_, start, _, width, signed, _, bits = _BMP_HEADER.unpack_from(data)
    height, depth = abs(signed), bits // 8
    if channels and channels != depth:
        raise refusal(f"channels attribute {channels} does not match bits per pixel {bits}")
    if depth not in (1, 3, 4) or bits % 8 or width <= 0 or not height:
        raise refusal(f"BMP images of {bits} bits, {width} by {signed}, are not read")
    row = -(-width * depth // 4) * 4
    if len(data) < start + row * (height - 1) + width * depth:
        raise refusal(f"Incomplete bmp content: {len(data)} bytes for {width} by {height} pixels")
    body = np.frombuffer(data.ljust(start + row * height, b"\0"), np.uint8, row * height, start)
    pixels = body.reshape(height, row)[:, : width * depth].reshape(height, width, depth)
    if depth > 1:
        pixels = pixels[..., [2, 1, 0, 3][:depth]]
    return pixels if signed < 0 else pixels[::-1]
