"""The geometry of windows that slide over images and volumes, for convolution and pooling.

A `WindowAxis` describes the windows along one spatial axis. Kernels loop over the elements of a
window, not over the windows. For each element, `WindowAxis.span` returns the windows that have this
element inside the image, and the strided slice of the image at this element. So one NumPy call
handles an element of all windows at once, and padding needs no copy.

    for i, rows_of_out, rows_of_in in y.elements():    # and j in x.elements()
        out[:, rows_of_out, ...] += image[:, rows_of_in, ...] * weight[i, ...]

A `Layout` holds the differences between ops on images (`IMAGES`) and on volumes (`VOLUMES`, which
have a depth before height and width): the number of spatial axes, and the data formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType, float16, float32
from gpugraph.base.errors import UnimplementedError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import Misfit
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import of_rank

PADDING = Attr("string", required=True, allowed=("SAME", "VALID"))
CONV_ATTRS = {
    "strides": Attr("list(int)", required=True),
    "use_cudnn_on_gpu": Attr("bool", True),
    "padding": Attr("string", required=True, allowed=(*PADDING.allowed, "EXPLICIT")),
    "explicit_paddings": Attr("list(int)", []),
    "data_format": Attr("string", "NHWC", allowed=("NHWC", "NCHW")),
    "dilations": Attr("list(int)", [1, 1, 1, 1]),
}
"""The attrs of all convolutions of images."""

Attrs = Mapping[str, Any]
Size = int | None
Bind = Callable[..., Callable[[], Any]]


def text(value: Any) -> str:
    """Return a string attr, which may be bytes, as a str."""
    return value.decode() if isinstance(value, bytes) else str(value)


def check_equal(one: Size, other: Size, what: str) -> None:
    """Raise ValueError if two sizes are known and differ.

    Args:
      what: the name of the sizes for the message.
    """
    if one is not None and other is not None and one != other:
        raise ValueError(f"Dimensions must be equal, but are {one} and {other}: {what}")


def check_all_equal(sizes: Sequence[Size], others: Sequence[Size], what: str) -> None:
    """Raise Misfit, a ValueError, if any two sizes at the same position are known and differ."""
    for size, other in zip(sizes, others):
        if size is not None and other is not None and size != other:
            raise Misfit(f"Dimensions must be equal, but are {size} and {other}: {what}")


class WindowAxis(NamedTuple):
    """`out` windows of `window` elements along an axis of `size` elements.

    Args:
      stride: the distance between windows.
      dilation: the distance between the elements of a window.
      before: the number of padding elements before the first element.
    """

    size: int
    window: int
    stride: int
    dilation: int
    before: int
    out: int

    def span(self, element: int, start: int = 0, stop: int | None = None) -> tuple[slice, slice]:
        """Return two slices: the windows whose element number `element` is inside the image, and
        the positions of these elements in the image.

        Only the windows from `start` up to `stop` are considered, and the first slice is relative
        to `start`. Both slices have the same length.
        """
        offset = element * self.dilation - self.before
        first = max(start, -(offset // self.stride))
        last = min(self.out if stop is None else stop, (self.size - 1 - offset) // self.stride + 1)
        if last <= first:
            return slice(0, 0), slice(0, 0)
        begin = first * self.stride + offset
        end = begin + (last - first - 1) * self.stride + 1
        return slice(first - start, last - start), slice(begin, end, self.stride)

    def elements(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, Any, Any]]:
        """Yield (element, *span(element)) for each window element that is inside the image for at
        least one window.
        """
        for element in range(self.window):
            windows, positions = self.span(element, start, stop)
            if windows.stop > windows.start:
                yield element, windows, positions

    @property
    def reaches_out(self) -> bool:
        """Whether some window has elements outside the image."""
        last = (self.out - 1) * self.stride - self.before + (self.window - 1) * self.dilation
        return self.out > 0 and (self.before > 0 or last >= self.size)


def axis_of(
    size: int, window: int, stride: int, dilation: int, padding: str, explicit: tuple[int, int]
) -> WindowAxis:
    """Return the axis with windows of this size.

    Raises ValueError if a window is larger than the axis with its padding.

    Args:
      explicit: (before, after), the padding that is used unless `padding` is "SAME".
    """
    reach = (window - 1) * dilation + 1
    if padding == "SAME":
        out = -(-size // stride)
        before = max((out - 1) * stride + reach - size, 0) // 2
    else:
        before, after = explicit
        if size + before + after < reach:
            raise ValueError(
                f"Negative dimension size caused by subtracting {reach} from "
                f"{size + before + after}: a window of {window} elements, {dilation} apart, is "
                f"larger than the image with its padding"
            )
        out = (size + before + after - reach) // stride + 1
    return WindowAxis(size, window, stride, dilation, before, out)


def window_steps(axes: Sequence[WindowAxis]) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    """Yield (element, windows, positions) for each element of the window. Each of these three is a
    tuple with one entry per axis.
    """
    for parts in product(*(list(axis.elements()) for axis in axes)):
        element, windows, positions = zip(*parts)
        yield element, windows, positions


def sum_dtype(context: KernelContext) -> DType:
    """Return the dtype of sums: float32 if the output is float16, otherwise the output's dtype."""
    dtype = context.output_types[0].base_dtype
    return float32 if dtype is float16 else dtype


