"""DrawBoundingBoxes, which draws the edges of boxes into images, one pixel thick.

A box is [y1, x1, y2, x2] in fractions of the image, where (0, 0) is the first pixel and (1, 1) is
the last pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float16, float32
from gpugraph.base.misfit import value_error
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, RowSource, Signature
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank

_COLORS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)
"""The default RGBA colours of boxes, used in rotation; in grey images boxes are white."""


def _infer(context: InferContext) -> Sequence[TensorShape]:
    images, boxes = context.shapes[:2]
    batch, _, _, depth = of_rank(images, 4, "images")
    others, _, columns = of_rank(boxes, 3, "boxes")
    if columns not in (4, None):
        raise value_error(
            f"boxes need 4 columns, but have {columns}", f"Dimension must be 4 but is {columns}"
        )
    if batch is not None and others is not None and batch != others:
        raise ValueError(f"There are {batch} images, but boxes for {others}")
    if depth not in (1, 3, 4, None):
        raise ValueError(f"images must have 1, 3 or 4 channels, but have {depth}")
    if len(context.shapes) > 2:
        channels = of_rank(context.shapes[2], 2, "colors")[1]
        if channels is not None and depth is not None and channels < depth:
            raise ValueError(f"colors have {channels} channels, but images {depth}")
    return [images]


def _draw_box(image: Any, box: Any, color: Any) -> None:
    """Draw the edges of `box` that are inside the image [h, w, c]."""
    height, width = image.shape[:2]
    last_pixels = np.array([height - 1, width - 1] * 2, np.float32)
    y1, x1, y2, x2 = np.trunc(np.float32(box) * last_pixels).astype(np.int64).tolist()
    if y1 > y2 or x1 > x2 or y1 >= height or x1 >= width or y2 < 0 or x2 < 0:
        return
    rows, columns = slice(max(y1, 0), y2 + 1), slice(max(x1, 0), x2 + 1)
    for row in (y1, y2):
        if 0 <= row < height:
            image[row, columns] = color
    for column in (x1, x2):
        if 0 <= column < width:
            image[rows, column] = color


def _draw(images: Any, boxes: Any, *rest: Any) -> None:
    colors, out = (rest[0] if len(rest) > 1 else _COLORS[:0]), rest[-1]
    if not len(colors):
        colors = _COLORS if out.shape[3] > 1 else np.ones((1, 1), np.float32)
    np.copyto(out, images)
    for image, image_boxes in zip(out, boxes, strict=True):
        for index, box in enumerate(image_boxes):
            _draw_box(image, box, colors[index % len(colors)][: image.shape[2]])


def _native(signature: Signature) -> list[int]:
    images, boxes, *colors = signature.input_shapes
    return [*images, boxes[1], *(colors[0] if colors else (0, 0)), len(signature.input_shapes)]


for _name, _colors, _of in (
    ("DrawBoundingBoxes", "", "ten colours"),
    ("DrawBoundingBoxesV2", ", colors: float32", "`colors`, [n, channels],"),
):
    op(
        _name,
        inputs=f"images: T, boxes: float32{_colors}",
        outputs="output: T",
        attrs={"T": (float32, float16)},
        infer=_infer,
        cpu=Call(_draw),
        gpu=HostOnly("where it draws depends on boxes, which the host must read"),
        native=RowSource("host_drawing.h", "gg_draw_boxes", _native),
        grad=NO_GRADIENT,
        doc=f"Images with the edges of their boxes in {_of} in turn.",
    )


def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Tensor:
    """Draw the edges of boxes [batch, n, 4] into images [batch, h, w, c] of 1, 3 or 4 channels.

    Edges outside an image are not drawn. There is no gradient. Raises ValueError if shapes are
    incompatible.

    Args:
      colors: a tensor of shape [colours, channels]. The boxes use these colours in turn. By
        default, there are ten bright colours. In grey images, boxes are white by default.
    """
    if colors is None:
        return raw_ops.DrawBoundingBoxes(images, boxes, name=name)
    return raw_ops.DrawBoundingBoxesV2(images, boxes, colors, name=name)
