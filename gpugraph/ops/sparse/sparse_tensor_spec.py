"""SparseTensorSpec: what is known of a SparseTensor before there is one."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, float32
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.type_spec import TypeSpec, register_spec
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue


class SparseTensorSpec(TypeSpec):
    """The dense shape, None where nothing is known of it, and the dtype of the values."""

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = float32) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The spec of a SparseTensor or a SparseTensorValue; TypeError for anything else."""
        if isinstance(value, SparseTensor):
            return cls(value.shape, value.dtype)
        if isinstance(value, SparseTensorValue):
            return cls(value.dense_shape, value.values.dtype)
        raise TypeError("Expected SparseTensor or SparseTensorValue")

    @property
    def value_type(self) -> type[SparseTensor]:
        """`tf.SparseTensor`."""
        return SparseTensor

    @property
    def shape(self) -> TensorShape:
        """The dense shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype


register_spec(SparseTensor, SparseTensorSpec.from_value)
register_spec(SparseTensorValue, SparseTensorSpec.from_value)
