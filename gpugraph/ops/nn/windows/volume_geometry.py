"""Windows that slide in volumes: as `windows`, with a depth before height and width.

Kernels walk over the elements of a window: one NumPy call a step, for all places at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from gpugraph.base.shapes import TensorShape
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.window_geometry import Axis, axis_of, check_equal, text

VOLUME_FORMAT = Attr("string", "NDHWC")

Attrs = Mapping[str, Any]
Size = int | None


class Volumes(NamedTuple):
    """The sizes of volumes, whatever their format."""

    batch: Size
    depth: Size
    height: Size
    width: Size
    channels: Size

    @property
    def places(self) -> tuple[Size, Size, Size]:
        return self.depth, self.height, self.width


def _channels_last(attrs: Attrs) -> bool:
    data_format = text(attrs["data_format"])
    if data_format not in ("NDHWC", "NCDHW"):
        raise ValueError(f"data_format must be NDHWC or NCDHW, but it is {data_format}")
    return data_format == "NDHWC"


def spatial_of(attrs: Attrs, key: str) -> tuple[int, ...]:
    """The three spatial entries of a list of five; ValueError where the others are not 1."""
    values = [int(each) for each in attrs[key]]
    if len(values) != 5:
        raise ValueError(f"{key} must have 5 entries, one a dimension, but it is {values}")
    first = 1 if _channels_last(attrs) else 2
    found = tuple(values[first : first + 3])
    if sorted([*found, 1, 1]) != sorted(values) or values[0] != 1:
        raise ValueError(f"{key} must be 1 in the batch and channel dimensions, but is {values}")
    if min(found) < 1:
        raise ValueError(f"{key} must be positive, but is {values}")
    return found


def axes_of(attrs: Attrs, sizes: Sequence[Size], window: Sequence[Size]) -> list[Axis | None]:
    """How windows lie along depth, height and width; None where a size is not known."""
    padding = text(attrs["padding"])
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"padding must be one of SAME, VALID, but it is {padding}")
    strides = spatial_of(attrs, "strides")
    dilations = spatial_of(attrs, "dilations") if "dilations" in attrs else (1, 1, 1)
    return [
        None
        if size is None or count is None
        else axis_of(size, count, stride, dilation, padding, (0, 0))
        for size, count, stride, dilation in zip(sizes, window, strides, dilations)
    ]


def out_volume(attrs: Attrs, sizes: Sequence[Size], window: Sequence[Size]) -> list[Size]:
    """How many windows there are along depth, height and width."""
    axes = axes_of(attrs, sizes, window)
    if text(attrs["padding"]) == "SAME":  # whatever the windows' size
        strides = spatial_of(attrs, "strides")
        return [None if size is None else -(-size // s) for size, s in zip(sizes, strides)]
    return [axis and axis.out for axis in axes]


def check_volume_places(
    attrs: Attrs, sizes: Sequence[Size], window: Sequence[Size], found: Sequence[Size]
) -> None:
    """ValueError unless there are as many windows as `found` says."""
    for one, other in zip(out_volume(attrs, sizes, window), found):
        check_equal(one, other, "the places of the windows and the gradient's")


def volumes(shape: TensorShape, attrs: Attrs, what: str = "input") -> Volumes:
    """The sizes of `shape`; ValueError unless it is of rank 5."""
    sizes = of_rank(shape, 5, what)
    one, *others = range(5) if _channels_last(attrs) else (0, 2, 3, 4, 1)
    first, second, third, last = others
    return Volumes(sizes[one], sizes[first], sizes[second], sizes[third], sizes[last])


def in_volume_format(attrs: Attrs, batch: Size, places: Sequence[Size], channels: Size) -> Any:
    """The shape of volumes of these sizes."""
    if _channels_last(attrs):
        return TensorShape.of((batch, *places, channels))
    return TensorShape.of((batch, channels, *places))


def last_volume_channels(attrs: Attrs, array: Any) -> Any:
    """A view of volumes with their channels last."""
    return array if _channels_last(attrs) else array.transpose(0, 2, 3, 4, 1)


def steps_of(axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    """(element, places of the windows, pixels they see) for each element of the window."""
    for parts in product(*(list(axis.elements()) for axis in axes)):
        element, windows, positions = zip(*parts)
        yield element, windows, positions
