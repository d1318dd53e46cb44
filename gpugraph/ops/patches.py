"""Patches of images, as `extract_image_patches` cuts them out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.dtypes import REAL
from gpugraph.graph.infer import InferContext
from gpugraph.graph.tensor import Tensor
from gpugraph.kernel import At, Call, KernelContext, Launch, Signature, Source
from gpugraph.ops.declare import Attr, op, raw_ops
from gpugraph.ops.launches import THREADS, grid_of, item_type
from gpugraph.ops.shape_functions import of_rank
from gpugraph.ops.window_launches import Geometry
from gpugraph.ops.windows import Axis
from gpugraph.shapes import TensorShape

__all__ = ["extract_image_patches", "extract_patches"]


def _windows(attrs: Any) -> list[tuple[int, int, int]]:
    """(size, stride, rate) of rows and columns; ValueError for ones in other dimensions."""
    lists = [attrs[key] for key in ("ksizes", "strides", "rates")]
    for each in lists:
        if len(each) != 4 or each[0] != 1 or each[3] != 1 or min(each) < 1:
            raise ValueError(f"Patches need [1, rows, columns, 1], positive, but got {list(each)}")
    return [tuple(each[at] for each in lists) for at in (1, 2)]


def _is_same(attrs: Any) -> bool:
    padding = attrs["padding"]
    name = padding.decode() if isinstance(padding, bytes) else padding
    if name not in ("SAME", "VALID"):
        raise ValueError(f"padding must be SAME or VALID, but is {name}")
    return bool(name == "SAME")


def _reach(window: tuple[int, int, int]) -> int:
    """How many pixels one patch spans."""
    size, _, rate = window
    return size + (size - 1) * (rate - 1)


def _patch_count(size: int | None, window: tuple[int, int, int], same: bool) -> int | None:
    if size is None:
        return None
    free = size if same else size - _reach(window) + 1
    if free < 0:
        raise ValueError(f"Patches that span {_reach(window)} pixels don't fit into {size}")
    return -(-free // window[1])


def _infer_patches(context: InferContext) -> Sequence[TensorShape]:
    batch, height, width, depth = of_rank(context.shapes[0], 4, "images")
    windows, same = _windows(context.attrs), _is_same(context.attrs)
    counts = [_patch_count(size, each, same) for size, each in zip((height, width), windows)]
    area = windows[0][0] * windows[1][0]
    return [TensorShape.of((batch, *counts, None if depth is None else depth * area))]


def _before(size: int, count: int, window: tuple[int, int, int]) -> tuple[int, int]:
    """The zeros before and after, where the patches stick out."""
    total = max((count - 1) * window[1] + _reach(window) - size, 0)
    return total // 2, total - total // 2


def _bind_patches(context: KernelContext, images: Any, out: Any) -> Callable[[], Any]:
    windows = _windows(context.attrs)
    same = _is_same(context.attrs)
    batch, height, width, depth = images.shape
    pads = [
        _before(size, count, each) if same else (0, 0)
        for size, count, each in zip((height, width), out.shape[1:3], windows)
    ]
    shape = (batch, height + sum(pads[0]), width + sum(pads[1]), depth)
    padded = context.scratch(shape, context.output_types[0])
    inside = padded[:, pads[0][0] : pads[0][0] + height, pads[1][0] : pads[1][0] + width]
    apart = out.reshape(*out.shape[:3], windows[0][0], windows[1][0], depth)

    def run() -> None:
        padded.fill(0)
        np.copyto(inside, images)
        for row in range(windows[0][0]):
            for column in range(windows[1][0]):
                starts = row * windows[0][2], column * windows[1][2]
                rows, columns = (
                    slice(start, start + (count - 1) * each[1] + 1, each[1])
                    for start, count, each in zip(starts, out.shape[1:3], windows)
                )
                if out.size:
                    np.copyto(apart[:, :, :, row, column], padded[:, rows, columns])

    return run


def _launch_patches(signature: Signature) -> list[Launch]:
    windows, same = _windows(signature.attrs), _is_same(signature.attrs)
    (batch, height, width, channels), out = signature.input_shapes[0], signature.output_shapes[0]
    axes = [
        Axis(size, *window, _before(size, count, window)[0] if same else 0, count)
        for size, count, window in zip((height, width), out[1:3], windows)
    ]
    work = Geometry(batch, channels, (Axis(1, 1, 1, 1, 0, 1), axes[0], axes[1]), True, False)
    count = prod(out)
    return [
        Launch(
            "gg_patches",
            grid_of(count),
            (THREADS, 1, 1),
            (At(0), At(1), count, channels, *work.numbers),
            {},
            {**work.macros(count), "ITEM": item_type(signature.output_types[0])},
        )
    ]


def _patches_back(op: Any, dy: Any) -> Any:
    """Each place of a patch put back where it was taken from, in the padded images."""
    images = op.inputs[0]
    windows = _windows(op.attrs)
    shape, counts = raw_ops.Shape(images), raw_ops.Shape(dy)
    pads = []
    for at, each in enumerate(windows, 1):
        total = (counts[at] - 1) * each[1] + _reach(each) - shape[at]
        total = raw_ops.Maximum(total, 0) if _is_same(op.attrs) else raw_ops.ZerosLike(total)
        pads.append((total // 2, total))
    zero = np.array(0, np.int32)
    added = raw_ops.Pack([zero, pads[0][1], pads[1][1], zero])
    padded = raw_ops.AddV2(shape, added)
    rows, columns = windows[0][0], windows[1][0]
    split = raw_ops.Reshape(
        dy, raw_ops.Pack([counts[0], counts[1], counts[2], rows * columns, shape[3]])
    )
    parts = []
    for at, part in enumerate(raw_ops.Unpack(split, num=rows * columns, axis=3)):
        starts = at // columns * windows[0][2], at % columns * windows[1][2]
        ends = [
            start + (counts[place] - 1) * each[1] + 1
            for place, (start, each) in enumerate(zip(starts, windows), 1)
        ]
        parts.append(
            raw_ops.StridedSliceGrad(
                padded,
                np.array([0, *starts, 0], np.int32),
                raw_ops.Pack([shape[0], *ends, shape[3]]),
                np.array([1, windows[0][1], windows[1][1], 1], np.int32),
                part,
            )
        )
    begin = raw_ops.Pack([zero, pads[0][0], pads[1][0], zero])
    dx = raw_ops.Slice(raw_ops.AddN(parts), begin, shape)
    dx.set_shape(images.shape)
    return dx


op(
    "ExtractImagePatches",
    inputs="images: T",
    outputs="patches: T",
    attrs={
        "ksizes": Attr("list(int)", required=True),
        "strides": Attr("list(int)", required=True),
        "rates": Attr("list(int)", required=True),
        "padding": Attr("string", required=True),
        "T": REAL,
    },
    infer=_infer_patches,
    cpu=Call(make=_bind_patches),
    gpu=Source("patches.cu", _launch_patches, Call(make=_bind_patches)),
    grad=_patches_back,
    doc="Patches of images [b, h, w, c] as channels: [b, rows, columns, patch rows * patch "
    "columns * c].",
)


def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """Patches of images [b, h, w, c], their pixels as channels: [b, rows, columns, kr * kc * c].

    ksizes (also: sizes), strides, rates: [1, rows, columns, 1]: how large patches are, how far
    apart, and how far apart a patch's own pixels. padding: "VALID", or "SAME" for patches that
    stick out by zeros. ValueError for others.
    """
    made: Tensor = raw_ops.ExtractImagePatches(
        images,
        ksizes=list(ksizes if sizes is None else sizes),
        strides=list(strides),
        rates=list(rates),
        padding=padding,
        name=name,
    )
    return made


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Patches of images [b, h, w, c] as channels; see `extract_image_patches`."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)
