"""Pooling of images and volumes, which returns the largest element of each window, or the mean of
its elements inside the image.

The gradient of max pooling passes the gradient of a window to the window's first element with the
largest value. The ops for images and for volumes share their kernels. `_declare_max` and
`_declare_mean` are called once for each of these two layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING, REAL, DType
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import SEPARATE, Call, KernelContext, Launch, OpMemory, Signature, Source
from gpugraph.ops.framework.kernel_helpers import run_all
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, shape_of
from gpugraph.ops.nn.pooling.depth_pooling import (
    bind_depth_max,
    bind_depth_max_back,
    bind_depth_max_back_back,
    infer_depth_pooling,
)
from gpugraph.ops.nn.pooling.pool_launches import (
    forward_launches,
    max_gradient_gradient_launches,
    max_gradient_launches,
    mean_gradient_launches,
)
from gpugraph.ops.nn.windows.native_volume_sources import VOLUME_POOLING
from gpugraph.ops.nn.windows.native_window_sources import Shapes, pooling_source
from gpugraph.ops.nn.windows.window_geometry import (
    IMAGES,
    PADDING,
    VOLUMES,
    Layout,
    Sizes,
    WindowAxis,
    check_all_equal,
    check_equal,
    sum_dtype,
    sum_target,
    unless_empty,
    window_steps,
)

Run = Callable[[], Any]


def _steps(axes: Sequence[WindowAxis], source: Any, *results: Any) -> list[tuple[Any, ...]]:
    """Return (view of the source, views of the results, number) for each element of the window.

    The views contain only the windows in which this element is inside the source. The view of the
    source selects the pixels at this element. The views of the results select the results of the
    windows. `number` is the element's index among the elements that are inside the source for at
    least one window.
    """
    batch = slice(None)
    return [
        (source[(batch, *pixels)], *(result[(batch, *windows)] for result in results), number)
        for number, (_, windows, pixels) in enumerate(window_steps(axes))
    ]


def _axes(layout: Layout, context: KernelContext, source: Any) -> list[WindowAxis]:
    """Return the windows along each spatial axis of `source`, whose channels are last."""
    return layout.axes(context.attrs, source.shape[1:-1])


def _lowest(layout: Layout, dtype: Any) -> Any:
    """Return the initial value of a search for the maximum. For volumes it is -inf, as in
    TensorFlow.
    """
    return -np.inf if layout is VOLUMES and dtype.is_floating else dtype.min


def _is_across_depth(layout: Layout, attrs: Any) -> bool:
    """Return whether images are pooled over groups of channels instead of pixels."""
    return layout is IMAGES and layout.pools_depth(attrs)


# -- the maximum


def _bind_max(layout: Layout, context: KernelContext, source: Any, out: Any) -> Run:
    if _is_across_depth(layout, context.attrs):
        return bind_depth_max(context, source, out)
    source, out = layout.last_channels(context.attrs, source, out)
    dtype = context.output_types[0].base_dtype
    larger = np.maximum if layout is VOLUMES else np.fmax  # in images, NaN is ignored
    calls: list[Run] = [partial(out.fill, _lowest(layout, dtype))]
    for seen, into, _ in _steps(_axes(layout, context, source), source, out):
        calls.append(partial(larger, into, seen, out=into))
    return run_all(calls)


class _Places:
    """The index of the largest element of each window. The callables in `calls` compute the indices
    in each run.

    As in TensorFlow, the first element of a window in an image counts as the largest until a larger
    element follows, even if the first element is NaN. In volumes, a window that has only NaN and
    -inf has no largest element.
    """

    def __init__(self, layout: Layout, context: KernelContext, source: Any, shape: Any) -> None:
        self.axes = _axes(layout, context, source)
        best = context.scratch(shape, context.input_types[0].base_dtype)
        self.place = context.scratch(shape, dtypes.int32)
        self.here = context.scratch(shape, dtypes.bool)
        self.calls: list[Run] = [
            partial(best.fill, _lowest(layout, context.input_types[0].base_dtype)),
            partial(self.place.fill, -1),
        ]
        unset = context.scratch(shape, dtypes.bool) if layout is IMAGES else self.here
        for seen, top, none, place, here, number in self.steps(source, best, unset):
            self.calls.append(partial(np.greater, seen, top, here))
            if layout is IMAGES:
                self.calls.append(partial(np.less, place, 0, none))
                self.calls.append(partial(np.logical_or, here, none, here))
            self.calls += [
                partial(np.copyto, top, seen, where=here),
                partial(np.copyto, place, np.int32(number), where=here),
            ]

    def steps(self, source: Any, *results: Any) -> list[tuple[Any, ...]]:
        """Return the result of `_steps`, with views of `place` and `here` in addition to the views
        of `results`.
        """
        return _steps(self.axes, source, *results, self.place, self.here)


def _bind_max_back(
    layout: Layout, context: KernelContext, source: Any, largest: Any, dy: Any, out: Any
) -> Run:
    if _is_across_depth(layout, context.attrs):
        return bind_depth_max_back(context, source, largest, dy, out)
    source, dy, out = layout.last_channels(context.attrs, source, dy, out)
    places = _Places(layout, context, source, dy.shape)
    moved = context.scratch(dy.shape, context.output_types[0].base_dtype)
    calls: list[Run] = [*places.calls, partial(out.fill, 0)]
    for into, slope, piece, place, here, number in places.steps(out, dy, moved):
        calls += [
            partial(np.equal, place, np.int32(number), here),
            partial(piece.fill, 0),
            partial(np.copyto, piece, slope, where=here),
            partial(np.add, into, piece, into),
        ]
    return run_all(calls)


def _bind_max_back_back(
    layout: Layout, context: KernelContext, source: Any, largest: Any, ddx: Any, out: Any
) -> Run:
    if _is_across_depth(layout, context.attrs):
        return bind_depth_max_back_back(context, source, largest, ddx, out)
    source, ddx, out = layout.last_channels(context.attrs, source, ddx, out)
    places = _Places(layout, context, source, out.shape)
    calls: list[Run] = [*places.calls, partial(out.fill, 0)]
    for seen, into, place, here, number in places.steps(ddx, out):
        calls += [
            partial(np.equal, place, np.int32(number), here),
            partial(np.copyto, into, seen, where=here),
        ]
    return run_all(calls)


# -- the mean


def _shares(context: KernelContext, axes: Sequence[WindowAxis], like: Any) -> Any:
    """Return, for each window, 1 divided by the number of elements that are inside the source. The
    last axis has size 1.
    """
    counts = []
    for axis in axes:
        inside = np.zeros(axis.out)
        for _, windows, _ in axis.elements():
            inside[windows] += 1
        counts.append(inside)
    shares = 1 / np.maximum(reduce(np.multiply.outer, counts), 1)
    return np.asarray(shares[..., None], sum_dtype(context).as_numpy_dtype, like=like)


def _bind_mean(layout: Layout, context: KernelContext, source: Any, out: Any) -> Run:
    source, out = layout.last_channels(context.attrs, source, out)
    axes = _axes(layout, context, source)
    total, finish = sum_target(context, out)
    calls: list[Run] = [partial(total.fill, 0)]
    for seen, into, _ in _steps(axes, source, total):
        calls.append(partial(np.add, into, seen, into))
    calls.append(partial(np.multiply, total, _shares(context, axes, out), total))
    return run_all([*calls, *finish])


def _bind_mean_back(layout: Layout, context: KernelContext, dy: Any, out: Any) -> Run:
    dy, out = layout.last_channels(context.attrs, dy, out)
    axes = _axes(layout, context, out)
    total, finish = sum_target(context, out)
    scaled = context.scratch(tuple(dy.shape), sum_dtype(context))
    calls: list[Run] = [
        partial(np.multiply, dy, _shares(context, axes, out), scaled),
        partial(total.fill, 0),
    ]
    for into, slope, _ in _steps(axes, total, scaled):
        calls.append(partial(np.add, into, slope, into))
    return run_all([*calls, *finish])


# -- shapes


def _infer(layout: Layout, context: InferContext) -> Sequence[TensorShape]:
    attrs = context.attrs
    batch, spatial, channels = layout.sizes(context.shapes[0], attrs)
    out = layout.out_sizes(attrs, spatial, layout.spatial(attrs, "ksize"))
    return [layout.shape(attrs, batch, out, channels)]


def _check_slope(layout: Layout, context: InferContext, source: Sizes, index: int) -> None:
    window = layout.spatial(context.attrs, "ksize")
    slope = layout.check_gradient(context, index, source, window, "the gradient")
    check_equal(source.channels, slope.channels, f"the {layout.noun}' channels and the gradient's")


def _infer_max(layout: Layout, context: InferContext) -> Sequence[TensorShape]:
    if _is_across_depth(layout, context.attrs):
        return infer_depth_pooling(context)
    return _infer(layout, context)


def _infer_max_back(layout: Layout, context: InferContext) -> Sequence[TensorShape]:
    if _is_across_depth(layout, context.attrs):
        wanted = infer_depth_pooling(context)[0]
        for index in (1, 2):
            wanted.assert_is_compatible_with(context.shapes[index])
        return [context.shapes[0]]
    source = layout.sizes(context.shapes[0], context.attrs)
    for index in (1, 2):
        _check_slope(layout, context, source, index)
    return [layout.shape(context.attrs, *source)]


def _infer_max_back_back(layout: Layout, context: InferContext) -> Sequence[TensorShape]:
    if _is_across_depth(layout, context.attrs):
        context.shapes[0].assert_is_compatible_with(context.shapes[2])
        return infer_depth_pooling(context)
    source = layout.sizes(context.shapes[0], context.attrs)
    slope = layout.sizes(context.shapes[2], context.attrs, "the gradient")
    what = f"the {layout.noun} and the gradient"
    check_all_equal([source.batch, source.channels], [slope.batch, slope.channels], what)
    check_all_equal(source.spatial, slope.spatial, what)
    _check_slope(layout, context, source, 1)
    return _infer(layout, context)


def _infer_mean_back(layout: Layout, context: InferContext) -> Sequence[TensorShape]:
    source = layout.sizes(context.value_as_shape(0), context.attrs, "orig_input_shape")
    _check_slope(layout, context, source, 1)
    return [layout.shape(context.attrs, *source)]


# -- declarations


def _forward_shapes(signature: Signature) -> Sequence[tuple[int, ...]]:
    return signature.input_shapes[0], signature.output_shapes[0]


def _max_gradient_shapes(signature: Signature) -> Sequence[tuple[int, ...]]:
    return signature.input_shapes[:2]


def _mean_gradient_shapes(signature: Signature) -> Sequence[tuple[int, ...]]:
    return signature.output_shapes[0], signature.input_shapes[1]


def _attrs(layout: Layout) -> dict[str, Attr]:
    return {
        "ksize": Attr("list(int)", required=True, minimum=layout.num_axes + 2),
        "strides": Attr("list(int)", required=True, minimum=layout.num_axes + 2),
        "padding": PADDING,
        "data_format": layout.format,
    }


def _op(
    layout: Layout,
    name: str,
    inputs: str,
    *,
    types: Sequence[DType],
    infer: Callable[[Layout, InferContext], Sequence[TensorShape]],
    bind: Callable[..., Run],
    launches: Callable[[Layout, Signature], Sequence[Launch]],
    native: tuple[str, Shapes],
    grad: Callable[..., Any],
    doc: str,
    memory: OpMemory = SEPARATE,
    more_types: Mapping[str, Any] = MappingProxyType({}),
) -> OpFunction:
    """Declare a pooling op, or the gradient of a pooling op.

    Args:
      memory: the op's use of memory.
      more_types: further attrs for dtypes.
    """
    kernel = Call(make=unless_empty(partial(bind, layout)))
    return op(
        name,
        inputs=inputs,
        outputs="output: T",
        attrs={"T": types, **_attrs(layout), **more_types},
        infer=partial(infer, layout),
        memory=memory,
        cpu=kernel,
        gpu=Source("pooling.cu", partial(launches, layout), kernel),
        native=pooling_source(*native) if layout is IMAGES else VOLUME_POOLING.get(native[0]),
        grad=grad,
        doc=doc,
    )


_GRADIENT_INPUTS = "orig_input: T, orig_output: T, grad: T"


def _declare_max(
    layout: Layout, name: str, grad_name: str, grad_grad_name: str, types: Sequence[DType]
) -> OpFunction:
    """Declare max pooling, its gradient and the gradient's gradient. Return the function of max
    pooling.
    """
    attrs = _attrs(layout)

    def gradient(op: Any, dy: Any) -> Any:
        function = getattr(raw_ops, grad_name)
        return function(op.inputs[0], op.outputs[0], dy, **attrs_of(op, attrs))

    def of_gradient(op_type: str, op: Any, slope: Any) -> list[Any]:
        source, largest, _ = op.inputs
        function = getattr(raw_ops, op_type)
        return [None, None, function(source, largest, slope, **attrs_of(op, attrs))]

    max_pool = _op(
        layout, name, "input: T", types=types, infer=_infer_max, bind=_bind_max,
        launches=partial(forward_launches, "gg_max_pool"), native=("gg_max_pool", _forward_shapes),
        grad=gradient, doc="The largest element of each window, without the padding.",
    )  # fmt: skip
    other = "T" if layout is IMAGES else "TInput"
    _op(
        layout, grad_name, f"orig_input: {other}, orig_output: {other}, grad: T", types=types,
        infer=_infer_max_back, more_types={} if layout is IMAGES else {other: types},
        bind=_bind_max_back, launches=max_gradient_launches,
        native=("gg_max_pool_back", _max_gradient_shapes),
        grad=partial(of_gradient, grad_grad_name),
        doc=f"The gradient of {name}. The gradient of each window is the gradient of the window's "
        "largest element, the first if several are equal.",
    )  # fmt: skip
    _op(
        layout, grad_grad_name, _GRADIENT_INPUTS, types=types, infer=_infer_max_back_back,
        bind=_bind_max_back_back, launches=max_gradient_gradient_launches,
        native=("gg_max_pool_back_back", _max_gradient_shapes),
        grad=partial(of_gradient, grad_name),
        doc="The value of `grad` at each window's largest element.",
    )  # fmt: skip
    return max_pool


def _declare_mean(layout: Layout, name: str, grad_name: str, input_name: str) -> OpFunction:
    """Declare mean pooling and its gradient. Each of these two ops is the gradient of the other.
    Return the function of mean pooling.
    """
    attrs = _attrs(layout)

    def gradient(op: Any, dy: Any) -> Any:
        return getattr(raw_ops, grad_name)(shape_of(op.inputs[0]), dy, **attrs_of(op, attrs))

    def gradient_of_gradient(op: Any, ddx: Any) -> list[Any]:
        return [None, getattr(raw_ops, name)(ddx, **attrs_of(op, attrs))]

    avg_pool = _op(
        layout, name, f"{input_name}: T", types=FLOATING, infer=_infer, bind=_bind_mean,
        launches=partial(forward_launches, "gg_mean_pool"),
        native=("gg_mean_pool", _forward_shapes), grad=gradient,
        doc=f"The mean of each window's elements that are inside the {layout.noun[:-1]}.",
    )  # fmt: skip
    _op(
        layout, grad_name, "orig_input_shape: int32, grad: T", types=FLOATING,
        infer=_infer_mean_back, bind=_bind_mean_back, launches=mean_gradient_launches,
        native=("gg_mean_pool_back", _mean_gradient_shapes), grad=gradient_of_gradient,
        doc=f"The gradient of {name}: the gradient of each window is divided equally "
        "among its elements.",
        memory=OpMemory(host_inputs=[0]),
    )  # fmt: skip
    return avg_pool


max_pool_op = _declare_max(IMAGES, "MaxPool", "MaxPoolGrad", "MaxPoolGradGrad", REAL)
avg_pool_op = _declare_mean(IMAGES, "AvgPool", "AvgPoolGrad", "value")
max_pool3d_op = _declare_max(VOLUMES, "MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad", FLOATING)
avg_pool3d_op = _declare_mean(VOLUMES, "AvgPool3D", "AvgPool3DGrad", "input")
