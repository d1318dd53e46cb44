"""TensorList, the value of a variant tensor. It is a list of tensors of one dtype.

A list is immutable. A method that changes elements returns a new list, which shares all unchanged
elements with this list. An element that was never set is None. If its shape is known, a read
returns zeros. Errors are InvalidArgumentError with the messages of TensorFlow's list_kernels.cc.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, runtime_name, variant
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.ops.framework.numpy_conversion import zero_of

Items = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TensorList:
    """A list of elements of one dtype, whose shapes are compatible with `element_shape`.

    Args:
      limit: the maximum number of elements that a list may have after pushes, or -1 for no limit.
    """

    dtype: DType
    element_shape: TensorShape
    items: Items = ()
    limit: int = -1

    @classmethod
    def reserved(cls, dtype: DType, shape: TensorShape, count: int) -> TensorList:
        """Return a list of `count` elements that are not set."""
        if count < 0:
            raise invalid_argument(
                f"The num_elements to reserve must be a non negative number, but got {count}"
            )
        return cls(dtype, shape, (None,) * count)

    @classmethod
    def of_rows(cls, dtype: DType, rows: Any, shape: TensorShape) -> TensorList:
        """Return the list of the rows of an array. `shape` must be compatible with the shape of a
        row.
        """
        if rows.ndim == 0:
            raise invalid_argument(
                f"Tensor must be at least a vector, but saw shape: {shape_text(rows.shape)}"
            )
        merged = _merged(TensorShape.of(rows.shape[1:]), shape, "Specified a list with shape")
        return cls(dtype, merged, tuple(_copy(row) for row in rows))

    def check_dtype(self, dtype: DType) -> None:
        """Raise an error unless the list's elements have this dtype."""
        if dtype is not self.dtype:
            raise invalid_argument(
                f"Invalid data types; op elements {runtime_name(dtype)} but list elements "
                f"{runtime_name(self.dtype)}"
            )

    def with_items(self, items: Iterable[Any]) -> TensorList:
        """Return a list with these elements and the properties of this list."""
        return replace(self, items=tuple(items))

    def checked(self, item: Any) -> Any:
        """Return a copy of `item` that can be added to the list. Raises an error if its shape is
        incompatible.
        """
        if not self.element_shape.is_compatible_with(item.shape):
            raise invalid_argument(
                "Tried to append a tensor with incompatible shape to a list. Op element shape: "
                f"{shape_text(item.shape)} list shape: {shape_text(self.element_shape)}"
            )
        return _copy(item)

    def index(self, index: int) -> int:
        """Return `index`. Raises an error if the list has no element at this index."""
        if not 0 <= index < len(self.items):
            raise invalid_argument(
                f"Trying to access element {index} in a list with {len(self.items)} elements."
            )
        return index

    def item(self, index: int, shape: TensorShape) -> Any:
        """Return element `index`, or zeros of its shape if it is not set.

        Raises an error if the shape of an element that is not set is unknown.

        Args:
          shape: the shape that the reading op requires. The shape of the element must be
            compatible.
        """
        item = self.items[self.index(index)]
        if item is not None:
            _merged(TensorShape.of(item.shape), shape, "Tried to read an element with shape")
            return item
        return self._zeros(_merged(self.element_shape, shape, "Incompatible shapes"))

    def _zeros(self, shape: TensorShape) -> Any:
        if not shape.is_fully_defined():
            raise invalid_argument(
                "Trying to read an uninitialized tensor but element_shape is not fully defined"
            )
        dtype = np.dtype(self.dtype.as_numpy_dtype)
        return np.full(tuple(shape.as_list()), zero_of(dtype), dtype)

    def stacked(self, shape: TensorShape, indices: Sequence[int] | None = None) -> Any:
        """Return all elements as the rows of one array. If `indices` is not None, return only the
        elements at these indices.

        Args:
          shape: the shape of an element that the reading op specifies, which may be partially
            known.
        """
        merged = _merged(self.element_shape, shape, "Incompatible shapes")
        chosen = range(len(self.items)) if indices is None else indices
        items = [self.items[self.index(index)] for index in chosen]
        for item in items:
            if item is not None:
                merged = _merged(TensorShape.of(item.shape), merged, "Incompatible shapes")
        if not items and not merged.is_fully_defined():
            raise invalid_argument(
                "Tried to stack elements of an empty list with non-fully-defined element_shape: "
                f"{shape_text(merged)}"
            )
        filled = [self._zeros(merged) if item is None else item for item in items]
        dtype = np.dtype(self.dtype.as_numpy_dtype)
        rows = np.empty((len(filled), *(size or 0 for size in merged.as_list())), dtype)
        for row, item in zip(rows if rows.ndim > 1 else _cells(rows), filled):
            row[...] = item
        return rows

    def zero(self) -> TensorList:
        """Return a copy of this list in which zeros replace each element that is set."""
        return self.with_items(
            None if item is None else self._zeros_like(item) for item in self.items
        )

    def _zeros_like(self, item: Any) -> Any:
        if self.dtype is not variant:
            return self._zeros(TensorShape.of(item.shape))
        zeros = np.empty(item.shape, object)
        zeros.fill(item.item(0).zero())  # the object in the variant is a list or an optional
        return zeros

    def __add__(self, other: TensorList) -> TensorList:
        """Return the list of the sums of corresponding elements.

        In a sum, an element that is not set is treated as zeros.
        """
        if len(self.items) != len(other.items):
            raise invalid_argument(
                "Trying to add two lists of tensors with different lengths. One is "
                f"{len(self.items)} and the other is {len(other.items)}"
            )
        pairs = zip(self.items, other.items)
        return self.with_items(
            y if x is None else x if y is None else np.asarray(x + y, x.dtype) for x, y in pairs
        )


def _cells(rows: Any) -> list[Any]:
    """Return one view, a scalar array, for each element of a vector."""
    return [rows[index : index + 1].reshape(()) for index in range(len(rows))]


def _copy(item: Any) -> Any:
    return np.array(item)


def _merged(shape: TensorShape, other: TensorShape, words: str) -> TensorShape:
    if not shape.is_compatible_with(other):
        raise invalid_argument(f"{words} {shape_text(shape)} incompatible with {shape_text(other)}")
    return shape.merge_with(other)
