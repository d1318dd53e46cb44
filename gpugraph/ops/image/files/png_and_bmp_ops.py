"""Ops that encode PNG files, and decode PNG, BMP and other image files (`image_decoders`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.files.image_decoders import (
    Decoding,
    checked_channels,
    frames_of_file,
    pixels_of_file,
)
from gpugraph.ops.image.files.png_and_bmp_pixels import BMP_SIGNATURE, BY_256, as_type, bmp_pixels
from gpugraph.ops.image.files.png_format import encoded_png

_HOST = HostOnly("files are decoded and encoded by the host")
_UNABLE = "Unable to decode bytes as JPEG, PNG, GIF, or BMP"

# -- the ops


def _infer_decoded(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    return [TensorShape.of((None, None, context.attrs["channels"] or None))]


def _infer_image(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    if context.attrs["expand_animations"]:  # a GIF file has frames
        return [TensorShape.of(None)]
    return [TensorShape.of((None, None, context.attrs["channels"] or None))]


def _bind_bmp(context: KernelContext, contents: Any) -> Callable[[], Any]:
    channels = checked_channels(context)
    return lambda: [bmp_pixels(contents[()], channels)]


def _bind_png(context: KernelContext, contents: Any) -> Callable[[], Any]:
    decoding = Decoding.of(context, context.attrs["dtype"].as_numpy_dtype)
    return lambda: [pixels_of_file(contents[()], decoding)]


def _bind_image(context: KernelContext, contents: Any) -> Callable[[], Any]:
    decoding = Decoding.of(context, context.attrs["dtype"].as_numpy_dtype)
    is_expanded = context.attrs["expand_animations"]

    def run() -> list[Any]:
        data = contents[()]
        if data.startswith(BMP_SIGNATURE):
            return [as_type(bmp_pixels(data, decoding.channels), decoding.wanted, BY_256)]
        frames = frames_of_file(data, decoding, _UNABLE)
        return [frames if frames.ndim == 3 or is_expanded else frames[0]]

    return run


_PNG_TYPES = (dtypes.uint8, dtypes.uint16)
_IMAGE_TYPES = (*_PNG_TYPES, dtypes.float32)


def _decoder(
    name: str,
    what: str,
    make: Any,
    output: str = "dtype",
    infer: Any = _infer_decoded,
    **attrs: Any,
) -> OpFunction:
    return op(
        name,
        inputs="contents: string",
        outputs=f"image: {output}",
        attrs={"channels": Attr("int", 0), **attrs},
        infer=infer,
        cpu=Call(make=make, dynamic=True),
        gpu=_HOST,
        grad=NO_GRADIENT,
        doc=f"The pixels [height, width, channels] of {what}.",
    )


_decode_png = _decoder(
    "DecodePng",
    "a PNG or JPEG file, or a GIF file of one frame",
    _bind_png,
    dtype=Attr("type", dtypes.uint8, allowed=_PNG_TYPES),
)
_decode_bmp = _decoder("DecodeBmp", "a BMP file", _bind_bmp, "uint8")
_decode_image = _decoder(
    "DecodeImage",
    "a PNG, BMP or JPEG file, or the frames of a GIF file",
    _bind_image,
    infer=_infer_image,
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
    ValueError if the shape is invalid. A run raises InvalidArgumentError if the image is empty.

    Args:
      compression: the compression level of zlib from 0 to 9, or -1 for zlib's default.
    """
    return _encode_png(image, compression=compression, name=name)


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None
) -> Tensor:
    """Decode a PNG file, a string scalar, to pixels [h, w, channels], uint8 or uint16.

    JPEG files, and GIF files of one frame, are decoded too. Raises TypeError if `dtype` is neither
    uint8 nor uint16. A run raises InvalidArgumentError if the string is none of these files, and
    UnimplementedError if a PNG file is interlaced.

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

    A run raises InvalidArgumentError if the string is not such a file.

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
    """Decode a PNG, BMP or JPEG file to pixels [h, w, channels], and a GIF file to frames [frames,
    h, w, 3], of dtype uint8, uint16 or float32.

    float32 pixels are in [0, 1]. The rank of the result is known only if `expand_animations` is
    false.

    Raises TypeError if `dtype` is none of these dtypes. A run raises UnimplementedError if the file
    is a JPEG or GIF file and Pillow is not installed. It raises InvalidArgumentError if the file
    has none of these formats.

    Args:
      channels: 1 for grey, 3 for RGB, 4 for RGB and alpha, or None for the channels of the file.
      expand_animations: whether a GIF file gives all its frames. If it is false, only the first
        frame is returned, as [h, w, 3].
    """
    wanted = _check_type(dtype, _IMAGE_TYPES)
    return _decode_image(
        contents,
        channels=channels or 0,
        dtype=wanted,
        expand_animations=expand_animations,
        name=name,
    )
