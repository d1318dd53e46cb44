"""Static shapes: the parts of tensors' shapes that are known at graph construction.

A size is an int of at least 0, or None if it is unknown; a shape is a tuple of sizes, or None if
even the rank is unknown. `TensorShape` holds this tuple or None in `sizes`, which all other modules
read. A `Dimension`, the result of `shape[i]` in programs, is created when it is accessed, and is
never stored.

Shapes are immutable values, compared and hashed by `sizes`. Two shapes with equal `sizes` are
equal. Therefore `TensorShape([None]) == TensorShape([None])` is true, although the comparison of
two unknown Dimensions returns None.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex, overload

from gpugraph.base.dimensions import (
    Dimension as Dimension,
    as_dimension as as_dimension,
    as_size,
    dimension_value as dimension_value,
)
from gpugraph.base.misfit import value_error
from gpugraph.base.protobuf_fields import message_class

_Sizes = tuple[Any, ...] | None
"""The sizes of a shape: ints, None, or open sizes (`base/sizes`)."""


def equal_sizes(a: _Sizes, b: _Sizes) -> bool:
    """Return whether two shapes have equal sizes.

    Open sizes are compared last, and only if the ranks and all known sizes are equal, because a
    comparison of open sizes may become a condition of the compilation.
    """
    if a is b or a is None or b is None or len(a) != len(b):
        return a is b
    is_open = False
    for one, other in zip(a, b):
        if one is other:
            continue
        if one is None or other is None or (type(one) is int and type(other) is int):
            if one != other:
                return False
        else:
            is_open = True
    return not is_open or a == b


class TensorShape:
    """A tensor's static shape: its rank and sizes, each of which may be unknown.

    Args:
      dims: None for an unknown rank, a TensorShape, a TensorShapeProto, one size, or an iterable of
        sizes; a size is an int, None, a Dimension or a string of digits.

    Attributes:
      sizes: a tuple of ints and None, or None if the rank is unknown. Never assign to it.

    Raises:
      TypeError: `dims` or one of its items is neither a size nor an iterable of sizes.
      ValueError: a size is negative or not whole.

    >>> tf.TensorShape([None, 3]).as_list()
    [None, 3]
    """

    __slots__ = ("sizes",)

    sizes: tuple[int | None, ...] | None

    def __init__(self, dims: object) -> None:
        if dims is None:
            self.sizes = None
        elif isinstance(dims, TensorShape):
            self.sizes = dims.sizes
        elif isinstance(dims, (str, bytes)):
            raise TypeError(f"A string is not a shape; give sizes as integers: {dims!r}")
        elif type(dims).__name__ == "TensorShapeProto":  # of this package, or of TensorFlow
            self.sizes = _sizes_of_message(dims)
        else:
            try:
                items = iter(dims)  # type: ignore[call-overload]
            except TypeError:
                items = (dims,)
            self.sizes = tuple([as_size(size) for size in items])

    @classmethod
    def of(cls, sizes: tuple[int | None, ...] | None) -> TensorShape:
        """Return the shape with these sizes, without checking them.

        Args:
          sizes: a tuple of ints of at least 0 and None, or None for an unknown rank.
        """
        shape = _new(cls)
        shape.sizes = sizes
        return shape

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None if it is unknown."""
        return None if self.sizes is None else len(self.sizes)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | None:
        """A new list with a Dimension for each size, or None if the rank is unknown."""
        return None if self.sizes is None else [Dimension(size) for size in self.sizes]

    def as_proto(self) -> Any:
        """Return the shape as a TensorShapeProto."""
        if self.sizes is None:
            return message_class("TensorShapeProto")(unknown_rank=True)
        sizes = ({"size": -1 if size is None else size} for size in self.sizes)
        return message_class("TensorShapeProto")(dim=sizes)

    def as_list(self) -> list[int | None]:
        """Return the sizes. Raises ValueError if the rank is unknown."""
        if self.sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.sizes)

    def num_elements(self) -> int | None:
        """Return the product of all sizes, or None if a size or the rank is unknown."""
        if self.sizes is None or None in self.sizes:
            return None
        return math.prod(self.sizes)  # type: ignore[arg-type]

    def is_fully_defined(self) -> bool:
        """Return whether the rank and all sizes are known."""
        return self.sizes is not None and None not in self.sizes

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless the rank and all sizes are known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: object) -> bool:
        """Return whether a tensor could have this shape and also `other`. It could if the ranks are
        equal or one is unknown, and on each axis the sizes are equal or one is unknown.
        """
        a = self.sizes
        if type(other) is tuple and equal_sizes(other, a):  # usually the shape of an array
            return True
        b = as_shape(other).sizes
        if a is None or b is None or equal_sizes(a, b):
            return True
        return len(a) == len(b) and all(
            x == y or x is None or y is None for x, y in zip(a, b, strict=True)
        )

    def assert_is_compatible_with(self, other: object) -> None:
        """Raise ValueError unless `is_compatible_with(other)`."""
        shape = as_shape(other)
        if not self.is_compatible_with(shape):
            raise ValueError(f"Shapes {self} and {shape} are incompatible")

    def merge_with(self, other: object) -> TensorShape:
        """Return a shape that has each size that is known in at least one of the two shapes.

        Raises ValueError if the shapes are incompatible.
        """
        shape = as_shape(other)
        a, b = self.sizes, shape.sizes
        if b is None or equal_sizes(a, b):
            return self
        if a is None:
            return shape
        if not self.is_compatible_with(shape):
            raise value_error(f"Shapes {self} and {shape} are not compatible", _difference(a, b))
        return TensorShape.of(tuple([y if x is None else x for x, y in zip(a, b, strict=True)]))

    def most_specific_compatible_shape(self, other: object) -> TensorShape:
        """Return a shape with the sizes that are equal in both shapes. Sizes that differ become
        unknown.

        The rank is unknown if the two ranks differ or one of them is unknown.
        """
        a, b = self.sizes, as_shape(other).sizes
        if a is None or b is None or len(a) != len(b):
            return TensorShape.of(None)
        return TensorShape.of(tuple([x if x == y else None for x, y in zip(a, b, strict=True)]))

    def concatenate(self, other: object) -> TensorShape:
        """Return the sizes of `self`, followed by the sizes of `other`, as one shape. Its rank is
        unknown if the rank of either shape is unknown.
        """
        a, b = self.sizes, as_shape(other).sizes
        return TensorShape.of(None if a is None or b is None else a + b)

    def __add__(self, other: object) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: object) -> TensorShape:
        return as_shape(other).concatenate(self)

    def assert_same_rank(self, other: object) -> None:
        """Raise ValueError if both ranks are known and differ."""
        shape = as_shape(other)
        if None not in (self.rank, shape.rank) and self.rank != shape.rank:
            raise ValueError(f"Shapes {self} and {shape} must have the same rank")

    def assert_has_rank(self, rank: int | None) -> None:
        """Raise ValueError if the rank is known and is not `rank`."""
        if self.rank not in (None, rank):
            raise _rank_error(self, f"Shape {self} must have rank {rank}", f"{rank}")

    def with_rank(self, rank: int | None) -> TensorShape:
        """Return this shape. If its rank is unknown, return a shape with `rank` unknown sizes.

        Raises ValueError if the rank is known and is not `rank`.
        """
        self.assert_has_rank(rank)
        return self if self.sizes is not None else unknown_shape(rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape. Raises ValueError if its rank is known and less than `rank`."""
        if self.sizes is not None and len(self.sizes) < rank:
            message = f"Shape {self} must have rank at least {rank}"
            raise _rank_error(self, message, f"{rank}", "at least ")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape. Raises ValueError if its rank is known and greater than `rank`."""
        if self.sizes is not None and len(self.sizes) > rank:
            message = f"Shape {self} must have rank at most {rank}"
            raise _rank_error(self, message, f"{rank}", "at most ")
        return self

    def __len__(self) -> int:
        if self.sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.sizes)

    def __bool__(self) -> bool:
        return self.sizes is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self.sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return map(Dimension, self.sizes)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Dimension: ...

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...

    def __getitem__(self, key: SupportsIndex | slice) -> Dimension | TensorShape:
        if isinstance(key, slice):
            sizes = _unknown_slice(key) if self.sizes is None else self.sizes[key]
            return TensorShape.of(sizes)
        return Dimension(None if self.sizes is None else self.sizes[key])

    def __eq__(self, other: object) -> bool:
        if type(other) is TensorShape:
            return equal_sizes(self.sizes, other.sizes)
        try:
            return equal_sizes(self.sizes, as_shape(other).sizes)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.sizes)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        if self.sizes is None:
            return "<unknown>"
        text = ", ".join(["?" if size is None else str(size) for size in self.sizes])
        return f"({text},)" if len(self.sizes) == 1 else f"({text})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self.dims,)


