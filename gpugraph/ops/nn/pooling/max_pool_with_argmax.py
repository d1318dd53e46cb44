"""Max pooling that says where each window's largest element is, and what follows from that.

A place is (y * width + x) * channels + channel, with `include_batch_in_index` in the whole batch.
Of equal elements it is the first one's; NaN is the largest only where a window begins with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import REAL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import do_nothing, run_all
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.window_geometry import (
    PADDING,
    Axis,
    check_equal,
    out_sizes,
    plan_axes,
    spatial,
)

_INDEX = (dtypes.int32, dtypes.int64)
_ATTRS = {
    "ksize": Attr("list(int)", required=True),
    "strides": Attr("list(int)", required=True),
    "padding": PADDING,
    "include_batch_in_index": Attr("bool", False),
}


def _placing(attrs: Any) -> dict[str, Any]:
    """The attrs as those of other pooling are."""
    return {"data_format": "NHWC", **{key: attrs[key] for key in _ATTRS}}


def _axes(context: KernelContext, image: Any) -> tuple[Axis, Axis]:
    attrs = _placing(context.attrs)
    y, x = plan_axes(attrs, image.shape[1:3], spatial(attrs, "ksize"))
    assert y is not None and x is not None
    return y, x


def _batch_places(context: KernelContext, image: Any) -> Any:
    """What is added to places in each image, [n, 1, 1, 1]."""
    count, size = image.shape[0], image.size // max(1, image.shape[0])
    step = size if context.attrs["include_batch_in_index"] else 0
    return (np.arange(count, dtype=np.int64) * step).reshape(-1, 1, 1, 1)


def _bind(context: KernelContext, image: Any, out: Any, where: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    y, x = _axes(context, image)
    here = context.scratch(out.shape, dtypes.bool)
    fresh = context.scratch(out.shape, dtypes.bool)
    channels, width = image.shape[3], image.shape[2]
    first = _batch_places(context, image) + np.arange(channels)
    calls: list[Callable[[], Any]] = [partial(where.fill, -1)]
    for _, down, rows in y.elements():
        for _, across, columns in x.elements():
            at = (slice(None), down, across)
            seen, top, place = image[:, rows, columns], out[at], where[at]
            pixels = np.arange(rows.start, rows.stop, rows.step or 1)[:, None] * width
            pixels = (pixels + np.arange(columns.start, columns.stop, columns.step or 1)) * channels
            number = np.asarray(first + pixels[..., None], where.dtype, like=where)
            calls += [
                partial(np.greater, seen, top, here[at]),
                partial(np.less, place, 0, fresh[at]),
                partial(np.logical_or, here[at], fresh[at], here[at]),
                partial(np.copyto, top, seen, where=here[at]),
                partial(np.copyto, place, number, where=here[at]),
            ]
    return run_all(calls)


def _flat(context: KernelContext, image: Any, where: Any) -> Callable[[], Any]:
    """What gives the places in the whole batch, flat; InvalidArgumentError for others."""
    step = 0 if context.attrs["include_batch_in_index"] else image.size // image.shape[0]
    first = (np.arange(image.shape[0], dtype=np.int64) * step).reshape(-1, 1, 1, 1)
    first = np.asarray(first, like=where)

    def places() -> Any:
        found = (where + first).reshape(-1)
        if found.size and not (found.min() >= 0 and found.max() < image.size):
            raise invalid_argument(
                f"argmax has places outside the images, of {image.size} elements"
            )
        return found

    return places


def _bind_back(
    context: KernelContext, image: Any, dy: Any, where: Any, out: Any
) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    places, flat, slopes = _flat(context, image, where), out.reshape(-1), dy.reshape(-1)

    def run() -> None:
        out.fill(0)
        np.add.at(flat, places(), slopes)

    return run


def _bind_back_back(
    context: KernelContext, image: Any, ddx: Any, where: Any, out: Any
) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    places, flat, slopes = _flat(context, image, where), out.reshape(-1), ddx.reshape(-1)
    return lambda: np.copyto(flat, slopes[places()])


def _infer(context: InferContext) -> Sequence[TensorShape]:
    attrs = _placing(context.attrs)
    batch, height, width, channels = of_rank(context.shapes[0], 4, "input")
    down, across = out_sizes(attrs, (height, width), spatial(attrs, "ksize"))
    return [TensorShape.of((batch, down, across, channels))] * context.num_outputs


def _infer_back(context: InferContext) -> Sequence[TensorShape]:
    (wanted,) = _infer(context)
    for index, what in ((1, "the gradient"), (2, "argmax")):
        for one, other in zip(
            of_rank(wanted, 4, "output"), of_rank(context.shapes[index], 4, what)
        ):
            check_equal(one, other, f"the windows and {what}")
    return [TensorShape.of(of_rank(context.shapes[0], 4, "input"))]


def _infer_back_back(context: InferContext) -> Sequence[TensorShape]:
    image = of_rank(context.shapes[0], 4, "input")
    for one, other in zip(image, of_rank(context.shapes[1], 4, "grad")):
        check_equal(one, other, "the images and the gradient")
    (wanted,) = _infer(context)
    for one, other in zip(of_rank(wanted, 4, "output"), of_rank(context.shapes[2], 4, "argmax")):
        check_equal(one, other, "the windows and argmax")
    return [wanted]


def _back(op: Any, dy: Any, _: Any) -> Any:
    return raw_ops.MaxPoolGradWithArgmax(op.inputs[0], dy, op.outputs[1], **attrs_of(op, _ATTRS))


def _back_back(op: Any, ddx: Any) -> list[Any]:
    image, _, where = op.inputs
    return [
        None,
        raw_ops.MaxPoolGradGradWithArgmax(image, ddx, where, **attrs_of(op, _ATTRS)),
        None,
    ]


def _back_back_back(op: Any, dy: Any) -> list[Any]:
    image, _, where = op.inputs
    return [None, raw_ops.MaxPoolGradWithArgmax(image, dy, where, **attrs_of(op, _ATTRS)), None]


op(
    "MaxPoolWithArgmax",
    inputs="input: T",
    outputs="output: T, argmax: Targmax",
    attrs={"Targmax": dtypes.int64, "T": REAL, **_ATTRS},
    infer=_infer,
    cpu=Call(make=_bind),
    gpu=Call(make=_bind),
    grad=_back,
    doc="The largest element of each window of images (n, h, w, c), and where it is.",
)

op(
    "MaxPoolGradWithArgmax",
    inputs="input: T, grad: T, argmax: Targmax",
    outputs="output: T",
    attrs={"Targmax": _INDEX, "T": REAL, **_ATTRS},
    infer=_infer_back,
    cpu=Call(make=_bind_back),
    gpu=Call(make=_bind_back),
    grad=_back_back,
    doc="The gradient of MaxPoolWithArgmax: each window's goes to where `argmax` says.",
)

op(
    "MaxPoolGradGradWithArgmax",
    inputs="input: T, grad: T, argmax: Targmax",
    outputs="output: T",
    attrs={"Targmax": _INDEX, "T": REAL, **_ATTRS},
    infer=_infer_back_back,
    cpu=Call(make=_bind_back_back),
    gpu=Call(make=_bind_back_back),
    grad=_back_back_back,
    doc="What `grad` holds where `argmax` says, for each window.",
)
