"""The combination of elements into a batch by stacking, by padding and stacking, or as a sparse
tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import DataLossError, invalid_argument
from gpugraph.base.shapes import shape_text
from gpugraph.ops.datasets.elements.stage import Element
from gpugraph.ops.parsing.parsed_features import strings
from gpugraph.ops.parsing.serialized_sparse import serialized_triple


def stacked(elements: list[Element], empty: Callable[..., Any] = np.empty) -> Element:
    """Return one element with the components of `elements` stacked.

    Raises InvalidArgumentError if the shapes of a component differ.

    Args:
      empty: a function that returns a new array of the given shape and dtype.
    """
    columns = enumerate(zip(*elements))
    return tuple([_stacked(number, list(arrays), empty) for number, arrays in columns])


def _stacked(number: int, arrays: list[Any], empty: Callable[..., Any]) -> Any:
    first = arrays[0]
    shape = first.shape
    if not shape and first.dtype != object and not any(array.ndim for array in arrays):
        result = np.array(arrays)
        if result.dtype == first.dtype:
            return result
    for place, array in enumerate(arrays):
        if array.shape != shape:
            raise invalid_argument(
                "Cannot batch tensors with different shapes in component "
                f"{number}. First element had shape {shape_text(shape)} and element {place} had "
                f"shape {shape_text(array.shape)}."
            )
    result = empty((len(arrays), *shape), first.dtype)
    for place, array in enumerate(arrays):
        result[place] = array if shape or first.dtype != object else array[()]
    return result


class Padding:
    """A callable that pads elements to the same shape and stacks them.

    Args:
      shapes: the padded shape of each component. A size of -1 means the maximum size in the batch.
    """

    def __init__(self, shapes: Sequence[Sequence[int]], values: Sequence[Any]) -> None:
        self.shapes, self.values = shapes, values

    def __call__(self, elements: list[Element]) -> Element:
        """Return the batch of these elements, padded and stacked."""
        columns = zip(zip(*elements), self.shapes, self.values)
        return tuple([_padded(n, arrays, *rest) for n, (arrays, *rest) in enumerate(columns)])

    def of_block(self, block: Element) -> Element:
        """Return the padded batch of elements that are already stacked."""
        columns = zip(block, self.shapes, self.values)
        return tuple([_padded_column(n, *one) for n, one in enumerate(columns)])


def _padded(number: int, arrays: Sequence[Any], shape: Sequence[int], value: Any) -> Any:
    for array in arrays:
        if array.ndim != len(shape):
            raise invalid_argument(
                "All elements in a batch must have the same rank as the padded shape for component "
                f"{number}: expected rank {len(shape)} got element with rank {array.ndim}"
            )
    sizes = [
        max(array.shape[axis] for array in arrays) if size < 0 else size
        for axis, size in enumerate(shape)
    ]
    if any(has > size for array in arrays for has, size in zip(array.shape, sizes)):
        raise DataLossError.of_no_node("Attempted to pad to a smaller size than the input element.")
    result = np.empty((len(arrays), *sizes), arrays[0].dtype)
    result[...] = value[()]
    if not shape:
        result[:] = [array[()] for array in arrays]
        return result
    for place, array in enumerate(arrays):
        part: Any = (place, *map(slice, array.shape))
        result[part] = array
    return result


def _padded_column(number: int, column: Any, shape: Sequence[int], value: Any) -> Any:
    """Return component `number` of a batch, padded to `shape`. `column` contains the unpadded
    component of all elements, stacked.
    """
    sizes = column.shape[1:]
    if len(sizes) != len(shape) or any(has > size >= 0 for has, size in zip(sizes, shape)):
        return _padded(number, [column[0, ...]], shape, value)  # raises the error
    full = tuple(has if size < 0 else size for has, size in zip(sizes, shape))
    if full == sizes:
        return column
    result = np.empty((len(column), *full), column.dtype)
    result[...] = value[()]
    result[(slice(None), *map(slice, sizes))] = column
    return result


class SparseBatch:
    """A callable that combines elements into a serialized sparse tensor of shape [batch,
    *row_shape].
    """

    def __init__(self, row_shape: Any, dtype: DType) -> None:
        self.row_shape = [int(size) for size in row_shape]
        self.dtype = dtype

    def __call__(self, elements: list[Element]) -> Element:
        """Return the batch."""
        arrays = [element[0] for element in elements]
        rank = len(self.row_shape)
        for array in arrays:
            if array.ndim != rank:
                raise invalid_argument(
                    f"Input element had shape ({shape_text(array.shape)}) that is incompatible "
                    f"with the row shape ({shape_text(self.row_shape)})."
                )
        sizes = [
            max(array.shape[axis] for array in arrays) if size < 0 else size
            for axis, size in enumerate(self.row_shape)
        ]
        for array in arrays:
            if any(has > size for has, size in zip(array.shape, sizes)):
                raise DataLossError.of_no_node(
                    f"Input element had shape ({shape_text(array.shape)}) that is incompatible "
                    f"with the row shape ({shape_text(self.row_shape)})."
                )
        rows = [
            np.concatenate(
                [np.full((array.size, 1), n), np.argwhere(np.ones(array.shape, bool))], 1
            )
            for n, array in enumerate(arrays)
        ]
        indices = np.concatenate(rows).astype(np.int64)
        values = np.concatenate([array.ravel() for array in arrays])
        shape = np.array([len(arrays), *sizes], np.int64)
        return (strings(serialized_triple(indices, values, shape, self.dtype)),)
