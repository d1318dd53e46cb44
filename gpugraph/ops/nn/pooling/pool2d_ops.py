"""Pooling: the largest element of each window, or the mean of those inside the image.

The largest element's place is the first one in the window that holds it; the gradient goes there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING, REAL, float16, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import do_nothing, run_all
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, shape_of
from gpugraph.ops.nn.pooling.pool_launches import (
    max_back_back_gpu,
    max_back_gpu,
    max_gpu,
    mean_back_gpu,
    mean_gpu,
)
from gpugraph.ops.nn.windows.native_window_sources import pooling_source
from gpugraph.ops.nn.windows.window_geometry import (
    FORMAT,
    PADDING,
    Axis,
    check_equal,
    check_places,
    images,
    in_format,
    last_channels,
    out_sizes,
    plan_axes,
    spatial,
)

_ATTRS = {
    "ksize": Attr("list(int)", required=True),
    "strides": Attr("list(int)", required=True),
    "padding": PADDING,
    "data_format": FORMAT,
}


def _axes(context: KernelContext, image: Any) -> tuple[Axis, Axis]:
    y, x = plan_axes(context.attrs, image.shape[1:3], spatial(context.attrs, "ksize"))
    assert y is not None and x is not None
    return y, x


def _steps(axes: tuple[Axis, Axis], image: Any, *results: Any) -> list[tuple[Any, ...]]:
    """(view of the image, of each of the results, number) for each element of the window."""
    y, x = axes
    return [
        (image[:, rows, columns], *(each[:, down, across] for each in results), i * x.window + j)
        for i, down, rows in y.elements()
        for j, across, columns in x.elements()
    ]


def _lowest(dtype: Any) -> Any:
    return -np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min


# -- the largest


def _bind_max(context: KernelContext, image: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    image, out = (last_channels(context.attrs, each) for each in (image, out))
    calls: list[Callable[[], Any]] = [partial(out.fill, _lowest(out.dtype))]
    for seen, into, _ in _steps(_axes(context, image), image, out):
        calls.append(partial(np.maximum, into, seen, out=into))
    return run_all(calls)


class _Places:
    """For each window the number of its largest element, found at each run by `find`."""

    def __init__(self, context: KernelContext, image: Any, shape: Any) -> None:
        self.axes = _axes(context, image)
        best = context.scratch(shape, context.input_types[0].base_dtype)
        self.place = context.scratch(shape, dtypes.int32)
        self.here = context.scratch(shape, dtypes.bool)
        self.find: list[Callable[[], Any]] = [
            partial(best.fill, _lowest(best.dtype)),
            partial(self.place.fill, -1),
        ]
        for seen, top, place, here, number in _steps(self.axes, image, best, self.place, self.here):
            self.find += [
                partial(np.greater, seen, top, here),
                partial(np.copyto, top, seen, where=here),
                partial(np.copyto, place, np.int32(number), where=here),
            ]

    def steps(self, image: Any, result: Any) -> list[tuple[Any, ...]]:
        """As `_steps`, with the views of `place` and `here`."""
        return _steps(self.axes, image, result, self.place, self.here)


def _bind_max_back(
    context: KernelContext, image: Any, largest: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    del largest
    if out.size == 0:
        return do_nothing
    if dy.size == 0:
        return lambda: out.fill(0)
    image, dy, out = (last_channels(context.attrs, each) for each in (image, dy, out))
    places = _Places(context, image, dy.shape)
    moved = context.scratch(dy.shape, context.output_types[0].base_dtype)
    calls: list[Callable[[], Any]] = [*places.find, partial(out.fill, 0)]
    for into, slope, place, here, number in places.steps(out, dy):
        piece = moved[: into.shape[0], : into.shape[1], : into.shape[2]]
        calls += [
            partial(np.equal, place, np.int32(number), here),
            partial(piece.fill, 0),
            partial(np.copyto, piece, slope, where=here),
            partial(np.add, into, piece, into),
        ]
    return run_all(calls)


def _bind_max_back_back(
    context: KernelContext, image: Any, largest: Any, ddx: Any, out: Any
) -> Callable[[], Any]:
    del largest
    if out.size == 0:
        return do_nothing
    image, ddx, out = (last_channels(context.attrs, each) for each in (image, ddx, out))
    places = _Places(context, image, out.shape)
    calls: list[Callable[[], Any]] = [*places.find, partial(out.fill, 0)]
    for seen, into, place, here, number in places.steps(ddx, out):
        calls += [
            partial(np.equal, place, np.int32(number), here),
            partial(np.copyto, into, seen, where=here),
        ]
    return run_all(calls)


def _infer(context: InferContext) -> Sequence[TensorShape]:
    attrs = context.attrs
    image = images(context.shapes[0], attrs)
    down, across = out_sizes(attrs, (image.height, image.width), spatial(attrs, "ksize"))
    return [in_format(attrs, image.batch, down, across, image.channels)]


def _check_slope(context: InferContext, image: Any, index: int) -> None:
    slope = images(context.shapes[index], context.attrs, "the gradient")
    check_equal(image.channels, slope.channels, "the images' channels and the gradient's")
    check_equal(image.batch, slope.batch, "the images and the gradient's")
    window = spatial(context.attrs, "ksize")
    check_places(context.attrs, (image.height, image.width), window, slope[1:3])


def _infer_max_back(context: InferContext) -> Sequence[TensorShape]:
    image = images(context.shapes[0], context.attrs)
    for index in (1, 2):
        _check_slope(context, image, index)
    return [in_format(context.attrs, *image)]


def _infer_max_back_back(context: InferContext) -> Sequence[TensorShape]:
    image = images(context.shapes[0], context.attrs)
    for one, other in zip(image, images(context.shapes[2], context.attrs, "the gradient")):
        check_equal(one, other, "the images and the gradient")
    _check_slope(context, image, 1)
    return _infer(context)


def _max_back(op: Any, dy: Any) -> Any:
    return raw_ops.MaxPoolGrad(op.inputs[0], op.outputs[0], dy, **attrs_of(op, _ATTRS))


def _max_back_back(op: Any, ddx: Any) -> list[Any]:
    image, largest, _ = op.inputs
    return [None, None, raw_ops.MaxPoolGradGrad(image, largest, ddx, **attrs_of(op, _ATTRS))]


def _max_back_back_back(op: Any, dy: Any) -> list[Any]:
    image, largest, _ = op.inputs
    return [None, None, raw_ops.MaxPoolGrad(image, largest, dy, **attrs_of(op, _ATTRS))]


max_pool_op = op(
    "MaxPool",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": REAL, **_ATTRS},
    infer=_infer,
    cpu=Call(make=_bind_max),
    gpu=max_gpu(Call(make=_bind_max)),
    native=pooling_source(
        "gg_max_pool", lambda given: (given.input_shapes[0], given.output_shapes[0])
    ),
    grad=_max_back,
    doc="The largest element of each window; padding counts for nothing.",
)

op(
    "MaxPoolGrad",
    inputs="orig_input: T, orig_output: T, grad: T",
    outputs="output: T",
    attrs={"T": REAL, **_ATTRS},
    infer=_infer_max_back,
    cpu=Call(make=_bind_max_back),
    gpu=max_back_gpu(Call(make=_bind_max_back)),
    native=pooling_source(
        "gg_max_pool_back", lambda given: (given.input_shapes[0], given.input_shapes[1])
    ),
    grad=_max_back_back,
    doc="The gradient of MaxPool: each window's goes to its largest element, the first of equals.",
)

op(
    "MaxPoolGradGrad",
    inputs="orig_input: T, orig_output: T, grad: T",
    outputs="output: T",
    attrs={"T": REAL, **_ATTRS},
    infer=_infer_max_back_back,
    cpu=Call(make=_bind_max_back_back),
    gpu=max_back_back_gpu(Call(make=_bind_max_back_back)),
    native=pooling_source(
        "gg_max_pool_back_back", lambda given: (given.input_shapes[0], given.input_shapes[1])
    ),
    grad=_max_back_back_back,
    doc="What `grad` holds where each window's largest element is.",
)


# -- the mean


def _shares(context: KernelContext, axes: tuple[Axis, Axis], like: Any) -> Any:
    """1 / (elements of the window that are inside), for each place: (oh, ow, 1)."""
    counts = []
    for axis in axes:
        inside = np.zeros(axis.out)
        for _, windows, _ in axis.elements():
            inside[windows] += 1
        counts.append(inside)
    shares = 1 / np.maximum(np.outer(*counts), 1)
    dtype = float32 if context.output_types[0].base_dtype is float16 else context.output_types[0]
    return np.asarray(shares[..., None], dtype.as_numpy_dtype, like=like)


def _wide(context: KernelContext, array: Any) -> tuple[Any, list[Callable[[], Any]]]:
    """What sums go into, and the call that brings them to `array`, if it is another."""
    if context.output_types[0].base_dtype is not float16:
        return array, []
    total = context.scratch(tuple(array.shape), float32)
    return total, [partial(np.copyto, array, total, casting="same_kind")]


def _bind_mean(context: KernelContext, image: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    image, out = (last_channels(context.attrs, each) for each in (image, out))
    axes = _axes(context, image)
    total, finish = _wide(context, out)
    calls: list[Callable[[], Any]] = [partial(total.fill, 0)]
    for seen, into, _ in _steps(axes, image, total):
        calls.append(partial(np.add, into, seen, into))
    calls.append(partial(np.multiply, total, _shares(context, axes, out), total))
    return run_all([*calls, *finish])


def _bind_mean_back(context: KernelContext, dy: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    if dy.size == 0:
        return lambda: out.fill(0)
    dy, out = (last_channels(context.attrs, each) for each in (dy, out))
    axes = _axes(context, out)
    total, finish = _wide(context, out)
    dtype = context.output_types[0].base_dtype
    scaled = context.scratch(tuple(dy.shape), float32 if dtype is float16 else dtype)
    calls: list[Callable[[], Any]] = [
        partial(np.multiply, dy, _shares(context, axes, out), scaled),
        partial(total.fill, 0),
    ]
    for into, slope, _ in _steps(axes, total, scaled):
        calls.append(partial(np.add, into, slope, into))
    return run_all([*calls, *finish])


def _infer_mean_back(context: InferContext) -> Sequence[TensorShape]:
    image = images(context.value_as_shape(0), context.attrs, "orig_input_shape")
    _check_slope(context, image, 1)
    return [in_format(context.attrs, *image)]


def _mean_back(op: Any, dy: Any) -> Any:
    return raw_ops.AvgPoolGrad(shape_of(op.inputs[0]), dy, **attrs_of(op, _ATTRS))


def _mean_back_back(op: Any, ddx: Any) -> list[Any]:
    return [None, raw_ops.AvgPool(ddx, **attrs_of(op, _ATTRS))]


avg_pool_op = op(
    "AvgPool",
    inputs="value: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer,
    cpu=Call(make=_bind_mean),
    gpu=mean_gpu(Call(make=_bind_mean)),
    native=pooling_source(
        "gg_mean_pool", lambda given: (given.input_shapes[0], given.output_shapes[0])
    ),
    grad=_mean_back,
    doc="The mean of each window's elements that are inside the image.",
)

op(
    "AvgPoolGrad",
    inputs="orig_input_shape: int32, grad: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer_mean_back,
    host=[0],
    cpu=Call(make=_bind_mean_back),
    gpu=mean_back_gpu(Call(make=_bind_mean_back)),
    native=pooling_source(
        "gg_mean_pool_back", lambda given: (given.output_shapes[0], given.input_shapes[1])
    ),
    grad=_mean_back_back,
    doc="The gradient of AvgPool: each window's goes to its elements in equal parts.",
)
