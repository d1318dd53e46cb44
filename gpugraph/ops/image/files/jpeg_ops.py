"""Ops that decode and encode JPEG files (`pillow_images`). The op that decodes also decodes PNG and
GIF files (`image_decoders`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.kernel.several_calls import SEVERAL, Calls
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.files.image_decoders import Decoding, pixels_of_file, pixels_of_files
from gpugraph.ops.image.files.pillow_images import pillow, pillow_in_run

_HOST = HostOnly("files are decoded and encoded by the host")
_END = b"\xff\xd9"
"""The last bytes of a JPEG file."""


def _infer_decoded(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    return [TensorShape.of((None, None, context.attrs["channels"] or None))]


def _decoding(context: KernelContext) -> Decoding:
    ratio = context.attrs["ratio"]
    if ratio not in (1, 2, 4, 8):
        raise refusal(f"ratio must be 1, 2, 4, or 8, got {ratio}")
    end = 2 * _END if context.attrs["try_recover_truncated"] else b""
    return Decoding.of(context, np.uint8, ratio=ratio, end=end)


def _bind_decode(context: KernelContext, contents: Any) -> Callable[[], Any]:
    decoding = _decoding(context)
    return lambda: [pixels_of_file(contents[()], decoding)]


def _decode_several(context: KernelContext, calls: Calls) -> Calls:
    """Return the outputs of several calls of DecodeJpeg, which are computed together."""
    files = [contents[()] for (contents,) in calls]
    return [[pixels] for pixels in pixels_of_files(files, _decoding(context))]


DECODING_ATTRS = {
    "channels": Attr("int", 0),
    "ratio": Attr("int", 1),
    "fancy_upscaling": Attr("bool", True),
    "try_recover_truncated": Attr("bool", False),
    "acceptable_fraction": Attr("float", 1.0),
    "dct_method": Attr("string", ""),
}
"""The attrs of ops that decode JPEG files."""

decode_jpeg_op = op(
    "DecodeJpeg",
    inputs="contents: string",
    outputs="image: uint8",
    attrs=DECODING_ATTRS,
    infer=_infer_decoded,
    cpu=Call(make=_bind_decode, dynamic=True),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The pixels [height, width, channels] of a JPEG or PNG file, or a GIF file of one frame.",
)
SEVERAL["DecodeJpeg"] = _decode_several


def _infer_encoded(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 3, "image")
    return [TensorShape.of(())]


def _save(image: Any, out: Any, options: Mapping[str, Any]) -> None:
    """Store the JPEG file of an image in `out`."""
    file = io.BytesIO()
    pixels = image[..., 0] if image.shape[2] == 1 else image
    pillow_in_run().fromarray(np.ascontiguousarray(pixels)).save(file, "JPEG", **options)
    out[()] = file.getvalue()


def _check(image: Any, format: str, quality: int) -> None:
    """Raise an error if the format does not support the number of channels, or if the quality is
    out of range.
    """
    channels = image.shape[2]
    wanted = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[format]
    if channels not in wanted:
        raise refusal(f"format '{format}' expects {wanted} channels, got {channels}")
    if not 0 <= quality <= 100:
        raise refusal(f"quality must be in [0,100], got {quality}")


def _bind_encode(context: KernelContext, image: Any, out: Any) -> Callable[[], Any]:
    attrs = context.attrs
    _check(image, attrs["format"], attrs["quality"])
    inches = 1.0 if attrs["density_unit"] == "in" else 2.54
    options = {
        "quality": attrs["quality"],
        "progressive": attrs["progressive"],
        "optimize": attrs["optimize_size"],
        "subsampling": 2 if attrs["chroma_downsampling"] else 0,
        "dpi": tuple(round(attrs[name] * inches) for name in ("x_density", "y_density")),
    }
    if attrs["xmp_metadata"]:
        options["xmp"] = attrs["xmp_metadata"].encode()

    return lambda: _save(image, out, options)


encode_jpeg_op = op(
    "EncodeJpeg",
    inputs="image: uint8",
    outputs="contents: string",
    attrs={
        "format": Attr("string", "", allowed=("", "grayscale", "rgb")),
        "quality": Attr("int", 95),
        "progressive": Attr("bool", False),
        "optimize_size": Attr("bool", False),
        "chroma_downsampling": Attr("bool", True),
        "density_unit": Attr("string", "in", allowed=("in", "cm")),
        "x_density": Attr("int", 300),
        "y_density": Attr("int", 300),
        "xmp_metadata": Attr("string", ""),
    },
    infer=_infer_encoded,
    cpu=Call(make=_bind_encode),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The JPEG file of an image [height, width, 1 or 3].",
)


def _infer_encoded_at_quality(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 0, "quality")
    return _infer_encoded(context)


def _encode_at_quality(image: Any, quality: Any, out: Any) -> None:
    _check(image, "", int(quality))
    _save(image, out, {"quality": int(quality), "subsampling": 2, "dpi": (300, 300)})


encode_jpeg_variable_quality_op = op(
    "EncodeJpegVariableQuality",
    inputs="images: uint8, quality: int32",
    outputs="contents: string",
    infer=_infer_encoded_at_quality,
    cpu=Call(_encode_at_quality),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc=(
        "The JPEG file of an image [height, width, 1 or 3]. The quality is a number from 0 to 100."
    ),
)


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decode a JPEG file, a string scalar, to pixels [h, w, channels], uint8.

    PNG files, and GIF files of one frame, are decoded too. `acceptable_fraction` has no effect.
    Raises ModuleNotFoundError if Pillow is not installed. A run raises InvalidArgumentError if the
    string is none of these files.

    Args:
      channels: 1 for grey, 3 for RGB, 4 for RGB and alpha (only PNG), or 0 for the channels of the
        file.
      ratio: 1, 2, 4 or 8, the divisor of the height and the width of a JPEG file.
      fancy_upscaling: whether to interpolate chroma of reduced size, instead of repeating it.
      try_recover_truncated: whether to fill the missing lines of a truncated file instead of
        raising an error.
      dct_method: the inverse cosine transform, "INTEGER_FAST" (the default) or "INTEGER_ACCURATE".
    """
    pillow()
    return decode_jpeg_op(
        contents,
        channels=channels or 0,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Encode an image [h, w, 1 or 3], uint8, as a JPEG file, a string scalar.

    Raises ModuleNotFoundError if Pillow is not installed. A run raises InvalidArgumentError if the
    image cannot be encoded.

    Args:
      format: "grayscale", "rgb", or "" for either.
      quality: the quality from 0 to 100.
      density_unit: the unit of `x_density` and `y_density`, "in" or "cm".
      x_density, y_density: the pixels per unit. They are stored in the file, in pixels per inch.
    """
    pillow()
    return encode_jpeg_op(
        image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )
