"""Max pooling with the position of each window's largest element, and its gradients.

The position of an element is (y * width + x) * channels + channel within its image. If
`include_batch_in_index` is true, it is the index in the flattened batch. If several elements are
equal, the first counts as the largest. NaN is the largest element only if it is the window's first
element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import REAL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, RowSource, Signature
from gpugraph.ops.framework.kernel_helpers import numpy_kernels, run_all
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.window_geometry import (
    IMAGES,
    PADDING,
    check_all_equal,
    unless_empty,
    window_steps,
)

_INDEX = (dtypes.int32, dtypes.int64)
_ATTRS = {
    "ksize": Attr("list(int)", required=True, minimum=4),
    "strides": Attr("list(int)", required=True, minimum=4),
    "padding": PADDING,
    "include_batch_in_index": Attr("bool", False),
}


def _window_attrs(attrs: Any) -> dict[str, Any]:
    """Return the attrs that `IMAGES` reads. The data format, which is not an attr of this op, is
    added.
    """
    return {"data_format": "NHWC", **{key: attrs[key] for key in _ATTRS}}


def _batch_places(context: KernelContext, image: Any) -> Any:
    """Return the offset of each image in the flattened batch, with shape [n, 1, 1, 1]. The offset
    is added to the positions in the image.
    """
    count, size = image.shape[0], image.size // max(1, image.shape[0])
    step = size if context.attrs["include_batch_in_index"] else 0
    return (np.arange(count, dtype=np.int64) * step).reshape(-1, 1, 1, 1)


_MOST_PLACES = 1 << 31


def _native(function: str) -> RowSource:
    """Return the native kernel of a max pooling with positions. Its first argument is the
    images.
    """

    def parameters(signature: Signature) -> list[int]:
        image = signature.input_shapes[0]
        if prod(image[1:]) >= _MOST_PLACES:
            raise NotImplementedError("a position has more than 31 bits")
        attrs = _window_attrs(signature.attrs)
        y, x = IMAGES.axes(attrs, image[1:3])
        wide = int(signature.attrs["Targmax"].size == 8)
        sizes = [y.window, x.window, y.out, x.out, y.stride, x.stride, y.before, x.before]
        return [*image, *sizes, wide, int(signature.attrs["include_batch_in_index"])]

    return RowSource("host_pool_positions.h", function, parameters)


@unless_empty
def _bind(context: KernelContext, image: Any, out: Any, where: Any) -> Callable[[], Any]:
    axes = IMAGES.axes(_window_attrs(context.attrs), image.shape[1:3])
    here = context.scratch(out.shape, dtypes.bool)
    fresh = context.scratch(out.shape, dtypes.bool)
    channels, width = image.shape[3], image.shape[2]
    first = _batch_places(context, image) + np.arange(channels)
    calls: list[Callable[[], Any]] = [partial(where.fill, -1)]
    for _, (down, across), (rows, columns) in window_steps(axes):
        windows = (slice(None), down, across)
        seen, top, place = image[:, rows, columns], out[windows], where[windows]
        pixels = np.arange(rows.start, rows.stop, rows.step or 1)[:, None] * width
        pixels = (pixels + np.arange(columns.start, columns.stop, columns.step or 1)) * channels
        number = np.asarray(first + pixels[..., None], where.dtype, like=where)
        calls += [
            partial(np.greater, seen, top, here[windows]),
            partial(np.less, place, 0, fresh[windows]),
            partial(np.logical_or, here[windows], fresh[windows], here[windows]),
            partial(np.copyto, top, seen, where=here[windows]),
            partial(np.copyto, place, number, where=here[windows]),
        ]
    return run_all(calls)


def _flat(context: KernelContext, image: Any, where: Any) -> Callable[[], Any]:
    """Return a function that reads the positions `where` and returns positions in the flattened
    batch.

    It raises InvalidArgumentError if a position is outside the images.
    """
    step = 0 if context.attrs["include_batch_in_index"] else image.size // image.shape[0]
    first = (np.arange(image.shape[0], dtype=np.int64) * step).reshape(-1, 1, 1, 1)
    first = np.asarray(first, like=where)

    def places() -> Any:
        positions = (where + first).reshape(-1)
        if positions.size and not (positions.min() >= 0 and positions.max() < image.size):
            raise invalid_argument(
                f"argmax has places outside the images, of {image.size} elements"
            )
        return positions

    return places


@unless_empty
def _bind_back(
    context: KernelContext, image: Any, dy: Any, where: Any, out: Any
) -> Callable[[], Any]:
    places, flat, slopes = _flat(context, image, where), out.reshape(-1), dy.reshape(-1)

    def run() -> None:
        out.fill(0)
        np.add.at(flat, places(), slopes)

    return run


@unless_empty
def _bind_back_back(
    context: KernelContext, image: Any, ddx: Any, where: Any, out: Any
) -> Callable[[], Any]:
    places, flat, slopes = _flat(context, image, where), out.reshape(-1), ddx.reshape(-1)
    return lambda: np.copyto(flat, slopes[places()])


def _infer(context: InferContext) -> Sequence[TensorShape]:
    attrs = _window_attrs(context.attrs)
    batch, height, width, channels = of_rank(context.shapes[0], 4, "input")
    down, across = IMAGES.out_sizes(attrs, (height, width), IMAGES.spatial(attrs, "ksize"))
    return [TensorShape.of((batch, down, across, channels))] * context.num_outputs


def _check_input(context: InferContext, index: int, shape: TensorShape, name: str) -> None:
    """Raise ValueError if input `index` can't have this shape.

    Args:
      name: the name of the input for the message.
    """
    sizes = of_rank(context.shapes[index], 4, name.split()[-1])
    check_all_equal(of_rank(shape, 4, "output"), sizes, name)


def _infer_back(context: InferContext) -> Sequence[TensorShape]:
    (pooled,) = _infer(context)
    _check_input(context, 1, pooled, "the windows and the gradient")
    _check_input(context, 2, pooled, "the windows and argmax")
    return [TensorShape.of(of_rank(context.shapes[0], 4, "input"))]


def _infer_back_back(context: InferContext) -> Sequence[TensorShape]:
    _check_input(context, 1, context.shapes[0], "the images and the gradient")
    (pooled,) = _infer(context)
    _check_input(context, 2, pooled, "the windows and argmax")
    return [pooled]


def _back(op: Any, dy: Any, _: Any) -> Any:
    return raw_ops.MaxPoolGradWithArgmax(op.inputs[0], dy, op.outputs[1], **attrs_of(op, _ATTRS))


def _gradient_of_gradient(op_type: str, op: Any, slope: Any) -> list[Any]:
    image, _, where = op.inputs
    return [None, getattr(raw_ops, op_type)(image, slope, where, **attrs_of(op, _ATTRS)), None]


op(
    "MaxPoolWithArgmax",
    inputs="input: T",
    outputs="output: T, argmax: Targmax",
    attrs={
        **{key: _ATTRS[key] for key in ("ksize", "strides")},
        "Targmax": Attr("type", dtypes.int64, allowed=_INDEX),
        **_ATTRS,
        "T": REAL,
    },
    infer=_infer,
    **numpy_kernels(Call(make=_bind)),
    native=_native("gg_positions"),
    grad=_back,
    doc="The largest element of each window of images (n, h, w, c), and its position.",
)

for _name, _inverse, _infer_one, _bind_one, _function, _doc in (
    (
        "MaxPoolGradWithArgmax",
        "MaxPoolGradGradWithArgmax",
        _infer_back,
        _bind_back,
        "gg_positions_back",
        "The gradient of MaxPoolWithArgmax: each window's goes to the position in `argmax`.",
    ),
    (
        "MaxPoolGradGradWithArgmax",
        "MaxPoolGradWithArgmax",
        _infer_back_back,
        _bind_back_back,
        "gg_positions_back_back",
        "The value of `grad` at the position in `argmax`, for each window.",
    ),
):
    op(
        _name,
        inputs="input: T, grad: T, argmax: Targmax",
        outputs="output: T",
        attrs={"Targmax": _INDEX, "T": REAL, **_ATTRS},
        infer=_infer_one,
        **numpy_kernels(Call(make=_bind_one)),
        native=_native(_function),
        grad=partial(_gradient_of_gradient, _inverse),
        doc=_doc,
    )
