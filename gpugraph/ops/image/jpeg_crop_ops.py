"""The shape of a JPEG file, a window of its pixels, and images as JPEG compression changes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, Misfit
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.jpeg_ops import jpeg_pixels, pillow

_HOST = HostOnly("files are decoded by the host")
_START = b"\xff\xd8"
_ALONE = {0x01, *range(0xD0, 0xD9)}
"""Markers that no segment follows."""
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""Markers of the segment with the size of the picture (SOF0 to SOF15)."""


def jpeg_shape(data: bytes) -> tuple[int, int, int]:
    """Return height, width and channels of a JPEG file, from its frame header (ITU T.81, B.2.2)."""
    place = 2 if data.startswith(_START) else len(data)
    while place + 9 < len(data):
        marker = data[place + 1]
        if data[place] != 0xFF:
            break
        if marker == 0xFF or marker in _ALONE:
            place += 1 if marker == 0xFF else 2
            continue
        if marker in _FRAMES:
            height = int.from_bytes(data[place + 5 : place + 7], "big")
            return height, int.from_bytes(data[place + 7 : place + 9], "big"), data[place + 9]
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    raise refusal(f"Invalid JPEG data, size {len(data)}")


def _infer_shape(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    return [TensorShape.of((3,))]


def _bind_shape(context: KernelContext, contents: Any, out: Any) -> Callable[[], None]:
    def run() -> None:
        out[...] = jpeg_shape(contents[()])

    return run


extract_jpeg_shape_op = op(
    "ExtractJpegShape",
    inputs="contents: string",
    outputs="image_shape: output_type",
    attrs={"output_type": Attr("type", dtypes.int32, allowed=(dtypes.int32, dtypes.int64))},
    infer=_infer_shape,
    cpu=Call(make=_bind_shape),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="Height, width and channels of a JPEG file.",
)


def _infer_window(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    (count,) = of_rank(context.shapes[1], 1, "crop_window")
    if count not in (None, 4):
        raise Misfit(f"Dimension must be 4 but is {count}")
    window = context.value(1)
    height, width = (None, None) if window is None else (int(size) for size in window[2:4])
    return [TensorShape.of((height, width, context.attrs["channels"] or None))]


def _bind_window(context: KernelContext, contents: Any, window: Any) -> Callable[[], Any]:
    channels, ratio = context.attrs["channels"], context.attrs["ratio"]
    if channels not in (0, 1, 3):
        raise refusal(f"channels must be 0, 1, or 3, got {channels}")
    if ratio not in (1, 2, 4, 8):
        raise refusal(f"ratio must be 1, 2, 4, or 8, got {ratio}")

    def run() -> Any:
        data = contents[()]
        y, x, height, width = window.tolist()
        pixels = jpeg_pixels(data, channels, ratio)
        rows, columns = pixels.shape[:2]
        inside = 0 <= y <= rows - height and 0 <= x <= columns - width
        if min(height, width) <= 0 or not inside:
            raise refusal(
                f"Invalid JPEG data or crop window, data size {len(data)}: the window of {height} "
                f"rows and {width} columns at [{y}, {x}] is not inside of the image of "
                f"{rows} rows and {columns} columns"
            )
        return [np.ascontiguousarray(pixels[y : y + height, x : x + width])]

    return run


decode_and_crop_jpeg_op = op(
    "DecodeAndCropJpeg",
    inputs="contents: string, crop_window: int32",
    outputs="image: uint8",
    attrs={
        "channels": Attr("int", 0),
        "ratio": Attr("int", 1),
        "fancy_upscaling": Attr("bool", True),
        "try_recover_truncated": Attr("bool", False),
        "acceptable_fraction": Attr("float", 1.0),
        "dct_method": Attr("string", ""),
    },
    infer=_infer_window,
    cpu=Call(make=_bind_window, dynamic=True),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="A window [y, x, height, width] of the pixels of a JPEG file.",
)


def extract_jpeg_shape(
    contents: Any, output_type: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Return [height, width, channels] of a JPEG file, a string scalar; no pixel is decoded.

    output_type: int32 or int64. A run raises InvalidArgumentError for other files.
    """
    return extract_jpeg_shape_op(contents, output_type=output_type, name=name)


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
    """Decode the window [y, x, height, width], int32, of a JPEG file to pixels, uint8.

    The arguments are those of `decode_jpeg`. Pillow decodes the whole file.

    Raises ModuleNotFoundError without Pillow; a run raises InvalidArgumentError for other files
    and for a window that is not inside of the image.
    """
    pillow()
    return decode_and_crop_jpeg_op(
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
