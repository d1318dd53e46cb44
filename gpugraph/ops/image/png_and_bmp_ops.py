"""Ops that encode PNG files and decode PNG and BMP files. `jpeg_ops` has the ops for JPEG files."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import UnimplementedError, invalid_argument as refusal
from gpugraph.base.lfs_pointers import pointer_text
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.jpeg_ops import jpeg_pixels
from gpugraph.ops.image.native_jpeg import NativeJpeg
from gpugraph.ops.image.native_png import NativePng
from gpugraph.ops.image.png_format import PNG_SIGNATURE, decoded_png, encoded_png

_HOST = HostOnly("files are decoded and encoded by the host")
_BMP_SIGNATURE = b"BM"
_JPEG_SIGNATURE = b"\xff\xd8\xff"
_UNREAD = {b"GIF8": "GIF", b"RIFF": "WebP"}
_RED, _GREEN, _BLUE = 9797, 19234, 3737
"""The weights of red, green and blue in grey, in units of 1 / 32768; libpng uses the same."""


# -- channels and dtypes


def _grey(pixels: Any) -> Any:
    wide = pixels.astype(np.uint64)
    grey = wide[..., 0] * _RED + wide[..., 1] * _GREEN + wide[..., 2] * _BLUE
    if pixels.dtype == np.uint16:
        grey += 1 << 14
    return (grey >> np.uint64(15)).astype(pixels.dtype)[..., None]


def _with_channels(pixels: Any, channels: int) -> Any:
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


def _as_type(pixels: Any, wanted: Any) -> Any:
    if wanted == pixels.dtype:
        return pixels
    if wanted.kind == "f":
        return pixels.astype(wanted) / wanted.type(np.iinfo(pixels.dtype).max)
    if wanted == np.uint8:
        return (pixels >> 8).astype(np.uint8)
    return pixels.astype(np.uint16) * np.uint16(257)


class _Natives(NamedTuple):
    """The native code that one node uses to decode PNG and JPEG files."""

    png: NativePng
    jpeg: NativeJpeg


def _png(data: bytes, channels: int, wanted: Any, natives: _Natives) -> Any:
    try:
        pixels, clear = decoded_png(data, natives.png)
    except ValueError as error:
        reason = f"{error}{pointer_text(data)}"
        raise refusal(f"Invalid PNG data, size {len(data)}: {reason}") from None
    except NotImplementedError as error:
        raise UnimplementedError(None, None, str(error)) from None
    if clear is not None and channels in (2, 4):
        pixels = np.concatenate([pixels, clear], axis=2)
    return _as_type(_with_channels(pixels, channels or pixels.shape[2]), wanted)


# -- BMP

_BMP_HEADER = struct.Struct("<2sIHHIIiiHH")


def _bmp(data: bytes, channels: int, wanted: Any, _: _Natives) -> Any:
    return _as_type(_bmp_pixels(data, channels), wanted)


def _bmp_pixels(data: bytes, channels: int) -> Any:
    """Return the pixels [h, w, channels] of an uncompressed BMP file of 8 (grey), 24 or 32 bits.

    Args:
      channels: the number of channels that the file must have, or 0 for any number.
    """
    if len(data) < _BMP_HEADER.size or not data.startswith(_BMP_SIGNATURE):
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


# -- the ops


def _infer_decoded(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    return [TensorShape.of((None, None, context.attrs["channels"] or None))]


def _any_file(data: bytes, channels: int, wanted: Any, natives: _Natives) -> Any:
    if data.startswith(PNG_SIGNATURE):
        read = np.dtype(np.uint8) if wanted == np.uint8 else np.dtype(np.uint16)
        return _as_type(_png(data, channels, read, natives), wanted)
    if data.startswith(_BMP_SIGNATURE):
        return _bmp(data, channels, wanted, natives)
    if data.startswith(_JPEG_SIGNATURE):
        pixels = jpeg_pixels(data, 3 if channels == 4 else channels, native=natives.jpeg)
        return _as_type(_with_channels(pixels, 4) if channels == 4 else pixels, wanted)
    for start, kind in _UNREAD.items():
        if data.startswith(start):
            message = f"{kind} images are not decoded here; PNG, BMP and JPEG are"
            message += ", and GIF by tf.image.decode_gif"
            raise UnimplementedError(None, None, message)
    raise refusal(f"Unknown image file format. One of PNG, BMP, JPEG required{pointer_text(data)}.")


def _bind_decoder(
    decode: Callable[[bytes, int, Any, _Natives], Any], context: KernelContext, contents: Any
) -> Callable[[], Any]:
    channels = context.attrs["channels"]
    if channels not in (0, 1, 3, 4):
        raise refusal(f"channels must be one of (0, 1, 3, 4), got {channels}")
    wanted = np.dtype(as_dtype(context.attrs.get("dtype", dtypes.uint8)).as_numpy_dtype)
    natives = _Natives(NativePng(context), NativeJpeg(context))
    return lambda: [decode(contents[()], channels, wanted, natives)]


_PNG_TYPES = (dtypes.uint8, dtypes.uint16)
_IMAGE_TYPES = (*_PNG_TYPES, dtypes.float32)


def _decoder(name: str, what: str, decode: Any, output: str = "dtype", **attrs: Any) -> OpFunction:
    return op(
        name,
        inputs="contents: string",
        outputs=f"image: {output}",
        attrs={"channels": Attr("int", 0), **attrs},
        infer=_infer_decoded,
        cpu=Call(make=partial(_bind_decoder, decode), dynamic=True),
        gpu=_HOST,
        grad=NO_GRADIENT,
        doc=f"The pixels [height, width, channels] of {what}.",
    )


_decode_png = _decoder(
    "DecodePng", "a PNG file", _png, dtype=Attr("type", dtypes.uint8, allowed=_PNG_TYPES)
)
_decode_bmp = _decoder("DecodeBmp", "a BMP file", _bmp, "uint8")
_decode_image = _decoder(
    "DecodeImage",
    "a PNG, BMP or JPEG file",
    _any_file,
    dtype=Attr("type", dtypes.uint8, allowed=_IMAGE_TYPES),
    expand_animations=Attr("bool", True),
)


def _infer_encoded(context: InferContext) -> Sequence[TensorShape]:
    channels = of_rank(context.shapes[0], 3, "image")[2]
    if channels not in (1, 2, 3, 4, None):
        raise ValueError(f"image must have 1 to 4 channels, but has {channels}")
    return [TensorShape.of(())]


def _bind_encode(context: KernelContext, image: Any, out: Any) -> Callable[[], Any]:
    level = context.attrs["compression"]
    if not -1 <= level <= 9:
        raise refusal(f"compression should be in [-1,9], got {level}")
    if not image.size or image.shape[2] > 4:
        raise refusal(f"image must have pixels of 1 to 4 channels, got shape {image.shape}")

    def run() -> None:
        out[()] = encoded_png(image, level)

    return run


_encode_png = op(
    "EncodePng",
    inputs="image: T",
    outputs="contents: string",
    attrs={"compression": Attr("int", -1), "T": _PNG_TYPES},
    infer=_infer_encoded,
    cpu=Call(make=_bind_encode),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The PNG file of an image [height, width, channels].",
)


# -- the public functions


def _check_type(dtype: Any, allowed: Sequence[DType]) -> DType:
    wanted = as_dtype(dtype)
    if wanted not in allowed:
        names = ", ".join(element.name for element in allowed)
        raise TypeError(f"Images are decoded to {names}, not to {wanted.name}")
    return wanted


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Encode an image [h, w, channels], uint8 or uint16, as a PNG file, a string scalar.

    The channels are grey, grey and alpha, RGB, or RGB and alpha, depending on their number. Raises
    ValueError if the image has any other shape. A run raises InvalidArgumentError if the image is
    empty.

    Args:
      compression: the compression level of zlib from 0 to 9, or -1 for zlib's default.
    """
    return _encode_png(image, compression=compression, name=name)


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None
) -> Tensor:
    """Decode a PNG file, a string scalar, to pixels [h, w, channels], uint8 or uint16.

    Raises TypeError if `dtype` is neither of these. A run raises InvalidArgumentError if the string
    is not a PNG file, and UnimplementedError if the file is interlaced.

    Args:
      channels: 1 for grey, 3 for RGB, 4 for RGB and alpha, or 0 for the channels of the file.

    >>> png = tf.image.encode_png(tf.zeros([2, 3, 1], tf.uint8))
    >>> session.run(tf.image.decode_png(png)).shape
    (2, 3, 1)
    """
    wanted = _check_type(dtype, _PNG_TYPES)
    return _decode_png(contents, channels=channels, dtype=wanted, name=name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """Decode an uncompressed BMP file of 8, 24 or 32 bits to pixels [h, w, channels], uint8.

    A run raises InvalidArgumentError for any other file.

    Args:
      channels: the number of channels that the file must have, or 0 for any number.
    """
    return _decode_bmp(contents, channels=channels, name=name)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decode a PNG, BMP or JPEG file to pixels [h, w, channels] of dtype uint8, uint16 or float32.

    float32 pixels are in [0, 1].

    `expand_animations` concerns only GIF files, so it has no effect here.

    Raises TypeError if `dtype` is none of these. A run raises UnimplementedError if the file is a
    GIF or WebP file, or a JPEG file and Pillow is not installed. It raises InvalidArgumentError for
    any other file.
    """
    wanted = _check_type(dtype, _IMAGE_TYPES)
    return _decode_image(
        contents,
        channels=channels or 0,
        dtype=wanted,
        expand_animations=expand_animations,
        name=name,
    )
