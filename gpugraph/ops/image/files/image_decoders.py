"""The decoder that all ops on image files use. As in TensorFlow, the first bytes of a file
determine its format, so DecodeJpeg also decodes PNG files, for example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.lfs_pointers import pointer_text
from gpugraph.kernel import KernelContext
from gpugraph.ops.image.files.native_jpeg import MAX_REQUESTS, JpegForm, NativeJpeg
from gpugraph.ops.image.files.native_png import NativePng
from gpugraph.ops.image.files.pillow_images import gif_frames, jpeg_pixels
from gpugraph.ops.image.files.png_and_bmp_pixels import BMP_SIGNATURE, BY_256, as_type, png_pixels
from gpugraph.ops.image.files.png_format import PNG_SIGNATURE

JPEG_SIGNATURE = b"\xff\xd8\xff"
GIF_SIGNATURE = b"GIF8"
_SHOWN = 16
"""The number of bytes of an unknown format that the error shows."""

_OTHERS = {
    BMP_SIGNATURE: "tf.image.decode_bmp and decode_image read BMP",
    b"RIFF": "WebP is not read",
}


class Decoding(NamedTuple):
    """The settings of a node that decodes images.

    Args:
      channels: 1 for grey, 3 for RGB, 4 for RGB and alpha, or 0 for the channels of the file.
      wanted: the NumPy dtype of the pixels.
      form: the form in which JPEG files are decoded.
      ratio: the divisor of the height and width of JPEG files.
      end: bytes to append to a JPEG file that may be truncated.
    """

    png: NativePng
    jpeg: NativeJpeg
    channels: int
    wanted: Any
    form: JpegForm
    ratio: int = 1
    end: bytes = b""

    @staticmethod
    def of(context: KernelContext, wanted: Any, **options: Any) -> Decoding:
        """Return the settings of a node. Raises InvalidArgumentError if `channels` is invalid."""
        channels = checked_channels(context)
        natives = NativePng(context), NativeJpeg(context)
        return Decoding(*natives, channels, np.dtype(wanted), jpeg_form(context), **options)


def jpeg_form(context: KernelContext) -> JpegForm:
    """Return the form in which a node decodes JPEG files. As in TensorFlow, the default is the fast
    transform.
    """
    attrs = context.attrs
    return JpegForm(
        int(attrs.get("channels", 3)),
        attrs.get("dct_method", "") != "INTEGER_ACCURATE",
        bool(attrs.get("fancy_upscaling", True)),
    )


_EXPECTED = "Expected image (JPEG, PNG, or GIF)"


def checked_channels(context: KernelContext) -> int:
    """Return the attr `channels` of a node, or 3 if the op has no such attr. Raises
    InvalidArgumentError if its value is invalid.
    """
    channels = int(context.attrs.get("channels", 3))
    if channels not in (0, 1, 3, 4):
        raise refusal(f"channels must be 0, 1, 3, or 4, got {channels}")
    return channels


def frames_of_file(data: bytes, decoding: Decoding, expected: str = _EXPECTED) -> Any:
    """Return the frames [frames, h, w, channels] of a GIF file, or the pixels [h, w, channels] of a
    JPEG or PNG file. Raises InvalidArgumentError if the file is none of these.

    Args:
      expected: the beginning of the message of this error.
    """
    for signature, decode in _DECODERS.items():
        if data.startswith(signature):
            return decode(data, decoding)
    if not data:
        raise refusal(f"{expected}, got empty file")
    shown = data[:_SHOWN].decode("latin-1").encode("unicode_escape").decode()
    hint = "".join(f"; {text}" for start, text in _OTHERS.items() if data.startswith(start))
    raise refusal(
        f"{expected}, got unknown format starting with '{shown}'{hint}{pointer_text(data)}"
    )


def pixels_of_file(data: bytes, decoding: Decoding) -> Any:
    """Return the pixels [h, w, channels] of a JPEG or PNG file, or of a GIF file of one frame."""
    pixels = frames_of_file(data, decoding)
    if pixels.ndim == 3:
        return pixels
    if len(pixels) > 1:
        raise refusal(
            f"Got {len(pixels)} frames, but animated gifs can only be decoded by"
            " tf.image.decode_gif or tf.image.decode_image"
        )
    return pixels[0]


def pixels_of_files(files: Sequence[bytes], decoding: Decoding) -> list[Any]:
    """Return the result of `pixels_of_file` for each of several files. JPEG files are decoded
    together.
    """
    results: list[Any] = [None] * len(files)
    is_plain = decoding.channels != 4 and decoding.ratio == 1 and not decoding.end
    if is_plain and decoding.wanted == np.uint8:
        places = [n for n, data in enumerate(files) if data.startswith(JPEG_SIGNATURE)]
        for start in range(0, len(places), MAX_REQUESTS):
            some = places[start : start + MAX_REQUESTS]
            decoded = decoding.jpeg.pixels_of_several(
                [files[n] for n in some], decoding.form, [None] * len(some)
            )
            for n, pixels in zip(some, decoded):
                results[n] = pixels
    return [
        pixels_of_file(data, decoding) if pixels is None else pixels
        for data, pixels in zip(files, results)
    ]


def _jpeg(data: bytes, decoding: Decoding) -> Any:
    if decoding.channels == 4:
        raise refusal("channels must be 0, 1, or 3 for JPEG, got 4")
    pixels = jpeg_pixels(data + decoding.end, decoding.form, decoding.ratio, decoding.jpeg)
    return as_type(pixels, decoding.wanted, BY_256)


def _png(data: bytes, decoding: Decoding) -> Any:
    wanted = decoding.wanted
    read = np.dtype(np.uint8) if wanted == np.uint8 else np.dtype(np.uint16)
    return as_type(png_pixels(data, decoding.channels, read, decoding.png), wanted)


def _gif(data: bytes, decoding: Decoding) -> Any:
    if decoding.channels not in (0, 3):
        raise refusal(f"channels must be 0 or 3 for GIF, got {decoding.channels}")
    return as_type(gif_frames(data), decoding.wanted, BY_256)


_DECODERS: dict[bytes, Callable[[bytes, Decoding], Any]] = {
    JPEG_SIGNATURE: _jpeg,
    PNG_SIGNATURE: _png,
    GIF_SIGNATURE: _gif,
}
