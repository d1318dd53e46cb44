"""The selection of elements by a strided slice, which is described by begin, end, strides, five
masks and the shape.

Bit i of the masks determines the meaning of position i of the three vectors:

    ellipsis_mask      all axes for which there is no other position; it may be set once, and is
                       at the end by default
    new_axis_mask      a new axis of size 1
    shrink_axis_mask   the one element begin[i]; the axis is dropped
    otherwise          begin[i] to end[i] by strides[i], as in Python; begin_mask and end_mask
        leave the start or the end open
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import range_length

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
"""The mask attrs of StridedSlice, in TensorFlow's order."""


class Spec(NamedTuple):
    """The meaning of one axis of the slice. `kind` is "new" (a new axis), "all" (all elements),
    "one" (one element), or "range".

    Args:
      position: the position in begin, end and strides, or -1 for "all".
    """

    kind: str
    position: int


def layout(attrs: Mapping[str, Any], count: int, rank: int) -> list[Spec]:
    """Return the meaning of each axis for a slice with `count` positions of a tensor with `rank`
    axes. The ellipsis is replaced by the axes that it covers.

    Raises ValueError if there is a second ellipsis, or if there are more positions than axes.
    """
    kinds: list[Spec] = []
    ellipsis = -1
    for position in range(count):
        bit = 1 << position
        if attrs["ellipsis_mask"] & bit:
            if ellipsis >= 0:
                raise ValueError("Multiple ellipses in slice spec not allowed")
            ellipsis = len(kinds)
        elif attrs["new_axis_mask"] & bit:
            kinds.append(Spec("new", position))
        elif attrs["shrink_axis_mask"] & bit:
            kinds.append(Spec("one", position))
        else:
            kinds.append(Spec("range", position))
    used = sum(spec.kind != "new" for spec in kinds)
    if used > rank:
        message = f"Index out of range using input dim {rank}; input has only {rank} dims"
        raise Misfit(message, in_run=message)
    first = len(kinds) if ellipsis < 0 else ellipsis
    return kinds[:first] + [Spec("all", -1)] * (rank - used) + kinds[first:]


def numpy_index(
    attrs: Mapping[str, Any],
    sizes: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
) -> tuple[Any, ...]:
    """Return the NumPy index that selects the slice. The index ends in `...`, so that a single
    element is also a view.

    Raises ValueError if a stride is 0 or a single element is outside its axis.
    """
    index: list[Any] = []
    dim = 0
    for kind, position in layout(attrs, len(begin), len(sizes)):
        if kind == "new":
            index.append(None)
            continue
        if kind == "all":
            index.append(slice(None))
        elif kind == "one":
            index.append(_element(begin[position], strides[position], sizes[dim], dim))
        else:
            index.append(_range(attrs, position, begin[position], end[position], strides[position]))
        dim += 1
    return (*index, ...)


def _range(attrs: Mapping[str, Any], position: int, begin: int, end: int, stride: int) -> slice:
    if stride == 0:
        raise ValueError(f"strides[{position}] must be non-zero")
    start = None if attrs["begin_mask"] >> position & 1 else begin
    stop = None if attrs["end_mask"] >> position & 1 else end
    return slice(start, stop, stride)


def _element(index: int, stride: int, size: int | None, dim: int) -> int:
    if stride <= 0:
        raise ValueError("only stride 1 allowed on non-range indexing.")
    if size is not None and not -size <= index < size:
        message = f"slice index {index} of dimension {dim} out of bounds."
        raise Misfit(message, in_run=message)
    return index


def sliced_shape(
    attrs: Mapping[str, Any],
    shape: TensorShape,
    count: int,
    begin: Sequence[int] | None,
    end: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> TensorShape:
    """Return the slice's static shape. Sizes that do not follow from the arguments are unknown.

    Args:
      begin, end, strides: the values of these inputs, or None if they are not constant.
    """
    if shape.sizes is None:
        return TensorShape.of(None)
    result: list[int | None] = []
    dim = 0
    for kind, position in layout(attrs, count, len(shape.sizes)):
        if kind == "new":
            result.append(1)
            continue
        size = shape.sizes[dim]
        if kind == "all":
            result.append(size)
        elif kind == "one":
            if begin is not None:
                _element(begin[position], strides[position] if strides else 1, size, dim)
        else:
            result.append(_length(attrs, position, size, begin, end, strides))
        dim += 1
    return TensorShape.of(tuple(result))


def _length(
    attrs: Mapping[str, Any],
    position: int,
    size: int | None,
    begin: Sequence[int] | None,
    end: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> int | None:
    """Return the number of elements that a position of kind "range" selects along its axis, or None
    if it is unknown.
    """
    if strides is None:
        return None
    first, last = begin[position] if begin else 0, end[position] if end else 0
    bounds = _range(attrs, position, first, last, strides[position])
    if (begin is None and bounds.start is not None) or (end is None and bounds.stop is not None):
        return None
    if size is not None:
        return range_length(bounds, size)
    return _length_of_unknown(bounds, strides[position])


def _length_of_unknown(bounds: slice, stride: int) -> int | None:
    """Return 0 if the range is empty for any size of the axis, otherwise None."""
    start, stop = bounds.start, bounds.stop
    if start is None or stop is None or (start < 0) != (stop < 0):
        return None
    empty = stop <= start if stride > 0 else stop >= start
    return 0 if empty else None
