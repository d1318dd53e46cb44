"""IndexedSlicesSpec: the static type of IndexedSlices."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import as_dtype, float32, int64
from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.indexed_slices import IndexedSlices, IndexedSlicesValue
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.client.type_spec import TypeSpec, register_type_spec_from_value_converter


class IndexedSlicesSpec(TypeSpec):
    """The static type of IndexedSlices.

    The constructor raises ValueError for an `indices_shape` whose rank is not 1.

    Args:
      shape: the shape of the dense tensor; None if it is unknown.
      dtype: the dtype of the rows.
      indices_dtype: the dtype of the indices.
      dense_shape_dtype: the dtype of `dense_shape`; None if the slices have no `dense_shape`.
      indices_shape: the shape of the indices; None if it is unknown.
    """

    __slots__ = (
        "_dense_shape_dtype",
        "_indices_dtype",
        "_indices_shape",
        "_shape",
        "_values_dtype",
    )

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = float32,
        indices_dtype: Any = int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._values_dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type[IndexedSlices]:
        """`tf.IndexedSlices`."""
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        dtypes = self._values_dtype, self._indices_dtype, self._dense_shape_dtype
        return (self._shape, *dtypes, self._indices_shape)

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        values = self._indices_shape.concatenate(self._shape[1:])
        specs = (
            TensorSpec(values, self._values_dtype),
            TensorSpec(self._indices_shape, self._indices_dtype),
        )
        if self._dense_shape_dtype is None:
            return specs
        return (*specs, TensorSpec([self._shape.rank], self._dense_shape_dtype))

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        parts = value.values, value.indices
        return parts if value.dense_shape is None else (*parts, value.dense_shape)

    def _from_components(self, components: Any) -> Any:
        """Return IndexedSlices, or an IndexedSlicesValue if the components are arrays."""
        if all(isinstance(part, Tensor) for part in components):
            return IndexedSlices(*components)
        values, indices, *dense_shape = components
        return IndexedSlicesValue(values, indices, *(dense_shape or [None]))


def _of_slices(slices: IndexedSlices) -> IndexedSlicesSpec:
    sizes = slices.dense_shape
    indices = slices.indices
    dense_shape_dtype = None if sizes is None else sizes.dtype
    return IndexedSlicesSpec(
        slices.shape, slices.dtype, indices.dtype, dense_shape_dtype, indices.shape
    )


register_type_spec_from_value_converter(IndexedSlices, _of_slices)
