"""SparseTensorSpec, which has the statically known properties of a SparseTensor."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, float32, int64, variant
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.client.type_spec import ShapedTypeSpec, register_type_spec_from_value_converter
from gpugraph.ops.framework.constant_value import constant_value_as_shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue


class SparseTensorSpec(ShapedTypeSpec):
    """The type of a SparseTensor. It consists of the dense shape, which may be partially known, and
    the dtype of the values.
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = float32) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """Return the spec of a SparseTensor or SparseTensorValue.

        Raises TypeError if the value is neither of these.
        """
        if isinstance(value, SparseTensor):
            return cls(value.shape, value.dtype)
        if isinstance(value, SparseTensorValue):
            return cls(value.dense_shape, value.values.dtype)
        raise TypeError("Expected SparseTensor or SparseTensorValue")

    @property
    def value_type(self) -> type[SparseTensor]:
        """`tf.SparseTensor`, the class that the spec describes."""
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

    @property
    def _component_specs(self) -> list[TensorSpec]:
        rank = self._shape.rank
        return [
            TensorSpec([None, rank], int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], int64),
        ]

    def _to_components(self, value: Any) -> list[Any]:
        sparse = SparseTensor.from_value(value)
        return [sparse.indices, sparse.values, sparse.dense_shape]

    def _from_components(self, components: Any) -> Any:
        """Return a SparseTensor of three tensors, or a SparseTensorValue of three arrays."""
        if all(isinstance(part, Tensor) for part in components):
            return SparseTensor(*components)
        return SparseTensorValue(*components)

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        """The spec of one variant tensor that holds the serialized indices, values and shape.
        tf.data batches SparseTensors in this form.
        """
        return [TensorSpec(None, variant)]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [raw_ops.SerializeSparse(*self._to_components(value), out_type=variant)]

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        sizes = constant_value_as_shape(value.dense_shape)
        if self._shape.merge_with(sizes).rank == 0:
            raise ValueError("Unbatching a sparse tensor is only supported for rank >= 1")
        return [raw_ops.SerializeManySparse(*self._to_components(value), out_type=variant)]

    def _from_compatible_tensor_list(self, tensor_list: Any) -> SparseTensor:
        sparse = SparseTensor(*raw_ops.DeserializeSparse(tensor_list[0], dtype=self._dtype))
        sparse.indices.set_shape([None, self._shape.rank])
        sparse.dense_shape.set_shape([self._shape.rank])
        return sparse


register_type_spec_from_value_converter(SparseTensor, SparseTensorSpec.from_value)
register_type_spec_from_value_converter(SparseTensorValue, SparseTensorSpec.from_value)
