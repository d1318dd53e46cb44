"""IndexedSlicesSpec: what is known of IndexedSlices before there are any."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import as_dtype, float32, int64
from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.type_spec import TypeSpec, register_spec


class IndexedSlicesSpec(TypeSpec):
    """Of IndexedSlices: the dense shape, the dtypes of the parts, the shape of the indices.

    shape: None where nothing is known of it. dense_shape_dtype: None where there is no such part.
    ValueError for indices that are no vector.
    """

    __slots__ = ("_dense_shape_dtype", "_dtype", "_indices_dtype", "_indices_shape", "_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = float32,
        indices_dtype: Any = int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type[IndexedSlices]:
        """`tf.IndexedSlices`."""
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        dtypes = self._dtype, self._indices_dtype, self._dense_shape_dtype
        return (self._shape, *dtypes, self._indices_shape)


def _of_slices(slices: IndexedSlices) -> IndexedSlicesSpec:
    sizes = slices.dense_shape
    indices = slices.indices
    dense_shape_dtype = None if sizes is None else sizes.dtype
    return IndexedSlicesSpec(
        slices.shape, slices.dtype, indices.dtype, dense_shape_dtype, indices.shape
    )


register_spec(IndexedSlices, _of_slices)