def sum_target(context: KernelContext, array: Any) -> tuple[Any, list[Callable[[], Any]]]:
    """Return an array in which the sums for `array` are accumulated, and calls that copy the sums
    to `array`.

    If `array` has the dtype in which sums are computed, `array` itself is returned, and there are
    no calls.
    """
    dtype = sum_dtype(context)
    if dtype is context.output_types[0].base_dtype:
        return array, []
    total = context.scratch(tuple(array.shape), dtype)
    return total, [partial(np.copyto, array, total, casting="same_kind")]


def unless_empty(bind: Bind) -> Bind:
    """Wrap `bind` to handle empty arrays. If the output is empty, nothing is computed. If an input
    is empty, the output is zeros.
    """

    @wraps(bind)
    def bind_unless_empty(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        *inputs, out = arrays
        if out.size == 0:
            return lambda: None
        if any(array.size == 0 for array in inputs):
            return lambda: out.fill(0)
        return bind(context, *arrays)

    return bind_unless_empty


class Sizes(NamedTuple):
    """The sizes of images or volumes, independent of their data format."""

    batch: Size
    spatial: tuple[Size, ...]
    channels: Size


def _not_spatial(attrs: Attrs, key: str, entries: Sequence[int]) -> Misfit:
    """Return the error for windows that extend along the batch or the channels.

    Args:
      entries: the entries of attr `key` for the batch and the channels.
    """
    given = f"{key} is {list(attrs[key])}, and is to be 1 in the batch and channel dimensions"
    if "ksize" not in attrs:
        what = f"Current implementation does not yet support {key} in the batch and depth"
        return Misfit(f"{what} dimensions: {given}", shapes=[])
    if entries[0] != 1:
        what = "Pooling is not yet supported on the batch dimension"
    else:
        what = "Non-spatial pooling is not yet supported"
    return Misfit(f"{what}: {given}", shapes=[], error_class=UnimplementedError)


class Layout(NamedTuple):
    """The layout of images or volumes: their name in messages, `noun`, and their two data formats.

    Args:
      last, first: the data formats with channels last and with channels first.
    """

    noun: str
    last: str
    first: str

    @property
    def num_axes(self) -> int:
        """The number of spatial axes."""
        return len(self.last) - 2

    @property
    def format(self) -> Attr:
        """The attr `data_format`, by default channels last."""
        return Attr("string", self.last, allowed=(self.last, self.first))

    def channels_last(self, attrs: Attrs) -> bool:
        """Return whether the data format has channels last. Raises ValueError if it is unknown."""
        data_format = text(attrs["data_format"])
        if data_format not in (self.last, self.first):
            raise ValueError(
                f"data_format must be {self.last} or {self.first}, but it is {data_format}"
            )
        return data_format == self.last

    def _cut(self, attrs: Attrs, entries: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Split a list with one entry per dimension. Return the spatial entries, and the entries of
        the batch and the channels.
        """
        first = 1 if self.channels_last(attrs) else 2
        stop = first + self.num_axes
        return list(entries[first:stop]), [*entries[:first], *entries[stop:]]

    def spatial(self, attrs: Attrs, key: str) -> tuple[int, ...]:
        """Return the spatial entries of a list attr.

        Raises a Misfit (an error for attrs that do not fit the op) unless the entries of batch and
        channels are 1.
        """
        values = [int(value) for value in attrs[key]]
        rank = self.num_axes + 2
        if len(values) != rank:
            raise ValueError(
                f"{key} must have {rank} entries, one per dimension, but it is {values}"
            )
        spatial, others = self._cut(attrs, values)
        if others != [1, 1]:
            raise _not_spatial(attrs, key, others)
        if min(spatial) < 1:
            raise ValueError(f"{key} must be positive, but is {values}")
        return tuple(spatial)

    def pools_depth(self, attrs: Attrs) -> bool:
        """Return whether the windows of the attr ksize cover more than one channel."""
        sizes = attrs["ksize"]
        return len(sizes) == self.num_axes + 2 and int(self._cut(attrs, sizes)[1][1]) != 1

    def _explicit(self, attrs: Attrs) -> list[tuple[int, int]]:
        """Return the padding (before, after) of each spatial axis in the attr explicit_paddings."""
        flat = [int(padding) for padding in attrs["explicit_paddings"]]
        if len(flat) != 2 * self.num_axes + 4:
            raise ValueError(
                f"explicit_paddings must have {2 * self.num_axes + 4} entries with EXPLICIT, but "
                f"it is {flat}"
            )
        spatial, others = self._cut(attrs, list(zip(flat[::2], flat[1::2])))
        if others != [(0, 0), (0, 0)]:
            raise ValueError(f"explicit_paddings pad batch or channels: {flat}")
        if min(flat) < 0:
            raise Misfit(f"All elements of explicit_paddings must be nonnegative: {flat}")
        return spatial

    def plan_axes(
        self, attrs: Attrs, sizes: Sequence[Size], window: Sequence[Size]
    ) -> list[WindowAxis | None]:
        """Return the axes of these windows over images of these sizes. If the size of an axis is
        unknown, the axis is None.

        Raises ValueError if an attr is invalid, or if a window is larger than the padded image.

        Args:
          window: the window's size along each spatial axis.
        """
        padding = text(attrs["padding"])
        known = ("SAME", "VALID", "EXPLICIT") if "explicit_paddings" in attrs else ("SAME", "VALID")
        if padding not in known:
            raise ValueError(f"padding must be one of {', '.join(known)}, but it is {padding}")
        explicit = [(0, 0)] * self.num_axes
        if padding == "EXPLICIT":
            explicit = self._explicit(attrs)
        elif attrs.get("explicit_paddings"):
            raise ValueError(f"explicit_paddings go with padding EXPLICIT, but it is {padding}")
        strides = self.spatial(attrs, "strides")
        dilations = self.spatial(attrs, "dilations") if "dilations" in attrs else [1] * len(strides)
        return [
            None
            if size is None or count is None
            else axis_of(size, count, stride, dilation, padding, pair)
            for size, count, stride, dilation, pair in zip(
                sizes, window, strides, dilations, explicit
            )
        ]

    def axes(
        self, attrs: Attrs, sizes: Sequence[Size], window: Sequence[Size] | None = None
    ) -> list[WindowAxis]:
        """Return the axes of these windows. All sizes must be known. By default, `window` is the
        attr ksize.
        """
        planned = self.plan_axes(
            attrs, sizes, self.spatial(attrs, "ksize") if window is None else window
        )
        assert None not in planned
        return [axis for axis in planned if axis is not None]

    def out_sizes(
        self, attrs: Attrs, sizes: Sequence[Size], window: Sequence[Size]
    ) -> tuple[Size, ...]:
        """Return the number of windows along each spatial axis, or None for an axis if it is
        unknown.
        """
        axes = self.plan_axes(attrs, sizes, window)
        if (
            text(attrs["padding"]) == "SAME"
        ):  # in that case, the count does not depend on the window's size
            strides = self.spatial(attrs, "strides")
            return tuple(
                None if size is None else -(-size // stride) for size, stride in zip(sizes, strides)
            )
        return tuple(axis and axis.out for axis in axes)

    def check_gradient(
        self, context: Any, index: int, sizes: Sizes, window: Sequence[Size], name: str
    ) -> Sizes:
        """Return the sizes of input `index`, which must be the gradient of the results for images
        of these sizes.

        Raises ValueError unless the batch and spatial sizes of the input are equal to those of the
        results.
        """
        gradient = self.sizes(context.shapes[index], context.attrs, name)
        check_equal(sizes.batch, gradient.batch, f"the {self.noun} and the gradient's")
        check_all_equal(
            self.out_sizes(context.attrs, sizes.spatial, window),
            gradient.spatial,
            "the places of the windows and the gradient's",
        )
        return gradient

    def sizes(self, shape: TensorShape, attrs: Attrs, what: str = "input") -> Sizes:
        """Return the batch, spatial and channel sizes in `shape`, whose axes have the order of the
        data format.

        Raises ValueError if the rank is wrong.
        """
        sizes = of_rank(shape, self.num_axes + 2, what)
        spatial, (batch, channels) = self._cut(attrs, sizes)
        return Sizes(batch, tuple(spatial), channels)

    def shape(
        self, attrs: Attrs, batch: Size, spatial: Sequence[Size], channels: Size
    ) -> TensorShape:
        """Return the shape of images or volumes of these sizes, in the data format of the attrs."""
        if self.channels_last(attrs):
            return TensorShape.of((batch, *spatial, channels))
        return TensorShape.of((batch, channels, *spatial))

    def last_channels(self, attrs: Attrs, *arrays: Any) -> list[Any]:
        """Return views of the arrays with channels last."""
        if self.channels_last(attrs):
            return list(arrays)
        axes = (0, *range(2, self.num_axes + 2), 1)
        return [array.transpose(axes) for array in arrays]


IMAGES = Layout("images", "NHWC", "NCHW")
VOLUMES = Layout("volumes", "NDHWC", "NCDHW")
