"""ExtractImagePatches and ExtractVolumePatches, which extract patches of images and volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import REAL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import Arg, Call, KernelContext, Launch, Signature, Source
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, item_type
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.window_geometry import WindowAxis
from gpugraph.ops.nn.windows.window_launches import WindowBatch


class Window(NamedTuple):
    """The patches along one axis: the number of pixels of a patch, the distance between patches,
    and the distance between the pixels of one patch.
    """

    size: int
    stride: int
    rate: int


_FORMS = {4: "[1, rows, columns, 1]", 5: "[1, planes, rows, columns, 1]"}


def _windows(attrs: Any, rank: int) -> list[Window]:
    """Return the windows of the patches along the spatial axes. Raises ValueError if there are
    windows along other axes.
    """
    lists = [attrs["ksizes"], attrs["strides"], attrs.get("rates") or [1] * rank]
    for sizes in lists:
        if len(sizes) != rank or sizes[0] != 1 or sizes[-1] != 1 or min(sizes) < 1:
            raise ValueError(f"Patches need {_FORMS[rank]}, positive, but got {list(sizes)}")
    return [Window(*numbers) for numbers in list(zip(*lists, strict=True))[1:-1]]


def _is_same(attrs: Any) -> bool:
    padding = attrs["padding"]
    name = padding.decode() if isinstance(padding, bytes) else padding
    if name not in ("SAME", "VALID"):
        raise ValueError(f"padding must be SAME or VALID, but is {name}")
    return bool(name == "SAME")


def _reach(window: Window) -> int:
    """Return the number of image pixels from the first to the last pixel of a patch."""
    return window.size + (window.size - 1) * (window.rate - 1)


def _patch_count(size: int | None, window: Window, same: bool) -> int | None:
    if size is None:
        return None
    free = size if same else size - _reach(window) + 1
    if free < 0:
        raise ValueError(f"Patches that span {_reach(window)} pixels don't fit into {size}")
    return -(-free // window.stride)


def _infer_patches(rank: int) -> InferFunction:
    def infer(context: InferContext) -> Sequence[TensorShape]:
        batch, *sizes, depth = of_rank(context.shapes[0], rank, "images")
        windows, same = _windows(context.attrs, rank), _is_same(context.attrs)
        counts = [_patch_count(size, window, same) for size, window in zip(sizes, windows)]
        area = prod(window.size for window in windows)
        return [TensorShape.of((batch, *counts, None if depth is None else depth * area))]

    return infer


def _same_padding(size: int, count: int, window: Window) -> tuple[int, int]:
    """Return the number of padding zeros before and after the image along one axis, for padding
    "SAME".
    """
    total = max((count - 1) * window.stride + _reach(window) - size, 0)
    return total // 2, total - total // 2


def _bind_patches(context: KernelContext, images: Any, out: Any) -> Callable[[], Any]:
    windows = _windows(context.attrs, images.ndim)
    same = _is_same(context.attrs)
    batch, *sizes, depth = images.shape
    counts = out.shape[1:-1]
    pads = [
        _same_padding(size, count, window) if same else (0, 0)
        for size, count, window in zip(sizes, counts, windows)
    ]
    shape = (batch, *(size + sum(pad) for size, pad in zip(sizes, pads)), depth)
    padded = context.scratch(shape, context.output_types[0])
    middle = [slice(pad[0], pad[0] + size) for size, pad in zip(sizes, pads)]
    inside = padded[(slice(None), *middle)]
    patches = out.reshape(*out.shape[:-1], *(window.size for window in windows), depth)
    everywhere = (slice(None),) * (1 + len(windows))

    def run() -> None:
        padded.fill(0)
        np.copyto(inside, images)
        if not out.size:
            return
        for element in product(*(range(window.size) for window in windows)):
            starts = [index * window.rate for index, window in zip(element, windows)]
            pixels = [
                slice(start, start + (count - 1) * window.stride + 1, window.stride)
                for start, count, window in zip(starts, counts, windows)
            ]
            np.copyto(patches[everywhere + element], padded[(slice(None), *pixels)])

    return run


def _launch_patches(signature: Signature) -> list[Launch]:
    windows, same = _windows(signature.attrs, 4), _is_same(signature.attrs)
    (batch, height, width, channels), out = signature.input_shapes[0], signature.output_shapes[0]
    axes = [
        WindowAxis(size, *window, _same_padding(size, count, window)[0] if same else 0, count)
        for size, count, window in zip((height, width), out[1:3], windows)
    ]
    work = WindowBatch(
        batch, channels, (WindowAxis(1, 1, 1, 1, 0, 1), axes[0], axes[1]), True, False
    )
    count = prod(out)
    return [
        Launch(
            "gg_patches",
            grid_of(count),
            (THREADS, 1, 1),
            (Arg(0), Arg(1), count, channels, *work.numbers),
            {},
            {**work.macros(count), "ITEM": item_type(signature.output_types[0])},
        )
    ]


def _patches_back(op: Any, dy: Any) -> Any:
    """Return the gradient of the images. The gradient of an image pixel is the sum of the gradients
    of its copies in patches.
    """
    images = op.inputs[0]
    windows = _windows(op.attrs, len(op.attrs["ksizes"]))
    shape, counts = raw_ops.Shape(images), raw_ops.Shape(dy)
    axes, channels = range(1, len(windows) + 1), shape[len(windows) + 1]
    pads = []
    for axis, window in zip(axes, windows):
        total = (counts[axis] - 1) * window.stride + _reach(window) - shape[axis]
        total = raw_ops.Maximum(total, 0) if _is_same(op.attrs) else raw_ops.ZerosLike(total)
        pads.append((total // 2, total))
    zero = np.array(0, np.int32)
    padded = raw_ops.AddV2(shape, raw_ops.Pack([zero, *(total for _, total in pads), zero]))
    elements = list(product(*(range(window.size) for window in windows)))
    sizes = [counts[0], *(counts[axis] for axis in axes)]
    split = raw_ops.Reshape(dy, raw_ops.Pack([*sizes, len(elements), channels]))
    parts = []
    unpacked = raw_ops.Unpack(split, num=len(elements), axis=len(sizes))
    for element, part in zip(elements, unpacked, strict=True):
        starts = [index * window.rate for index, window in zip(element, windows)]
        ends = [
            start + (counts[axis] - 1) * window.stride + 1
            for axis, start, window in zip(axes, starts, windows)
        ]
        parts.append(
            raw_ops.StridedSliceGrad(
                padded,
                np.array([0, *starts, 0], np.int32),
                raw_ops.Pack([shape[0], *ends, channels]),
                np.array([1, *(window.stride for window in windows), 1], np.int32),
                part,
            )
        )
    begin = raw_ops.Pack([zero, *(before for before, _ in pads), zero])
    dx = raw_ops.Slice(raw_ops.AddN(parts), begin, shape)
    dx.set_shape(images.shape)
    return dx


_SIZES = Attr("list(int)", required=True, minimum=4)
_VOLUMES = Attr("list(int)", required=True, minimum=5)
_PADDING = Attr("string", required=True, allowed=("SAME", "VALID"))

op(
    "ExtractImagePatches",
    inputs="images: T",
    outputs="patches: T",
    attrs={"ksizes": _SIZES, "strides": _SIZES, "rates": _SIZES, "padding": _PADDING, "T": REAL},
    infer=_infer_patches(4),
    cpu=Call(make=_bind_patches),
    gpu=Source("extract_patches.cu", _launch_patches, Call(make=_bind_patches)),
    grad=_patches_back,
    doc=(
        "Patches of images [b, h, w, c], whose pixels become channels: [b, rows, columns, patch "
        "rows * patch columns * c]."
    ),
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
    """Extract patches of images [b, h, w, c]. The pixels of a patch become channels.

    The result has shape [b, rows, columns, kr * kc * c]. Raises ValueError if `ksizes`, `strides`
    or `rates` is not of the form [1, rows, columns, 1].

    Args:
      ksizes: the sizes of patches in pixels. `sizes` is a newer name of `ksizes`.
      strides: the distances between patches.
      rates: the distances between the pixels of one patch.
      padding: "VALID", or "SAME" to pad images with zeros for patches that extend beyond them.

    >>> ones, two = [1, 1, 1, 1], [1, 2, 2, 1]
    >>> session.run(tf.extract_image_patches(tf.ones([1, 4, 4, 1]), two, two, ones, "VALID")).shape
    (1, 2, 2, 4)
    """
    return raw_ops.ExtractImagePatches(
        images,
        ksizes=list(ksizes if sizes is None else sizes),
        strides=list(strides),
        rates=list(rates),
        padding=padding,
        name=name,
    )


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Extract patches of images [b, h, w, c] as channels. See `extract_image_patches`."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)


op(
    "ExtractVolumePatches",
    inputs="input: T",
    outputs="patches: T",
    attrs={"ksizes": _VOLUMES, "strides": _VOLUMES, "padding": _PADDING, "T": REAL},
    infer=_infer_patches(5),
    cpu=Call(make=_bind_patches),
    gpu=Call(make=_bind_patches),
    grad=_patches_back,
    doc=(
        "Patches of volumes [b, d, h, w, c], whose elements become channels: [b, planes, rows, "
        "columns, elements of a patch * c]."
    ),
)


def extract_volume_patches(
    input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None
) -> Tensor:
    """Extract patches of volumes [b, d, h, w, c]. The elements of a patch become channels.

    The result has shape [b, planes, rows, columns, kp * kr * kc * c].

    Raises ValueError if `ksizes` or `strides` is not of the form [1, planes, rows, columns, 1].

    Args:
      ksizes: the sizes of patches, as [1, planes, rows, columns, 1].
      strides: the distances between patches, in the same form.
      padding: "VALID", or "SAME" to pad volumes with zeros for patches that extend beyond them.
    """
    return raw_ops.ExtractVolumePatches(
        input, ksizes=list(ksizes), strides=list(strides), padding=padding, name=name
    )