def _sizes_of_message(proto: Any) -> tuple[int | None, ...] | None:
    if proto.unknown_rank:
        return None
    return tuple([None if dim.size == -1 else as_size(dim.size) for dim in proto.dim])


_new: Callable[[type[TensorShape]], TensorShape] = object.__new__


def shape_text(shape: TensorShape | Sequence[int | None] | None) -> str:
    """Return a shape in the notation of TensorFlow's runtime, such as `[2,3]`, with `?` for each
    unknown size.
    """
    sizes = shape.sizes if isinstance(shape, TensorShape) else shape
    if sizes is None:
        return "<unknown>"
    return "[" + ",".join("?" if size is None else str(size) for size in sizes) + "]"


def difference_text(a: TensorShape, b: TensorShape) -> str:
    """Return TensorFlow's message at graph construction for two shapes that are not compatible."""
    assert a.sizes is not None and b.sizes is not None
    return _difference(a.sizes, b.sizes)


def _difference(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> str:
    """Return a description of the difference between two incompatible shapes of known rank, in the
    words of TensorFlow's shape inference.
    """
    if len(a) != len(b):
        return f"Shapes must be equal rank, but are {len(a)} and {len(b)}"
    unequal = (
        (axis, x, y)
        for axis, (x, y) in enumerate(zip(a, b, strict=True))
        if x != y and None not in (x, y)
    )
    axis, x, y = next(unequal)
    return (
        f"Dimension {axis} in both shapes must be equal, but are {x} and {y}. Shapes are "
        f"{shape_text(a)} and {shape_text(b)}."
    )


def _rank_error(shape: TensorShape, message: str, rank: str, bound: str = "") -> ValueError:
    return value_error(message, f"Shape must be {bound}rank {rank} but is rank {shape.rank}")


def _unknown_slice(key: slice) -> tuple[None, ...] | None:
    """Return the sizes of a slice of a shape of unknown rank. Return None if the number of these
    sizes is unknown.

    Raises ValueError if the slice has a step.
    """
    if key.step is not None:
        raise ValueError("A shape of unknown rank cannot be sliced with a step")
    start = 0 if key.start is None else operator.index(key.start)
    stop = None if key.stop is None else operator.index(key.stop)
    if stop is None or start < 0 or stop < 0:
        return None
    return (None,) * (stop - start)


def as_shape(shape: object) -> TensorShape:
    """Return `shape` if it is a TensorShape, else `TensorShape(shape)`."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def as_tensor_shape(shape: object) -> TensorShape:
    """Return `as_shape(shape)`. Raises ValueError for a size beyond int64, which no tensor can
    have.
    """
    result = as_shape(shape)
    for size in result.sizes or ():
        if size is not None and size >= 1 << 63:
            raise ValueError(f"Value out of range: {size}")
    return result


def unknown_shape(rank: int | None = None, *, ndims: int | None = None) -> TensorShape:
    """Return a shape with `rank` unknown sizes, or a shape of unknown rank if `rank` is None.

    Args:
      ndims: the older name of `rank`.
    """
    rank = ndims if rank is None else rank
    return TensorShape.of(None if rank is None else (None,) * rank)


def scalar() -> TensorShape:
    """Return the shape of a scalar, ()."""
    return TensorShape.of(())


def vector(length: object) -> TensorShape:
    """Return the shape (length,)."""
    return TensorShape([length])


def matrix(rows: object, cols: object) -> TensorShape:
    """Return the shape (rows, cols)."""
    return TensorShape([rows, cols])


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Return `shape[index]`, or an unknown Dimension if the rank is unknown. Raises IndexError if
    there is no such dimension.
    """
    return shape[index]


_ONE = 1  # an open size is not compared with it


def broadcast_shapes(a: TensorShape, b: TensorShape) -> TensorShape:
    """Return the shape of an elementwise result of operands of shapes `a` and `b`.

    Sizes are aligned at the right. A missing size is treated as 1, and size 1 broadcasts to the
    size of the other operand. An unknown size and a size above 1 give the known size. An unknown
    size and size 1, or two unknown sizes, give an unknown size. The rank of the result is unknown
    if the rank of either operand is unknown.

    Raises:
      ValueError: two known sizes differ and neither is 1.
    """
    x, y = a.sizes, b.sizes
    if x is None or y == ():
        return a
    if y is None or not x:
        return b
    if len(x) != len(y):  # else `==` would compare sizes that are not aligned
        x, y = (1,) * (len(y) - len(x)) + x, (1,) * (len(x) - len(y)) + y
    elif equal_sizes(x, y):
        return a
    sizes = [
        n if m is _ONE else m if n is _ONE or n in (m, 1) else _broadcast_size(m, n, a, b)
        for m, n in zip(x, y)
    ]
    return TensorShape.of(tuple(sizes))


def _broadcast_size(m: int | None, n: int | None, a: TensorShape, b: TensorShape) -> int | None:
    """Return the broadcast size of two different sizes `m` and `n`, where `n` is not 1."""
    if m == 1:
        return n
    if m is None or n is None:
        return (m or n) or None
    raise value_error(
        f"Incompatible shapes for broadcasting: {a} and {b}",
        f"Dimensions must be equal, but are {m} and {n}",
        f"Incompatible shapes: {shape_text(a)} vs. {shape_text(b)}",
    )
