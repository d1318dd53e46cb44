"""The declaration of the three ops of a convolution. The gradients of each op are the other two
ops.

`declare_convolution` declares a convolution, its gradient with respect to the images and its
gradient with respect to the filter, with their shape inference. Conv2D, Conv3D and
DepthwiseConv2dNative differ in the layout of the images, in their kernels, and in the number of
result channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from gpugraph.base.dtypes import FLOATING, DType
from gpugraph.base.errors import UnimplementedError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext, Misfit
from gpugraph.kernel import Call, CSource, OpMemory, Source, SourceStages
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, shape_of
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.window_geometry import (
    Bind,
    Layout,
    Size,
    Sizes,
    check_all_equal,
    check_equal,
)

OutputsOf = Callable[[Sequence[Size]], Size]
"""A function from the sizes of a filter to the number of result channels."""


class ConvolutionOp(NamedTuple):
    """The op type and the kernels of one of the three ops of a convolution.

    Args:
      bind: the NumPy kernel.
      gpu: a function that receives the layout and the NumPy kernel, and returns the CUDA kernel.
      native: the native kernel, if there is one.
    """

    op_type: str
    bind: Bind
    gpu: Callable[[Layout, Call], Source]
    native: CSource | SourceStages | None = None

    def function(self) -> OpFunction:
        """Return the function that adds an op of this type to a graph."""
        return getattr(raw_ops, self.op_type)

    def kernels(self, layout: Layout) -> dict[str, Any]:
        """Return the kernels, as keyword arguments of `op`."""
        host = Call(make=self.bind)
        return {"cpu": host, "gpu": self.gpu(layout, host), "native": self.native}


def last_size(sizes: Sequence[Size]) -> Size:
    """Return the number of output channels of a filter [..., channels, outputs]."""
    return sizes[-1]


def _infer_forward(
    layout: Layout, outputs_of: OutputsOf, context: InferContext
) -> Sequence[TensorShape]:
    """Return the shape of the convolution of the images in input 0 with the filter in input 1."""
    batch, spatial, channels = layout.sizes(context.shapes[0], context.attrs)
    *window, depth, outputs = of_rank(context.shapes[1], layout.num_axes + 2, "filter")
    may_group = outputs_of is last_size and layout.num_axes == 2
    if not may_group:
        check_equal(channels, depth, f"the {layout.noun}' channels and the filter's")
    out = layout.out_sizes(context.attrs, spatial, window)
    known_channels = depth if channels is None else channels
    shape = layout.shape(context.attrs, batch, out, outputs_of((*window, known_channels, outputs)))
    if may_group:
        _check_groups(channels, depth, shape)
    return [shape]


def _check_groups(channels: Size, depth: Size, shape: TensorShape) -> None:
    """Compare the number of channels of the images with `depth`, the number of channels of the
    filter.

    Raises ValueError unless `channels` is a multiple of `depth`. If it is a larger multiple, the
    convolution is grouped. A grouped convolution can be added to a graph, with the result shape
    `shape`, but the run raises UnimplementedError.
    """
    if channels is None or depth is None or channels == depth:
        return
    if depth == 0 or channels % depth:
        raise ValueError(
            f"Depth of input ({channels}) is not a multiple of input depth of filter ({depth})"
        )
    raise Misfit(
        f"Generic conv implementation does not support grouped convolutions for now: the input "
        f"has {channels} channels and the filter {depth}; convolve each group by itself",
        shapes=[shape],
        error_class=UnimplementedError,
    )


def infer_convolution(layout: Layout, context: InferContext) -> Sequence[TensorShape]:
    """Return the shape of convolved images, for Conv2D and Conv3D."""
    return _infer_forward(layout, last_size, context)


def _check(
    layout: Layout, outputs_of: OutputsOf, context: InferContext, images: Sizes, filter: Any
) -> None:
    """Raise ValueError unless input 2 has the shape of `images` convolved with `filter`."""
    names = f"the {layout.noun}' channels and the filter's"
    check_all_equal([images.channels], [filter[-2]], names)
    window = filter[: layout.num_axes]
    gradient = layout.check_gradient(context, 2, images, window, "out_backprop")
    outputs = outputs_of(filter)
    check_equal(gradient.channels, outputs, "the gradient's channels and the filter's outputs")


@contextmanager
def _only_in_run(shape: TensorShape) -> Iterator[None]:
    """Raise a Misfit in the `with` block as an error of the run. At graph construction, ignore the
    Misfit, and use `shape` as the shape of the output.
    """
    try:
        yield
    except Misfit as misfit:
        raise Misfit(str(misfit), shapes=[shape], error_class=misfit.error_class) from misfit


def _infer_input_gradient(
    layout: Layout, outputs_of: OutputsOf, context: InferContext
) -> Sequence[TensorShape]:
    images = layout.sizes(context.value_as_shape(0), context.attrs, "input_sizes")
    filter = of_rank(context.shapes[1], layout.num_axes + 2, "filter")
    with _only_in_run(context.value_as_shape(0)):
        _check(layout, outputs_of, context, images, filter)
    return [layout.shape(context.attrs, *images)]


def _infer_filter_gradient(
    layout: Layout, outputs_of: OutputsOf, context: InferContext
) -> Sequence[TensorShape]:
    filter = of_rank(context.value_as_shape(1), layout.num_axes + 2, "filter_sizes")
    images = layout.sizes(context.shapes[0], context.attrs)
    with _only_in_run(TensorShape.of(filter)):
        _check(layout, outputs_of, context, images, filter)
    return [TensorShape.of(filter)]


def declare_convolution(
    layout: Layout,
    attrs: Mapping[str, Any],
    forward: ConvolutionOp,
    by_input: ConvolutionOp,
    by_filter: ConvolutionOp,
    doc: str,
    outputs_of: OutputsOf = last_size,
    size_types: Sequence[DType] | None = None,
) -> OpFunction:
    """Declare the three ops and return the function of the convolution itself.

    Args:
      outputs_of: a function that receives the filter's sizes and returns the number of output
        channels.
      size_types: the allowed dtypes of `input_sizes`, an input of the op `by_input`, which are the
        values of the attr Tshape. If it is None, there is no such attr, and the dtype is int32.
    """

    def forward_gradient(op: Any, dy: Any) -> list[Any]:
        images, filter = op.inputs
        options = attrs_of(op, attrs)
        return [
            by_input.function()(shape_of(images), filter, dy, **options),
            by_filter.function()(images, shape_of(filter), dy, **options),
        ]

    def gradient_by_input(op: Any, ddx: Any) -> list[Any]:
        _, filter, dy = op.inputs
        options = attrs_of(op, attrs)
        return [
            None,
            by_filter.function()(ddx, shape_of(filter), dy, **options),
            forward.function()(ddx, filter, **options),
        ]

    def gradient_by_filter(op: Any, ddw: Any) -> list[Any]:
        images, _, dy = op.inputs
        options = attrs_of(op, attrs)
        return [
            by_input.function()(shape_of(images), ddw, dy, **options),
            None,
            forward.function()(images, ddw, **options),
        ]

    convolution = op(
        forward.op_type,
        inputs="input: T, filter: T",
        outputs="output: T",
        attrs={"T": FLOATING, **attrs},
        infer=partial(_infer_forward, layout, outputs_of),
        grad=forward_gradient,
        doc=doc,
        **forward.kernels(layout),
    )
    sizes = {} if size_types is None else {"Tshape": size_types}
    op(
        by_input.op_type,
        inputs=f"input_sizes: {'Tshape' if sizes else 'int32'}, filter: T, out_backprop: T",
        outputs="output: T",
        attrs={"T": FLOATING, **sizes, **attrs},
        infer=partial(_infer_input_gradient, layout, outputs_of),
        memory=OpMemory(host_inputs=[0]),
        grad=gradient_by_input,
        doc=f"The gradient of {forward.op_type} with respect to its {layout.noun}, which have the "
        "sizes `input_sizes`.",
        **by_input.kernels(layout),
    )
    op(
        by_filter.op_type,
        inputs="input: T, filter_sizes: int32, out_backprop: T",
        outputs="output: T",
        attrs={"T": FLOATING, **attrs},
        infer=partial(_infer_filter_gradient, layout, outputs_of),
        memory=OpMemory(host_inputs=[1]),
        grad=gradient_by_filter,
        doc=f"The gradient of {forward.op_type} with respect to its filter, which has the sizes "
        "`filter_sizes`.",
        **by_filter.kernels(layout),
    )
    return convolution
