"""Windows that slide over images: their geometry, which convolution and pooling share.

An `Axis` says how windows lie along one spatial dimension. Kernels walk over the elements of a
window, not over its places: for element (i, j), `Axis.span` gives the places whose window has
that element inside the image, and the strided slice of the image that they see there. So each
step is one NumPy call over slices, for all places at once, and padding costs no copy.

    for i, rows_of_out, rows_of_in in y.elements():    # and j in x.elements()
        out[:, rows_of_out, ...] += image[:, rows_of_in, ...] * weight[i, ...]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base.shapes import TensorShape
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import of_rank

FORMAT = Attr("string", "NHWC")
PADDING = Attr("string", required=True)
CONV_ATTRS = {
    "strides": Attr("list(int)", required=True),
    "use_cudnn_on_gpu": Attr("bool", True),
    "padding": PADDING,
    "explicit_paddings": Attr("list(int)", []),
    "data_format": FORMAT,
    "dilations": Attr("list(int)", [1, 1, 1, 1]),
}
"""Of all convolutions."""

Attrs = Mapping[str, Any]
Size = int | None


def text(value: Any) -> str:
    """A string attr, which may be bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


class Axis(NamedTuple):
    """`out` windows of `window` elements along a dimension of `size`, `before` it padded."""

    size: int
    window: int
    stride: int
    dilation: int
    before: int
    out: int

    def span(self, element: int, start: int = 0, stop: int | None = None) -> tuple[slice, slice]:
        """(windows, positions): those of windows start to stop that have `element` inside.

        Windows are counted from `start`. Both slices are of the same length.
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
        """(element, windows, positions) for all elements that some window has inside."""
        for element in range(self.window):
            windows, positions = self.span(element, start, stop)
            if windows.stop > windows.start:
                yield element, windows, positions

    @property
    def reaches_out(self) -> bool:
        """Whether some window has elements outside."""
        last = (self.out - 1) * self.stride - self.before + (self.window - 1) * self.dilation
        return self.out > 0 and (self.before > 0 or last >= self.size)


# -- attrs


def channels_last(attrs: Attrs) -> bool:
    """Whether the data format is NHWC; ValueError unless it is that or NCHW."""
    data_format = text(attrs["data_format"])
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format must be NHWC or NCHW, but it is {data_format}")
    return data_format == "NHWC"


def spatial(attrs: Attrs, key: str) -> tuple[int, int]:
    """The two spatial entries of a list of four; ValueError where the others are not 1."""
    values = [int(each) for each in attrs[key]]
    if len(values) != 4:
        raise ValueError(f"{key} must have 4 entries, one a dimension, but it is {values}")
    places = (1, 2) if channels_last(attrs) else (2, 3)
    others = [value for place, value in enumerate(values) if place not in places]
    if others != [1, 1]:
        raise ValueError(f"{key} must be 1 in the batch and channel dimensions, but is {values}")
    y, x = (values[place] for place in places)
    if y < 1 or x < 1:
        raise ValueError(f"{key} must be positive, but is {values}")
    return y, x


def _explicit(attrs: Attrs) -> list[tuple[int, int]]:
    """(before, after) of both spatial dimensions."""
    flat = [int(each) for each in attrs["explicit_paddings"]]
    if len(flat) != 8:
        raise ValueError(f"explicit_paddings must have 8 entries with EXPLICIT, but it is {flat}")
    pairs = list(zip(flat[::2], flat[1::2]))
    places = (1, 2) if channels_last(attrs) else (2, 3)
    if any(pairs[place] != (0, 0) for place in range(4) if place not in places):
        raise ValueError(f"explicit_paddings pad batch or channels: {flat}")
    if min(flat) < 0:
        raise ValueError(f"explicit_paddings can't be negative, but are {flat}")
    return [pairs[place] for place in places]


def axis_of(
    size: int, window: int, stride: int, dilation: int, padding: str, explicit: tuple[int, int]
) -> Axis:
    """How windows lie along a dimension; ValueError where they are larger than it."""
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
    return Axis(size, window, stride, dilation, before, out)


def plan_axes(
    attrs: Attrs, sizes: Sequence[Size], window: Sequence[Size]
) -> tuple[Axis | None, Axis | None]:
    """The axes of these windows (height, width) over images of these sizes; None: not known.

    ValueError for attrs that make no sense, and for windows that do not fit.
    """
    padding = text(attrs["padding"])
    known = ("SAME", "VALID", "EXPLICIT") if "explicit_paddings" in attrs else ("SAME", "VALID")
    if padding not in known:
        raise ValueError(f"padding must be one of {', '.join(known)}, but it is {padding}")
    explicit = [(0, 0), (0, 0)]
    if padding == "EXPLICIT":
        explicit = _explicit(attrs)
    elif attrs.get("explicit_paddings"):
        raise ValueError(f"explicit_paddings go with padding EXPLICIT, but it is {padding}")
    strides = spatial(attrs, "strides")
    dilations = spatial(attrs, "dilations") if "dilations" in attrs else (1, 1)
    y, x = (
        None
        if size is None or count is None
        else axis_of(size, count, stride, dilation, padding, pair)
        for size, count, stride, dilation, pair in zip(sizes, window, strides, dilations, explicit)
    )
    return y, x


def out_sizes(attrs: Attrs, sizes: Sequence[Size], window: Sequence[Size]) -> tuple[Size, Size]:
    """How many windows there are (down, across)."""
    y, x = plan_axes(attrs, sizes, window)
    if text(attrs["padding"]) == "SAME":  # whatever the windows' size
        strides = spatial(attrs, "strides")
        down, across = (
            None if size is None else -(-size // stride) for size, stride in zip(sizes, strides)
        )
        return down, across
    return (y and y.out), (x and x.out)


def check_equal(one: Size, other: Size, what: str) -> None:
    """ValueError for two sizes that are known and differ; `what` says whose they are."""
    if one is not None and other is not None and one != other:
        raise ValueError(f"Dimensions must be equal, but are {one} and {other}: {what}")


def check_places(
    attrs: Attrs, sizes: Sequence[Size], window: Sequence[Size], found: Sequence[Size]
) -> None:
    """ValueError unless there are as many windows as `found` says (down, across)."""
    for one, other in zip(out_sizes(attrs, sizes, window), found):
        check_equal(one, other, "the places of the windows and the gradient's")


# -- images


class Image(NamedTuple):
    """The sizes of images, whatever their format."""

    batch: Size
    height: Size
    width: Size
    channels: Size


def images(shape: TensorShape, attrs: Attrs, what: str = "input") -> Image:
    """The sizes of `shape`; ValueError unless it is of rank 4."""
    sizes = of_rank(shape, 4, what)
    if channels_last(attrs):
        return Image(*sizes)
    batch, channels, height, width = sizes
    return Image(batch, height, width, channels)


def in_format(attrs: Attrs, batch: Size, height: Size, width: Size, channels: Size) -> TensorShape:
    """The shape of images of these sizes."""
    if channels_last(attrs):
        return TensorShape.of((batch, height, width, channels))
    return TensorShape.of((batch, channels, height, width))


def last_channels(attrs: Attrs, array: Any) -> Any:
    """A view of images with their channels last."""
    return array if channels_last(attrs) else array.transpose(0, 2, 3, 1)


def pieces(count: int, most: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of pieces of `count`, of at most `most`, which is at least one."""
    step = max(1, most)
    for start in range(0, count, step):
        yield start, min(start + step, count)
