"""Pixels of JPEG and GIF files, decoded by the library Pillow (extra `images`) and native code."""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

import numpy as np

from gpugraph.base.errors import UnimplementedError, invalid_argument as refusal
from gpugraph.base.lfs_pointers import pointer_text
from gpugraph.base.optional_packages import package_of_extra


def pillow() -> Any:
    """Return the module `PIL.Image`. Raises ModuleNotFoundError if Pillow is not installed."""
    with package_of_extra("images", "Pillow", "JPEG and GIF files"):
        return import_module("PIL.Image")


def pillow_in_run() -> Any:
    """Return the module `PIL.Image`. Raises UnimplementedError if Pillow is not installed."""
    try:
        return pillow()
    except ModuleNotFoundError as error:
        raise UnimplementedError(None, None, str(error)) from None


def jpeg_pixels(data: bytes, form: Any, ratio: int = 1, native: Any = None) -> Any:
    """Return the pixels [height, width, channels], uint8, of a JPEG file.

    Args:
      form: a `JpegForm`. Pillow always uses the accurate transform.
      ratio: the divisor of the size.
      native: the `NativeJpeg` that decodes the usual files, or None.
    """
    channels = form.channels
    if native is not None and ratio == 1:
        pixels = native.pixels(data, form)
        if pixels is not None:
            return pixels
    try:
        picture = pillow_in_run().open(io.BytesIO(data), formats=["JPEG"])
        mode = "L" if channels == 1 or (channels == 0 and picture.mode == "L") else "RGB"
        if ratio > 1 or picture.mode != mode:
            width, height = picture.size
            picture.draft(mode, (width / ratio, height / ratio))  # exact quotients
        picture.load()
        picture = picture if picture.mode == mode else picture.convert(mode)
        pixels = np.frombuffer(picture.tobytes(), np.uint8)
    except (OSError, SyntaxError) as error:
        reason = f"{error}{pointer_text(data)}"
        raise refusal(
            f"Invalid JPEG data or crop window, data size {len(data)}: {reason}"
        ) from None
    width, height = picture.size
    return pixels.reshape(height, width, 1 if mode == "L" else 3)


def gif_frames(data: bytes) -> Any:
    """Return the frames [frames, height, width, 3], uint8, of a GIF file."""
    try:
        picture = pillow_in_run().open(io.BytesIO(data), formats=["GIF"])
        frames = []
        for number in range(picture.n_frames):
            picture.seek(number)
            frames.append(np.array(picture.convert("RGB")))
    except (OSError, SyntaxError) as error:
        reason = f"{error}{pointer_text(data)}"
        raise refusal(f"Invalid GIF data (size {len(data)}), {reason}") from None
    return np.stack(frames)
