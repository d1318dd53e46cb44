"""Ops that decode and encode JPEG files, with native code and the library Pillow (extra
`images`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gpugraph.base.errors import UnimplementedError, invalid_argument as refusal
from gpugraph.base.lfs_pointers import pointer_text
from gpugraph.base.optional_packages import package_of_extra
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.native_jpeg import NativeJpeg

_HOST = HostOnly("files are decoded and encoded by the host")
_END = b"\xff\xd9"
"""The last bytes of a JPEG file."""


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


def jpeg_pixels(data: bytes, channels: int, ratio: int = 1, native: Any = None) -> Any:
    """Return the pixels [height, width, channels], uint8, of a JPEG file.

    Args:
      channels: 1 for grey, 3 for RGB, 0 for the channels in the file.
      ratio: the divisor of the size.
      native: the `NativeJpeg` that decodes most files, or None.
    """
    if native is not None and ratio == 1:
        pixels = native.pixels(data, channels)
        if pixels is not None:
            return pixels
    try:
        picture = pillow_in_run().open(io.BytesIO(data), formats=["JPEG"])
        mode = "L" if channels == 1 or (channels == 0 and picture.mode == "L") else "RGB"
        if ratio > 1 or picture.mode != mode:
            width, height = (-(-size // ratio) for size in picture.size)
            picture.draft(mode, (width, height))
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


def _infer_decoded(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    return [TensorShape.of((None, None, context.attrs["channels"] or None))]


def _bind_decode(context: KernelContext, contents: Any) -> Callable[[], Any]:
    channels, ratio = context.attrs["channels"], context.attrs["ratio"]
    if channels not in (0, 1, 3):
        raise refusal(f"channels must be 0, 1, or 3, got {channels}")
    if ratio not in (1, 2, 4, 8):
        raise refusal(f"ratio must be 1, 2, 4, or 8, got {ratio}")
    end = 2 * _END if context.attrs["try_recover_truncated"] else b""
    native = NativeJpeg(context)
    return lambda: [jpeg_pixels(contents[()] + end, channels, ratio, native)]


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
    doc="The pixels [height, width, channels] of a JPEG file.",
)


def _infer_encoded(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 3, "image")
    return [TensorShape.of(())]


def _bind_encode(context: KernelContext, image: Any, out: Any) -> Callable[[], Any]:
    attrs = context.attrs
    channels = image.shape[2]
    wanted = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[attrs["format"]]
    if channels not in wanted:
        raise refusal(f"format '{attrs['format']}' expects {wanted} channels, got {channels}")
    if not 0 <= attrs["quality"] <= 100:
        raise refusal(f"quality must be in [0,100], got {attrs['quality']}")
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

    def run() -> None:
        file = io.BytesIO()
        pixels = image[..., 0] if channels == 1 else image
        pillow_in_run().fromarray(np.ascontiguousarray(pixels)).save(file, "JPEG", **options)
        out[()] = file.getvalue()

    return run


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

    Native code or Pillow decodes the file. `fancy_upscaling`, `acceptable_fraction` and
    `dct_method` have no effect. Raises ModuleNotFoundError if Pillow is not installed. A run raises
    InvalidArgumentError if the string is not a JPEG file.

    Args:
      channels: 1 for grey, 3 for RGB, or 0 for the channels of the file.
      ratio: 1, 2, 4 or 8, the divisor of the height and the width.
      try_recover_truncated: whether to fill the missing lines of a truncated file instead of
        raising an error.
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
