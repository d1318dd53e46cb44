"""FusedPadConv2D and FusedResizeAndPadConv2D, which mirror-pad images and convolve them. The latter
first resizes the images.

TensorFlow's graph transforms for inference replace ResizeBilinear, MirrorPad and Conv2D with these
ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING, float16, float32, float64
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.resize_ops import store_bilinear
from gpugraph.ops.nn.windows.window_geometry import PADDING
from gpugraph.ops.older_types.numpy_op import numpy_op

_ATTRS = {
    "mode": Attr("string", required=True, allowed=("REFLECT", "SYMMETRIC")),
    "strides": Attr("list(int)", required=True),
    "padding": PADDING,
}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _edges(value: Any) -> list[tuple[int, int]]:
    """Return the padding (before, after) of each axis.

    Raises a Misfit unless there are 4 such pairs.
    """
    if np.shape(value) != (4, 2):
        message = f"paddings must be a matrix with 2 columns: {shape_text(np.shape(value))}"
        raise Misfit(message)
    flat = ints(value)
    return list(zip(flat[::2], flat[1::2], strict=True))


def _check_edges(sizes: Sequence[int], edges: Sequence[tuple[int, int]], attrs: Any) -> None:
    """Raise InvalidArgumentError if paddings of images with these sizes are not valid."""
    reflects = _text(attrs["mode"]) == "REFLECT"
    for size, (before, after) in zip(sizes, edges):
        if max(before, after) > size - reflects and (before or after):
            limit = "less than" if reflects else "no greater than"
            opposite = "not less than" if reflects else "greater than"
            raise invalid_argument(
                f"paddings must be {limit} the dimension size: {before}, {after} {opposite} {size}"
            )
    for axis, kind in ((0, "batches"), (3, "channels")):
        if any(edges[axis]):
            raise invalid_argument(
                f"Fused mirror padding only support spatial padding, not {kind}: {list(edges)}"
            )


def _strides(attrs: Any) -> tuple[int, int]:
    strides = tuple(attrs["strides"])
    if len(strides) != 4:
        raise ValueError(f"Sliding window strides field must specify 4 dimensions: {strides}")
    if strides[0] != 1 or strides[3] != 1:
        raise Misfit(
            "Current implementation does not yet support strides in the batch and depth "
            f"dimensions: {strides}"
        )
    return strides[1], strides[2]


def _output_size(size: int | None, window: int | None, stride: int, same: bool) -> int | None:
    if size is None or window is None:
        return None
    return -(-size // stride) if same else max(0, (size - window) // stride + 1)


def _infer(context: InferContext) -> Sequence[TensorShape]:
    last = len(context.shapes) - 1
    batch, *image, depth = of_rank(context.shapes[0], 4, "input")
    rows, columns, filter_depth, features = of_rank(context.shapes[last], 4, "filter")
    if last == 3:
        size = context.value(1)
        image = [None, None] if size is None else list(ints(size))
    paddings = context.value(last - 1)
    edges = None if paddings is None else _edges(paddings)
    if edges is None:
        batch = None
        image, depth = [None, None], None
    else:
        if min(map(min, edges)) < 0:
            raise Misfit("Paddings must be non-negative")
        batch, depth = (
            None if n is None else n + sum(edges[axis]) for n, axis in ((batch, 0), (depth, 3))
        )
        image = [None if n is None else n + sum(pair) for n, pair in zip(image, edges[1:3])]
    if None not in (depth, filter_depth) and depth != filter_depth:
        raise ValueError(f"Dimensions must be equal, but are {depth} and {filter_depth}")
    same = _text(context.attrs["padding"]) == "SAME"
    sizes = [
        _output_size(size, window, stride, same)
        for size, window, stride in zip(image, (rows, columns), _strides(context.attrs))
    ]
    return [TensorShape.of((batch, *sizes, features))]


def _convolved(x: Any, filters: Any, strides: tuple[int, int], same: bool, out: Any) -> None:
    if same:
        edges = [(0, 0)]
        for size, window, stride, count in zip(x.shape[1:3], filters.shape, strides, out.shape[1:]):
            need = max((count - 1) * stride + window - size, 0)
            edges.append((need // 2, need - need // 2))
        x = np.pad(x, [*edges, (0, 0)])
    if not out.size:
        return
    views = np.lib.stride_tricks.sliding_window_view(x, filters.shape[:2], (1, 2))
    views = views[:, :: strides[0], :: strides[1]]
    axes: Any = [(4, 5, 3), (0, 1, 2)]
    np.copyto(out, np.tensordot(views, filters, axes), casting="same_kind")


def _bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    images, filters, out = arrays  # the other inputs are read on the host
    resizes = len(context.input_shapes) == 4
    edges, strides = _edges(context.value(2 if resizes else 1)), _strides(context.attrs)
    modes: dict[str, Any] = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}
    mode = modes[_text(context.attrs["mode"])]
    same = _text(context.attrs["padding"]) == "SAME"

    def run() -> None:
        x = images
        if resizes:
            batch, *_, depth = images.shape
            x = np.empty((batch, *ints(context.value(1)), depth), np.result_type(images, "f"))
            aligns = context.attrs["resize_align_corners"]
            store_bilinear(images, x, {"align_corners": aligns, "half_pixel_centers": False})
        _check_edges(x.shape, edges, context.attrs)
        if x.size:
            padded = np.pad(x, edges, mode=mode)
        else:
            sizes = [size + sum(pair) for size, pair in zip(x.shape, edges)]
            padded = np.zeros(sizes, x.dtype)
        _convolved(padded, filters, strides, same, out)

    return run


numpy_op(
    "FusedPadConv2D", "input: T, paddings: int32, filter: T -> output: T",
    {"T": FLOATING, **_ATTRS}, _infer,
    Call(make=_bind), "Conv2D of the input mirrored at its edges, as MirrorPad does.",
    memory=OpMemory(host_inputs=[1]),
)  # fmt: skip
numpy_op(
    "FusedResizeAndPadConv2D",
    "input: T, size: int32, paddings: int32, filter: T -> output: T",
    {"T": (float16, float32, float64), "resize_align_corners": Attr("bool", False), **_ATTRS},
    _infer,
    Call(make=_bind),
    "Conv2D of the input resized, as ResizeBilinear does, and mirrored at its edges.",
    memory=OpMemory(host_inputs=[1, 2]),
)  # fmt: skip
