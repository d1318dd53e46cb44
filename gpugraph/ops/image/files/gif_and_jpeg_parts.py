"""Ops that decode GIF files and parts of JPEG files. They use the library Pillow (the extra
`images`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.files.image_decoders import (
    GIF_SIGNATURE,
    Decoding,
    frames_of_file,
    jpeg_form,
)
from gpugraph.ops.image.files.jpeg_ops import DECODING_ATTRS
from gpugraph.ops.image.files.native_jpeg import NativeJpeg
from gpugraph.ops.image.files.pillow_images import jpeg_pixels, pillow, pillow_in_run
from gpugraph.ops.image.files.png_format import PNG_SIGNATURE

_HOST = HostOnly("files are decoded by the host")


def _bind_gif(context: KernelContext, contents: Any) -> Callable[[], Any]:
    decoding = Decoding.of(context, np.uint8)

    def run() -> Any:
        pixels = frames_of_file(contents[()], decoding)
        return [pixels if pixels.ndim == 4 else pixels[None]]

    return run


def _infer_gif(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    return [TensorShape.of((None, None, None, 3))]


_decode_gif = op(
    "DecodeGif",
    inputs="contents: string",
    outputs="image: uint8",
    infer=_infer_gif,
    cpu=Call(make=_bind_gif, dynamic=True),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The frames [frames, height, width, 3] of a GIF file. A JPEG or PNG file has one frame.",
)


def _infer_crop(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    (size,) = of_rank(context.shapes[1], 1, "crop_window")
    if size not in (None, 4):
        raise Misfit(f"Dimension must be 4 but is {size}")
    window = context.value(1)  # row, column, height, width
    sizes = (-1, -1) if window is None else (int(window[2]), int(window[3]))
    height, width = (size if size >= 0 else None for size in sizes)
    return [TensorShape.of((height, width, context.attrs["channels"] or None))]


def _bind_crop(context: KernelContext, contents: Any, window: Any) -> Callable[[], Any]:
    channels, ratio = context.attrs["channels"], context.attrs["ratio"]
    if channels not in (0, 1, 3):
        raise refusal(f"channels must be 0, 1, or 3, got {channels}")
    if ratio not in (1, 2, 4, 8):
        raise refusal(f"ratio must be 1, 2, 4, or 8, got {ratio}")

    native, form = NativeJpeg(context), jpeg_form(context)

    def run() -> Any:
        data = contents[()]
        for signature, kind in ((PNG_SIGNATURE, "PNG"), (GIF_SIGNATURE, "GIF")):
            if data.startswith(signature):
                raise refusal(
                    f"DecodeAndCropJpeg operation can run on JPEG only, but detected {kind}."
                )
        top, left, height, width = (int(size) for size in window)
        if ratio == 1:
            part = native.pixels(data, form, (top, left, height, width))
            if part is not None:
                return [part]
        pixels = jpeg_pixels(data, form, ratio)
        fits = top >= 0 and left >= 0 and height > 0 and width > 0
        if not fits or top + height > pixels.shape[0] or left + width > pixels.shape[1]:
            raise refusal(
                f"Invalid JPEG data or crop window, data size {len(data)}: the window "
                f"{[top, left, height, width]} is not inside {list(pixels.shape[:2])}"
            )
        return [pixels[top : top + height, left : left + width].copy()]

    return run


_decode_and_crop_jpeg = op(
    "DecodeAndCropJpeg",
    inputs="contents: string, crop_window: int32",
    outputs="image: uint8",
    attrs=DECODING_ATTRS,
    infer=_infer_crop,
    cpu=Call(make=_bind_crop, dynamic=True),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The pixels of a JPEG file that are inside a window [top, left, height, width].",
)


def _infer_shape(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    return [TensorShape.of((3,))]


def _bind_shape(context: KernelContext, contents: Any, out: Any) -> Callable[[], Any]:
    def run() -> None:
        data = contents[()]
        try:
            picture = pillow_in_run().open(io.BytesIO(data), formats=["JPEG"])
        except (OSError, SyntaxError) as error:
            raise refusal(f"Invalid JPEG data, size {len(data)}: {error}") from None
        out[:] = (picture.height, picture.width, len(picture.getbands()))

    return run


_extract_jpeg_shape = op(
    "ExtractJpegShape",
    inputs="contents: string",
    outputs="image_shape: output_type",
    attrs={"output_type": Attr("type", dtypes.int32, allowed=(dtypes.int32, dtypes.int64))},
    infer=_infer_shape,
    cpu=Call(make=_bind_shape),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The height, the width and the number of channels of a JPEG file.",
)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """Decode a GIF file, a string scalar, to its frames [frames, h, w, 3], uint8.

    A JPEG or PNG file is decoded to one frame. Raises ModuleNotFoundError if Pillow is not
    installed. A run raises InvalidArgumentError if the string is not a GIF, JPEG or PNG file.
    """
    pillow()
    return _decode_gif(contents, name=name)


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode a part of a JPEG file to pixels [h, w, channels], uint8.

    For the remaining arguments and the errors, see `decode_jpeg`.

    Args:
      crop_window: an int vector with the top row, left column, height and width of the part in
        pixels.
    """
    pillow()
    return _decode_and_crop_jpeg(
        contents,
        crop_window,
        channels=channels or 0,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def extract_jpeg_shape(
    contents: Any, output_type: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Return the height, the width and the number of channels of a JPEG file.

    Raises ModuleNotFoundError if Pillow is not installed. A run raises InvalidArgumentError if the
    string is not a JPEG file.

    Args:
      output_type: tf.int32 or tf.int64.
    """
    pillow()
    return _extract_jpeg_shape(contents, output_type=output_type, name=name)
