"""Functions on many elements of a TensorArray at once: gather, scatter, concat and split.

If the elements are stored together and the indices are consecutive, as in a stack or unstack, all
elements are copied at once. `gathered_shape` and `concat_shapes` return the shapes of results in
advance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import UnimplementedError, invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.ops.tensor_arrays.element_array import ElementArray
from gpugraph.ops.tensor_arrays.element_store import HELD, Kind, as_slice

Shape = tuple[int, ...]


def gather(array: ElementArray, indices: Any, out: Any, kind: Kind) -> None:
    """Copy element `indices[i]` into `out[i]`, for all i.

    Args:
      kind: the shape and dtype of an element.
    """
    array.check_read(kind[1])
    part = as_slice(indices)
    if part is not None and kind == array.kind and array.holds(part):
        out[...] = array.rows[part]
        _mark_read(array, part)
        return
    for place, index in enumerate(indices.tolist()):
        array.read(index, out[place, ...], kind)


def gathered_shape(array: ElementArray, indices: Any, declared: TensorShape) -> Shape:
    """Return the shape of the result of `gather`.

    Raises an error unless the shapes of the elements match each other and `declared`. Raises
    UnimplementedError if there are no indices and the element shape is unknown.
    """
    array.check_open()
    if len(indices) == 0:
        return (0, *_shape_of_none(array, declared, array.allowed, "element shape", "packing"))
    part = as_slice(indices)
    if part is not None and array.kind is not None and array.holds(part):
        shapes = [array.kind[0]]
    else:
        shapes = [array.shape_at(index) for index in indices.tolist()]
    for place, shape in enumerate(shapes):
        if not declared.is_compatible_with(shape):
            raise array.refusal(
                f"TensorArray was passed element_shape {shape_text(declared.sizes)} which does not "
                f"match the Tensor at index {place}: {shape_text(shape)}"
            )
        if shape != shapes[0]:
            raise array.refusal(
                f"TensorArray has inconsistent shapes.  Index 0 has shape: "
                f"{shape_text(shapes[0])} but index {place} has shape: {shape_text(shape)}"
            )
    return (len(indices), *shapes[0])


def scatter(array: ElementArray, indices: Any, value: Any, kind: Kind) -> None:
    """Store copies of `value[i]` as element `indices[i]`, for all i.

    Args:
      kind: the shape and dtype of an element.
    """
    array.check_written(kind[1])
    size, largest = len(array.states), int(indices.max(initial=-1))
    if largest >= size and not array.dynamic:
        raise array.refusal(f"Max scatter index must be < array size ({largest} vs. {size})")
    part = as_slice(indices)
    if part is not None and array.is_fresh(part):
        array.accept_all(part, kind[0])
        array.reach(part.stop)
        if array.try_make_rows(kind[0]):
            array.rows[part] = value
            array.states[part] = bytes([HELD]) * len(indices)
            return
    for place, index in enumerate(indices.tolist()):
        array.write(index, value[place, ...], kind)


def concat(array: ElementArray, out: Any, lengths: Any, kind: Kind) -> None:
    """Join all elements along their first axis into `out`, and store their sizes along this axis in
    `lengths`.

    Args:
      kind: the shape and dtype of `out`.
    """
    array.check_read(kind[1])
    whole = slice(0, len(array.states))
    if array.kind is not None and array.holds(whole):
        lengths[...] = array.kind[0][0]
        out[...] = array.rows[whole].reshape(out.shape)
        _mark_read(array, whole)
        return
    start = 0
    for index in range(whole.stop):
        shape = array.shape_at(index)
        lengths[index] = shape[0]
        array.read(index, out[start : start + shape[0]], (shape, kind[1]))
        start += shape[0]


def concat_shapes(array: ElementArray, declared: TensorShape) -> tuple[Shape, Shape]:
    """Return the shapes of the two results of `concat`.

    Raises UnimplementedError if there are no elements and the element shape is unknown.

    Args:
      declared: a shape with which the shapes of the elements, without their first axis, must be
        compatible.
    """
    size = array.size()
    if size == 0:
        known = array.allowed[1:] if array.allowed.sizes else array.allowed
        inner = _shape_of_none(array, declared, known, "element_shape_except0", "concatenating")
        return (0, *inner), (0,)
    shapes = [array.shape_at(index) for index in range(size)]
    for index, shape in enumerate(shapes):
        _check_joined(array, index, shape, shapes[0], declared)
    return (sum(shape[0] for shape in shapes), *shapes[0][1:]), (size,)


def split(array: ElementArray, value: Any, lengths: Any, kind: Kind) -> None:
    """Store parts of `value` as elements 0, 1, ...

    Args:
      lengths: the sizes of the parts along the first axis.
      kind: the shape and dtype of `value`.
    """
    array.check_written(kind[1])
    shape, dtype = kind
    sizes = [int(length) for length in lengths.tolist()]
    _check_parts(array, sizes, shape)
    if sizes and len(set(sizes)) == 1:
        part = (sizes[0], *shape[1:])
        indices = np.arange(len(sizes), dtype=np.int32)
        scatter(array, indices, value.reshape((len(sizes), *part)), (part, dtype))
        return
    if not array.rules.alike:
        array.part()
    start = 0
    for index, length in enumerate(sizes):
        array.write(index, value[start : start + length], ((length, *shape[1:]), dtype))
        start += length


def _mark_read(array: ElementArray, part: slice) -> None:
    """Mark the elements in the slice `part` as read. If reads clear elements, also mark them as
    cleared.
    """
    array.states[part] = bytes([array.after]) * (part.stop - part.start)
    array.free_if_cleared()


def _shape_of_none(
    array: ElementArray, declared: TensorShape, known: TensorShape, what: str, doing: str
) -> Shape:
    """Return the element shape of an array without elements. Raises UnimplementedError if it is
    unknown.

    Args:
      declared: the element shape in the op's attrs.
      known: the element shape of the array.
    """
    for shape in (declared, known):
        if shape.is_fully_defined():
            return shape.sizes  # type: ignore[return-value]
    raise UnimplementedError(
        None,
        None,
        f"TensorArray {array.name}: TensorArray has size zero, but {what} {declared} is not fully "
        f"defined. Currently only static shapes are supported when {doing} zero-size TensorArrays: "
        "give the TensorArray an element_shape.",
    )


def _check_joined(
    array: ElementArray, index: int, shape: Shape, first: Shape, declared: TensorShape
) -> None:
    """Raise an error unless element `index`, whose shape is `shape`, can be joined to the first
    element.
    """
    if not shape:
        raise array.refusal(
            f"Concat saw a scalar shape at index {index} but requires at least vectors.  Did you "
            "mean to call stack?"
        )
    rest = f"(excepting dimension 0) shape: {shape_text(shape[1:])}"
    if not declared.is_compatible_with(shape[1:]):
        raise array.refusal(
            f"TensorArray was passed element_shape_except0 {shape_text(declared.sizes)} but index "
            f"{index} has {rest} which does not match."
        )
    if shape[1:] != first[1:]:
        raise array.refusal(
            "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
            f"{shape_text(first[1:])} but index {index} has {rest}"
        )


def _check_parts(array: ElementArray, sizes: Sequence[int], shape: Shape) -> None:
    """Raise an error unless a value of this shape can be split into parts of these sizes.

    The array must have as many elements as there are parts.
    """
    if min(sizes, default=0) < 0:
        raise invalid_argument(f"Lengths must be 0 or more, but they are {list(sizes)}")
    if sum(sizes) != shape[0]:
        raise array.refusal(
            "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{sum(sizes)} and value's shape is: {shape_text(shape)}"
        )
    size = len(array.states)
    if size > len(sizes) or (size < len(sizes) and not array.dynamic):
        raise array.refusal(
            f"TensorArray's size is not equal to the size of lengths ({size} vs. {len(sizes)}), "
            "and the TensorArray is not marked as dynamically resizeable"
        )
