"""Pooling of volumes: the largest element of each window, or the mean of those inside.

The largest element's place is the first one in the window that holds it; the gradient goes there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING, float16, float32
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
from gpugraph.ops.nn.windows.volume_geometry import (
    VOLUME_FORMAT,
    axes_of,
    check_volume_places,
    in_volume_format,
    last_volume_channels,
    out_volume,
    spatial_of,
    steps_of,
    volumes,
)
from gpugraph.ops.nn.windows.window_geometry import PADDING, check_equal
from gpugraph.ops.nn.windows.window_launches import of_volumes

_ATTRS = {
    "ksize": Attr("list(int)", required=True),
    "strides": Attr("list(int)", required=True),
    "padding": PADDING,
    "data_format": VOLUME_FORMAT,
}

Run = Callable[[], Any]


def _axes(context: KernelContext, source: Any) -> list[Any]:
    return axes_of(context.attrs, source.shape[1:4], spatial_of(context.attrs, "ksize"))


def _steps(axes: Sequence[Any], source: Any, *results: Any) -> list[tuple[Any, ...]]:
    """(view of the source, of each of the results, number) for each element of the window."""
    every = slice(None)
    return [
        (source[(every, *pixels)], *(each[(every, *places)] for each in results), number)
        for number, (_, places, pixels) in enumerate(steps_of(axes))
    ]


def _last(context: KernelContext, *arrays: Any) -> list[Any]:
    return [last_volume_channels(context.attrs, each) for each in arrays]


# -- the largest


def _bind_max(context: KernelContext, source: Any, out: Any) -> Run:
    if out.size == 0:
        return do_nothing
    source, out = _last(context, source, out)
    calls: list[Run] = [partial(out.fill, -np.inf)]
    for seen, into, _ in _steps(_axes(context, source), source, out):
        calls.append(partial(np.maximum, into, seen, out=into))
    return run_all(calls)


def _find_places(context: KernelContext, source: Any, shape: Any) -> tuple[Any, Any, list[Run]]:
    """(numbers of the largest elements, a place for conditions, what finds the numbers)."""
    best = context.scratch(shape, context.input_types[0].base_dtype)
    place, here = context.scratch(shape, dtypes.int32), context.scratch(shape, dtypes.bool)
    calls: list[Run] = [partial(best.fill, -np.inf), partial(place.fill, -1)]
    for seen, top, at, new, number in _steps(_axes(context, source), source, best, place, here):
        calls += [
            partial(np.greater, seen, top, new),
            partial(np.copyto, top, seen, where=new),
            partial(np.copyto, at, np.int32(number), where=new),
        ]
    return place, here, calls


def _bind_max_back(context: KernelContext, source: Any, largest: Any, dy: Any, out: Any) -> Run:
    del largest
    if out.size == 0:
        return do_nothing
    if dy.size == 0:
        return lambda: out.fill(0)
    source, dy, out = _last(context, source, dy, out)
    place, here, calls = _find_places(context, source, dy.shape)
    moved = context.scratch(dy.shape, context.output_types[0].base_dtype)
    calls.append(partial(out.fill, 0))
    steps = _steps(_axes(context, source), out, dy, place, here, moved)
    for into, slope, at, new, piece, number in steps:
        calls += [
            partial(np.equal, at, np.int32(number), new),
            partial(piece.fill, 0),
            partial(np.copyto, piece, slope, where=new),
            partial(np.add, into, piece, into),
        ]
    return run_all(calls)


def _bind_max_back_back(
    context: KernelContext, source: Any, largest: Any, ddx: Any, out: Any
) -> Run:
    del largest
    if out.size == 0:
        return do_nothing
    source, ddx, out = _last(context, source, ddx, out)
    place, here, calls = _find_places(context, source, out.shape)
    calls.append(partial(out.fill, 0))
    for seen, into, at, new, number in _steps(_axes(context, source), ddx, out, place, here):
        calls += [
            partial(np.equal, at, np.int32(number), new),
            partial(np.copyto, into, seen, where=new),
        ]
    return run_all(calls)


# -- the mean


def _wide(context: KernelContext) -> Any:
    dtype = context.output_types[0].base_dtype
    return float32 if dtype is float16 else dtype


def _shares(context: KernelContext, axes: Sequence[Any], like: Any) -> Any:
    """1 / (elements of the window that are inside), for each place."""
    counts = []
    for axis in axes:
        inside = np.zeros(axis.out)
        for _, windows, _ in axis.elements():
            inside[windows] += 1
        counts.append(inside)
    shares = 1 / np.maximum(reduce(np.multiply.outer, counts), 1)
    return np.asarray(shares[..., None], _wide(context).as_numpy_dtype, like=like)


def _bind_mean(context: KernelContext, source: Any, out: Any) -> Run:
    if out.size == 0:
        return do_nothing
    source, out = _last(context, source, out)
    axes = _axes(context, source)
    total = context.scratch(tuple(out.shape), _wide(context))
    calls: list[Run] = [partial(total.fill, 0)]
    for seen, into, _ in _steps(axes, source, total):
        calls.append(partial(np.add, into, seen, into))
    calls.append(partial(np.multiply, total, _shares(context, axes, out), total))
    calls.append(partial(np.copyto, out, total, casting="same_kind"))
    return run_all(calls)


def _bind_mean_back(context: KernelContext, dy: Any, out: Any) -> Run:
    if out.size == 0:
        return do_nothing
    if dy.size == 0:
        return lambda: out.fill(0)
    dy, out = _last(context, dy, out)
    axes = _axes(context, out)
    total = context.scratch(tuple(out.shape), _wide(context))
    scaled = context.scratch(tuple(dy.shape), _wide(context))
    calls: list[Run] = [
        partial(np.multiply, dy, _shares(context, axes, out), scaled),
        partial(total.fill, 0),
    ]
    for into, slope, _ in _steps(axes, total, scaled):
        calls.append(partial(np.add, into, slope, into))
    calls.append(partial(np.copyto, out, total, casting="same_kind"))
    return run_all(calls)


# -- shapes and gradients


def _infer(context: InferContext) -> Sequence[TensorShape]:
    attrs, source = context.attrs, volumes(context.shapes[0], context.attrs)
    places = out_volume(attrs, source.places, spatial_of(attrs, "ksize"))
    return [in_volume_format(attrs, source.batch, places, source.channels)]


def _check_slope(context: InferContext, source: Any, index: int) -> None:
    slope = volumes(context.shapes[index], context.attrs, "the gradient")
    check_equal(source.channels, slope.channels, "the volumes' channels and the gradient's")
    check_equal(source.batch, slope.batch, "the volumes and the gradient's")
    window = spatial_of(context.attrs, "ksize")
    check_volume_places(context.attrs, source.places, window, slope.places)


def _infer_max_back(context: InferContext) -> Sequence[TensorShape]:
    source = volumes(context.shapes[0], context.attrs)
    for index in (1, 2):
        _check_slope(context, source, index)
    return [in_volume_format(context.attrs, source.batch, source.places, source.channels)]


def _infer_max_back_back(context: InferContext) -> Sequence[TensorShape]:
    source = volumes(context.shapes[0], context.attrs)
    for one, other in zip(source, volumes(context.shapes[2], context.attrs, "the gradient")):
        check_equal(one, other, "the volumes and the gradient")
    _check_slope(context, source, 1)
    return _infer(context)


def _infer_mean_back(context: InferContext) -> Sequence[TensorShape]:
    source = volumes(context.value_as_shape(0), context.attrs, "orig_input_shape")
    _check_slope(context, source, 1)
    return [in_volume_format(context.attrs, source.batch, source.places, source.channels)]


def _max_back_back(op: Any, ddx: Any) -> list[Any]:
    source, largest, _ = op.inputs
    return [None, None, raw_ops.MaxPool3DGradGrad(source, largest, ddx, **attrs_of(op, _ATTRS))]


def _max_back_back_back(op: Any, dy: Any) -> list[Any]:
    source, largest, _ = op.inputs
    return [None, None, raw_ops.MaxPool3DGrad(source, largest, dy, **attrs_of(op, _ATTRS))]


max_pool3d_op = op(
    "MaxPool3D",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer,
    cpu=Call(make=_bind_max),
    gpu=max_gpu(Call(make=_bind_max), of_volumes),
    grad=lambda op, dy: raw_ops.MaxPool3DGrad(
        op.inputs[0], op.outputs[0], dy, **attrs_of(op, _ATTRS)
    ),
    doc="The largest element of each window; padding counts for nothing.",
)

op(
    "MaxPool3DGrad",
    inputs="orig_input: T, orig_output: T, grad: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer_max_back,
    cpu=Call(make=_bind_max_back),
    gpu=max_back_gpu(Call(make=_bind_max_back), of_volumes),
    grad=_max_back_back,
    doc="The gradient of MaxPool3D: each window's goes to its largest element, the first if equal.",
)

op(
    "MaxPool3DGradGrad",
    inputs="orig_input: T, orig_output: T, grad: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer_max_back_back,
    cpu=Call(make=_bind_max_back_back),
    gpu=max_back_back_gpu(Call(make=_bind_max_back_back), of_volumes),
    grad=_max_back_back_back,
    doc="What `grad` holds where each window's largest element is.",
)

avg_pool3d_op = op(
    "AvgPool3D",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer,
    cpu=Call(make=_bind_mean),
    gpu=mean_gpu(Call(make=_bind_mean), of_volumes),
    grad=lambda op, dy: raw_ops.AvgPool3DGrad(shape_of(op.inputs[0]), dy, **attrs_of(op, _ATTRS)),
    doc="The mean of each window's elements that are inside the volume.",
)

op(
    "AvgPool3DGrad",
    inputs="orig_input_shape: int32, grad: T",
    outputs="output: T",
    attrs={"T": FLOATING, **_ATTRS},
    infer=_infer_mean_back,
    host=[0],
    cpu=Call(make=_bind_mean_back),
    gpu=mean_back_gpu(Call(make=_bind_mean_back), of_volumes),
    grad=lambda op, ddx: [None, raw_ops.AvgPool3D(ddx, **attrs_of(op, _ATTRS))],
    doc="The gradient of AvgPool3D: each window's goes to its elements in equal parts.",
)
