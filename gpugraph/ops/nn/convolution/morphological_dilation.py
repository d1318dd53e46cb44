"""Grayscale morphology, which is the dilation and erosion of images by a filter, channel by
channel.

    dilation[n, y, x, c] = max over (i, j) of image[n, s y + r i, s x + r j, c] + filter[i, j, c]

s is the stride and r the rate. Elements outside the image are ignored. If several sums of a window
are equal to the maximum, only the first of them receives the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import REAL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.reverse import reverse
from gpugraph.ops.elementwise.unary_functions import negative
from gpugraph.ops.framework.kernel_helpers import do_nothing, numpy_kernels, run_all
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, op_scope
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.window_geometry import (
    IMAGES,
    PADDING,
    check_all_equal,
    check_equal,
    unless_empty,
    window_steps,
)

_ATTRS = {
    "strides": Attr("list(int)", required=True, minimum=4),
    "rates": Attr("list(int)", required=True, minimum=4),
    "padding": PADDING,
}


def _window_attrs(attrs: Any) -> dict[str, Any]:
    """Return the op's attrs under the names that a convolution has for them, so that `IMAGES` can
    read them.
    """
    return {
        "strides": attrs["strides"],
        "dilations": attrs["rates"],
        "padding": attrs["padding"],
        "data_format": "NHWC",
    }


def _lowest(dtype: Any) -> Any:
    kind = np.dtype(dtype)
    return np.iinfo(kind).min if kind.kind in "iu" else np.finfo(kind).min


class _Sums:
    """The largest sum of pixel and filter in each window, and the index of the window element with
    this sum.

    The index of element (i, j) is i * window width + j. If several sums are equal, the first is
    used.

    Args:
      best: memory for the sums, (n, oh, ow, c).
    """

    def __init__(self, context: KernelContext, image: Any, weights: Any, best: Any) -> None:
        self.axes = IMAGES.axes(_window_attrs(context.attrs), image.shape[1:3], weights.shape[:2])
        self.weights, self.best = weights, best
        self.sums = context.scratch(best.shape, context.input_types[0].base_dtype)
        self.here = context.scratch(best.shape, dtypes.bool)

    def steps(self, *results: Any) -> Iterator[tuple[Any, ...]]:
        """Yield (element, its index, slices of the image, views of scratch and results) for each
        element of the window.

        The views are views of `sums`, `here` and each of `results`. They select only the windows in
        which the element is inside the image.
        """
        for element, windows, pixels in window_steps(self.axes):
            number = element[0] * self.axes[1].window + element[1]
            arrays = (self.sums, self.here, *results)
            views = [array[(slice(None), *windows)] for array in arrays]
            yield element, number, (slice(None), *pixels), *views

    def find(self, image: Any, place: Any = None) -> list[Callable[[], Any]]:
        """Return the calls that fill `best` with the largest sums. If `place` is not None, they
        also fill `place` with the indices of the elements.
        """
        calls: list[Callable[[], Any]] = [partial(self.best.fill, _lowest(self.best.dtype))]
        if place is None:
            for element, _, pixels, sums, _, best in self.steps(self.best):
                calls += [
                    partial(np.add, image[pixels], self.weights[element], sums),
                    partial(np.fmax, best, sums, best),  # fmax ignores NaN
                ]
            return calls
        calls.append(partial(place.fill, 0))
        for element, number, pixels, sums, here, best, into in self.steps(self.best, place):
            calls += [
                partial(np.add, image[pixels], self.weights[element], sums),
                partial(np.greater, sums, best, here),
                partial(np.copyto, best, sums, where=here),
                partial(np.copyto, into, np.int32(number), where=here),
            ]
        return calls


def _bind(context: KernelContext, image: Any, weights: Any, out: Any) -> Callable[[], Any]:
    if out.size == 0:
        return do_nothing
    return run_all(_Sums(context, image, weights, out).find(image))


def _bind_back(
    to_image: bool, context: KernelContext, image: Any, weights: Any, dy: Any, out: Any
) -> Callable[[], Any]:
    best = context.scratch(dy.shape, context.input_types[0].base_dtype)
    place = context.scratch(dy.shape, dtypes.int32)
    work = _Sums(context, image, weights, best)
    calls: list[Callable[[], Any]] = [*work.find(image, place), partial(out.fill, 0)]
    for element, number, pixels, part, here, slope, places in work.steps(dy, place):
        calls += [
            partial(np.equal, places, np.int32(number), here),
            partial(part.fill, 0),
            partial(np.copyto, part, slope, where=here),
        ]
        if to_image:
            calls.append(partial(np.add, out[pixels], part, out[pixels]))
        else:
            calls.append(partial(part.sum, (0, 1, 2), None, out[element]))
    return run_all(calls)


def _sizes(context: InferContext) -> tuple[Any, Any, TensorShape]:
    """Return the sizes of the images and of the filter, and the shape of the result."""
    image = of_rank(context.shapes[0], 4, "input")
    weights = of_rank(context.shapes[1], 3, "filter")
    check_equal(image[3], weights[2], "the images' channels and the filter's")
    depth = weights[2] if image[3] is None else image[3]
    down, across = IMAGES.out_sizes(_window_attrs(context.attrs), image[1:3], weights[:2])
    return image, weights, TensorShape.of((image[0], down, across, depth))


def _infer(context: InferContext) -> Sequence[TensorShape]:
    return [_sizes(context)[2]]


def _infer_back(to_image: bool, context: InferContext) -> Sequence[TensorShape]:
    image, weights, out = _sizes(context)
    slope = of_rank(context.shapes[2], 4, "out_backprop")
    check_all_equal(of_rank(out, 4, "output"), slope, "the windows and the gradient")
    return [TensorShape.of(image if to_image else weights)]


def _back(op: Any, dy: Any) -> list[Any]:
    image, weights = op.inputs
    attrs = attrs_of(op, _ATTRS)
    return [
        raw_ops.Dilation2DBackpropInput(image, weights, dy, **attrs),
        raw_ops.Dilation2DBackpropFilter(image, weights, dy, **attrs),
    ]


def _refuse(op: Any, dy: Any) -> Any:
    del dy
    raise LookupError(f"The gradient of a dilation has no gradient itself: '{op.name}'")


_dilation = op(
    "Dilation2D",
    inputs="input: T, filter: T",
    outputs="output: T",
    attrs={"T": REAL, **_ATTRS},
    infer=_infer,
    **numpy_kernels(Call(make=_bind)),
    grad=_back,
    doc=("The largest sum of pixel and filter (kh, kw, c) in each window of images (n, h, w, c)."),
)

for _name, _output, _to_image in (("Input", "in", True), ("Filter", "filter", False)):
    op(
        f"Dilation2DBackprop{_name}",
        inputs="input: T, filter: T, out_backprop: T",
        outputs=f"{_output}_backprop: T",
        attrs={"T": REAL, **_ATTRS},
        infer=partial(_infer_back, _to_image),
        **numpy_kernels(Call(make=unless_empty(partial(_bind_back, _to_image)))),
        grad=_refuse,
        doc=f"The gradient of Dilation2D with respect to its {_name.lower()}. If several sums of a "
        "window are equal, the first gets the gradient.",
    )


def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Return the largest sum of `input` [n, h, w, c] and `filter` [kh, kw, c] in each window.

    The result has a gradient, but no second gradient. Raises ValueError if a rank is wrong, if the
    numbers of channels differ, or if a window is larger than the images.

    Args:
      strides: the distances between windows, as [1, y, x, 1].
      rates: the distances between the elements of a window, as [1, y, x, 1]. `dilations` is a newer
        name.
      padding: "SAME" or "VALID". Elements outside the image are ignored.
    """
    return _dilation(
        input,
        filters if filter is None else filter,
        strides=strides,
        rates=dilations if rates is None else rates,
        padding=padding,
        name=name,
    )


def erosion2d(
    value: Any, kernel: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Return the smallest difference of `value` [n, h, w, c] and a rotated `kernel` in each window.

    It is -dilation2d(-value, rotated), where `rotated` is the kernel [kh, kw, c] rotated by 180
    degrees. See `dilation2d` for the remaining arguments and the errors.
    """
    with op_scope(name, "erosion2d", value, kernel) as scope:
        negated = negative(value)
        rotated = reverse(kernel, [0, 1])
        attrs = {"strides": strides, "rates": rates, "padding": padding}
        return negative(_dilation(negated, rotated, **attrs, name=scope))
